// How a judged claim ends in the store.
#include <algorithm>

#include <fmt/format.h>

#include "client/look_again.hpp"
#include "client/pass.hpp"
#include "client/pause.hpp"
#include "client/text.hpp"

namespace ql3 {

namespace {

constexpr Clock::Length statement_limit = std::chrono::seconds(10);
constexpr Clock::Length listed_limit = std::chrono::seconds(5);
// A transition that fails so often with an error that could pass is taken for one that always does.
constexpr int conclude_tries = 5;

// Of the states that answer 55000 the server's own message tells two apart; its messages are not
// translated.
bool says(const StoreError& error, std::string_view words) {
  return error.code() == StoreCode::not_possible &&
         error.server().message.find(words) != std::string::npos;
}

}  // namespace

void Pass::commit(std::size_t at, const std::string& verdict, Decision decision) {
  // The renewal goes on meanwhile, so the deadline alone would not end the tries.
  Clock::Time patience = clock_.now() + options_.lease;
  bool draining = false;
  Backoff backoff;
  for (int tries = 1;; ++tries) {
    const Clock::Time now = clock_.now();
    const Clock::Time deadline = held_.deadline(at);
    if (now >= deadline) {
      // Nothing is sent: by our own clock the claim is over, and another may hold the target.
      const auto over = std::chrono::duration_cast<Milliseconds>(now - deadline);
      reports_[at].late = true;
      end(at, Outcome::fenced, verdict, fmt::format("late by {}: the claim is over", to_text(over)),
          true);
      return;
    }
    if (decision.conclude && without_transition_.count(held_.target(at).kind) != 0) {
      decision = without_transition(decision);
    }
    try {
      const Outcome outcome = try_commit(at, decision, std::min(deadline - now, statement_limit));
      const bool done = outcome == Outcome::concluded || outcome == Outcome::resolved;
      // Let go before the look: a renewal must not speak about what has ended.
      held_.let_go(at);
      end(at, outcome, verdict, decision.note, !done || still_listed(at));
      return;
    } catch (const StoreError& error) {
      tell(listener_, Level::warning,
           fmt::format("{} {}: {}", reports_[at].kind, reports_[at].id, error.what()));
      if (change_after(error, at, tries, decision)) continue;
      if (decision.conclude && says(error, "paused")) {
        // Settling would spend the conclusion: it is given back at the end of the pass.
        progress_[at] = Progress::waiting;
        return;
      }
      if (shutdown_.drain.stop_requested() && !draining) {
        draining = true;
        patience = std::min(patience, clock_.now() + options_.grace);
      }
      const Clock::Time again = clock_.now() + backoff.next();
      if (error.retryable() && again < patience &&
          sleep_until(clock_, std::min(again, held_.deadline(at)), shutdown_.cancel)) {
        continue;
      }
      remember(error);
      end(at, Outcome::failed, verdict, error.what(), true);
      return;
    }
  }
}

Outcome Pass::try_commit(std::size_t at, const Decision& decision, Clock::Length limit) {
  const Held& target = held_.target(at);
  if (decision.conclude) {
    switch (stores_.claims.conclude(held_.holder(), target, decision.verdict, decision.evidence,
                                    limit)) {
      case Concluded::concluded: return Outcome::concluded;
      case Concluded::stale: return Outcome::stale;
      case Concluded::fenced: return Outcome::fenced;
    }
  }
  if (stores_.claims.settle(held_.holder(), target, decision.how, std::nullopt, decision.note,
                            limit) == Settled::fenced) {
    return Outcome::fenced;
  }
  switch (decision.how) {
    case disposition::resolved: return Outcome::resolved;
    case disposition::retry: return Outcome::retry;
    case disposition::manual: return Outcome::manual;
  }
  return Outcome::retry;
}

bool Pass::change_after(const StoreError& error, std::size_t at, int tries, Decision& decision) {
  if (error.sqlstate().empty()) return false;
  if (!decision.conclude) {
    const std::string ascii = ascii_text(decision.note);
    if (error.code() != StoreCode::bad_text || decision.note == ascii) return false;
    decision.note = ascii;
    return true;
  }
  if (says(error, "has no transition")) {
    without_transition_.insert(held_.target(at).kind);
    return true;
  }
  if (says(error, "paused")) return false;
  if (error.retryable() && tries < conclude_tries) return false;
  if (error.code() == StoreCode::read_only || error.code() == StoreCode::shutting_down) {
    return false;
  }
  decision = after_failed_transition(error.sqlstate());
  return true;
}

bool Pass::still_listed(std::size_t at) {
  const Held& target = held_.target(at);
  try {
    const auto seen = look_again(clock_, shutdown_.cancel, [&] {
      return stores_.candidates.observe_one(target.kind, target.id, nullptr, listed_limit);
    });
    return seen && seen->listed;
  } catch (const StoreError& error) {
    tell(
        listener_, Level::warning,
        fmt::format("{} {}: whether it is listed still: {}", target.kind, target.id, error.what()));
    return true;
  }
}

}  // namespace ql3
