// The fence holds only when every part of it does.
#include "core/fence.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>

namespace {

using ql3::check_fence;
using ql3::control_row;
using ql3::fence;
using ql3::fence_result;
using ql3::instant;
using ql3::state;

using digest = std::array<unsigned char, 32>;

constexpr instant now = 1'000'000'000;
constexpr std::int64_t reach = ql3::lease_max;

digest filled(unsigned char first) {
  digest bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(first + i);
  return bytes;
}

class Fence : public testing::Test {
 protected:
  Fence() {
    row.kind = "job";
    row.id = "17";
    row.owner = "host-1";
    row.has_owner = true;
    row.token_digest = stored.data();
    row.control.st = state::claimed;
    row.control.expires_at = now + 1;
    row.control.has_expires = true;
    row.control.version = 42;
    held = {"job", "17", "host-1", given.data(), 42};
  }

  fence_result check(instant clock = now) const { return check_fence(row, held, clock); }

  digest stored = filled(9);
  digest given = filled(9);
  control_row row;
  fence held;
};

TEST_F(Fence, holds_when_everything_matches) { EXPECT_EQ(check(), fence_result::holds); }

TEST_F(Fence, ends_exactly_at_expiry) {
  row.control.expires_at = now;
  EXPECT_EQ(check(now - 1), fence_result::holds);
  EXPECT_EQ(check(now), fence_result::fenced);
  EXPECT_EQ(check(now + 1), fence_result::fenced);
  row.control.expires_at = now + reach;
  EXPECT_EQ(check(), fence_result::holds);
  row.control.expires_at = now + reach + 1;
  EXPECT_EQ(check(), fence_result::fenced);
  row.control.expires_at = ql3::instant_max;
  EXPECT_EQ(check(), fence_result::fenced);
}

TEST_F(Fence, every_state_but_claimed_is_fenced) {
  for (const state st :
       {state::available, state::retry, state::manual, state::resolved, static_cast<state>(99)}) {
    row.control.st = st;
    EXPECT_EQ(check(), fence_result::fenced);
  }
}

TEST_F(Fence, the_version_is_exact) {
  for (const std::int64_t version :
       {std::int64_t{0}, std::int64_t{41}, std::int64_t{43}, std::int64_t{-42},
        std::int64_t{42} + (std::int64_t{1} << 32)}) {
    held.version = version;
    EXPECT_EQ(check(), fence_result::fenced) << version;
  }
}

TEST_F(Fence, words_are_equal_byte_for_byte) {
  for (const std::string_view other : {"", "host-", "host-12", "Host-1", "host-1 ", "host_1"}) {
    held.owner = other;
    EXPECT_EQ(check(), fence_result::fenced) << other;
  }
  held.owner = "host-1";
  for (const std::string_view other : {"", "1", "170", "017", "17 "}) {
    held.id = other;
    EXPECT_EQ(check(), fence_result::fenced) << other;
  }
  held.id = "17";
  for (const std::string_view other : {"", "jo", "jobs", "run"}) {
    held.kind = other;
    EXPECT_EQ(check(), fence_result::fenced) << other;
  }
  held.kind = "job";
  EXPECT_EQ(check(), fence_result::holds);
}

TEST_F(Fence, every_single_bit_of_the_token_counts) {
  for (std::size_t byte = 0; byte < given.size(); ++byte) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      given[byte] = static_cast<unsigned char>(given[byte] ^ (1U << bit));
      EXPECT_EQ(check(), fence_result::fenced) << byte << "." << bit;
      given[byte] = static_cast<unsigned char>(given[byte] ^ (1U << bit));
    }
  }
  EXPECT_EQ(check(), fence_result::holds);
}

TEST_F(Fence, nothing_that_is_null_matches) {
  row.has_owner = false;
  EXPECT_EQ(check(), fence_result::fenced);
  row.owner = {};
  held.owner = {};
  EXPECT_EQ(check(), fence_result::fenced);
  row.owner = held.owner = "host-1";
  row.has_owner = true;

  row.token_digest = nullptr;
  EXPECT_EQ(check(), fence_result::fenced);
  held.token_digest = nullptr;
  EXPECT_EQ(check(), fence_result::fenced);
  row.token_digest = stored.data();
  EXPECT_EQ(check(), fence_result::fenced);
  held.token_digest = given.data();

  row.control.has_expires = false;
  EXPECT_EQ(check(), fence_result::fenced);
  row.control.has_expires = true;
  EXPECT_EQ(check(), fence_result::holds);

  EXPECT_EQ(check_fence(control_row{}, ql3::fence{}, now), fence_result::fenced);
}

TEST_F(Fence, same_claim_ignores_time_and_state_only) {
  row.control.st = state::retry;
  row.control.has_expires = false;
  EXPECT_TRUE(same_claim(row, held));
  held.version = 41;
  EXPECT_FALSE(same_claim(row, held));
}

// All 2^7 combinations of what may be wrong: only none wrong holds.
TEST_F(Fence, every_combination_of_wrong_parts_is_fenced) {
  const digest other = filled(10);
  const control_row right_row = row;
  const fence right_fence = held;
  const std::function<void()> faults[] = {
      [&] { held.kind = "run"; },           [&] { held.id = "18"; },
      [&] { held.owner = "host-2"; },       [&] { held.token_digest = other.data(); },
      [&] { held.version = 41; },           [&] { row.control.st = state::available; },
      [&] { row.control.expires_at = now; }};
  for (unsigned set = 0; set < (1U << std::size(faults)); ++set) {
    row = right_row;
    held = right_fence;
    for (std::size_t i = 0; i < std::size(faults); ++i) {
      if ((set >> i & 1U) != 0) faults[i]();
    }
    EXPECT_EQ(check(), set == 0 ? fence_result::holds : fence_result::fenced) << set;
  }
}

}  // namespace
