// The dispatch half of ql3_explain: one attempt, and what halts dispatch as a whole.
#include "dispatch_rows.hpp"
#include "explain.hpp"

extern "C" {
#include "utils/fmgrprotos.h"
}

namespace ql3::pg {

namespace {

constexpr long halts_shown = 10;

constinit statement standing_halts{
    "SELECT halt, cause, reason, actor, since FROM ql3.dispatch_halted ORDER BY since DESC LIMIT $1", INT8OID};

// A uuid as people write it, or nothing: an id that is none is answered in words.
std::optional<uuid_value> read_attempt(std::string_view id) {
  int digits = 0;
  for (char c : id) {
    if (is_hex_digit(c)) ++digits;
    else if (c != '-') return std::nullopt;
  }
  if (digits != 32 || id.size() != 36) return std::nullopt;
  for (std::size_t at : {std::size_t{8}, std::size_t{13}, std::size_t{18}, std::size_t{23}})
    if (id[at] != '-') return std::nullopt;
  std::string_view const plain = keep_text(id);
  return uuid_of(call([&] { return DirectFunctionCall1(uuid_in, CStringGetDatum(plain.data())); }));
}

struct attempt {
  item_name name;
  attempt_row row;
  bool knows_lineage;  // false on a standby: whether it is of the live lineage cannot be told
  dispatch_state st() const noexcept { return state_of(row.facts); }
};

void say_claimed(explanation& to, const attempt& of, sentence& text) {
  const attempt_row& row = of.row;
  if (row.permit_digest != nullptr) {
    text << "in flight: " << row.writer << " got permission to call at ";
    text.time(*row.permitted_at) << " ";
    text.from_now(*row.permitted_at, to.clock()) << "; the call may have been made, and is never made again";
  } else if (of.knows_lineage && !row.facts.own_lineage) {
    text << "claimed by " << row.writer << " on an earlier lineage, never gets permission here; whether it got it "
         << "there is not known here";
  } else {
    text << "claimed by " << row.writer << ", no permission given, so nothing was called";
  }
  text << (row.observe_at <= to.clock() ? "; its writer is overdue since " : "; its writer has time until ");
  text.time(row.observe_at) << " ";
  text.from_now(row.observe_at, to.clock()) << ", then recovery judges it (rows below)";
}

void say_state(explanation& to, const attempt& of) {
  sentence text;
  text << "attempt " << std::int64_t{of.row.attempt_no} << " of item " << of.name.item << " of request "
       << of.name.request_uid << " ("
       << of.row.action.value_or(of.row.is_tombstone ? "pruned" : "no action") << "): ";
  switch (of.st()) {
    case dispatch_state::claimed: say_claimed(to, of, text); break;
    case dispatch_state::succeeded: text << "closed, succeeded"; break;
    case dispatch_state::failed: text << "closed, failed"; break;
    case dispatch_state::unknown:
      text << "closed, unknown: nobody can tell whether it was called or what came of it; it is never called again, "
           << "and the item stays closed";
      break;
    case dispatch_state::not_sent: text << "closed, not sent; the item stays closed all the same"; break;
    case dispatch_state::released:
      text << "released: nothing was called and the item is free; the next try is a claim with a new token";
      break;
  }
  if (of.st() != dispatch_state::claimed && of.st() != dispatch_state::released)
    text << "; a new action needs a new request uid";
  if (of.row.concluded_at) {
    text << ". Since ";
    text.time(*of.row.concluded_at) << " ";
    text.from_now(*of.row.concluded_at, to.clock());
  }
  if (of.row.detail && !of.row.is_tombstone) text << ": " << *of.row.detail;
  to.say("dispatch", text);
}

void say_three_facts(explanation& to, const attempt& of) {
  auto word = [](const fact& value) { return value ? to_text(*value) : std::string_view("nothing yet"); };
  const attempt_facts& facts = of.row.facts;
  to.say("facts", sentence() << "the writer says " << word(facts.writer) << ", recovery judged " << word(facts.judged)
                             << ", the operator's override is " << word(facts.overridden));
}

void say_conflict(explanation& to, const attempt& of) {
  if (facts_disagree(of.row.facts)) {
    bool const late = of.row.facts.contradicted;
    to.say("conflict", sentence() << (late ? "it was released as not sent, and its writer said later that it had called"
                                           : "the facts cannot all be true; the override counts, else the writer's, "
                                             "else the judged one, and all stay on record"));
  }
  int const standing = of.st() == dispatch_state::released ? 0 : count_unreleased(of.name);
  if (standing > 1)
    to.say("conflict", sentence() << std::int64_t{standing} << " attempts stand for this item: the action may have "
                                  << "been called more than once; look outside");
}

// Each override that would change something, with what pasting it asserts.
void say_overrides(explanation& to, const attempt& of) {
  for (outcome value : {outcome::succeeded, outcome::failed, outcome::not_sent, outcome::unknown}) {
    attempt_facts after = of.row.facts;
    if (after.overridden == fact(value) || !override_attempt(after, value)) continue;
    // What is known is not made unknown by hand.
    if (value == outcome::unknown && of.st() != dispatch_state::claimed) continue;
    sentence command;
    command << "SELECT ql3.ql3_dispatch_override('" << uuid_text(of.row.attempt) << "', '" << to_text(of.st()) << "', '"
            << to_text(value) << "', ";
    command.literal(pasted_reason) << ");";
    sentence text;
    switch (value) {
      case outcome::succeeded: text << "if you saw outside that it took effect"; break;
      case outcome::failed: text << "if you saw outside that it was tried and took no effect"; break;
      case outcome::not_sent: text << "if you know that nothing was called (the item stays closed)"; break;
      case outcome::unknown: text << "if nobody can find out: its writer gets no permission any more"; break;
    }
    to.say("override", text, command);
  }
}

std::string_view assertion_of(std::string_view method) {
  if (method == "synchronous")
    return "asserts: from the old lineage's first claim to its end synchronous_standby_names was never empty, and this "
           "server has every commit they acknowledged";
  return "asserts: the old primary is fenced for good; every process that may hold a permit from it has ended, not "
         "merely become unreachable or stopped; then each action possibly sent in the gap was looked up outside and "
         "recorded with ql3_dispatch_record. Wrong, it costs a second call";
}

void say_promotion(explanation& to) {
  live_lineage const live = read_live_lineage();
  for (std::string_view method : {std::string_view("synchronous"), std::string_view("drained")}) {
    sentence command;
    command << "SELECT ql3.ql3_confirm_promotion('" << live.system_identifier << "', " << live.timeline << ", '"
            << method << "', ";
    to.say("confirm", sentence() << assertion_of(method), command.literal(pasted_reason) << ");");
  }
}

}  // namespace

void explain_attempt(explanation& to, std::string_view id) {
  std::optional<uuid_value> const wanted = read_attempt(id);
  std::optional<item_name> const name = wanted ? item_of_attempt(*wanted) : std::nullopt;
  std::optional<attempt_row> const row = name ? attempt_by_id(*wanted) : std::nullopt;
  if (!row)
    return to.say("dispatch", sentence() << "no attempt has this id, or it was decided and pruned; "
                                         << "ql3_dispatch_observe(request_uid, item) and the view ql3.dispatches_open "
                                         << "show the attempts' uuids");
  attempt of{*name, *row, !RecoveryInProgress()};
  if (of.knows_lineage) {
    live_lineage const live = read_live_lineage();
    of.row.facts.own_lineage = live.row && *live.row == of.row.lineage;
  }
  say_state(to, of);
  say_three_facts(to, of);
  say_conflict(to, of);
  say_overrides(to, of);
}

void explain_halts(explanation& to) {
  bool promoted = false;
  rows const halts = standing_halts.run(params().number(halts_shown));
  for (int at = 0; at < halts.size(); ++at) {
    sentence text;
    text << "dispatch is halted, nothing new is claimed or permitted: " << halts.text(at, 2);
    if (std::optional<std::string_view> const actor = halts.maybe_text(at, 4)) text << " by " << *actor;
    // Nothing tells when a history ended; its first row tells when it began.
    text << (halts.is_null(at, 1) ? "; the earlier history began at " : " since ");
    text.time(halts.time(at, 5)) << " ";
    text.from_now(halts.time(at, 5), to.clock()) << ": " << halts.text(at, 3);
    if (halts.is_null(at, 1)) {
      promoted = true;
      to.say("halted", text);
      continue;
    }
    sentence command;
    command << "SELECT ql3.ql3_unhalt_dispatch('" << uuid_text(uuid_of(halts.datum(at, 1))) << "', ";
    to.say("halted", text, command.literal(pasted_reason) << ");");
  }
  if (promoted) say_promotion(to);
  if (!halts.empty()) return;
  sentence command;
  command << "SELECT ql3.ql3_halt_dispatch(";
  to.say("halted", sentence() << "nothing halts dispatch; this would", command.literal(pasted_reason) << ");");
}

}  // namespace ql3::pg
