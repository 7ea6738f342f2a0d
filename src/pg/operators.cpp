// ql3_release, ql3_release_page and ql3_park.
#include <algorithm>
#include <tuple>

#include "audit.hpp"
#include "control_rows.hpp"
#include "result_set.hpp"
#include "session.hpp"

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

// What to release: a live claim ends by itself or is parked, and what is available has nothing to release.
bool can_release(const operator_request& request, const std::optional<locked_control>& row) {
  if (!row) require_known_kind(request.kind);
  return row && row->control.version == request.version && row->control.st != state::claimed &&
         row->control.st != state::available;
}

void make_available(const locked_control& row, instant clock) {
  end_claim(row,
            {state::available, {}, clock, 0, row.ended_digest, row.ended_result.value_or(std::string_view{}), {}});
}

void audit_release(const operator_request& request, const locked_control& row) {
  audit_change("release", request, state_json(to_text(row.control.st), row.control.version, row.control.failure_count),
               state_json(to_text(state::available), row.control.version, 0));
}

std::string_view release_one(const operator_request& request) {
  std::optional<locked_control> const row = lock_waiting(request.kind, request.id);
  if (!can_release(request, row)) return stale;
  make_available(*row, clock_now());
  audit_release(request, *row);
  return "released";
}

bounded<operator_request> read_operator_page(const arguments& given) {
  bounded<std::string_view> const kinds = given.texts(0, "kinds");
  bounded<std::string_view> const ids = given.texts(1, "ids");
  bounded<std::int64_t> const versions = given.numbers(2, "versions");
  std::string_view const reason = given.reason(3);
  auto const size = static_cast<std::int64_t>(kinds.size());
  check_same_length(static_cast<std::int64_t>(ids.size()), "ids", size, "kinds");
  check_same_length(static_cast<std::int64_t>(versions.size()), "versions", size, "kinds");
  bounded<operator_request> requests;
  for (std::size_t at = 0; at < kinds.size(); ++at) {
    check_kind(kinds[at], "kinds");
    check_id(ids[at], "ids");
    requests.push_back({kinds[at], ids[at], versions[at], reason});
  }
  return requests;
}

// Rows are locked in key order and before the audit chain, so that two pages never deadlock. A target that is named
// twice is released once.
bounded<bool> release_all(const bounded<operator_request>& requests) {
  bounded<int> by_key;
  for (std::size_t at = 0; at < requests.size(); ++at) by_key.push_back(static_cast<int>(at));
  auto key = [&](int at) { return std::tie(requests[at].kind, requests[at].id); };
  std::stable_sort(by_key.begin(), by_key.end(), [&](int a, int b) { return key(a) < key(b); });
  bounded<bool> released(requests.size(), false);
  bounded<std::optional<locked_control>> locked(requests.size());
  for (int at : by_key) {
    check_for_interrupts();
    locked[at] = lock_waiting(requests[at].kind, requests[at].id);
  }
  instant const clock = clock_now();
  int done = -1;  // the position released last
  for (int at : by_key) {
    if (done >= 0 && key(done) == key(at)) continue;
    if (!can_release(requests[at], locked[at])) continue;
    make_available(*locked[at], clock);
    released[at] = true;
    done = at;
  }
  for (int at : by_key)
    if (released[at]) audit_release(requests[at], *locked[at]);
  return released;
}

Datum release_page(FunctionCallInfo fcinfo) {
  require_writable("ql3_release_page");
  bounded<operator_request> const requests = read_operator_page(arguments(fcinfo));
  result_set result(fcinfo);
  in_session([&] {
    bounded<bool> const released = release_all(requests);
    for (std::size_t at = 0; at < requests.size(); ++at)
      result_row()
          .number32(static_cast<std::int32_t>(at) + 1).text(requests[at].kind).text(requests[at].id)
          .text(released[at] ? "released" : stale).into(result);
  });
  return Datum(0);
}

// A target that was never claimed has no row yet; observe shows it with version 0.
std::string_view park_unknown(const operator_request& request) {
  require_known_kind(request.kind);
  std::optional<source> const from = source_of(request.kind);
  if (!from || request.version != 0) return stale;
  source_reader reader(*from);
  wanted_row wanted{request.id, {}, false, {}};
  reader.look_up(&wanted, 1);
  if (!wanted.listed) return stale;
  ending how{};
  how.st = state::manual;
  how.detail = request.reason;
  if (!insert_unclaimed(request.kind, wanted.now, how)) return stale;
  audit_change("park", request, state_json(to_text(state::available), 0, 0), state_json(to_text(state::manual), 0, 0));
  return "parked";
}

std::string_view park_one(const operator_request& request) {
  std::optional<locked_control> const row = lock_waiting(request.kind, request.id);
  if (!row) return park_unknown(request);
  if (row->control.version != request.version) return stale;
  end_claim(*row,
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
QL3_FUNCTION(ql3_release_page, ql3::pg::release_page)
QL3_FUNCTION(ql3_park, ql3::pg::park)
