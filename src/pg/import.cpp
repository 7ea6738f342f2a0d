// ql3_import: where targets stood in somebody else's table.
#include "audit.hpp"
#include "control_rows.hpp"
#include "result_set.hpp"
#include "session.hpp"

extern "C" {
#include "utils/json.h"
}

namespace ql3::pg {

namespace {

struct import_request {
  std::string_view kind;
  bounded<std::string_view> ids;
  bounded<state> states;
  bounded<std::int32_t> failure_counts;
  std::string_view reason;
};

void read_states(const arguments& given, import_request& to) {
  bounded<std::string_view> const words = given.texts(2, "states");
  check_same_length(static_cast<std::int64_t>(words.size()), "states", static_cast<std::int64_t>(to.ids.size()), "ids");
  for (std::string_view word : words) {
    std::optional<state> const known = parse_state(word);
    if (!known)
      throw error(sqlstate::invalid_parameter, (message_text<256>() << "unknown state " << quoted{word}).view(),
                  "The states are available, claimed, retry, manual and resolved.");
    to.states.push_back(*known);
  }
}

void read_counts(const arguments& given, import_request& to) {
  to.failure_counts = given.numbers32(3, "failure_counts");
  check_same_length(static_cast<std::int64_t>(to.failure_counts.size()), "failure_counts",
                    static_cast<std::int64_t>(to.ids.size()), "ids");
  for (std::int32_t count : to.failure_counts) check_failure_count(count);
}

// A claim of the other table is nobody's here, but its holder may still be at work: it is offered when the longest
// lease is over. A retry has waited elsewhere; resolved is offered as long as it is listed.
ending standing_of(state was, std::int32_t failure_count, std::string_view reason, instant clock) {
  ending how{};
  how.failure_count = failure_count;
  how.detail = reason;
  how.st = was;
  switch (was) {
    case state::manual: return how;
    case state::claimed:
      how.st = state::retry;
      how.next_claim_at = later(clock, lease_max);
      break;
    case state::retry:
    case state::resolved:
      how.next_claim_at = clock;
      break;
    case state::available:
      break;
  }
  how.due_at = how.next_claim_at.value_or(clock);
  return how;
}

std::string_view import_one(const import_request& request, std::size_t at, wanted_row& wanted, instant clock) {
  state const was = request.states[at];
  if (!wanted.listed) {
    // What is parked stays parked also while its source does not list it; of the others nothing is left to know.
    if (was != state::manual) return read_control(request.kind, wanted.id) ? "known" : "not_listed";
    wanted.now.id = wanted.id;
    wanted.now.run_id = wanted.id;
    wanted.now.lost_at = clock;
  }
  ending const how = standing_of(was, request.failure_counts[at], request.reason, clock);
  return insert_unclaimed(request.kind, wanted.now, how) ? "imported" : "known";
}

// Which targets were taken over, with the state each came with.
std::string_view imported_json(const import_request& request, const bounded<std::string_view>& results) {
  return call([&] {
    StringInfoData json;
    initStringInfo(&json);
    appendStringInfoChar(&json, '{');
    for (std::size_t at = 0; at < results.size(); ++at) {
      if (results[at] != "imported") continue;
      if (json.len > 1) appendStringInfoString(&json, ", ");
      escape_json(&json, request.ids[at].data());
      appendStringInfoString(&json, ": ");
      escape_json(&json, to_text(request.states[at]).data());
    }
    appendStringInfoChar(&json, '}');
    return std::string_view(json.data, static_cast<std::size_t>(json.len));
  });
}

bounded<std::string_view> import_all(const import_request& request) {
  std::optional<source> const from = source_of(request.kind);
  if (!from)
    throw error(sqlstate::undefined_object,
                (message_text<256>() << "no source is attached for kind " << quoted{request.kind}).view(),
                "ql3.ql3_attach_source(kind, relation) attaches one.");
  bounded<wanted_row> wanted;
  for (std::string_view id : request.ids) wanted.push_back({id, {}, false, {}});
  source_reader reader(*from);
  reader.look_up(wanted.data(), static_cast<int>(wanted.size()));
  if (reader.is_blind())
    throw error(sqlstate::not_in_prerequisite_state,
                (message_text<512>() << "source of kind " << quoted{request.kind} << " cannot be read: "
                                     << reader.why().message).view());
  bounded<std::string_view> results;
  bool any = false;
  for (std::size_t at = 0; at < request.ids.size(); ++at) {
    check_for_interrupts();
    results.push_back(import_one(request, at, wanted[at], clock_now()));
    any = any || results[at] == "imported";
  }
  if (any) audit({"import", request.kind, {}, request.reason, {}, imported_json(request, results)});
  return results;
}

Datum import(FunctionCallInfo fcinfo) {
  require_writable("ql3_import");
  arguments const given(fcinfo);
  import_request request{};
  request.kind = given.text(0, "kind");
  check_source_kind(request.kind);
  request.ids = given.texts(1, "ids");
  for (std::string_view& id : request.ids) {
    check_id(id, "ids");
    id = keep_text(id);
  }
  read_states(given, request);
  read_counts(given, request);
  request.reason = given.reason(4);
  result_set result(fcinfo);
  in_session([&] {
    bounded<std::string_view> const results = import_all(request);
    for (std::size_t at = 0; at < results.size(); ++at)
      result_row().number32(static_cast<std::int32_t>(at) + 1).text(request.kind).text(request.ids[at])
          .text(results[at]).into(result);
  });
  return Datum(0);
}

}  // namespace

}  // namespace ql3::pg

QL3_FUNCTION(ql3_import, ql3::pg::import)
