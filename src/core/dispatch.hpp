// What is true of an attempt, and what a message may change (promises 13 and 14). Pure: the
// caller holds the item's lock and hands in what it read under it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ql3 {

enum class outcome : unsigned char { succeeded, failed, unknown, not_sent };

enum class dispatch_state : unsigned char {
  claimed,
  succeeded,
  failed,
  unknown,
  not_sent,
  released
};

constexpr std::string_view to_text(outcome value) noexcept {
  switch (value) {
    case outcome::succeeded: return "succeeded";
    case outcome::failed: return "failed";
    case outcome::unknown: return "unknown";
    case outcome::not_sent: return "not_sent";
  }
  return {};
}

constexpr std::string_view to_text(dispatch_state value) noexcept {
  switch (value) {
    case dispatch_state::claimed: return "claimed";
    case dispatch_state::succeeded: return "succeeded";
    case dispatch_state::failed: return "failed";
    case dispatch_state::unknown: return "unknown";
    case dispatch_state::not_sent: return "not_sent";
    case dispatch_state::released: return "released";
  }
  return {};
}

constexpr std::optional<outcome> parse_outcome(std::string_view word) noexcept {
  for (outcome value : {outcome::succeeded, outcome::failed, outcome::unknown, outcome::not_sent})
    if (word == to_text(value)) return value;
  return std::nullopt;
}

constexpr std::optional<dispatch_state> parse_dispatch_state(std::string_view word) noexcept {
  for (dispatch_state value :
       {dispatch_state::claimed, dispatch_state::succeeded, dispatch_state::failed,
        dispatch_state::unknown, dispatch_state::not_sent, dispatch_state::released})
    if (word == to_text(value)) return value;
  return std::nullopt;
}

// One author's fact about an attempt. `unknown` closes the attempt but leaves the place to a later
// definite fact.
using fact = std::optional<outcome>;

constexpr bool is_definite(const fact& value) noexcept {
  return value && *value != outcome::unknown;
}

struct attempt_facts {
  fact writer;
  fact judged;
  fact overridden;
  bool released = false;      // not sent, and the item is free
  bool contradicted = false;  // released, yet its token said later that it had called
  bool permitted = false;
  bool own_lineage = true;  // written by the database that answers now
};

constexpr bool has_facts(const attempt_facts& of) noexcept {
  return of.writer || of.judged || of.overridden;
}

// The state is the override, else the writer's fact, else the judged one; unknown only where none
// is definite.
constexpr dispatch_state state_of(const attempt_facts& of) noexcept {
  if (of.released) return dispatch_state::released;
  for (const fact& each : {of.overridden, of.writer, of.judged}) {
    if (!is_definite(each)) continue;
    switch (*each) {
      case outcome::succeeded: return dispatch_state::succeeded;
      case outcome::failed: return dispatch_state::failed;
      case outcome::not_sent: return dispatch_state::not_sent;
      case outcome::unknown: break;
    }
  }
  return has_facts(of) ? dispatch_state::unknown : dispatch_state::claimed;
}

// Facts that cannot all be true; and a writer that says not_sent of what was judged or overridden
// as unknown: the item stays closed, and somebody has to see why.
constexpr bool facts_disagree(const attempt_facts& of) noexcept {
  auto differ = [](const fact& a, const fact& b) {
    return is_definite(a) && is_definite(b) && *a != *b;
  };
  auto doubts = [](const fact& other) { return other == fact(outcome::unknown); };
  bool const too_late =
      of.writer == fact(outcome::not_sent) && (doubts(of.judged) || doubts(of.overridden));
  return of.contradicted || too_late || differ(of.writer, of.judged) ||
         differ(of.writer, of.overridden) || differ(of.judged, of.overridden);
}

enum class stored : unsigned char { now, before, refused };

// Puts a fact in its author's place: once, and a definite one over unknown.
constexpr stored put_fact(fact& place, outcome value) noexcept {
  if (place == fact(value)) return stored::before;
  if (is_definite(place)) return stored::refused;
  place = value;
  return stored::now;
}

enum class settle_answer : unsigned char { recorded, concluded };

// A settle of the exact token. `permit_matches`: it named the id of the permit that was given.
constexpr settle_answer settle_attempt(attempt_facts& of, outcome value,
                                       bool permit_matches) noexcept {
  if (of.released) {
    if (value == outcome::not_sent) {
      return put_fact(of.writer, value) == stored::refused ? settle_answer::concluded
                                                           : settle_answer::recorded;
    }
    // Recovery released it, and its token says now that it called: the fact is kept and closes the
    // item again.
    if (value == outcome::unknown || put_fact(of.writer, value) == stored::refused)
      return settle_answer::concluded;
    of.released = false;
    of.contradicted = true;
    return settle_answer::recorded;
  }
  if (value == outcome::not_sent && !has_facts(of)) {
    of.writer = value;
    // The two cases that free an item: no permit was ever given on this very lineage, or its holder
    // gives it back.
    of.released = of.permitted ? permit_matches : of.own_lineage;
    return settle_answer::recorded;
  }
  if (value == outcome::not_sent) {
    // Stored, and the item stays closed: only from claimed is anything freed.
    bool const kept = put_fact(of.writer, value) != stored::refused;
    return kept && !of.judged && !of.overridden ? settle_answer::recorded
                                                : settle_answer::concluded;
  }
  if (value == outcome::unknown) {
    bool const nothing_else = !is_definite(of.writer) && !of.judged && !of.overridden;
    (void)put_fact(of.writer, value);
    return nothing_else ? settle_answer::recorded : settle_answer::concluded;
  }
  if (put_fact(of.writer, value) == stored::refused) return settle_answer::concluded;
  return is_definite(of.overridden) ? settle_answer::concluded : settle_answer::recorded;
}

// A judgement of recovery. False: stale, nothing changed. `due`: the attempt is older than its
// observe_after now.
constexpr bool judge_attempt(attempt_facts& of, outcome value, bool due) noexcept {
  if (of.released || has_facts(of) || !due) return false;
  if (value == outcome::not_sent && (of.permitted || !of.own_lineage)) return false;
  of.judged = value;
  of.released = value == outcome::not_sent;
  return true;
}

// An operator's word. False: stale. It never frees an item.
constexpr bool override_attempt(attempt_facts& of, outcome value) noexcept {
  if (of.released) return false;
  return put_fact(of.overridden, value) != stored::refused;
}

// May the permit be given? All of it under the item's lock; durability is proved besides.
constexpr bool may_permit(const attempt_facts& of) noexcept {
  return !of.released && !has_facts(of) && !of.permitted && of.own_lineage;
}

}  // namespace ql3
