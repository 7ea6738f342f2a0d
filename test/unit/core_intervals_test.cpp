// Lengths of time: units, limits, and the values that have no length.
#include "core/intervals.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "core/limits.hpp"
#include "core_refusal.hpp"

namespace {

using ql3::interval_parts;
using ql3::length_of;
using ql3::one_day;
using ql3::one_hour;
using ql3::one_minute;
using ql3::one_second;
using ql3::test::expect_refused;

constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t int64_min = std::numeric_limits<std::int64_t>::min();
constexpr std::int32_t int32_max = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t int32_min = std::numeric_limits<std::int32_t>::min();

constexpr interval_parts us(std::int64_t microseconds) { return {microseconds, 0, 0}; }
constexpr interval_parts days(std::int32_t count) { return {0, count, 0}; }

TEST(Length, adds_days_of_24_hours) {
  EXPECT_EQ(length_of(us(0), "x"), 0);
  EXPECT_EQ(length_of(us(-5), "x"), -5);
  EXPECT_EQ(length_of(days(1), "x"), 24 * one_hour);
  EXPECT_EQ(length_of({one_second, 2, 0}, "x"), 48 * one_hour + one_second);
  EXPECT_EQ(length_of({-one_hour, 1, 0}, "x"), 23 * one_hour);
  EXPECT_EQ(length_of(us(int64_max), "x"), int64_max);
  EXPECT_EQ(length_of(us(int64_min), "x"), int64_min);
}

TEST(Length, refuses_months_of_either_sign) {
  for (const std::int32_t months : {1, -1, 12, int32_max, int32_min}) {
    expect_refused(
        [&] {
          length_of({one_second, 0, months}, "lease");
        },
        "22023", {"lease", "months", "days"});
  }
}

TEST(Length, refuses_infinity_of_either_sign) {
  expect_refused(
      [] {
        length_of({int64_max, int32_max, int32_max}, "lease");
      },
      "22023", {"lease must be finite"});
  expect_refused(
      [] {
        length_of({int64_min, int32_min, int32_min}, "lease");
      },
      "22023", {"lease must be finite"});
}

TEST(Length, refuses_what_does_not_fit) {
  const auto most = static_cast<std::int32_t>(int64_max / one_day);
  EXPECT_EQ(length_of(days(most), "x"), most * one_day);
  EXPECT_EQ(length_of(days(-most), "x"), -most * one_day);
  expect_refused([&] { length_of(days(most + 1), "x"); }, "22023", {"x of ", "out of range"});
  expect_refused([&] { length_of(days(-most - 1), "x"); }, "22023", {"out of range"});
  expect_refused([] { length_of(days(int32_max), "x"); }, "22023");
  expect_refused([] { length_of(days(int32_min), "x"); }, "22023");
  expect_refused([] { length_of({int64_max, 1, 0}, "x"); }, "22023");
  expect_refused([] { length_of({int64_min, -1, 0}, "x"); }, "22023");
  EXPECT_EQ(length_of({int64_max, -1, 0}, "x"), int64_max - one_day);
}

struct limits_of {
  std::int64_t (*check)(interval_parts, std::string_view);
  const char* argument;
  std::int64_t lowest;
  std::int64_t highest;
  const char* told;
};

class Limits : public testing::TestWithParam<limits_of> {};

TEST_P(Limits, are_exact_at_both_ends) {
  const limits_of& the = GetParam();
  EXPECT_EQ(the.check(us(the.lowest), the.argument), the.lowest);
  EXPECT_EQ(the.check(us(the.highest), the.argument), the.highest);
  expect_refused([&] { the.check(us(the.lowest - 1), the.argument); }, "22023",
                 {the.argument, the.told});
  expect_refused([&] { the.check(us(the.highest + 1), the.argument); }, "22023",
                 {the.argument, the.told});
}

TEST_P(Limits, refuse_what_has_no_use) {
  const limits_of& the = GetParam();
  for (const interval_parts bad :
       {us(-1), us(-one_second), us(int64_min), us(int64_max), days(-1), days(int32_max),
        interval_parts{0, 0, 1}, interval_parts{0, 0, 1200},
        interval_parts{int64_max, int32_max, int32_max},
        interval_parts{int64_min, int32_min, int32_min}}) {
    expect_refused([&] { the.check(bad, the.argument); }, "22023", {the.argument});
  }
}

TEST_P(Limits, days_and_microseconds_add_up_before_the_test) {
  const limits_of& the = GetParam();
  EXPECT_EQ(the.check({the.highest - one_day, 1, 0}, the.argument), the.highest);
  expect_refused([&] { the.check({the.highest - one_day + 1, 1, 0}, the.argument); }, "22023");
}

INSTANTIATE_TEST_SUITE_P(
    All, Limits,
    testing::Values(
        limits_of{ql3::check_lease, "lease", one_second, 5 * one_minute, "1 s to 5 min"},
        limits_of{ql3::check_retry_delay, "delay", 0, 5 * one_minute, "0 to 5 min"},
        limits_of{ql3::check_max_hold, "max_hold", one_second, 3650 * one_day, "1 s to 3650 days"},
        limits_of{ql3::check_observe_after, "observe_after", one_second, 24 * one_hour,
                  "1 s to 24 h"},
        limits_of{ql3::check_older_than, "older_than", 1, 36500 * one_day, "1 us to 36500 days"}),
    [](const auto& one) { return std::string(one.param.argument); });

TEST(Messages, name_the_length_in_whole_units) {
  expect_refused([] { ql3::check_lease(us(0)); }, "22023", {"lease of 0 is"});
  expect_refused([] { ql3::check_lease(us(1)); }, "22023", {"lease of 1 us is"});
  expect_refused([] { ql3::check_lease(us(301 * one_second)); }, "22023", {"lease of 301 s is"});
  expect_refused([] { ql3::check_lease(us(6 * one_minute)); }, "22023", {"lease of 6 min is"});
  expect_refused([] { ql3::check_lease(days(1)); }, "22023", {"lease of 24 h is"});
  expect_refused([] { ql3::check_lease(days(-3)); }, "22023", {"lease of -3 days is"});
  expect_refused([] { ql3::check_lease(us(1'500'000'000)); }, "22023", {"lease of 25 min is"});
}

TEST(Defaults, are_within_their_limits) {
  EXPECT_EQ(ql3::check_lease(us(ql3::lease_default)), 30 * one_second);
  EXPECT_EQ(ql3::check_max_hold(us(ql3::max_hold_default)), one_hour);
  EXPECT_EQ(ql3::check_observe_after(us(ql3::observe_after_default)), 5 * one_minute);
}

// Whatever the parts, an accepted length is the exact sum and within the limits; the rest throws.
TEST(Length, property_accepted_means_exact) {
  std::mt19937_64 random(11);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    const int shift = static_cast<int>(random() % 64);
    const auto microseconds = static_cast<std::int64_t>(random()) >> shift;
    const auto day =
        static_cast<std::int32_t>(static_cast<std::int64_t>(random()) >> (32 + shift / 2));
    const std::int32_t months = random() % 8 == 0 ? 1 : 0;
    const interval_parts value{microseconds, day, months};
    const long double exact =
        static_cast<long double>(day) * one_day + static_cast<long double>(microseconds);
    try {
      const std::int64_t length = ql3::check_lease(value);
      ++accepted;
      EXPECT_EQ(months, 0);
      EXPECT_EQ(static_cast<long double>(length), exact);
      EXPECT_GE(length, ql3::lease_min);
      EXPECT_LE(length, ql3::lease_max);
    } catch (const ql3::error& refused) {
      EXPECT_STREQ(refused.sqlstate(), "22023");
      EXPECT_TRUE(months != 0 || exact < ql3::lease_min || exact > ql3::lease_max);
    }
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
