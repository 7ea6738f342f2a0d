// When a claim is valid, what may be claimed, and how long a renewal lasts.
#include "core/claim.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace {

using ql3::claim_is_valid;
using ql3::claimability;
using ql3::control_view;
using ql3::instant;
using ql3::instant_max;
using ql3::instant_min;
using ql3::judge;
using ql3::one_minute;
using ql3::one_second;
using ql3::state;

constexpr instant now = 842'000'000'000'000;
constexpr std::int64_t reach = 5 * one_minute;

TEST(Later, stops_at_the_ends_of_the_scale) {
  EXPECT_EQ(ql3::later(10, 5), 15);
  EXPECT_EQ(ql3::later(10, -5), 5);
  EXPECT_EQ(ql3::later(instant_max - 1, 1), instant_max);
  EXPECT_EQ(ql3::later(instant_max - 1, 2), instant_max);
  EXPECT_EQ(ql3::later(instant_max, instant_max), instant_max);
  EXPECT_EQ(ql3::later(instant_min + 1, -2), instant_min);
  EXPECT_EQ(ql3::later(instant_min, instant_min), instant_min);
  EXPECT_EQ(ql3::later(0, instant_min), instant_min);
  EXPECT_EQ(ql3::later(instant_min, instant_max), -1);
}

TEST(ClaimIsValid, is_exact_at_both_ends) {
  EXPECT_FALSE(claim_is_valid(now, now - 1));
  EXPECT_FALSE(claim_is_valid(now, now));
  EXPECT_TRUE(claim_is_valid(now, now + 1));
  EXPECT_TRUE(claim_is_valid(now, now + reach));
  EXPECT_FALSE(claim_is_valid(now, now + reach + 1));
}

TEST(ClaimIsValid, no_infinite_or_extreme_time_is_valid_and_nothing_overflows) {
  for (const instant clock :
       {instant_min, instant{-1}, instant{0}, now, instant_max - 1, instant_max}) {
    EXPECT_FALSE(claim_is_valid(clock, instant_max)) << clock;
    EXPECT_FALSE(claim_is_valid(clock, instant_min)) << clock;
  }
  EXPECT_TRUE(claim_is_valid(instant_max - 2, instant_max - 1));
  EXPECT_TRUE(claim_is_valid(instant_min, instant_min + reach));
  EXPECT_FALSE(claim_is_valid(instant_min, instant_min + reach + 1));
  EXPECT_TRUE(claim_is_valid(-1, 1));
}

TEST(ClaimIsValid, a_clock_that_steps_back_frees_a_claim_in_bounded_time) {
  const instant expires = now + 30 * one_second;
  EXPECT_FALSE(claim_is_valid(now - 6 * ql3::one_hour, expires));
  EXPECT_FALSE(claim_is_valid(now + 6 * ql3::one_hour, expires));
}

control_view in_state(state st) {
  control_view control;
  control.st = st;
  return control;
}

control_view expiring(instant at) {
  control_view control = in_state(state::claimed);
  control.expires_at = at;
  control.has_expires = true;
  return control;
}

control_view due(state st, instant at) {
  control_view control = in_state(st);
  control.next_claim_at = at;
  control.has_next = true;
  return control;
}

TEST(Judge, available_is_claimable_and_manual_parked_whatever_else) {
  for (const bool changed : {false, true}) {
    EXPECT_EQ(judge(in_state(state::available), now, changed), claimability::claimable);
    EXPECT_EQ(judge(in_state(state::manual), now, changed), claimability::parked);
    EXPECT_EQ(judge(due(state::manual, now - 1), now, changed), claimability::parked);
    EXPECT_EQ(judge(in_state(static_cast<state>(99)), now, changed), claimability::parked);
  }
}

TEST(Judge, a_claim_is_held_exactly_while_it_is_valid) {
  for (const bool changed : {false, true}) {
    EXPECT_EQ(judge(expiring(now - 1), now, changed), claimability::claimable);
    EXPECT_EQ(judge(expiring(now), now, changed), claimability::claimable);
    EXPECT_EQ(judge(expiring(now + 1), now, changed), claimability::held);
    EXPECT_EQ(judge(expiring(now + reach), now, changed), claimability::held);
    EXPECT_EQ(judge(expiring(now + reach + 1), now, changed), claimability::claimable);
    EXPECT_EQ(judge(expiring(instant_max), now, changed), claimability::claimable);
  }
}

TEST(Judge, retry_and_resolved_wait_their_time) {
  for (const state st : {state::retry, state::resolved}) {
    EXPECT_EQ(judge(due(st, now - 1), now, false), claimability::claimable);
    EXPECT_EQ(judge(due(st, now), now, false), claimability::claimable);
    EXPECT_EQ(judge(due(st, now + 1), now, false), claimability::waiting);
    EXPECT_EQ(judge(due(st, now + reach), now, false), claimability::waiting);
  }
}

TEST(Judge, a_waiting_time_out_of_reach_waits_for_nothing) {
  for (const state st : {state::retry, state::resolved}) {
    EXPECT_EQ(judge(due(st, now + reach + 1), now, false), claimability::claimable);
    EXPECT_EQ(judge(due(st, instant_max), now, false), claimability::claimable);
    EXPECT_EQ(judge(due(st, instant_min), now, false), claimability::claimable);
  }
}

TEST(Judge, changed_facts_end_the_wait_of_resolved_only) {
  for (const instant next : {now + 1, now + reach}) {
    EXPECT_EQ(judge(due(state::resolved, next), now, true), claimability::claimable);
    EXPECT_EQ(judge(due(state::retry, next), now, true), claimability::waiting);
  }
}

// A time without its flag is NULL: it is never compared.
TEST(Judge, a_missing_time_holds_nobody_up) {
  control_view claimed = expiring(now + 1);
  claimed.has_expires = false;
  EXPECT_EQ(judge(claimed, now, false), claimability::claimable);
  for (const state st : {state::retry, state::resolved}) {
    control_view waiting = due(st, now + 1);
    waiting.has_next = false;
    EXPECT_EQ(judge(waiting, now, false), claimability::claimable);
  }
}

TEST(Judge, the_times_of_another_state_do_not_count) {
  control_view retry = due(state::retry, now);
  retry.expires_at = now + 1;
  retry.has_expires = true;
  EXPECT_EQ(judge(retry, now, false), claimability::claimable);
  control_view claimed = expiring(now);
  claimed.next_claim_at = now + 1;
  claimed.has_next = true;
  EXPECT_EQ(judge(claimed, now, false), claimability::claimable);
}

TEST(Failures, count_up_to_a_million_and_stay) {
  EXPECT_EQ(ql3::add_failure(0), 1);
  EXPECT_EQ(ql3::add_failure(999'998), 999'999);
  EXPECT_EQ(ql3::add_failure(999'999), 1'000'000);
  EXPECT_EQ(ql3::add_failure(1'000'000), 1'000'000);
  EXPECT_EQ(ql3::add_failure(std::numeric_limits<std::int32_t>::max()), 1'000'000);
  EXPECT_EQ(ql3::add_failure(-1), 1);
  EXPECT_EQ(ql3::add_failure(std::numeric_limits<std::int32_t>::min()), 1);
}

TEST(Failures, park_at_the_limit_and_never_without_one) {
  EXPECT_FALSE(ql3::exhausted(2, 3));
  EXPECT_TRUE(ql3::exhausted(3, 3));
  EXPECT_TRUE(ql3::exhausted(4, 3));
  EXPECT_TRUE(ql3::exhausted(1, 1));
  EXPECT_FALSE(ql3::exhausted(0, 1));
  EXPECT_FALSE(ql3::exhausted(1'000'000, std::nullopt));
  // A limit that was taken away leaves its old number behind in the storage.
  std::optional<std::int32_t> removed = 1;
  removed.reset();
  EXPECT_FALSE(ql3::exhausted(5, removed));
  EXPECT_TRUE(ql3::exhausted(ql3::add_failure(1'000'000), ql3::failure_count_max));
}

TEST(Failures, every_retry_counts_but_the_verdict_running) {
  using ql3::counts_as_failure;
  using ql3::disposition;
  for (const char* note : {"", "running late", "Running", "runnin", "runnings", " running",
                           "not running", "running ", "provider unavailable"}) {
    EXPECT_TRUE(counts_as_failure(disposition::retry, note)) << note;
  }
  for (const char* note : {"running", "running:", "running: pid 7 answers"}) {
    EXPECT_FALSE(counts_as_failure(disposition::retry, note)) << note;
  }
  for (const disposition value : {disposition::resolved, disposition::manual}) {
    EXPECT_FALSE(counts_as_failure(value, ""));
    EXPECT_FALSE(counts_as_failure(value, "running"));
  }
}

TEST(Expiry, a_lease_starts_at_the_clock_and_is_never_born_expired) {
  for (const std::int64_t lease : {ql3::lease_min, ql3::lease_default, ql3::lease_max}) {
    EXPECT_EQ(ql3::first_expiry(now, lease), now + lease);
    EXPECT_TRUE(claim_is_valid(now, ql3::first_expiry(now, lease)));
  }
  EXPECT_EQ(ql3::first_expiry(instant_max - 1, ql3::lease_max), instant_max);
}

TEST(Renewal, counts_from_the_clock) {
  EXPECT_EQ(ql3::renewed_expiry(now, 30 * one_second, now + 1, now - 60, std::nullopt),
            now + 30 * one_second);
}

TEST(Renewal, never_shortens) {
  const instant old = now + reach;
  EXPECT_EQ(ql3::renewed_expiry(now, one_second, old, now, std::nullopt), old);
  EXPECT_FALSE(ql3::hold_is_used_up(now, one_second, old, now, std::nullopt));
  EXPECT_FALSE(ql3::hold_is_used_up(now, one_second, old, now - reach, one_second));
}

TEST(Renewal, ends_with_the_hold_of_the_source) {
  const instant claimed_at = now - 50 * one_second;
  const instant old = now + one_second;
  const std::int64_t lease = 30 * one_second;
  // Room for all of it, exactly all of it, a part, one microsecond, none.
  EXPECT_EQ(ql3::renewed_expiry(now, lease, old, claimed_at, one_minute * 60), now + lease);
  EXPECT_EQ(ql3::renewed_expiry(now, lease, old, claimed_at, 80 * one_second), now + lease);
  EXPECT_EQ(ql3::renewed_expiry(now, lease, old, claimed_at, 60 * one_second),
            now + 10 * one_second);
  EXPECT_EQ(ql3::renewed_expiry(now, lease, old, claimed_at, 51 * one_second + 1), old + 1);
  EXPECT_FALSE(ql3::hold_is_used_up(now, lease, old, claimed_at, 51 * one_second + 1));
  EXPECT_EQ(ql3::renewed_expiry(now, lease, old, claimed_at, 51 * one_second), old);
  EXPECT_TRUE(ql3::hold_is_used_up(now, lease, old, claimed_at, 51 * one_second));
  EXPECT_TRUE(ql3::hold_is_used_up(now, lease, old, claimed_at, one_second));
  EXPECT_EQ(ql3::renewed_expiry(now, lease, old, claimed_at, one_second), old);
  EXPECT_FALSE(ql3::hold_is_used_up(now, lease, old, claimed_at, std::nullopt));
}

TEST(Renewal, does_not_overflow) {
  EXPECT_EQ(ql3::renewed_expiry(instant_max - 1, ql3::lease_max, 5, 0, std::nullopt), instant_max);
  EXPECT_EQ(ql3::renewed_expiry(now, one_second, 5, instant_max - 1, ql3::max_hold_max),
            now + one_second);
}

}  // namespace
