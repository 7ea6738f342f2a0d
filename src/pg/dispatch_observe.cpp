// ql3_dispatch_observe, ql3_dispatch_override and ql3_dispatch_record.
#include "audit.hpp"
#include "dispatch_rows.hpp"
#include "durability.hpp"
#include "result_set.hpp"
#include "session.hpp"

namespace ql3::pg {

namespace {

void add_attempt(result_set& result, const item_name& name, const attempt_row& row,
                 const std::optional<token>& with) {
  dispatch_state const st = state_of(row.facts);
  auto word = [](const fact& value) {
    return value ? std::optional<std::string_view>(to_text(*value))
                 : std::optional<std::string_view>();
  };
  bool const decided = st != dispatch_state::claimed && st != dispatch_state::released;
  // Several attempts that all stand for one item cannot all be right.
  bool const conflict =
      facts_disagree(row.facts) || (st != dispatch_state::released && count_unreleased(name) > 1);
  result_row out;
  out.value(uuid_datum(row.attempt))
      .text(to_text(st))
      .boolean(with && st == dispatch_state::claimed && same_digest(row.token_digest, with->digest))
      .boolean(row.facts.permitted);
  out.text(decided ? std::optional<std::string_view>(to_text(st))
                   : std::optional<std::string_view>());
  out.text(word(row.facts.writer))
      .text(word(row.facts.judged))
      .text(word(row.facts.overridden))
      .boolean(conflict)
      .text(row.action);
  if (row.arguments)
    out.value(*row.arguments);
  else
    out.null();
  out.text(row.writer)
      .time(row.claimed_at)
      .time(row.permitted_at)
      .time(row.concluded_at)
      .text(row.detail)
      .into(result);
}

Datum dispatch_observe(FunctionCallInfo fcinfo) {
  arguments const given(fcinfo);
  item_name const name = read_item(given);
  std::optional<token> with;
  if (!given.is_null(2)) with = read_token(given, 2);
  result_set result(fcinfo);
  in_reading_session([&] {
    std::optional<attempt_row> row;
    if (with) {
      row = attempt_of_token(name, with->digest);
    } else {
      row = unreleased_attempt(name);
      if (!row) row = latest_attempt(name);
    }
    if (row) add_attempt(result, name, *row, with);
  });
  return Datum(0);
}

std::string_view state_json(dispatch_state st) {
  message_text<64> text;
  text << "{\"state\": \"" << to_text(st) << "\"}";
  return keep_text(text.view());
}

Datum dispatch_override(FunctionCallInfo fcinfo) {
  require_writable("ql3_dispatch_override");
  arguments const given(fcinfo);
  uuid_value const attempt = uuid_of(given.datum(0, "attempt"));
  std::string_view const expected_word = given.text(1, "expected_state");
  std::optional<dispatch_state> const expected = parse_dispatch_state(expected_word);
  if (!expected)
    throw error(sqlstate::invalid_parameter,
                (message_text<256>() << "unknown state " << quoted{expected_word}).view(),
                "The states are claimed, succeeded, failed, unknown, not_sent and released.");
  outcome const value = read_outcome(given.text(2, "outcome"), true);
  std::string_view const reason = given.reason(3);
  bool const recorded = in_session([&] {
    bound_transaction();
    force_synchronous_commit();
    std::optional<item_name> const name = item_of_attempt(attempt);
    if (!name) return false;
    lock_item(*name);
    std::optional<attempt_row> row = attempt_by_id(attempt);
    if (!row || state_of(row->facts) != *expected || !override_attempt(row->facts, value))
      return false;
    if (!row->concluded_at) row->concluded_at = clock_now();
    row->detail = reason;
    update_attempt(*name, *row);
    audit({"override", dispatch_kind, uuid_text(attempt), reason, state_json(*expected),
           state_json(state_of(row->facts))});
    return true;
  });
  return text_datum(std::string_view(recorded ? "recorded" : "stale"));
}

Datum dispatch_record(FunctionCallInfo fcinfo) {
  require_writable("ql3_dispatch_record");
  arguments const given(fcinfo);
  item_name const name = read_item(given);
  identity const what = read_identity(given, 2, 3);
  outcome const value = read_outcome(given.text(4, "outcome"), false);
  std::string_view const reason = given.reason(5);
  bool const recorded = in_session([&] {
    bound_transaction();
    force_synchronous_commit();
    lock_item(name);
    if (unreleased_attempt(name)) return false;
    if (std::optional<std::string_view> const key = difference_from_known(name, what))
      throw error(sqlstate::invalid_parameter,
                  (message_text<256>() << "the item has another " << quoted{*key}).view(),
                  "Another action is another item or request uid.");
    live_lineage const live = read_live_lineage();
    token const nobody = random_token();  // known to nobody: no message can speak for this attempt
    new_attempt found{};
    found.name = name;
    found.what = what;
    found.writer = "operator";
    found.token_digest = nobody.digest;
    found.lineage = ensure_lineage_row(live);
    found.claimed_at = clock_now();
    found.observe_after = observe_after_default;
    found.facts.overridden = value;
    found.detail = reason;
    insert_attempt(found);
    std::optional<attempt_row> const recorded_row = attempt_of_token(name, nobody.digest);
    audit({"record", dispatch_kind, uuid_text(recorded_row->attempt), reason, {}, state_json(state_of(found.facts))});
    return true;
  });
  return text_datum(std::string_view(recorded ? "recorded" : "concluded"));
}

}  // namespace

}  // namespace ql3::pg

QL3_FUNCTION(ql3_dispatch_observe, ql3::pg::dispatch_observe)
QL3_FUNCTION(ql3_dispatch_override, ql3::pg::dispatch_override)
QL3_FUNCTION(ql3_dispatch_record, ql3::pg::dispatch_record)
