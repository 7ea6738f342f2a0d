#include "own_table.hpp"

#include "compat.hpp"
#include "session.hpp"

extern "C" {
#include "commands/sequence.h"
#include "executor/executor.h"
}

namespace ql3::pg {

namespace {

// Everything here runs inside a leaf: server structures only.

constexpr int prepared_tries = 100;

// What others added and dropped again stays as columns that are always NULL.
bool has_only(TupleDesc descriptor, int columns) {
  for (int at = columns; at < descriptor->natts; ++at)
    if (!TupleDescAttr(descriptor, at)->attisdropped) return false;
  return true;
}

// Is writing the heap and its btree indexes all that a write does?
bool is_plain_table(Relation table, int columns) {
  return table->rd_rel->relkind == RELKIND_RELATION && table->rd_rel->relam == HEAP_TABLE_AM_OID &&
         table->trigdesc == nullptr && table->rd_rules == nullptr && !table->rd_rel->relrowsecurity &&
         !table->rd_rel->relispartition && has_only(table->rd_att, columns);
}

bool is_changed(const IndexInfo* info, const bool* replaced) {
  for (int at = 0; at < info->ii_NumIndexAttrs; ++at)
    if (info->ii_IndexAttrNumbers[at] <= 0 || replaced[info->ii_IndexAttrNumbers[at] - 1]) return true;
  return false;
}

// The row after these changes; `before` is absent for a new one, where what is not set is NULL.
row_values values_after(const own_table::description& what, TupleDesc descriptor, HeapTuple before, const changes& to) {
  row_values const all(descriptor);
  if (before != nullptr) heap_deform_tuple(before, descriptor, all.values, all.nulls);
  for (int at = 0; at < descriptor->natts; ++at) {
    bool const is_ours = at < what.column_count;
    bool const replaced = is_ours && to.replaced[at];
    if (before != nullptr && is_ours && !replaced) continue;
    all.nulls[at] = !replaced || to.nulls[at];
    all.values[at] = all.nulls[at] ? Datum(0) : to.values[at];
  }
  return all;
}

// Which columns change, of all that the table has.
bool* replaced_in(TupleDesc descriptor, const changes& to) {
  Size const most = static_cast<Size>(Max(descriptor->natts, changes::capacity));
  auto* const replaced = static_cast<bool*>(palloc0(sizeof(bool) * most));
  memcpy(replaced, to.replaced, sizeof to.replaced);
  return replaced;
}

[[noreturn]] void refuse_changed() {
  ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                  errmsg("could not serialize access due to concurrent update"), errhint("Repeat the call.")));
  pg_unreachable();
}

}  // namespace

void own_table::close_indexes() {
  if (prepared_ == 0) return;
  for (int at = 0; at < index_count_; ++at) index_close(indexes_[at], NoLock);
  prepared_ = 0;
}

void own_table::open_indexes() {
  const prepared_indexes& all = indexes_of(table_);
  if (prepared_ == all.number) return;
  close_indexes();
  // Opening may make another preparation due; the next write sees that.
  std::uint64_t const number = all.number;
  Oid oids[table_indexes_max];
  index_count_ = all.count;
  for (int at = 0; at < index_count_; ++at) oids[at] = all.list[at].index;
  for (int at = 0; at < index_count_; ++at) indexes_[at] = index_open(oids[at], RowExclusiveLock);
  prepared_ = number;
}

void own_table::prepare_writes() {
  if (can_write_) return;
  call([&] {
    plain_ = is_plain_table(table_, what_->column_count) && indexes_of(table_).plain;
    if (!plain_) return;
    MemoryContext const before = MemoryContextSwitchTo(GetMemoryChunkContext(read_slot_));
    write_slot_ = MakeSingleTupleTableSlot(table_->rd_att, &TTSOpsHeapTuple);
    MemoryContextSwitchTo(before);
  });
  can_write_ = true;
}

// REQUIRES: inside a leaf. `replaced` is absent for an insert.
void own_table::write_indexes(TupleTableSlot* slot, const bool* replaced) {
  const prepared_indexes* all = nullptr;
  // Opening them takes locks, with which news of a change may arrive. Once they are held no more does.
  for (int tries = 0; all == nullptr || all->number != prepared_; ++tries) {
    if (tries == prepared_tries) elog(ERROR, "the indexes of \"%s\" change all the time", what_->name);
    open_indexes();
    all = &indexes_of(table_);
  }
  if (!all->all) elog(ERROR, "too many indexes on \"%s\"", what_->name);
  for (int at = 0; at < index_count_; ++at) {
    Datum values[INDEX_MAX_KEYS];
    bool nulls[INDEX_MAX_KEYS];
    // None such was there when this call began. One that is made CONCURRENTLY meanwhile waits for us, and then looks
    // for what it lacks.
    if (!all->list[at].plain) continue;
    if (!index_values(*all, at, slot, values, nulls)) continue;
    // A new version of a row under the key that it had: nobody else can have it, or make it before we end. (An index
    // that is just being made may not know the row's other version yet, and a partial one may never have had it.)
    bool const unchanged = replaced != nullptr && !is_changed(all->list[at].info, replaced);
    Form_pg_index const index = indexes_[at]->rd_index;
    bool const unique = index->indisunique && (!unchanged || !index->indisvalid || all->list[at].predicate != nullptr);
    compat::index_insert_one(indexes_[at], values, nulls, &slot->tts_tid, table_,
                             unique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, unchanged, all->list[at].info);
  }
  ResetPerTupleExprContext(all->estate);
}

HeapTuple own_table::insert(const changes& values) {
  prepare_writes();
  if (!plain_) return by_executor("INSERT", nullptr, values);
  return call([&] {
    row_values const all = values_after(*what_, table_->rd_att, nullptr, values);
    HeapTuple const row = complete_row(table_, all.values, all.nulls, write_slot_, nullptr);
    row->t_tableOid = RelationGetRelid(table_);
    table_tuple_insert(table_, write_slot_, GetCurrentCommandId(true), 0, nullptr);
    row->t_self = write_slot_->tts_tid;
    write_indexes(write_slot_, nullptr);
    ExecClearTuple(write_slot_);
    return row;
  });
}

void own_table::insert_all(const changes* rows, int count) {
  prepare_writes();
  if (!plain_ || count < 2) {
    for (int at = 0; at < count; ++at) (void)insert(rows[at]);
    return;
  }
  call([&] {
    auto** const slots = static_cast<TupleTableSlot**>(palloc(sizeof(TupleTableSlot*) * static_cast<Size>(count)));
    for (int at = 0; at < count; ++at) {
      slots[at] = MakeSingleTupleTableSlot(table_->rd_att, &TTSOpsHeapTuple);
      row_values const all = values_after(*what_, table_->rd_att, nullptr, rows[at]);
      (void)complete_row(table_, all.values, all.nulls, slots[at], nullptr);
    }
    table_multi_insert(table_, slots, count, GetCurrentCommandId(true), 0, nullptr);
    for (int at = 0; at < count; ++at) {
      write_indexes(slots[at], nullptr);
      ExecDropSingleTupleTableSlot(slots[at]);
    }
    pfree(slots);
  });
}

HeapTuple own_table::update(HeapTuple before, const changes& to) {
  prepare_writes();
  has_replaced_ = true;
  if (!plain_) return by_executor("UPDATE", before, to);
  return call([&] {
    CheckCmdReplicaIdentity(table_, CMD_UPDATE);
    bool* const replaced = replaced_in(table_->rd_att, to);
    row_values const all = values_after(*what_, table_->rd_att, before, to);
    HeapTuple const row = complete_row(table_, all.values, all.nulls, write_slot_, replaced);
    // What this call has written before is to be seen.
    CommandCounterIncrement();
    bool indexes = false;
    if (compat::update_row(table_, &before->t_self, write_slot_, &indexes) != TM_Ok) refuse_changed();
    row->t_self = write_slot_->tts_tid;
    if (indexes) write_indexes(write_slot_, replaced);
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
    CheckCmdReplicaIdentity(table_, CMD_DELETE);
    CommandCounterIncrement();
    if (compat::delete_row(table_, &row->t_self) != TM_Ok) refuse_changed();
  });
}

// The statement that anybody would write, for a table that somebody has added to. Slow and right.
HeapTuple own_table::by_executor(const char* verb, HeapTuple before, const changes& to) {
  session::pin_now();
  return call([&]() -> HeapTuple {
    MemoryContext const memory = CurrentMemoryContext;
    TupleDesc const descriptor = table_->rd_att;
    bool const is_insert = before == nullptr;
    row_values const all = values_after(*what_, descriptor, before, to);
    HeapTuple const row = heap_form_tuple(descriptor, all.values, all.nulls);
    if (!is_insert) row->t_self = before->t_self;
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
    auto add = [&](int at) {
      bool null;
      types[count] = TupleDescAttr(descriptor, at)->atttypid;
      values[count] = heap_getattr(row, at + 1, descriptor, &null);
      nulls[count++] = null ? 'n' : ' ';
    };
    for (int at = 0; at < what_->column_count; ++at) {
      bool const is_key = at < what_->key_columns;
      if (TupleDescAttr(descriptor, at)->attgenerated != '\0') continue;
      if (!is_insert && !is_key && !to.replaced[at]) continue;
      add(at);
      const char* const name = quote_identifier(what_->columns[at]);
      if (is_insert) {
        appendStringInfo(&names, "%s%s", count > 1 ? ", " : "", name);
        appendStringInfo(&places, "%s$%d", count > 1 ? ", " : "", count);
      } else if (!is_key) {
        appendStringInfo(&names, "%s%s = $%d", names.len > 0 ? ", " : "", name, count);
      }
    }
    if (is_insert)
      appendStringInfo(&statement, "INSERT INTO ql3.%s (%s) VALUES (%s)", what_->name, names.data, places.data);
    else if (strcmp(verb, "DELETE") == 0)
      appendStringInfo(&statement, "DELETE FROM ql3.%s", what_->name);
    else
      appendStringInfo(&statement, "UPDATE ql3.%s SET %s", what_->name, names.data);
    for (int at = 0; !is_insert && at < what_->key_columns; ++at)
      appendStringInfo(&statement, "%s%s = $%d", at == 0 ? " WHERE " : " AND ", what_->columns[at], at + 1);
    int const code = SPI_execute_with_args(statement.data, count, types, values, nulls, false, 0);
    MemoryContextSwitchTo(memory);
    if (code < 0) elog(ERROR, "a write of ql3 failed: %s", SPI_result_code_string(code));
    if (SPI_processed != 1)
      ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                      errmsg("a trigger or rule keeps ql3 from writing \"%s\"", what_->name),
                      errhint("Drop it: what ql3 answers, it must have written.")));
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

}  // namespace ql3::pg
