#include "control_peek.hpp"

#include "compat.hpp"

namespace ql3::pg {

namespace {

struct raw_row {
  presence there;
  Datum state, run_id, status;
  control_view control;
  instant lost_at;
  bool no_status;
};

}  // namespace

control_peek::control_peek() {
  call([&] {
    Oid const schema = get_namespace_oid("ql3", false);
    Oid const table = get_relname_relid("run_recovery_controls", schema);
    Oid const index = get_relname_relid("run_recovery_controls_pkey", schema);
    if (!OidIsValid(table) || !OidIsValid(index)) elog(ERROR, "the tables of ql3 are incomplete");
    table_ = table_open(table, RowExclusiveLock);
    index_ = index_open(index, RowExclusiveLock);
    slot_ = table_slot_create(table_, nullptr);
    state_ = get_attnum(table, "state");
    run_id_ = get_attnum(table, "run_id");
    status_ = get_attnum(table, "status");
    lost_at_ = get_attnum(table, "lost_at");
    expires_at_ = get_attnum(table, "expires_at");
    next_claim_at_ = get_attnum(table, "next_claim_at");
    version_ = get_attnum(table, "version");
    failure_count_ = get_attnum(table, "failure_count");
  });
}

void control_peek::close() {
  call([&] {
    ExecDropSingleTupleTableSlot(slot_);
    index_close(index_, NoLock);
    table_close(table_, NoLock);
  });
}

peeked control_peek::look(std::string_view kind, std::string_view id) {
  Datum const kind_key = text_datum(kind);
  Datum const id_key = text_datum(id);
  raw_row const raw = call([&] {
    raw_row read{};
    read.there = presence::absent;
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    ScanKeyData keys[2];
    ScanKeyEntryInitialize(&keys[0], 0, 1, BTEqualStrategyNumber, TEXTOID, C_COLLATION_OID, F_TEXTEQ, kind_key);
    ScanKeyEntryInitialize(&keys[1], 0, 2, BTEqualStrategyNumber, TEXTOID, C_COLLATION_OID, F_TEXTEQ, id_key);
    IndexScanDesc scan = compat::index_begin(table_, index_, &dirty, 2);
    index_rescan(scan, keys, 2, nullptr, 0);
    if (index_getnext_slot(scan, ForwardScanDirection, slot_)) {
      if (TransactionIdIsValid(dirty.xmin) || TransactionIdIsValid(dirty.xmax)) {
        read.there = presence::in_progress;
      } else {
        read.there = presence::committed;
        bool ignored;
        read.state = slot_getattr(slot_, state_, &ignored);
        read.run_id = slot_getattr(slot_, run_id_, &ignored);
        read.status = slot_getattr(slot_, status_, &read.no_status);
        read.lost_at = DatumGetTimestampTz(slot_getattr(slot_, lost_at_, &ignored));
        bool null;
        Datum value = slot_getattr(slot_, expires_at_, &null);
        read.control.has_expires = !null;
        if (!null) read.control.expires_at = DatumGetTimestampTz(value);
        value = slot_getattr(slot_, next_claim_at_, &null);
        read.control.has_next = !null;
        if (!null) read.control.next_claim_at = DatumGetTimestampTz(value);
        read.control.version = DatumGetInt64(slot_getattr(slot_, version_, &ignored));
        read.control.failure_count = DatumGetInt32(slot_getattr(slot_, failure_count_, &ignored));
        // The slot's buffer is let go below: copy what points into it.
        read.state = datumCopy(read.state, false, -1);
        read.run_id = datumCopy(read.run_id, false, -1);
        if (!read.no_status) read.status = datumCopy(read.status, false, -1);
      }
      ExecClearTuple(slot_);
    }
    index_endscan(scan);
    return read;
  });
  peeked result{};
  result.there = raw.there;
  if (raw.there != presence::committed) return result;
  std::optional<state> const known = parse_state(text_of(raw.state));
  if (!known) throw error(sqlstate::internal_error, "unknown state in ql3.run_recovery_controls");
  result.control = raw.control;
  result.control.st = *known;
  result.run_id = text_of(raw.run_id);
  if (!raw.no_status) result.status = text_of(raw.status);
  result.lost_at = raw.lost_at;
  return result;
}

}  // namespace ql3::pg
