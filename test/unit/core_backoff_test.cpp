// The delay of a retry that names none.
#include "core/backoff.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace {

using ql3::default_retry_delay;
using ql3::one_second;

constexpr std::uint64_t no_bits = 0;
constexpr std::uint64_t all_bits = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t half_bits = std::uint64_t{1} << 63;

TEST(Backoff, doubles_and_is_spread_by_a_fifth_both_ways) {
  for (int failures = 0; failures <= 7; ++failures) {
    const std::int64_t middle = one_second << failures;
    EXPECT_EQ(default_retry_delay(failures, no_bits), middle - middle / 5);
    EXPECT_EQ(default_retry_delay(failures, all_bits), middle + middle / 5);
    EXPECT_EQ(default_retry_delay(failures, half_bits), middle);
  }
}

TEST(Backoff, is_at_most_five_minutes) {
  EXPECT_EQ(default_retry_delay(8, no_bits), 204'800'000);
  EXPECT_EQ(default_retry_delay(8, half_bits), 256 * one_second);
  EXPECT_EQ(default_retry_delay(8, all_bits), 300 * one_second);
  for (const std::int32_t failures :
       {9, 10, 64, 1'000'000, std::numeric_limits<std::int32_t>::max()}) {
    for (const std::uint64_t bits : {no_bits, half_bits, all_bits}) {
      EXPECT_EQ(default_retry_delay(failures, bits), 300 * one_second);
    }
  }
}

TEST(Backoff, a_negative_count_is_none) {
  for (const std::int32_t failures : {-1, std::numeric_limits<std::int32_t>::min()}) {
    EXPECT_EQ(default_retry_delay(failures, half_bits), one_second);
  }
}

TEST(Backoff, property_stays_in_its_band_and_uses_all_of_it) {
  std::mt19937_64 random(5);
  for (int failures = 0; failures <= 12; ++failures) {
    const std::int64_t middle = one_second << std::min(failures, 9);
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t greatest = 0;
    for (int round = 0; round < 4000; ++round) {
      const std::int64_t delay = default_retry_delay(failures, random());
      least = std::min(least, delay);
      greatest = std::max(greatest, delay);
    }
    const std::int64_t cap = 300 * one_second;
    EXPECT_GE(least, std::min(middle - middle / 5, cap));
    EXPECT_LE(greatest, std::min(middle + middle / 5, cap));
    if (failures < 8) {
      EXPECT_LT(least, middle - middle / 6);
      EXPECT_GT(greatest, middle + middle / 6);
    }
  }
}

}  // namespace
