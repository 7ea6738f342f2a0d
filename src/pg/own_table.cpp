#include "own_table.hpp"

#include "compat.hpp"
#include "row_checks.hpp"

extern "C" {
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "commands/sequence.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
}

namespace ql3::pg {

namespace {

// Everything here runs inside a leaf: server structures only.

void check_columns(Relation table, const own_table::description& what) {
  for (int at = 0; at < what.column_count; ++at)
    if (at >= table->rd_att->natts || TupleDescAttr(table->rd_att, at)->attisdropped ||
        strcmp(NameStr(TupleDescAttr(table->rd_att, at)->attname), what.columns[at]) != 0)
      elog(ERROR, "the tables of ql3 are not as installed: \"%s\" has no column \"%s\" in its place", what.name,
           what.columns[at]);
}

// Is writing the heap and its btree indexes all that a write does?
bool is_plain_table(Relation table, int columns) {
  return table->rd_rel->relkind == RELKIND_RELATION && table->rd_rel->relam == HEAP_TABLE_AM_OID &&
         table->trigdesc == nullptr && table->rd_rules == nullptr && !table->rd_rel->relrowsecurity &&
         !table->rd_rel->relispartition && (table->rd_att->constr == nullptr ||
         !table->rd_att->constr->has_generated_stored) && table->rd_att->natts == columns;
}

bool is_plain_index(Relation index) {
  return index->rd_rel->relam == BTREE_AM_OID && index->rd_index->indimmediate && index->rd_index->indisvalid &&
         !index->rd_index->indisexclusion;
}

bool is_changed(const IndexInfo* info, const changes& to) {
  for (int at = 0; at < info->ii_NumIndexAttrs; ++at)
    if (info->ii_IndexAttrNumbers[at] <= 0 || to.replaced[info->ii_IndexAttrNumbers[at] - 1]) return true;
  return false;
}

HeapTuple copy_of(TupleTableSlot* slot) {
  HeapTuple const copy = ExecCopySlotHeapTuple(slot);
  copy->t_self = slot->tts_tid;
  ExecClearTuple(slot);
  return copy;
}

// What is not set is NULL.
HeapTuple form(TupleDesc descriptor, const changes& values) {
  bool nulls[MaxTupleAttributeNumber];
  for (int at = 0; at < descriptor->natts; ++at)
    nulls[at] = at >= changes::capacity || !values.replaced[at] || values.nulls[at];
  Datum all[MaxTupleAttributeNumber];
  for (int at = 0; at < descriptor->natts; ++at) all[at] = nulls[at] ? Datum(0) : values.values[at];
  return heap_form_tuple(descriptor, all, nulls);
}

HeapTuple locked_version(Relation table, ItemPointer at, Snapshot snapshot, TupleTableSlot* slot, lock_wait policy) {
  TM_FailureData failed;
  std::uint8_t const flags = IsolationUsesXactSnapshot() ? 0 : TUPLE_LOCK_FLAG_FIND_LAST_VERSION;
  switch (table_tuple_lock(table, at, snapshot, slot, GetCurrentCommandId(false), LockTupleNoKeyExclusive,
                           policy == lock_wait::wait ? LockWaitBlock : LockWaitSkip, flags, &failed)) {
    case TM_Ok:
      return copy_of(slot);
    case TM_WouldBlock:
    case TM_SelfModified:
    case TM_Invisible:
      return nullptr;
    case TM_Updated:
    case TM_Deleted:
      if (IsolationUsesXactSnapshot())
        ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                        errmsg("could not serialize access due to concurrent update")));
      return nullptr;
    default:
      elog(ERROR, "a row of \"%s\" could not be locked", RelationGetRelationName(table));
  }
  pg_unreachable();
}

HeapTuple found_row(Relation table, Relation key, Snapshot snapshot, TupleTableSlot* slot, std::string_view kind,
                    std::string_view id) {
  ScanKeyData keys[2];
  ScanKeyEntryInitialize(&keys[0], 0, 1, BTEqualStrategyNumber, TEXTOID, C_COLLATION_OID, F_TEXTEQ,
                         PointerGetDatum(cstring_to_text_with_len(kind.data(), static_cast<int>(kind.size()))));
  ScanKeyEntryInitialize(&keys[1], 0, 2, BTEqualStrategyNumber, TEXTOID, C_COLLATION_OID, F_TEXTEQ,
                         PointerGetDatum(cstring_to_text_with_len(id.data(), static_cast<int>(id.size()))));
  IndexScanDesc const scan = compat::index_begin(table, key, snapshot, 2);
  index_rescan(scan, keys, 2, nullptr, 0);
  HeapTuple const found = index_getnext_slot(scan, ForwardScanDirection, slot) ? copy_of(slot) : nullptr;
  index_endscan(scan);
  return found;
}

}  // namespace

Oid member_of_ours(const char* name) {
  Oid const found = get_relname_relid(name, get_namespace_oid("ql3", false));
  if (!OidIsValid(found)) elog(ERROR, "the tables of ql3 are incomplete: \"%s\" is missing", name);
  return found;
}

void own_table::open(const description& what) {
  what_ = &what;
  table_ = call([&] {
    Relation const table = table_open(member_of_ours(what.name), RowExclusiveLock);
    key_ = index_open(member_of_ours(what.key_index), RowExclusiveLock);
    check_columns(table, what);
    read_slot_ = table_slot_create(table, nullptr);
    return table;
  });
  can_write_ = false;
  has_replaced_ = false;
}

void own_table::close() {
  call([&] {
    if (can_write_ && plain_) {
      for (int at = 0; at < index_count_; ++at) index_close(indexes_[at].index, NoLock);
      ExecDropSingleTupleTableSlot(write_slot_);
      FreeExecutorState(estate_);
    }
    ExecDropSingleTupleTableSlot(read_slot_);
    index_close(key_, NoLock);
    table_close(table_, NoLock);
  });
  table_ = nullptr;
}

void own_table::prepare_writes() {
  if (can_write_) return;
  call([&] {
    index_count_ = 0;
    plain_ = is_plain_table(table_, what_->column_count);
    List* const indexes = plain_ ? RelationGetIndexList(table_) : NIL;
    if (list_length(indexes) > indexes_max) plain_ = false;
    if (plain_) {
      CheckCmdReplicaIdentity(table_, CMD_UPDATE);
      MemoryContext const before = MemoryContextSwitchTo(GetMemoryChunkContext(read_slot_));
      ListCell* cell;
      foreach (cell, indexes) {
        Relation const index = index_open(lfirst_oid(cell), RowExclusiveLock);
        if (!is_plain_index(index)) plain_ = false;
        indexes_[index_count_++] = {index, BuildIndexInfo(index)};
      }
      if (plain_) {
        write_slot_ = MakeSingleTupleTableSlot(table_->rd_att, &TTSOpsHeapTuple);
        estate_ = CreateExecutorState();
      } else {
        for (int at = 0; at < index_count_; ++at) index_close(indexes_[at].index, NoLock);
      }
      MemoryContextSwitchTo(before);
    }
    list_free(indexes);
  });
  can_write_ = true;
}

HeapTuple own_table::lock_in_leaf(ItemPointer at, Snapshot snapshot, lock_wait policy) {
  return locked_version(table_, at, snapshot, read_slot_, policy);
}

HeapTuple own_table::find(Snapshot snapshot, std::string_view kind, std::string_view id) {
  return call([&] { return found_row(table_, key_, snapshot, read_slot_, kind, id); });
}

HeapTuple own_table::find_and_lock(Snapshot snapshot, std::string_view kind, std::string_view id, lock_wait policy) {
  return call([&] {
    HeapTuple const found = found_row(table_, key_, snapshot, read_slot_, kind, id);
    return found == nullptr ? nullptr : lock_in_leaf(&found->t_self, snapshot, policy);
  });
}

// REQUIRES: inside a leaf. `changed` is absent for an insert.
void own_table::write_indexes(TupleTableSlot* slot, const changes* changed) {
  ExprContext* const context = GetPerTupleExprContext(estate_);
  context->ecxt_scantuple = slot;
  for (int at = 0; at < index_count_; ++at) {
    auto [index, info] = indexes_[at];
    if (info->ii_Predicate != NIL) {
      if (info->ii_PredicateState == nullptr) info->ii_PredicateState = ExecPrepareQual(info->ii_Predicate, estate_);
      if (!ExecQual(info->ii_PredicateState, context)) continue;
    }
    Datum values[INDEX_MAX_KEYS];
    bool nulls[INDEX_MAX_KEYS];
    FormIndexDatum(info, slot, estate_, values, nulls);
    compat::index_insert_one(index, values, nulls, &slot->tts_tid, table_,
                             index->rd_index->indisunique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO,
                             changed != nullptr && !is_changed(info, *changed), info);
  }
  ResetPerTupleExprContext(estate_);
}

HeapTuple own_table::insert(const changes& values) {
  prepare_writes();
  if (!plain_) return by_executor("INSERT", nullptr, values);
  return call([&] {
    HeapTuple const row = form(table_->rd_att, values);
    row->t_tableOid = RelationGetRelid(table_);
    ExecStoreHeapTuple(row, write_slot_, false);
    check_row(table_, write_slot_, nullptr);
    table_tuple_insert(table_, write_slot_, GetCurrentCommandId(true), 0, nullptr);
    row->t_self = write_slot_->tts_tid;
    write_indexes(write_slot_, nullptr);
    ExecClearTuple(write_slot_);
    return row;
  });
}

HeapTuple own_table::update(HeapTuple before, const changes& to) {
  prepare_writes();
  has_replaced_ = true;
  if (!plain_) return by_executor("UPDATE", before, to);
  return call([&] {
    HeapTuple const row =
        heap_modify_tuple(before, table_->rd_att, const_cast<Datum*>(to.values), const_cast<bool*>(to.nulls),
                          const_cast<bool*>(to.replaced));
    ExecStoreHeapTuple(row, write_slot_, false);
    check_row(table_, write_slot_, to.replaced);
    // What this call has written before is to be seen.
    CommandCounterIncrement();
    bool indexes = false;
    if (!compat::update_locked(table_, &before->t_self, write_slot_, &indexes))
      elog(ERROR, "a row of \"%s\" changed under its lock", RelationGetRelationName(table_));
    row->t_self = write_slot_->tts_tid;
    if (indexes) write_indexes(write_slot_, &to);
    ExecClearTuple(write_slot_);
    return row;
  });
}

void own_table::remove(HeapTuple row) {
  prepare_writes();
  has_replaced_ = true;
  if (!plain_) {
    (void)by_executor("DELETE", row, {});
    return;
  }
  call([&] {
    CommandCounterIncrement();
    TM_FailureData failed;
    if (table_tuple_delete(table_, &row->t_self, GetCurrentCommandId(true), InvalidSnapshot, InvalidSnapshot, true,
                           &failed, false) != TM_Ok)
      elog(ERROR, "a row of \"%s\" changed under its lock", RelationGetRelationName(table_));
  });
}

// The statement that anybody would write, for a table that somebody has added to. Slow and right.
HeapTuple own_table::by_executor(const char* verb, HeapTuple before, const changes& to) {
  return call([&]() -> HeapTuple {
    MemoryContext const memory = CurrentMemoryContext;
    TupleDesc const descriptor = table_->rd_att;
    HeapTuple const row = before == nullptr
        ? form(descriptor, to)
        : heap_modify_tuple(before, descriptor, const_cast<Datum*>(to.values), const_cast<bool*>(to.nulls),
                            const_cast<bool*>(to.replaced));
    Oid types[changes::capacity];
    Datum values[changes::capacity];
    char nulls[changes::capacity];
    int count = 0;
    StringInfoData names;
    StringInfoData places;
    StringInfoData statement;
    initStringInfo(&names);
    initStringInfo(&places);
    initStringInfo(&statement);
    bool const is_insert = before == nullptr;
    auto add = [&](int at) {
      bool null;
      types[count] = TupleDescAttr(descriptor, at)->atttypid;
      values[count] = heap_getattr(row, at + 1, descriptor, &null);
      nulls[count++] = null ? 'n' : ' ';
    };
    for (int at = 0; at < what_->column_count; ++at) {
      bool const is_key = at < 2;
      if (!is_insert && !is_key && !to.replaced[at]) continue;
      add(at);
      const char* const name = quote_identifier(what_->columns[at]);
      if (is_insert) {
        appendStringInfo(&names, "%s%s", count > 1 ? ", " : "", name);
        appendStringInfo(&places, "%s$%d", count > 1 ? ", " : "", count);
      } else if (!is_key) {
        appendStringInfo(&names, "%s%s = $%d", count > 3 ? ", " : "", name, count);
      }
    }
    if (is_insert)
      appendStringInfo(&statement, "INSERT INTO ql3.%s (%s) VALUES (%s)", what_->name, names.data, places.data);
    else if (strcmp(verb, "DELETE") == 0)
      appendStringInfo(&statement, "DELETE FROM ql3.%s WHERE %s = $1 AND %s = $2", what_->name, what_->columns[0],
                       what_->columns[1]);
    else
      appendStringInfo(&statement, "UPDATE ql3.%s SET %s WHERE %s = $1 AND %s = $2", what_->name, names.data,
                       what_->columns[0], what_->columns[1]);
    int const code = SPI_execute_with_args(statement.data, count, types, values, nulls, false, 0);
    MemoryContextSwitchTo(memory);
    if (code < 0) elog(ERROR, "a write of ql3 failed: %s", SPI_result_code_string(code));
    return row;
  });
}

std::int64_t next_identity(Relation table, AttrNumber column) {
  static constinit Oid known_table = InvalidOid;
  static constinit Oid sequence = InvalidOid;
  return call([&] {
    if (known_table != RelationGetRelid(table)) {
      sequence = compat::identity_sequence(table, column);
      known_table = RelationGetRelid(table);
    }
    return nextval_internal(sequence, false);
  });
}

Snapshot fresh_snapshot() {
  return call([] {
    CommandCounterIncrement();
    return RegisterSnapshot(GetTransactionSnapshot());
  });
}

void release_snapshot(Snapshot snapshot) {
  call([&] { UnregisterSnapshot(snapshot); });
}

}  // namespace ql3::pg
