// Versions only grow: past the previous one, the floor of the kind, and every earlier timeline.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "core/claim.hpp"
#include "core_refusal.hpp"

namespace {

using ql3::next_version;
using ql3::try_next_version;
using ql3::test::expect_refused;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t span = std::int64_t{1} << 40;

TEST(Version, is_the_greatest_of_the_three_plus_one) {
  EXPECT_EQ(next_version(0, 0, 1), 1);
  EXPECT_EQ(next_version(7, 0, 1), 8);
  EXPECT_EQ(next_version(7, 9, 1), 10);
  EXPECT_EQ(next_version(9, 7, 1), 10);
  EXPECT_EQ(next_version(7, 9, 2), span + 1);
  EXPECT_EQ(next_version(span, 0, 2), span + 1);
  EXPECT_EQ(next_version(span + 1, 0, 2), span + 2);
  EXPECT_EQ(next_version(3 * span + 5, 0, 2), 3 * span + 6);
  EXPECT_EQ(next_version(0, 0, 3), 2 * span + 1);
}

TEST(Version, starts_at_one_whatever_the_row_says) {
  EXPECT_EQ(next_version(-5, -7, 1), 1);
  EXPECT_EQ(next_version(std::numeric_limits<std::int64_t>::min(),
                         std::numeric_limits<std::int64_t>::min(), 1),
            1);
}

TEST(Version, ends_with_an_error_and_never_wraps) {
  EXPECT_EQ(next_version(most - 1, 0, 1), most);
  for (const auto& used_up : {std::pair{most, std::int64_t{0}}, std::pair{std::int64_t{0}, most}}) {
    EXPECT_EQ(try_next_version(used_up.first, used_up.second, 1), std::nullopt);
    expect_refused([&] { next_version(used_up.first, used_up.second, 1); }, "54000",
                   {"9223372036854775807"});
  }
}

TEST(Version, timelines_beyond_the_numbers_are_an_error) {
  const std::uint32_t last = std::uint32_t{1} << 23;
  EXPECT_EQ(next_version(0, 0, last), (std::int64_t{last} - 1) * span + 1);
  expect_refused([&] { next_version(0, 0, last + 1); }, "54000", {"timeline 8388609"});
  expect_refused([] { next_version(0, 0, std::numeric_limits<std::uint32_t>::max()); }, "54000");
  expect_refused([] { next_version(0, 0, 0); }, "54000", {"timeline 0"});
  EXPECT_EQ(try_next_version(0, 0, 0), std::nullopt);
}

// Any chain of claims, with floors and promotions in between, only ever goes up, and a later
// timeline is above everything an earlier one could have given in 2^40 claims.
TEST(Version, property_every_chain_grows) {
  std::mt19937_64 random(3);
  for (int chain = 0; chain < 200; ++chain) {
    std::int64_t version = 0;
    std::uint32_t timeline = 1;
    for (int step = 0; step < 50; ++step) {
      if (random() % 10 == 0) timeline += 1 + static_cast<std::uint32_t>(random() % 3);
      const std::int64_t floor = random() % 4 == 0 ? static_cast<std::int64_t>(random() >> 20) : 0;
      // A restore may bring an older row back; the floor and the timeline stay.
      const std::int64_t previous = random() % 6 == 0 ? version / 2 : version;
      const auto next = try_next_version(previous, floor, timeline);
      ASSERT_TRUE(next.has_value());
      EXPECT_GT(*next, previous);
      EXPECT_GT(*next, floor);
      EXPECT_GT(*next, (std::int64_t{timeline} - 1) * span);
      version = *next;
    }
  }
}

}  // namespace
