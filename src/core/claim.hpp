// When a target may be claimed, for how long, and with which version. One clock value is read per
// call, after the row is locked, and handed in; nothing here reads a clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "limits.hpp"
#include "state.hpp"

namespace ql3 {

// A point in time in microseconds, on the server's own scale. The two extremes are the server's
// -infinity and infinity.
using instant = std::int64_t;

inline constexpr instant instant_max = std::numeric_limits<instant>::max();
inline constexpr instant instant_min = std::numeric_limits<instant>::min();

// `at` + `length`, stopping at the ends of the scale.
constexpr instant later(instant at, std::int64_t length) noexcept {
  if (length > 0 && at > instant_max - length) return instant_max;
  if (length < 0 && at < instant_min - length) return instant_min;
  return at + length;
}

// True iff at < other <= at + 5 min, for a finite `other`. A time further ahead than any lease or
// delay can reach was written by a clock that has stepped back since.
constexpr bool is_within_reach(instant at, instant other) noexcept {
  if (other <= at || other == instant_max) return false;
  const std::uint64_t ahead = static_cast<std::uint64_t>(other) - static_cast<std::uint64_t>(at);
  return ahead <= static_cast<std::uint64_t>(lease_max);
}

// The one predicate for "this claim still holds": clock < expires_at <= clock + 5 min.
constexpr bool claim_is_valid(instant clock, instant expires_at) noexcept {
  return is_within_reach(clock, expires_at);
}

// What the policy needs of a control row. A time counts only with its flag set (NULL otherwise).
struct control_view {
  state st = state::available;
  instant expires_at = 0;
  instant next_claim_at = 0;
  bool has_expires = false;
  bool has_next = false;
  std::int64_t version = 0;
  std::int32_t failure_count = 0;
};

enum class claimability : unsigned char { claimable, held, waiting, parked };

// What a claimer may do with a target that its source lists. `facts_changed` says that run_id,
// status or lost_at of the source's row are no longer those the last claim handed out.
//
// A waiting time is bounded: retry and resolved are claimable at their time, and when it lies more
// than 5 minutes ahead (the clock stepped back). Resolved speaks about one incident: it is
// claimable at once when the facts changed; retry waits its time all the same (promise 5). A
// row without the time its state needs waits for nothing. Manual stays parked whatever the facts,
// and so does a state this library does not know.
constexpr claimability judge(const control_view& control, instant clock,
                             bool facts_changed) noexcept {
  switch (control.st) {
    case state::available: return claimability::claimable;
    case state::claimed:
      return control.has_expires && claim_is_valid(clock, control.expires_at)
                 ? claimability::held
                 : claimability::claimable;
    case state::retry:
      return control.has_next && is_within_reach(clock, control.next_claim_at)
                 ? claimability::waiting
                 : claimability::claimable;
    case state::resolved:
      return !facts_changed && control.has_next && is_within_reach(clock, control.next_claim_at)
                 ? claimability::waiting
                 : claimability::claimable;
    case state::manual: return claimability::parked;
  }
  return claimability::parked;
}

// The version of the next claim: greater than the previous one, than the floor of the kind, and
// than every version of an earlier timeline. Nothing when the numbers are used up or the timeline
// is not one: a claimer then leaves this target and goes on with its page.
constexpr std::optional<std::int64_t> try_next_version(std::int64_t previous, std::int64_t floor,
                                                       std::uint32_t timeline) noexcept {
  constexpr std::uint32_t timelines =
      std::uint32_t{1} << (std::numeric_limits<std::int64_t>::digits - version_timeline_bits);
  if (timeline == 0 || timeline > timelines) return std::nullopt;
  const std::int64_t of_timeline = static_cast<std::int64_t>(timeline - 1) << version_timeline_bits;
  const std::int64_t highest = std::max({previous, floor, of_timeline, std::int64_t{0}});
  if (highest == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return highest + 1;
}

// The same for a caller that has one target only: throws ql3::error 54000 instead.
std::int64_t next_version(std::int64_t previous, std::int64_t floor, std::uint32_t timeline);

// One more failure; stops at 1,000,000.
constexpr std::int32_t add_failure(std::int32_t count) noexcept {
  if (count < 0) return 1;
  return count >= failure_count_max ? failure_count_max : count + 1;
}

// True when a target with this many failures is to be parked. No limit never parks.
constexpr bool exhausted(std::int32_t failure_count,
                         std::optional<std::int32_t> max_failures) noexcept {
  return max_failures.has_value() && failure_count >= *max_failures;
}

// The expiry of a new claim.
constexpr instant first_expiry(instant clock, std::int64_t lease) noexcept {
  return later(clock, lease);
}

// The expiry after a renewal at `clock`: `lease` from now, but not beyond max_hold after the claim,
// and never sooner than it was.
constexpr instant renewed_expiry(instant clock, std::int64_t lease, instant old_expiry,
                                 instant claimed_at,
                                 std::optional<std::int64_t> max_hold) noexcept {
  instant wanted = later(clock, lease);
  if (max_hold) wanted = std::min(wanted, later(claimed_at, *max_hold));
  return std::max(old_expiry, wanted);
}

// True when max_hold leaves nothing of what a renewal asks for, so that it is fenced. A renewal
// that asks for no more than it has is not.
constexpr bool hold_is_used_up(instant clock, std::int64_t lease, instant old_expiry,
                               instant claimed_at, std::optional<std::int64_t> max_hold) noexcept {
  return max_hold && later(clock, lease) > old_expiry && later(claimed_at, *max_hold) <= old_expiry;
}

// True when the note of a retry says the verdict "running": the word alone, or before a colon.
constexpr bool says_running(std::string_view note) noexcept {
  constexpr std::string_view word = "running";
  if (note.substr(0, word.size()) != word) return false;
  return note.size() == word.size() || note[word.size()] == ':';
}

// True when a settle with this disposition and note (empty = none) adds to the failure count: every
// retry but the verdict "running". Expiry and resolved-but-listed are counted where they are found.
constexpr bool counts_as_failure(disposition value, std::string_view note) noexcept {
  return value == disposition::retry && !says_running(note);
}

}  // namespace ql3
