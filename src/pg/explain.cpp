#include "explain.hpp"

#include "../core/elapsed.hpp"
#include "transition.hpp"

namespace ql3::pg {

namespace {

constexpr long judgements_shown = 5;
constexpr long acts_shown = 3;

constinit statement judgements_of{
    "SELECT judged_at, owner, disposition, verdict, note, result, version FROM ql3.judgements"
    " WHERE kind = $1 AND id = $2 ORDER BY judgement_id DESC LIMIT $3",
    TEXTOID, TEXTOID, INT8OID};
constinit statement acts_on{
    "SELECT at, actor, role_set, action, reason FROM ql3.audit_events"
    " WHERE kind = $1 AND id = $2 ORDER BY event_id DESC LIMIT $3",
    TEXTOID, TEXTOID, INT8OID};
constinit statement source_row{
    "SELECT pg_catalog.format('%I.%I', relation_schema, relation_name),"
    "       CASE WHEN transition_name IS NOT NULL THEN"
    "         pg_catalog.format('%I.%I', transition_schema, transition_name) || '(text,text,jsonb)' END,"
    "       max_failures, max_hold FROM ql3.recovery_sources WHERE kind = $1",
    TEXTOID};
constinit statement attached_kinds{
    "SELECT pg_catalog.string_agg(kind, ', ' ORDER BY kind) FROM ql3.recovery_sources WHERE attached"};

// What is known of one target, read once.
struct target {
  std::string_view kind;
  std::string_view id;
  std::optional<locked_control> control;
  std::optional<source> from;
  std::optional<blindness> blind;
  const char* flaw;
  std::optional<facts> listed;

  std::int64_t version() const noexcept { return control ? control->control.version : 0; }
  bool changed() const noexcept { return control && listed && !control->is_incident_of(*listed); }
  bool is(state st) const noexcept { return control && control->control.st == st; }
};

target look_at(std::string_view kind, std::string_view id) {
  target seen{kind, id, read_control(kind, id), source_of(kind), {}, nullptr, {}};
  if (!seen.from) return seen;
  source_reader reader(*seen.from);
  wanted_row wanted{id, {}, false, {}};
  reader.look_up(&wanted, 1);
  if (reader.is_blind()) seen.blind = reader.why();
  else if (wanted.listed) seen.listed = wanted.now;
  seen.flaw = reader.flaw();
  return seen;
}

sentence act_on(const char* function, const target& on) {
  sentence command;
  command << "SELECT ql3." << function << "(";
  command.literal(on.kind) << ", ";
  command.literal(on.id) << ", " << on.version() << ", ";
  return command.literal(pasted_reason) << ");";
}
sentence release_it(const target& on) { return act_on("ql3_release", on); }
sentence park_it(const target& on) { return act_on("ql3_park", on); }

constinit statement pause_of{"SELECT paused_by, paused_at FROM ql3.recovery_kinds WHERE kind = $1", TEXTOID};

void say_paused(explanation& to, std::string_view topic, const target& of) {
  sentence text;
  text << (topic == "claim" ? "not claimable: " : "") << "its kind is paused";
  rows const found = pause_of.run(params().text(of.kind));
  if (!found.empty() && !found.is_null(0, 1)) {
    text << " by " << found.text(0, 1) << " since ";
    text.time(found.time(0, 2)) << " ";
    text.from_now(found.time(0, 2), to.clock());
  }
  sentence command;
  command << "SELECT ql3.ql3_resume(";
  command.literal(of.kind) << ", ";
  to.say(topic, text << ": " << *of.from->paused, command.literal(pasted_reason) << ");");
}

void say_detached(explanation& to, const target& of) {
  rows const known = source_row.run(params().text(of.kind));
  if (known.empty()) {
    sentence text;
    text << "not claimable: no source was ever attached for this kind";
    rows const kinds = attached_kinds.run(params());
    if (!kinds.is_null(0, 1)) text << "; attached are " << kinds.text(0, 1);
    return to.say("claim", text);
  }
  sentence command;
  command << "SELECT ql3.ql3_attach_source(";
  command.literal(of.kind) << ", ";
  command.literal(known.text(0, 1));
  if (std::optional<std::string_view> const transition = known.maybe_text(0, 2)) {
    command << ", transition => ";
    command.literal(*transition);
  }
  if (std::optional<std::int32_t> const most = known.maybe_number32(0, 3))
    command << ", max_failures => " << std::int64_t{*most};
  command << ", max_hold => ";
  if (known.is_null(0, 4)) command << "NULL";
  else command << "'" << known.number(0, 4) << " microseconds'";
  // Whether it was attached so is not kept; without it the command fails where it was.
  command << ", allow_slow => true";
  to.say("claim", sentence() << "not claimable: its source was detached; this attaches it as it was (as its owner)",
         command << ");");
}

void say_unlisted(explanation& to, const target& of) {
  if (of.flaw != nullptr)
    return to.say("claim", sentence() << "not claimable: the row its source has for it cannot be a target: " << of.flaw
                                      << "; mend the row, the next claim reads it again");
  if (!of.control)
    return to.say("claim", sentence() << "nothing to claim: its source does not list it, and no claim ever met it");
  sentence text;
  text << "nothing to claim: its source does not list it now; when it does again, it is ";
  if (of.is(state::manual))
    return to.say("claim", text << "parked still (" << of.control->detail.value_or("no reason kept") << ")",
                  release_it(of));
  to.say("claim", text << "claimable with a clean count");
}

void say_held(explanation& to, const target& of) {
  const locked_control& row = *of.control;
  sentence text;
  text << "not claimable: held by " << row.owner.value_or("nobody") << " until ";
  text.time(row.control.expires_at) << " ";
  text.from_now(row.control.expires_at, to.clock()) << ", unless it is renewed, settled or parked";
  if (!of.blind && !of.listed) text << "; its source does not list it any more, so how the claim ends does not matter";
  to.say("claim", text, park_it(of));
}

void say_waiting(explanation& to, const target& of) {
  const locked_control& row = *of.control;
  sentence text;
  text << "not claimable: "
       << (of.is(state::retry) ? "waits for its next try" : "it was resolved but is still listed, waits") << " until ";
  text.time(row.control.next_claim_at) << " ";
  text.from_now(row.control.next_claim_at, to.clock());
  if (row.detail) text << "; " << *row.detail;
  to.say("claim", text, release_it(of));
}

void say_claimable(explanation& to, const target& of) {
  sentence text;
  text << "claimable now: ";
  if (!of.control) {
    text << "no claim has met it yet";
  } else if (of.changed()) {
    text << "its run, status or time of loss is another than at its last claim, so it counts as a new incident";
  } else {
    const locked_control& row = *of.control;
    switch (row.control.st) {
      case state::available: text << "it was released or given back"; break;
      case state::claimed:
        text << "the claim of " << row.owner.value_or("nobody") << " ran out at ";
        text.time(row.control.expires_at) << " ";
        text.from_now(row.control.expires_at, to.clock()) << "; the claim that takes it over counts a failure";
        break;
      case state::retry: text << "its waiting time is over"; break;
      case state::resolved: text << "it was resolved, and is listed again or still"; break;
      case state::manual: break;  // never claimable
    }
  }
  to.say("claim", text, park_it(of));
}

void say_parked(explanation& to, const target& of) {
  to.say("claim", sentence() << "not claimable: parked until somebody releases it: "
                             << of.control->detail.value_or("no reason was kept"), release_it(of));
}

// The first thing a person asks.
void say_claimability(explanation& to, const target& of) {
  bool const held = of.is(state::claimed) && claim_is_valid(to.clock(), of.control->control.expires_at);
  if (!of.from) return say_detached(to, of);
  if (held) say_held(to, of);
  if (of.from->paused) return say_paused(to, held ? "paused" : "claim", of);
  if (held) return;
  if (of.blind)
    return to.say("claim", sentence() << "not claimable: its source cannot be read: " << of.blind->message
                                      << " (SQLSTATE " << of.blind->sqlstate
                                      << "); mend the relation, the next claim reads it again");
  if (!of.listed) return say_unlisted(to, of);
  switch (of.control ? judge(of.control->control, to.clock(), of.changed()) : claimability::claimable) {
    case claimability::claimable: return say_claimable(to, of);
    case claimability::held: return say_held(to, of);
    case claimability::waiting: return say_waiting(to, of);
    case claimability::parked: return say_parked(to, of);
  }
}

void say_facts(explanation& to, const target& of) {
  if (of.listed) {
    sentence text;
    text << "its source says: run " << of.listed->run_id << ", status " << of.listed->status.value_or("none")
         << ", lost at ";
    text.time(of.listed->lost_at) << " ";
    to.say("listed", text.from_now(of.listed->lost_at, to.clock()));
  }
  if (!of.control) return;
  const locked_control& row = *of.control;
  sentence text;
  text << "version " << row.control.version << ", " << to_text(row.control.st) << ", "
       << std::int64_t{row.control.failure_count} << (row.control.failure_count == 1 ? " failure" : " failures");
  if (row.claimed_at && row.owner) {
    text << ", claimed by " << *row.owner << " at ";
    text.time(*row.claimed_at) << " ";
    text.from_now(*row.claimed_at, to.clock());
  }
  to.say("control", text);
  if (!of.from) return;
  sentence limits;
  if (of.from->max_failures) limits << "parked after " << std::int64_t{*of.from->max_failures} << " failures";
  else limits << "never parked by a count of failures";
  limits << "; one claim may be held for ";
  if (of.from->max_hold) limits << elapsed_text(*of.from->max_hold).view();
  else limits << "any time";
  if (of.from->transition_name) {
    limits << "; concluded by " << *of.from->transition_schema << "." << *of.from->transition_name;
    if (is_transition_gone(*of.from)) limits << ", which does not exist any more";
  }
  to.say("limits", limits);
}

void say_past(explanation& to, const target& of) {
  rows const judged = judgements_of.run(params().text(of.kind).text(of.id).number(judgements_shown));
  for (int at = 0; at < judged.size(); ++at) {
    sentence text;
    text.time(judged.time(at, 1)) << " ";
    text.from_now(judged.time(at, 1), to.clock()) << " by " << judged.maybe_text(at, 2).value_or("nobody") << ": "
                                                  << judged.text(at, 3);
    if (std::optional<std::string_view> const verdict = judged.maybe_text(at, 4)) text << ", verdict " << *verdict;
    text << ", " << judged.text(at, 6) << ", version " << judged.number(at, 7);
    if (std::optional<std::string_view> const note = judged.maybe_text(at, 5)) text << ": " << *note;
    to.say("judged", text);
  }
  rows const acts = acts_on.run(params().text(of.kind).text(of.id).number(acts_shown));
  for (int at = 0; at < acts.size(); ++at) {
    sentence text;
    text.time(acts.time(at, 1)) << " ";
    text.from_now(acts.time(at, 1), to.clock()) << " " << acts.text(at, 4) << " by " << acts.text(at, 2);
    if (acts.text(at, 3) != acts.text(at, 2)) text << " as " << acts.text(at, 3);
    to.say("operator", text << ": " << acts.maybe_text(at, 5).value_or("no reason"));
  }
}

Datum explain(FunctionCallInfo fcinfo) {
  arguments const given(fcinfo);
  std::string_view const kind = given.kind(0);
  std::string_view const id = given.id(1);
  result_set result(fcinfo);
  in_reading_session([&] {
    explanation to(result);
    if (kind == dispatch_kind) explain_attempt(to, id);
    explain_target(to, kind, id);
    if (kind == dispatch_kind) explain_halts(to);
    if (RecoveryInProgress())
      to.say("standby", sentence() << "seen on a standby, which may lag; commands work on the primary");
  });
  return Datum(0);
}

}  // namespace

void explain_target(explanation& to, std::string_view kind, std::string_view id) {
  target const of = look_at(kind, id);
  say_claimability(to, of);
  say_facts(to, of);
  say_past(to, of);
}

}  // namespace ql3::pg

QL3_FUNCTION(ql3_explain, ql3::pg::explain)
