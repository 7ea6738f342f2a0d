#include "row_checks.hpp"

#include "compat.hpp"

extern "C" {
#include "nodes/bitmapset.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/inval.h"
#include "utils/syscache.h"
}

namespace ql3::pg {

namespace {

constexpr int tables_max = 4;
constexpr int checks_max = 16;

struct prepared_check {
  ExprState* state;
  Bitmapset* columns;
  const char* name;
};

struct prepared_table {
  Oid table;
  bool stale;
  MemoryContext memory;
  EState* estate;
  prepared_check checks[checks_max];
  int count;
};

constinit prepared_table prepared[tables_max]{};

void on_relation_change(Datum, Oid relation) {
  for (prepared_table& each : prepared)
    if (!OidIsValid(relation) || each.table == relation) each.stale = true;
}

// A function that a CHECK calls may have been inlined into the prepared expression.
void on_function_change(Datum, int, uint32) { on_relation_change(Datum(0), InvalidOid); }

// Everything below runs inside a leaf: server structures only.

void prepare(prepared_table& slot, Relation table) {
  if (slot.memory != nullptr) MemoryContextDelete(slot.memory);
  slot = prepared_table{};
  MemoryContext const memory = AllocSetContextCreate(CurrentMemoryContext, "ql3 checks", ALLOCSET_SMALL_SIZES);
  MemoryContext const before = MemoryContextSwitchTo(memory);
  // Not stale from here on: an invalidation that arrives while we prepare marks it again.
  slot.table = RelationGetRelid(table);
  EState* const estate = CreateExecutorState();
  TupleConstr* const constraints = table->rd_att->constr;
  int count = 0;
  for (int at = 0; constraints != nullptr && at < constraints->num_check; ++at) {
    const ConstrCheck& check = constraints->check[at];
    if (!compat::is_enforced(check)) continue;
    if (count == checks_max) elog(ERROR, "too many CHECK constraints on \"%s\"", RelationGetRelationName(table));
    auto* expression = static_cast<Expr*>(stringToNode(check.ccbin));
    prepared_check made{nullptr, nullptr, pstrdup(check.ccname)};
    pull_varattnos(reinterpret_cast<Node*>(expression), 1, &made.columns);
    made.state = ExecPrepareExpr(expression, estate);
    slot.checks[count++] = made;
  }
  MemoryContextSwitchTo(before);
  // Only what is complete lives on.
  MemoryContextSetParent(memory, CacheMemoryContext);
  slot.memory = memory;
  slot.estate = estate;
  slot.count = count;
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

}  // namespace

void check_row(Relation table, TupleTableSlot* slot, const bool* replaced) {
  TupleDesc const descriptor = table->rd_att;
  for (int at = 0; at < descriptor->natts; ++at) {
    if (replaced != nullptr && !replaced[at]) continue;
    if (!TupleDescAttr(descriptor, at)->attnotnull || !slot_attisnull(slot, at + 1)) continue;
    ereport(ERROR, (errcode(ERRCODE_NOT_NULL_VIOLATION),
                    errmsg("null value in column \"%s\" of relation \"%s\" violates not-null constraint",
                           NameStr(TupleDescAttr(descriptor, at)->attname), RelationGetRelationName(table)),
                    errtablecol(table, at + 1)));
  }
  prepared_table& checks = prepared_for(table);
  ExprContext* const context = GetPerTupleExprContext(checks.estate);
  context->ecxt_scantuple = slot;
  for (int at = 0; at < checks.count; ++at) {
    const prepared_check& check = checks.checks[at];
    if (replaced != nullptr && !touches(check.columns, replaced)) continue;
    if (!ExecCheck(check.state, context))
      ereport(ERROR, (errcode(ERRCODE_CHECK_VIOLATION),
                      errmsg("new row for relation \"%s\" violates check constraint \"%s\"",
                             RelationGetRelationName(table), check.name),
                      errtableconstraint(table, check.name)));
  }
  context->ecxt_scantuple = nullptr;
  ResetPerTupleExprContext(checks.estate);
}

void watch_own_tables() {
  CacheRegisterRelcacheCallback(on_relation_change, Datum(0));
  CacheRegisterSyscacheCallback(PROCOID, on_function_change, Datum(0));
}

}  // namespace ql3::pg
