#include "lineage.hpp"

#include "audit.hpp"
#include "compat.hpp"
#include "durability.hpp"
#include "result_set.hpp"
#include "session.hpp"
#include "try_lock.hpp"

extern "C" {
#include "utils/fmgrprotos.h"
}

namespace ql3::pg {

namespace {

enum after_promotion : int { after_promotion_halt, after_promotion_allow };
int dispatch_after_promotion = after_promotion_halt;

constexpr config_enum_entry after_promotion_words[] = {
    {"halt", after_promotion_halt, false}, {"allow", after_promotion_allow, false}, {nullptr, 0, false}};

#define QL3_IS_LIVE(ROW) \
  ROW ".system_identifier = $1 AND " ROW ".timeline = $2 AND " ROW ".database = $3 AND " ROW ".installation = $4"

constinit statement insert_lineage{
    "INSERT INTO ql3.dispatch_lineage (lineage, system_identifier, timeline, database, installation, seen_at)"
    " VALUES ($5, $1, $2, $3, $4, $6) ON CONFLICT ON CONSTRAINT dispatch_lineage_key DO NOTHING",
    TEXTOID,
    INT8OID,
    OIDOID,
    UUIDOID,
    UUIDOID,
    TIMESTAMPTZOID};

// A lineage that is neither the live one nor covered by a confirmation made on the live one.
constinit statement unconfirmed{
    "SELECT l.timeline FROM ql3.dispatch_lineage AS l WHERE NOT (" QL3_IS_LIVE("l") ")"
    "   AND NOT EXISTS (SELECT FROM ql3.dispatch_confirmations AS c"
    "                     JOIN ql3.dispatch_lineage AS made ON made.lineage = c.lineage"
    "                    WHERE " QL3_IS_LIVE("made") " AND l.lineage = ANY (c.covered))"
    " LIMIT 1",
    TEXTOID, INT8OID, OIDOID, UUIDOID};

constinit statement insert_confirmation{
    "INSERT INTO ql3.dispatch_confirmations (lineage, covered, method, reason, actor, confirmed_at)"
    " SELECT $1, ARRAY(SELECT l.lineage FROM ql3.dispatch_lineage AS l WHERE l.lineage <> $1), $2, $3, $4, $5",
    UUIDOID,
    TEXTOID,
    TEXTOID,
    TEXTOID,
    TIMESTAMPTZOID};

constinit statement insert_halt{
    "INSERT INTO ql3.dispatch_halts (halt, reason, actor, halted_at) VALUES ($1, $2, $3, $4)", UUIDOID, TEXTOID,
    TEXTOID, TIMESTAMPTZOID};

constinit statement end_halt{
    "UPDATE ql3.dispatch_halts SET ended_at = $2, ended_by = $3, ended_reason = $4 WHERE halt = $1 AND ended_at IS "
    "NULL",
    UUIDOID, TIMESTAMPTZOID, TEXTOID, TEXTOID};

params live_params(const live_lineage& live) {
  params to;
  to.text(live.system_identifier)
      .number(live.timeline)
      .add(ObjectIdGetDatum(live.database))
      .add(uuid_datum(live.installation));
  return to;
}

// The tables here have a handful of rows, which every permission reads: without a statement.

// Hands the rows of a table to `each`, in no order. REQUIRES: inside a leaf.
template <class Each>
void each_row(const char* name, Snapshot snapshot, Each each) {
  Relation const table = table_open(member_of_ours(name), AccessShareLock);
  TupleTableSlot* const slot = table_slot_create(table, nullptr);
  TableScanDesc const scan = compat::table_begin(table, snapshot);
  while (table_scan_getnextslot(scan, ForwardScanDirection, slot)) each(slot);
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
  table_close(table, AccessShareLock);
}

enum lineage_column : int { lineage_id = 1, lineage_system, lineage_timeline, lineage_database, lineage_installation };

// REQUIRES: inside a leaf.
uuid_value uuid_at(TupleTableSlot* row, int column) {
  bool null;
  uuid_value read;
  memcpy(read.bytes, DatumGetUUIDP(slot_getattr(row, column, &null))->data, sizeof read.bytes);
  return read;
}

bool is_live(TupleTableSlot* row, const live_lineage& live) {
  bool null;
  return text_of(slot_getattr(row, lineage_system, &null)) == live.system_identifier &&
         DatumGetInt64(slot_getattr(row, lineage_timeline, &null)) == live.timeline &&
         DatumGetObjectId(slot_getattr(row, lineage_database, &null)) == live.database &&
         uuid_at(row, lineage_installation) == live.installation;
}

bool read_installation(uuid_value& installation) {
  Snapshot const snapshot = fresh_snapshot();
  bool const found = call([&] {
    bool any = false;
    each_row("installation", snapshot, [&](TupleTableSlot* row) {
      installation = uuid_at(row, 1);
      any = true;
    });
    return any;
  });
  release_snapshot(snapshot);
  return found;
}

struct lineage_rows {
  bool has_live;
  uuid_value live;
  bool has_others;
};

lineage_rows read_rows(const live_lineage& live) {
  Snapshot const snapshot = fresh_snapshot();
  lineage_rows const found = call([&] {
    lineage_rows read{};
    each_row("dispatch_lineage", snapshot, [&](TupleTableSlot* row) {
      if (is_live(row, live)) {
        read.live = uuid_at(row, lineage_id);
        read.has_live = true;
      } else {
        read.has_others = true;
      }
    });
    return read;
  });
  release_snapshot(snapshot);
  return found;
}

bool has_standing_halt() {
  Snapshot const snapshot = fresh_snapshot();
  bool const standing = call([&] {
    Relation const table = table_open(member_of_ours("dispatch_halts"), AccessShareLock);
    // Only halts that stand are in this one.
    Relation const index = open_index_of_ours("dispatch_halts_standing_idx", AccessShareLock);
    TupleTableSlot* const slot = table_slot_create(table, nullptr);
    IndexScanDesc const scan = compat::index_begin(table, index, snapshot, 0);
    index_rescan(scan, nullptr, 0, nullptr, 0);
    bool const any = index_getnext_slot(scan, ForwardScanDirection, slot);
    index_endscan(scan);
    ExecDropSingleTupleTableSlot(slot);
    index_close(index, AccessShareLock);
    table_close(table, AccessShareLock);
    return any;
  });
  release_snapshot(snapshot);
  return standing;
}

Datum live_lineage_row(FunctionCallInfo fcinfo) {
  if (RecoveryInProgress()) {
    fcinfo->isnull = true;
    return Datum(0);
  }
  live_lineage const live = in_session([] { return read_live_lineage(); });
  // The system identifier is read again: the session's memory is gone.
  char identifier[24];
  pg_snprintf(identifier, sizeof identifier, UINT64_FORMAT, GetSystemIdentifier());
  Datum values[4] = {text_datum(identifier), Int32GetDatum(static_cast<std::int32_t>(live.timeline)),
                     ObjectIdGetDatum(live.database), uuid_datum(live.installation)};
  return call([&] {
    TupleDesc descriptor;
    if (get_call_result_type(fcinfo, nullptr, &descriptor) != TYPEFUNC_COMPOSITE)
      elog(ERROR, "return type of ql3_live_lineage is not a row type");
    bool nulls[4] = {false, false, false, false};
    return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
  });
}

Datum confirm_promotion(FunctionCallInfo fcinfo) {
  require_writable("ql3_confirm_promotion");
  arguments const given(fcinfo);
  std::string_view const identifier = given.text(0, "system_identifier");
  std::int64_t const timeline = given.number32(1, "timeline");
  std::string_view const method = given.text(2, "method");
  if (method != "synchronous" && method != "drained")
    throw error(sqlstate::invalid_parameter, (message_text<256>() << "unknown method " << quoted{method}).view(),
                "The methods are synchronous and drained; docs/dispatch.md says what each asserts.");
  std::string_view const reason = given.reason(3);
  bool const confirmed = in_session([&] {
    bound_transaction();
    force_synchronous_commit();
    live_lineage const live = read_live_lineage();
    if (identifier != live.system_identifier || timeline != live.timeline) return false;
    uuid_value const row = ensure_lineage_row(live);
    instant const now = clock_now();
    insert_confirmation.write_one(
        params().add(uuid_datum(row)).text(method).text(reason).text(acting_user()).time(now));
    message_text<128> asserted;
    asserted << "{\"system_identifier\": \"" << live.system_identifier << "\", \"timeline\": " << live.timeline
             << ", \"method\": \"" << method << "\"}";
    audit({"confirm_promotion", {}, {}, reason, {}, asserted.view()});
    return true;
  });
  return text_datum(std::string_view(confirmed ? "confirmed" : "stale"));
}

Datum halt_dispatch(FunctionCallInfo fcinfo) {
  require_writable("ql3_halt_dispatch");
  std::string_view const reason = arguments(fcinfo).reason(0);
  uuid_value const halt = random_uuid();
  in_session([&] {
    bound_transaction();
    force_synchronous_commit();
    wait_transaction_lock(lock_space::halt, 0);
    insert_halt.write_one(params().add(uuid_datum(halt)).text(reason).text(acting_user()).time(clock_now()));
    audit({"halt_dispatch", {}, uuid_text(halt), reason, {}, "{\"halts\": true}"});
  });
  return uuid_datum(halt);
}

Datum unhalt_dispatch(FunctionCallInfo fcinfo) {
  require_writable("ql3_unhalt_dispatch");
  arguments const given(fcinfo);
  uuid_value const halt = uuid_of(given.datum(0, "halt"));
  std::string_view const reason = given.reason(1);
  bool const ended = in_session([&] {
    bound_transaction();
    force_synchronous_commit();
    if (end_halt.write(params().add(uuid_datum(halt)).time(clock_now()).text(acting_user()).text(reason)) == 0)
      return false;
    audit({"unhalt_dispatch", {}, uuid_text(halt), reason, "{\"halts\": true}", "{\"halts\": false}"});
    return true;
  });
  return text_datum(std::string_view(ended ? "confirmed" : "stale"));
}

}  // namespace

uuid_value uuid_of(Datum value) {
  uuid_value read;
  std::memcpy(read.bytes, DatumGetUUIDP(value)->data, sizeof read.bytes);
  return read;
}

Datum uuid_datum(const uuid_value& value) {
  return call([&] {
    auto* copy = static_cast<pg_uuid_t*>(palloc(sizeof(pg_uuid_t)));
    memcpy(copy->data, value.bytes, sizeof value.bytes);
    return UUIDPGetDatum(copy);
  });
}

uuid_value random_uuid() {
  uuid_value made;
  std::memcpy(made.bytes, random_token().bytes, sizeof made.bytes);
  return made;
}

std::string_view uuid_text(const uuid_value& value) {
  Datum const datum = uuid_datum(value);
  return call([&] { return std::string_view(DatumGetCString(DirectFunctionCall1(uuid_out, datum))); });
}

live_lineage read_live_lineage() {
  live_lineage live{};
  char identifier[24];
  pg_snprintf(identifier, sizeof identifier, UINT64_FORMAT, GetSystemIdentifier());
  live.system_identifier = keep_text(identifier);
  live.timeline = live_timeline();
  live.database = MyDatabaseId;
  if (!read_installation(live.installation))
    throw error(sqlstate::internal_error, "ql3.installation is empty", "The extension was tampered with.");
  lineage_rows const known = read_rows(live);
  if (known.has_live) live.row = known.live;
  live.has_others = known.has_others;
  return live;
}

uuid_value ensure_lineage_row(const live_lineage& live) {
  if (live.row) return *live.row;
  insert_lineage.write(live_params(live).add(uuid_datum(random_uuid())).time(clock_now()));
  lineage_rows const found = read_rows(live);
  if (!found.has_live)
    throw error(sqlstate::lock_not_available, "another session is recording the lineage", "Repeat the call.");
  return found.live;
}

std::optional<halt_reason> halted(const live_lineage& live) {
  if (has_standing_halt())
    return halt_reason{"dispatch is halted by an operator",
                       "ql3.ql3_unhalt_dispatch(halt, reason) ends it; the view ql3.dispatch_halted shows its id."};
  if (dispatch_after_promotion == after_promotion_allow || !live.has_others) return std::nullopt;
  rows const gap = unconfirmed.run(live_params(live));
  if (gap.empty()) return std::nullopt;
  message_text<512> hint;
  hint
      << "Commits of an earlier history may be missing here. When that is ruled out: SELECT ql3.ql3_confirm_promotion('"
      << live.system_identifier << "', " << live.timeline
      << ", method, reason); docs/dispatch.md says what each method asserts.";
  return halt_reason{"dispatch is halted: this database was promoted or restored", keep_text(hint.view())};
}

void define_lineage_settings() {
  DefineCustomEnumVariable(
      "ql3.dispatch_after_promotion", "What a dispatch does after a promotion or restore that may have lost commits.",
      "halt: nothing new until ql3_confirm_promotion; allow: go on (a second call is possible).",
      &dispatch_after_promotion, after_promotion_halt, after_promotion_words, PGC_SUSET, 0, nullptr, nullptr, nullptr);
}

}  // namespace ql3::pg

QL3_FUNCTION(ql3_live_lineage, ql3::pg::live_lineage_row)
QL3_FUNCTION(ql3_confirm_promotion, ql3::pg::confirm_promotion)
QL3_FUNCTION(ql3_halt_dispatch, ql3::pg::halt_dispatch)
QL3_FUNCTION(ql3_unhalt_dispatch, ql3::pg::unhalt_dispatch)
