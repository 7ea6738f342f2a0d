// ql3_dispatch_extend, ql3_dispatch_settle and ql3_dispatch_reassert: what a writer says of its own
// attempt.
#include <algorithm>

#include "dispatch_rows.hpp"
#include "durability.hpp"
#include "session.hpp"

namespace ql3::pg {

namespace {

constexpr std::string_view foreign = "foreign";
constexpr std::string_view absent = "absent";

struct writer_name {
  item_name name;
  std::string_view writer;
  token with;
};

writer_name read_writer(const arguments& given, int writer_position, int token_position) {
  writer_name who{read_item(given), given.text(writer_position, "writer"), {}};
  check_owner(who.writer, "writer");
  who.with = read_token(given, token_position);
  return who;
}

std::string_view word_of(settle_answer answer) {
  return answer == settle_answer::recorded ? "recorded" : "concluded";
}

std::string_view extend(const writer_name& who, std::int64_t observe_after) {
  lock_item(who.name);
  std::optional<attempt_row> own = attempt_of_token(who.name, who.with.digest);
  if (!own) refuse_unseen(who.name, who.with.digest);
  if (!own) return unreleased_attempt(who.name) ? foreign : absent;
  if (own->writer != who.writer) return foreign;
  if (state_of(own->facts) != dispatch_state::claimed) return "concluded";
  // No earlier than now + observe_after, and never earlier than it was.
  instant const due = later(clock_now(), observe_after);
  if (due > own->observe_at) {
    own->observe_at = due;
    own->observe_after = observe_after;
    update_attempt(who.name, *own);
  }
  return "extended";
}

// The token is burnt: a claim of it that arrives later finds it released (docs/dispatch.md, delayed
// duplicates).
void burn(const writer_name& who) {
  live_lineage const live = read_live_lineage();
  new_attempt spent{};
  spent.name = who.name;
  spent.writer = who.writer;
  spent.token_digest = who.with.digest;
  spent.lineage = ensure_lineage_row(live);
  spent.claimed_at = clock_now();
  spent.observe_after = observe_after_default;
  spent.facts.released = true;
  spent.facts.writer = outcome::not_sent;
  insert_attempt(spent);
}

struct settle_words {
  outcome value;
  std::optional<std::string_view> detail;
  std::optional<token> permit;
};

std::string_view settle_own(const item_name& name, attempt_row& own, const settle_words& how) {
  live_lineage const live = read_live_lineage();
  own.facts.own_lineage = live.row && *live.row == own.lineage;
  bool const permit_matches = how.permit && same_digest(own.permit_digest, how.permit->digest);
  settle_answer const answer = settle_attempt(own.facts, how.value, permit_matches);
  if (how.detail && answer == settle_answer::recorded) own.detail = how.detail;
  if (!own.concluded_at) own.concluded_at = clock_now();
  update_attempt(name, own);
  return word_of(answer);
}

std::string_view settle(const writer_name& who, const settle_words& how) {
  lock_item(who.name);
  std::optional<attempt_row> own = attempt_of_token(who.name, who.with.digest);
  if (own) return own->writer == who.writer ? settle_own(who.name, *own, how) : foreign;
  refuse_unseen(who.name, who.with.digest);
  if (unreleased_attempt(who.name)) return foreign;
  if (how.value == outcome::not_sent) burn(who);
  return absent;
}

std::string_view reassert(const writer_name& who, const identity& what, outcome value) {
  lock_item(who.name);
  std::optional<attempt_row> own = attempt_of_token(who.name, who.with.digest);
  if (own && own->writer != who.writer) return foreign;
  if (difference_from_known(who.name, what)) return foreign;
  if (own) return settle_own(who.name, *own, {value, {}, {}});
  live_lineage const live = read_live_lineage();
  if (std::optional<attempt_row> standing = unpermitted_attempt(who.name)) {
    // Not permitted here, so nothing was sent under it, and it must not be: the item is done. One
    // of an earlier lineage may have lost its permit, so it stays and shows the conflict.
    standing->facts.own_lineage = live.row && *live.row == standing->lineage;
    if (may_permit(standing->facts)) {
      standing->facts.judged = outcome::not_sent;
      standing->facts.released = true;
      standing->concluded_at = clock_now();
      update_attempt(who.name, *standing);
    }
  }
  new_attempt lost{};
  lost.name = who.name;
  lost.what = what;
  lost.writer = who.writer;
  lost.token_digest = who.with.digest;
  lost.lineage = ensure_lineage_row(live);
  lost.claimed_at = clock_now();
  lost.observe_after = observe_after_default;
  lost.facts.writer = value;
  insert_attempt(lost);
  return "recorded";
}

// Runs one writer's step in a transaction that is forced to be durable.
template <class Step>
Datum durably(Step&& step) {
  return text_datum(in_session([&] {
    bound_transaction();
    force_synchronous_commit();
    return std::string_view(step());
  }, versions_may::agree, pin_when::needed));
}

Datum dispatch_extend(FunctionCallInfo fcinfo) {
  require_writable("ql3_dispatch_extend");
  arguments const given(fcinfo);
  writer_name const who = read_writer(given, 2, 3);
  std::int64_t const observe_after = check_observe_after(given.length(4, "observe_after"));
  return text_datum(in_session([&] {
    bound_transaction();
    refuse_prepare();
    return extend(who, observe_after);
  }, versions_may::agree, pin_when::needed));
}

Datum dispatch_settle(FunctionCallInfo fcinfo) {
  require_writable("ql3_dispatch_settle");
  arguments const given(fcinfo);
  writer_name const who = read_writer(given, 2, 3);
  settle_words how{read_outcome(given.text(4, "outcome"), true), {}, {}};
  if (std::optional<std::string_view> const detail = given.maybe_text(5))
    how.detail = kept_note(*detail);
  if (!given.is_null(6)) how.permit = read_token(given, 6, "permit");
  return durably([&] { return settle(who, how); });
}

Datum dispatch_reassert(FunctionCallInfo fcinfo) {
  require_writable("ql3_dispatch_reassert");
  require_read_committed("ql3_dispatch_reassert");
  arguments const given(fcinfo);
  writer_name const who = read_writer(given, 4, 5);
  identity const what = read_identity(given, 2, 3);
  outcome const value = read_outcome(given.text(6, "outcome"), false);
  return durably([&] { return reassert(who, what, value); });
}

}  // namespace

}  // namespace ql3::pg

QL3_FUNCTION(ql3_dispatch_extend, ql3::pg::dispatch_extend)
QL3_FUNCTION(ql3_dispatch_settle, ql3::pg::dispatch_settle)
QL3_FUNCTION(ql3_dispatch_reassert, ql3::pg::dispatch_reassert)
