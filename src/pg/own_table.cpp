#include "own_table.hpp"

#include "compat.hpp"
#include "spi.hpp"

namespace ql3::pg {

namespace {

// Everything here runs inside a leaf: server structures only.

void check_columns(Relation table, const own_table::description& what) {
  for (int at = 0; at < what.column_count; ++at)
    if (at >= table->rd_att->natts || TupleDescAttr(table->rd_att, at)->attisdropped ||
        strcmp(NameStr(TupleDescAttr(table->rd_att, at)->attname), what.columns[at]) != 0)
      ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                      errmsg("the tables of ql3 are not as installed: \"%s\" has no column \"%s\" in its place",
                             what.name, what.columns[at]),
                      errhint("ql3.ql3_ready() names what differs. Dump, DROP and CREATE EXTENSION ql3, restore.")));
}

// What a crash would empty proves nothing: an action would be sent again.
void check_logged(Relation table) {
  if (table->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT) return;
  const char* const name = RelationGetRelationName(table);
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("table \"%s\" of ql3 is unlogged: a crash would empty it", name),
                  errhint("ALTER TABLE ql3.%s SET LOGGED.", name)));
}

HeapTuple copy_of(TupleTableSlot* slot) {
  HeapTuple const copy = ExecCopySlotHeapTuple(slot);
  copy->t_self = slot->tts_tid;
  ExecClearTuple(slot);
  return copy;
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

// Hands the rows with this key to `each` until it says no.
template <class Each>
void walk(Relation table, Relation index, Snapshot snapshot, TupleTableSlot* slot, const index_keys& key,
          ScanDirection direction, Each each) {
  ScanKeyData keys[index_keys::capacity];
  key.into(keys);
  IndexScanDesc const scan = compat::index_begin(table, index, snapshot, key.count());
  index_rescan(scan, keys, key.count(), nullptr, 0);
  while (index_getnext_slot(scan, direction, slot) && each()) {}
  index_endscan(scan);
}

HeapTuple found_row(Relation table, Relation index, Snapshot snapshot, TupleTableSlot* slot, const index_keys& key) {
  HeapTuple found = nullptr;
  walk(table, index, snapshot, slot, key, ForwardScanDirection, [&] {
    found = copy_of(slot);
    return false;
  });
  return found;
}

}  // namespace

Oid member_of_ours(const char* name) {
  Oid const found = get_relname_relid(name, get_namespace_oid("ql3", false));
  if (!OidIsValid(found)) elog(ERROR, "the tables of ql3 are incomplete: \"%s\" is missing", name);
  return found;
}

Relation open_index_of_ours(const char* name, LOCKMODE lock) {
  for (;;) {
    Oid const found = member_of_ours(name);
    Relation const index = index_open(found, lock);
    if (index->rd_index->indisvalid) return index;
    // With the lock came news: REINDEX CONCURRENTLY may have given the name to another one.
    if (member_of_ours(name) == found)
      ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("index \"%s\" is not valid", name),
                      errhint("REINDEX INDEX ql3.%s makes it anew.", name)));
    index_close(index, lock);
  }
}

index_keys& index_keys::add(Oid type, Oid collation, RegProcedure equal, Datum value) {
  Assert(count_ < capacity);
  keys_[count_++] = {type, collation, equal, value};
  return *this;
}
index_keys& index_keys::text(std::string_view value) {
  return add(TEXTOID, C_COLLATION_OID, F_TEXTEQ, text_datum(value));
}
index_keys& index_keys::digest(const unsigned char* value) {
  return add(BYTEAOID, InvalidOid, F_BYTEAEQ, bytea_datum(value, digest_size));
}
index_keys& index_keys::number32(std::int32_t value) {
  return add(INT4OID, InvalidOid, F_INT4EQ, Int32GetDatum(value));
}
index_keys& index_keys::uuid(Datum value) { return add(UUIDOID, InvalidOid, F_UUID_EQ, value); }

void index_keys::into(ScanKeyData* keys) const {
  for (int at = 0; at < count_; ++at)
    ScanKeyEntryInitialize(&keys[at], 0, static_cast<AttrNumber>(at + 1), BTEqualStrategyNumber, keys_[at].type,
                           keys_[at].collation, keys_[at].equal, keys_[at].value);
}

void own_table::open(const description& what, LOCKMODE lock) {
  what_ = &what;
  lock_ = lock;
  table_ = call([&] {
    Relation const table = table_open(member_of_ours(what.name), lock);
    key_ = open_index_of_ours(what.key_index, lock);
    check_columns(table, what);
    check_logged(table);
    read_slot_ = table_slot_create(table, nullptr);
    return table;
  });
  can_write_ = false;
  has_replaced_ = false;
  prepared_ = 0;
}

void own_table::close() {
  call([&] {
    close_indexes();
    if (can_write_ && plain_) ExecDropSingleTupleTableSlot(write_slot_);
    ExecDropSingleTupleTableSlot(read_slot_);
    index_close(key_, NoLock);
    table_close(table_, NoLock);
  });
  table_ = nullptr;
}

HeapTuple own_table::lock_in_leaf(ItemPointer at, Snapshot snapshot, lock_wait policy) {
  return locked_version(table_, at, snapshot, read_slot_, policy);
}

HeapTuple own_table::find(Snapshot snapshot, const char* index, const index_keys& key, row_test wanted, pick which,
                          int column) {
  return call([&] {
    HeapTuple found = nullptr;
    std::int32_t best = 0;
    Relation const by = open_index_of_ours(index, lock_);
    ScanDirection const direction = which == pick::last ? BackwardScanDirection : ForwardScanDirection;
    walk(table_, by, snapshot, read_slot_, key, direction, [&] {
      CHECK_FOR_INTERRUPTS();
      if (wanted != nullptr && !wanted(read_slot_)) return true;
      if (which == pick::least || which == pick::most) {
        bool null;
        std::int32_t const here = DatumGetInt32(slot_getattr(read_slot_, column, &null));
        if (found != nullptr && (which == pick::least ? here >= best : here <= best)) return true;
        best = here;
        found = copy_of(read_slot_);
        return true;
      }
      found = copy_of(read_slot_);
      return false;
    });
    ExecClearTuple(read_slot_);
    index_close(by, NoLock);
    return found;
  });
}

int own_table::count(Snapshot snapshot, const char* index, const index_keys& key, row_test wanted, int most) {
  return call([&] {
    int found = 0;
    Relation const by = open_index_of_ours(index, lock_);
    walk(table_, by, snapshot, read_slot_, key, ForwardScanDirection, [&] {
      CHECK_FOR_INTERRUPTS();
      return (wanted != nullptr && !wanted(read_slot_)) || ++found < most;
    });
    ExecClearTuple(read_slot_);
    index_close(by, NoLock);
    return found;
  });
}

HeapTuple own_table::find(Snapshot snapshot, std::string_view kind, std::string_view id) {
  index_keys const key = index_keys().text(kind).text(id);
  return call([&] { return found_row(table_, key_, snapshot, read_slot_, key); });
}

void own_table::find_and_lock(Snapshot snapshot, const row_name* names, int count, lock_wait policy, HeapTuple* rows) {
  call([&] {
    auto text = [](std::string_view value) {
      return PointerGetDatum(cstring_to_text_with_len(value.data(), static_cast<int>(value.size())));
    };
    ScanKeyData keys[2];
    IndexScanDesc const scan = compat::index_begin(table_, key_, snapshot, 2);
    for (int at = 0; at < count; ++at) {
      CHECK_FOR_INTERRUPTS();
      const row_name& name = names[at];
      if (at == 0 || name.kind != names[at - 1].kind)
        ScanKeyEntryInitialize(&keys[0], 0, 1, BTEqualStrategyNumber, TEXTOID, C_COLLATION_OID, F_TEXTEQ,
                               text(name.kind));
      ScanKeyEntryInitialize(&keys[1], 0, 2, BTEqualStrategyNumber, TEXTOID, C_COLLATION_OID, F_TEXTEQ, text(name.id));
      index_rescan(scan, keys, 2, nullptr, 0);
      rows[at] = nullptr;
      if (!index_getnext_slot(scan, ForwardScanDirection, read_slot_)) continue;
      ItemPointerData found = read_slot_->tts_tid;
      rows[at] = lock_in_leaf(&found, snapshot, policy);
    }
    ExecClearTuple(read_slot_);
    index_endscan(scan);
  });
}

Snapshot fresh_snapshot() {
  return call([] {
    // In a parallel plan nothing can have been written by now, and the server refuses to count.
    if (!IsInParallelMode()) CommandCounterIncrement();
    return RegisterSnapshot(GetTransactionSnapshot());
  });
}

void release_snapshot(Snapshot snapshot) {
  call([&] { UnregisterSnapshot(snapshot); });
}

}  // namespace ql3::pg
