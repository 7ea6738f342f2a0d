#include "settlement.hpp"

#include "judgements.hpp"
#include "session.hpp"

namespace ql3::pg {

namespace {

constexpr std::string_view too_often = "max_failures was reached";

ending ended(state st, const unsigned char (&request)[digest_size], std::string_view word) {
  ending how{};
  how.st = st;
  how.ended_digest = request;
  how.ended_result = word;
  return how;
}

// The target is free at once with a clean count: its incident is over, or another one began.
ending fresh_start(const situation& now, const unsigned char (&request)[digest_size], std::string_view word) {
  if (now.stands == standing::gone) {
    // Nothing to look at until the source lists it again.
    ending how = ended(state::resolved, request, word);
    how.next_claim_at = now.clock;
    return how;
  }
  ending how = ended(state::available, request, word);
  how.due_at = now.clock;
  return how;
}

ending parked(std::int32_t count, std::string_view why, const unsigned char (&request)[digest_size],
              std::string_view word) {
  ending how = ended(state::manual, request, word);
  how.failure_count = count;
  how.detail = why;
  return how;
}

// Resolved, but the source lists the same incident still: it counts as a failure and waits.
ending resolved_but_listed(const situation& now, const unsigned char (&request)[digest_size], std::string_view word) {
  std::int32_t const before = now.row->control.failure_count;
  std::int32_t const count = add_failure(before);
  if (now.from != nullptr && exhausted(count, now.from->max_failures)) return parked(count, too_often, request, word);
  ending how = ended(state::resolved, request, word);
  how.next_claim_at = later(now.clock, default_retry_delay(before, random_bits()));
  how.due_at = how.next_claim_at;
  how.failure_count = count;
  return how;
}

ending resolved(const situation& now, const unsigned char (&request)[digest_size], std::string_view word) {
  switch (now.stands) {
    case standing::gone:
    case standing::changed:
      return fresh_start(now, request, word);
    case standing::same:
    case standing::unknown:
      return resolved_but_listed(now, request, word);
  }
  return fresh_start(now, request, word);
}

ending retried(const situation& now, const settle_request& how, const unsigned char (&request)[digest_size],
               std::string_view word) {
  std::int32_t const before = now.row->control.failure_count;
  bool const counts = counts_as_failure(how.as, how.note.value_or(std::string_view{}));
  std::int32_t const count = counts ? add_failure(before) : before;
  if (counts && now.from != nullptr && exhausted(count, now.from->max_failures))
    return parked(count, how.note.value_or(too_often), request, word);
  ending waits = ended(state::retry, request, word);
  waits.next_claim_at = later(now.clock, how.delay ? *how.delay : default_retry_delay(before, random_bits()));
  waits.due_at = waits.next_claim_at;
  waits.failure_count = count;
  waits.detail = how.note;
  return waits;
}

judgement judged(const situation& now, std::string_view disposition_word, std::string_view result,
                 std::int32_t failure_count) {
  judgement what{};
  what.kind = now.row->kind;
  what.id = now.row->id;
  what.version = now.row->control.version;
  what.owner = now.row->owner;
  what.run_id = now.row->run_id;
  what.status = now.row->status;
  what.lost_at = now.row->lost_at;
  what.disposition = disposition_word;
  what.result = result;
  what.failure_count = failure_count;
  what.judged_at = now.clock;
  return what;
}

}  // namespace

standing standing_of(const locked_control& row, const source* from) {
  bounded<standing> stand;
  standings_of({&row}, from, stand);
  return stand[0];
}

void standings_of(const bounded<const locked_control*>& claims, const source* from, bounded<standing>& stand) {
  stand.assign(claims.size(), standing::unknown);
  if (from == nullptr || claims.empty()) return;
  source_reader reader(*from);
  bounded<wanted_row> wanted;
  for (const locked_control* each : claims) wanted.push_back({each->id, each->lost_at, false, {}});
  // Whether the incident is still the one handed out is asked of now, whatever snapshot the caller keeps.
  reader.look_up(wanted.data(), static_cast<int>(wanted.size()), sight::latest);
  if (reader.is_blind()) {
    warn_blind(*from, reader.why());
    return;
  }
  for (std::size_t at = 0; at < claims.size(); ++at)
    stand[at] = !wanted[at].listed                            ? standing::gone
                : claims[at]->is_incident_of(wanted[at].now) ? standing::same
                                                              : standing::changed;
}

void settle_claim(const situation& now, const settle_request& how, const unsigned char (&request)[digest_size],
                  judgement_page& history) {
  constexpr std::string_view word = "settled";
  // retry and manual speak about the incident that was handed out, and about no other.
  bool const superseded =
      how.as != disposition::resolved && (now.stands == standing::changed || now.stands == standing::gone);
  ending end{};
  if (superseded) end = fresh_start(now, request, word);
  else if (how.as == disposition::resolved) end = resolved(now, request, word);
  else if (how.as == disposition::retry) end = retried(now, how, request, word);
  else
    end = parked(now.row->control.failure_count, how.note.value_or(std::string_view("judged manual")), request, word);
  end_claim(*now.row, end);
  bool const exhausted_now = end.st == state::manual && how.as != disposition::manual;
  judgement what = judged(now, to_text(how.as), superseded ? "superseded" : exhausted_now ? "parked" : word,
                          end.failure_count);
  what.note = how.note;
  history.add(what);
}

void conclude_claim(const situation& now, const conclusion& how, const unsigned char (&request)[digest_size]) {
  std::string_view const word = how.applied ? "concluded" : "stale";
  ending const end = resolved(now, request, word);
  end_claim(*now.row, end);
  judgement what = judged(now, to_text(disposition::resolved), word, end.failure_count);
  what.verdict = how.verdict;
  what.evidence = how.evidence;
  write_judgement(what);
}

}  // namespace ql3::pg
