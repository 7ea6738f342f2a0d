// The policy as a whole: a small model of one target with several owners, driven at random with a
// fixed seed, through the same predicates the server side uses. What must hold at every step is
// written as expectations; the clock also steps back, facts change, and calls come late.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/backoff.hpp"
#include "core/claim.hpp"
#include "core/fence.hpp"
#include "core/limits.hpp"

namespace {

using ql3::claimability;
using ql3::instant;
using ql3::state;

using digest = std::array<unsigned char, 32>;

struct hand_out {
  std::string owner;
  digest token{};
  std::int64_t version = 0;
  instant expires_at = 0;
};

class target {
 public:
  explicit target(std::uint64_t seed) : random_(seed) {}

  claimability look(instant clock, bool changed) const { return judge(control_, clock, changed); }

  std::optional<hand_out> claim(const std::string& owner, instant clock, std::int64_t lease,
                                bool changed) {
    if (look(clock, changed) != claimability::claimable) return std::nullopt;
    if (control_.st == state::claimed) {
      control_.failure_count = ql3::add_failure(control_.failure_count);
    }
    owner_ = owner;
    for (unsigned char& byte : token_) byte = static_cast<unsigned char>(random_());
    control_.st = state::claimed;
    control_.version = ql3::next_version(control_.version, 0, 1);
    control_.expires_at = ql3::first_expiry(clock, lease);
    control_.has_expires = true;
    control_.has_next = false;
    claimed_at_ = clock;
    return hand_out{owner, token_, control_.version, control_.expires_at};
  }

  bool settle(const hand_out& held, instant clock, ql3::disposition how, std::string_view note) {
    if (!holds(held, clock)) return false;
    if (counts_as_failure(how, note)) {
      control_.failure_count = ql3::add_failure(control_.failure_count);
    }
    control_.st = state_after(how);
    control_.has_expires = false;
    control_.has_next = how != ql3::disposition::manual;
    control_.next_claim_at =
        ql3::later(clock, ql3::default_retry_delay(control_.failure_count, random_()));
    return true;
  }

  bool renew(const hand_out& held, instant clock, std::int64_t lease, std::int64_t max_hold) {
    if (!holds(held, clock)) return false;
    if (ql3::hold_is_used_up(clock, lease, control_.expires_at, claimed_at_, max_hold))
      return false;
    const instant before = control_.expires_at;
    control_.expires_at = ql3::renewed_expiry(clock, lease, before, claimed_at_, max_hold);
    EXPECT_GE(control_.expires_at, before);
    EXPECT_LE(control_.expires_at, std::max(before, claimed_at_ + max_hold));
    return true;
  }

  void release() {
    if (control_.st != state::manual) return;
    control_.st = state::available;
    control_.has_next = false;
  }

  bool holds(const hand_out& held, instant clock) const {
    ql3::control_row row{"job", "1", owner_, true, token_.data(), control_};
    const ql3::fence given{"job", "1", held.owner, held.token.data(), held.version};
    return check_fence(row, given, clock) == ql3::fence_result::holds;
  }

  const ql3::control_view& control() const { return control_; }

 private:
  ql3::control_view control_;
  std::string owner_;
  digest token_{};
  instant claimed_at_ = 0;
  std::mt19937_64 random_;
};

TEST(Protocol, at_most_one_hand_out_ever_holds) {
  std::mt19937_64 random(42);
  const auto pick = [&](std::int64_t below) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
  };
  int claims = 0;
  int settled = 0;
  int renewed = 0;
  int refused = 0;
  for (int world = 0; world < 60; ++world) {
    target one(random());
    std::vector<hand_out> given;
    instant clock = 1'000'000'000'000;
    std::int64_t last_version = 0;
    const std::int64_t max_hold = ql3::max_hold_min + pick(ql3::one_hour);
    for (int step = 0; step < 400; ++step) {
      clock += pick(20 * ql3::one_second);
      if (pick(100) == 0) clock -= pick(ql3::one_hour);
      const bool changed = pick(30) == 0;
      const std::int64_t lease = ql3::lease_min + pick(ql3::lease_max - ql3::lease_min + 1);
      switch (pick(5)) {
        case 0:
        case 1: {
          const claimability before = one.look(clock, changed);
          // Twice the same owner: an older claim of one's own must not pass either.
          const auto got = one.claim("owner-" + std::to_string(pick(2)), clock, lease, changed);
          EXPECT_EQ(got.has_value(), before == claimability::claimable);
          if (got) {
            ++claims;
            EXPECT_GT(got->version, last_version);
            last_version = got->version;
            EXPECT_TRUE(one.holds(*got, clock)) << "born expired";
            given.push_back(*got);
          }
          break;
        }
        case 2:
          if (!given.empty()) {
            const hand_out& held =
                given[static_cast<std::size_t>(pick(static_cast<std::int64_t>(given.size())))];
            const auto how = static_cast<ql3::disposition>(pick(3));
            const auto before = one.control();
            if (one.settle(held, clock, how, pick(2) == 0 ? "running" : "")) {
              ++settled;
              EXPECT_EQ(held.version, last_version);
              EXPECT_FALSE(one.holds(held, clock)) << "settled twice";
            } else {
              ++refused;
              EXPECT_EQ(one.control().version, before.version);
              EXPECT_EQ(one.control().expires_at, before.expires_at);
              EXPECT_EQ(one.control().st, before.st);
            }
          }
          break;
        case 3:
          if (!given.empty() && one.renew(given.back(), clock, lease, max_hold)) ++renewed;
          break;
        default:
          if (pick(4) == 0) one.release();
      }
      int holding = 0;
      for (const hand_out& held : given) holding += one.holds(held, clock) ? 1 : 0;
      ASSERT_LE(holding, 1);
      ASSERT_EQ(holding == 1, one.look(clock, false) == claimability::held);
      if (holding == 1) {
        ASSERT_TRUE(one.holds(given.back(), clock)) << "an older hand-out holds";
      }
    }
  }
  EXPECT_GT(claims, 500);
  EXPECT_GT(settled, 100);
  EXPECT_GT(renewed, 100);
  EXPECT_GT(refused, 1000);
}

// However the clock moved, whatever is not parked is claimable 5 minutes later, without anybody
// doing anything.
TEST(Protocol, nothing_stays_stuck_longer_than_five_minutes) {
  std::mt19937_64 random(43);
  for (int round = 0; round < 20000; ++round) {
    ql3::control_view control;
    control.st = static_cast<state>(random() % 5);
    control.has_expires = control.st == state::claimed;
    control.has_next = control.st == state::retry || control.st == state::resolved;
    const auto clock = static_cast<instant>(random() >> 8);
    const auto near =
        static_cast<std::int64_t>(random() % (40ULL * 60 * 1'000'000)) - 20 * ql3::one_minute;
    const instant time = random() % 2 == 0 ? clock + near : static_cast<instant>(random());
    control.expires_at = time;
    control.next_claim_at = time;
    const claimability after = judge(control, clock + ql3::lease_max, false);
    if (judge(control, clock, false) == claimability::held ||
        judge(control, clock, false) == claimability::waiting) {
      EXPECT_EQ(after, claimability::claimable);
    }
    // A time the clock has yet to come near may take effect when it does; it is over 5 min later.
    if (control.st == state::manual) {
      EXPECT_EQ(after, claimability::parked);
    } else {
      EXPECT_EQ(judge(control, std::max(time, clock), false), claimability::claimable);
    }
  }
}

}  // namespace
