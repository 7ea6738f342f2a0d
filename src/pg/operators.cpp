// ql3_release and ql3_park.
#include "audit.hpp"
#include "control_peek.hpp"
#include "control_rows.hpp"
#include "session.hpp"
#include "try_lock.hpp"

namespace ql3::pg {

namespace {

constexpr std::string_view stale = "stale";

struct operator_request {
  std::string_view kind;
  std::string_view id;
  std::int64_t version;
  std::string_view reason;
};

operator_request read_operator_request(const arguments& given) {
  operator_request request{};
  request.kind = given.kind(0);
  request.id = given.id(1);
  request.version = given.number(2, "version");
  request.reason = given.reason(3);
  return request;
}

std::string_view state_json(std::string_view st, std::int64_t version, std::int32_t failure_count) {
  message_text<160> text;
  text << "{\"state\": \"" << st << "\", \"version\": " << version << ", \"failure_count\": " << failure_count << "}";
  return keep_text(text.view());
}

void audit_change(std::string_view action, const operator_request& request, std::string_view before,
                  std::string_view after) {
  audit({action, request.kind, request.id, request.reason, before, after});
}

std::string_view release_one(const operator_request& request) {
  std::optional<locked_control> const row = lock_waiting(request.kind, request.id);
  if (!row) require_known_kind(request.kind);
  if (!row || row->control.version != request.version) return stale;
  // A live claim ends by itself or is parked; what is available has nothing to release.
  if (row->control.st == state::claimed || row->control.st == state::available) return stale;
  instant const clock = clock_now();
  end_claim(request.kind, request.id, {state::available, {}, clock, 0, row->ended_digest,
                                       row->ended_result.value_or(std::string_view{}), {}});
  audit_change("release", request,
               state_json(to_text(row->control.st), row->control.version, row->control.failure_count),
               state_json(to_text(state::available), row->control.version, 0));
  return "released";
}

constinit statement insert_parked{
    "INSERT INTO ql3.run_recovery_controls (kind, id, state, run_id, status, created_at, lost_at, observed_at, version,"
    "  failure_count, detail) VALUES ($1, $2, 'manual', $3, $4, $5, $6, $7, 0, 0, $8)",
    TEXTOID, TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID};

// A target that was never claimed has no row yet; observe shows it with version 0.
std::string_view park_unknown(const operator_request& request) {
  require_known_kind(request.kind);
  std::optional<source> const from = source_of(request.kind);
  if (!from || request.version != 0) return stale;
  brief_lock key(lock_space::target, lock_key(request.kind, request.id));
  control_peek peek;
  bool const absent = key.held() && peek.look(request.kind, request.id).there == presence::absent;
  peek.close();
  if (!absent) {
    key.release();
    return stale;
  }
  source_reader reader(*from);
  wanted_row wanted{request.id, {}, false, {}};
  reader.look_up(&wanted, 1);
  if (wanted.listed) {
    const facts& now = wanted.now;
    insert_parked.write(params().text(request.kind).text(request.id).text(now.run_id).text(now.status)
                            .time(now.created_at).time(now.lost_at).time(statement_time()).text(request.reason));
  }
  key.release();
  if (!wanted.listed) return stale;
  audit_change("park", request, state_json(to_text(state::available), 0, 0), state_json(to_text(state::manual), 0, 0));
  return "parked";
}

std::string_view park_one(const operator_request& request) {
  std::optional<locked_control> const row = lock_waiting(request.kind, request.id);
  if (!row) return park_unknown(request);
  if (row->control.version != request.version) return stale;
  end_claim(request.kind, request.id,
            {state::manual, {}, {}, row->control.failure_count, row->ended_digest,
             row->ended_result.value_or(std::string_view{}), request.reason});
  audit_change("park", request, state_json(to_text(row->control.st), row->control.version, row->control.failure_count),
               state_json(to_text(state::manual), row->control.version, row->control.failure_count));
  return "parked";
}

template <class One>
Datum as_operator(FunctionCallInfo fcinfo, const char* name, One&& one) {
  require_writable(name);
  operator_request const request = read_operator_request(arguments(fcinfo));
  return text_datum(in_session([&] { return one(request); }));
}

Datum release(FunctionCallInfo fcinfo) { return as_operator(fcinfo, "ql3_release", release_one); }
Datum park(FunctionCallInfo fcinfo) { return as_operator(fcinfo, "ql3_park", park_one); }

}  // namespace

}  // namespace ql3::pg

QL3_FUNCTION(ql3_release, ql3::pg::release)
QL3_FUNCTION(ql3_park, ql3::pg::park)
