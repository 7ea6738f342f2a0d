#include "due_scan.hpp"

#include <algorithm>

#include "compat.hpp"
#include "control_columns.hpp"
#include "session.hpp"

namespace ql3::pg {

namespace {

constexpr Oid timestamptz_le = 1155;  // pg_proc, fixed on every major
constexpr Oid timestamptz_ge = 1156;
constexpr char due_index[] = "run_recovery_controls_due_idx";

struct found_rows {
  HeapTuple rows[page_size_max];
  int count;
  instant first;  // earliest due row that is alive or may come alive again; instant_max = none up to the clock
  instant last;   // latest one looked at
  ItemPointerData last_row;
};

// Valid until 5 minutes ahead; anything else is over, or of a clock that stepped back.
bool is_held(TupleTableSlot* slot, instant clock) {
  bool null;
  Datum const expires = slot_getattr(slot, control_expires_at, &null);
  return !null && claim_is_valid(clock, DatumGetTimestampTz(expires));
}

// With a dirty snapshot: it shows, beside what is committed, what others are writing just now. An entry that it does
// not show is dead for good, so the mark may pass it; one that is being changed may come back and stays before it.
// Entries of one time are in the order of their rows: those up to `after` were looked at before.
void scan(own_table& table, std::string_view kind, instant from, ItemPointerData after, instant clock, int limit,
          found_rows& found) {
  Relation const index = open_index_of_ours(due_index, RowExclusiveLock);
  TupleTableSlot* const slot = table_slot_create(table.relation(), nullptr);
  Datum const kind_key = PointerGetDatum(cstring_to_text_with_len(kind.data(), static_cast<int>(kind.size())));
  ScanKeyData keys[3];
  ScanKeyEntryInitialize(&keys[0], 0, 1, BTEqualStrategyNumber, TEXTOID, C_COLLATION_OID, F_TEXTEQ, kind_key);
  ScanKeyEntryInitialize(&keys[1], 0, 2, BTLessEqualStrategyNumber, TIMESTAMPTZOID, InvalidOid, timestamptz_le,
                         TimestampTzGetDatum(clock));
  ScanKeyEntryInitialize(&keys[2], 0, 2, BTGreaterEqualStrategyNumber, TIMESTAMPTZOID, InvalidOid, timestamptz_ge,
                         TimestampTzGetDatum(from));
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  IndexScanDesc const opened = compat::index_begin(table.relation(), index, &dirty, 3);
  index_rescan(opened, keys, 3, nullptr, 0);
  while (found.count < limit && index_getnext_slot(opened, ForwardScanDirection, slot)) {
    CHECK_FOR_INTERRUPTS();
    bool null;
    instant const due = DatumGetTimestampTz(slot_getattr(slot, control_due_at, &null));
    if (due == from && ItemPointerIsValid(&after) && ItemPointerCompare(&slot->tts_tid, &after) <= 0) continue;
    found.last = due;
    found.last_row = slot->tts_tid;
    found.first = std::min(found.first, found.last);
    if (TransactionIdIsValid(dirty.xmin) || TransactionIdIsValid(dirty.xmax) || is_held(slot, clock)) continue;
    HeapTuple const row = table.lock_in_leaf(&slot->tts_tid, &dirty, lock_wait::skip);
    if (row != nullptr) found.rows[found.count++] = row;
  }
  index_endscan(opened);
  ExecDropSingleTupleTableSlot(slot);
  index_close(index, NoLock);
}

}  // namespace

// A transaction does not see what it has itself replaced, but a rollback brings that back: only one that has replaced
// nothing yet, before this call and in it, can tell what is gone for good.
due_scan::due_scan(std::string_view kind, std::int64_t generation) noexcept
    : kind_(kind), generation_(generation), may_move_mark_(!TransactionIdIsValid(GetTopTransactionIdIfAny())) {
  ItemPointerSetInvalid(&after_);
}

bounded<locked_control> due_scan::lock_next(instant clock, int limit) {
  own_table& table = controls();
  Oid const table_id = RelationGetRelid(table.relation());
  bool const is_first = !from_;
  bool const may_move = is_first && may_move_mark_ && !table.has_replaced();
  due_mark mark{};
  if (is_first) {
    mark = read_due_mark(kind_, generation_, table_id);
    from_ = mark.from;
  }
  found_rows found;
  found.count = 0;
  found.first = instant_max;
  found.last = *from_;
  found.last_row = after_;
  call([&] {
    CommandCounterIncrement();
    scan(table, kind_, *from_, after_, clock, limit, found);
  });
  if (may_move)
    advance_due_mark(kind_, generation_, table_id, mark, clock, std::min(found.first, clock));
  from_ = found.last;
  after_ = found.last_row;
  bounded<locked_control> locked;
  for (int at = 0; at < found.count; ++at) locked.push_back(read_locked(found.rows[at]));
  return locked;
}

}  // namespace ql3::pg
