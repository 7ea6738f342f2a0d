#include "row_checks.hpp"

#include "compat.hpp"

extern "C" {
#include "catalog/index.h"
#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/inval.h"
#include "utils/syscache.h"
}

namespace ql3::pg {

namespace {

constexpr int tables_max = 6;
constexpr int checks_max = 24;
constexpr int generated_max = 2;

struct prepared_check {
  ExprState* state;
  Bitmapset* columns;
  const char* name;
};

struct prepared_value {
  ExprState* state;
  Bitmapset* columns;  // what it is made of
  int column;          // from 1
};

struct prepared_table {
  Oid table;
  bool stale;
  MemoryContext memory;
  EState* estate;
  prepared_check checks[checks_max];
  int check_count;
  prepared_value generated[generated_max];
  int generated_count;
  prepared_index index[table_indexes_max];
  prepared_indexes indexes;
};

constinit prepared_table prepared[tables_max]{};
constinit std::uint64_t preparations = 0;

void on_relation_change(Datum, Oid relation) {
  for (prepared_table& each : prepared)
    if (!OidIsValid(relation) || each.table == relation) each.stale = true;
}

// A function that a CHECK calls may have been inlined into the prepared expression.
void on_function_change(Datum, compat::cache_id, uint32) { on_relation_change(Datum(0), InvalidOid); }

// Everything below runs inside a leaf: server structures only.

// Others have added more than there is room for: such a table is written through SPI.
void leave_out(prepared_table& made) {
  made.indexes.plain = false;
  made.indexes.all = false;
}

void prepare_checks(prepared_table& made, Relation table) {
  TupleConstr* const constraints = table->rd_att->constr;
  for (int at = 0; constraints != nullptr && at < constraints->num_check; ++at) {
    const ConstrCheck& check = constraints->check[at];
    if (!compat::is_enforced(check)) continue;
    if (made.check_count == checks_max) return leave_out(made);
    auto* expression = static_cast<Expr*>(stringToNode(check.ccbin));
    prepared_check one{nullptr, nullptr, pstrdup(check.ccname)};
    pull_varattnos(reinterpret_cast<Node*>(expression), 1, &one.columns);
    one.state = ExecPrepareExpr(expression, made.estate);
    made.checks[made.check_count++] = one;
  }
}

void prepare_generated(prepared_table& made, Relation table) {
  for (int at = 0; at < table->rd_att->natts; ++at) {
    if (TupleDescAttr(table->rd_att, at)->attgenerated != ATTRIBUTE_GENERATED_STORED) continue;
    if (made.generated_count == generated_max) return leave_out(made);
    Node* const expression = build_column_default(table, at + 1);
    prepared_value one{nullptr, nullptr, at + 1};
    pull_varattnos(expression, 1, &one.columns);
    one.state = ExecPrepareExpr(reinterpret_cast<Expr*>(expression), made.estate);
    made.generated[made.generated_count++] = one;
  }
}

bool is_plain_index(Relation index) {
  return index->rd_rel->relam == BTREE_AM_OID && index->rd_index->indimmediate && !index->rd_index->indisexclusion;
}

void prepare_indexes(prepared_table& made, Relation table) {
  List* const list = RelationGetIndexList(table);
  prepared_indexes& all = made.indexes;
  ListCell* cell;
  foreach (cell, list) {
    Relation const index = index_open(lfirst_oid(cell), RowExclusiveLock);
    // One that is just being made is not to be written before everybody knows it.
    if (!index->rd_index->indisready) {
      index_close(index, NoLock);
      continue;
    }
    if (all.count == table_indexes_max) {
      leave_out(made);
      index_close(index, NoLock);
      break;
    }
    IndexInfo* const info = BuildIndexInfo(index);
    ExprState* const predicate = info->ii_Predicate == NIL ? nullptr : ExecPrepareQual(info->ii_Predicate, made.estate);
    bool const plain = is_plain_index(index);
    made.index[all.count++] = {RelationGetRelid(index), plain, info, predicate};
    all.plain = all.plain && plain;
    index_close(index, NoLock);
  }
  list_free(list);
  all.estate = made.estate;
  all.number = ++preparations;
}

void prepare(prepared_table& slot, Relation table) {
  if (slot.memory != nullptr) MemoryContextDelete(slot.memory);
  slot = prepared_table{};
  // Only what is complete lives on.
  prepared_table made{};
  made.table = RelationGetRelid(table);
  // Not stale from here on: an invalidation that arrives while we prepare marks it again.
  slot.table = made.table;
  MemoryContext const memory = AllocSetContextCreate(CurrentMemoryContext, "ql3 checks", ALLOCSET_SMALL_SIZES);
  MemoryContext const before = MemoryContextSwitchTo(memory);
  made.estate = CreateExecutorState();
  made.indexes.plain = true;
  made.indexes.all = true;
  prepare_checks(made, table);
  prepare_generated(made, table);
  prepare_indexes(made, table);
  MemoryContextSwitchTo(before);
  MemoryContextSetParent(memory, CacheMemoryContext);
  made.memory = memory;
  made.stale = slot.stale;
  slot = made;
  slot.indexes.list = slot.index;
}

prepared_table& prepared_for(Relation table) {
  prepared_table* free = nullptr;
  for (prepared_table& each : prepared) {
    if (each.table == RelationGetRelid(table) && each.memory != nullptr && !each.stale) return each;
    if (free == nullptr && (each.memory == nullptr || each.stale)) free = &each;
  }
  if (free == nullptr) free = &prepared[0];
  prepare(*free, table);
  return *free;
}

bool touches(const Bitmapset* columns, const bool* replaced) {
  int column = -1;
  while ((column = bms_next_member(columns, column)) >= 0) {
    int const number = column + FirstLowInvalidHeapAttributeNumber;
    if (number <= 0 || replaced[number - 1]) return true;
  }
  return false;
}

// The row in `slot`, and its values: taken apart already, so that nobody does it again.
HeapTuple stored(TupleDesc descriptor, Datum* values, bool* nulls, TupleTableSlot* slot) {
  HeapTuple const row = heap_form_tuple(descriptor, values, nulls);
  ExecStoreHeapTuple(row, slot, false);
  memcpy(slot->tts_values, values, sizeof(Datum) * static_cast<Size>(descriptor->natts));
  memcpy(slot->tts_isnull, nulls, sizeof(bool) * static_cast<Size>(descriptor->natts));
  slot->tts_nvalid = static_cast<AttrNumber>(descriptor->natts);
  return row;
}

// Whether one of the values changed.
bool generate(const prepared_table& made, TupleDesc descriptor, Datum* values, bool* nulls, ExprContext* context,
              bool* replaced) {
  bool any = false;
  for (int at = 0; at < made.generated_count; ++at) {
    const prepared_value& one = made.generated[at];
    if (replaced != nullptr && !touches(one.columns, replaced)) continue;
    int const column = one.column - 1;
    bool null;
    Datum const value = ExecEvalExpr(one.state, context, &null);
    Form_pg_attribute const type = TupleDescAttr(descriptor, column);
    if (null == nulls[column] && (null || datumIsEqual(value, values[column], type->attbyval, type->attlen))) continue;
    values[column] = value;
    nulls[column] = null;
    any = true;
    if (replaced != nullptr) replaced[column] = true;
  }
  return any;
}

}  // namespace

const prepared_indexes& indexes_of(Relation table) { return prepared_for(table).indexes; }

bool index_values(const prepared_indexes& of, int at, TupleTableSlot* slot, Datum* values, bool* nulls) {
  ExprContext* const context = GetPerTupleExprContext(of.estate);
  ResetExprContext(context);
  context->ecxt_scantuple = slot;
  const prepared_index& one = of.list[at];
  if (one.predicate != nullptr && !ExecQual(one.predicate, context)) return false;
  FormIndexDatum(one.info, slot, of.estate, values, nulls);
  return true;
}

HeapTuple complete_row(Relation table, Datum* values, bool* nulls, TupleTableSlot* slot, bool* replaced) {
  TupleDesc const descriptor = table->rd_att;
  prepared_table& made = prepared_for(table);
  ExprContext* const context = GetPerTupleExprContext(made.estate);
  HeapTuple row = stored(descriptor, values, nulls, slot);
  context->ecxt_scantuple = slot;
  if (generate(made, descriptor, values, nulls, context, replaced)) row = stored(descriptor, values, nulls, slot);
  for (int at = 0; at < descriptor->natts; ++at) {
    if (replaced != nullptr && !replaced[at]) continue;
    if (!TupleDescAttr(descriptor, at)->attnotnull || !slot_attisnull(slot, at + 1)) continue;
    ereport(ERROR, (errcode(ERRCODE_NOT_NULL_VIOLATION),
                    errmsg("null value in column \"%s\" of relation \"%s\" violates not-null constraint",
                           NameStr(TupleDescAttr(descriptor, at)->attname), RelationGetRelationName(table)),
                    errtablecol(table, at + 1)));
  }
  for (int at = 0; at < made.check_count; ++at) {
    const prepared_check& check = made.checks[at];
    if (replaced != nullptr && !touches(check.columns, replaced)) continue;
    if (!ExecCheck(check.state, context))
      ereport(ERROR, (errcode(ERRCODE_CHECK_VIOLATION),
                      errmsg("new row for relation \"%s\" violates check constraint \"%s\"",
                             RelationGetRelationName(table), check.name),
                      errtableconstraint(table, check.name)));
  }
  context->ecxt_scantuple = nullptr;
  ResetPerTupleExprContext(made.estate);
  return row;
}

void watch_own_tables() {
  CacheRegisterRelcacheCallback(on_relation_change, Datum(0));
  CacheRegisterSyscacheCallback(PROCOID, on_function_change, Datum(0));
}

}  // namespace ql3::pg
