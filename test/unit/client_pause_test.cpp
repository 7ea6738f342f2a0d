// The pauses between tries: growing, bounded, and no two replicas in step.
#include "client/pause.hpp"

#include <algorithm>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "client_fakes.hpp"

namespace ql3 {
namespace {

using Pauses = std::vector<Clock::Length>;

Pauses pauses_of_one(int count) {
  Backoff backoff;
  Pauses pauses;
  for (int n = 0; n < count; ++n) pauses.push_back(backoff.next());
  return pauses;
}

TEST(Backoff, DoublesFromATenthToTwoSecondsAndIsCutByAQuarterAtMost) {
  for (int round = 0; round < 200; ++round) {
    Clock::Length whole = Milliseconds(100);
    for (const Clock::Length pause : pauses_of_one(200)) {
      EXPECT_GE(pause, whole * 3 / 4);
      EXPECT_LE(pause, whole);
      whole = std::min<Clock::Length>(whole * 2, Milliseconds(2000));
    }
  }
}

TEST(Backoff, EveryPauseIsDrawnAnewAndUsesTheWholeQuarter) {
  std::vector<double> parts;
  for (int round = 0; round < 1000; ++round) {
    parts.push_back(static_cast<double>(Backoff().next().count()) / 100e6);
  }
  EXPECT_GT(std::set<double>(parts.begin(), parts.end()).size(), 900U);
  const auto [low, high] = std::minmax_element(parts.begin(), parts.end());
  EXPECT_LT(*low, 0.78);
  EXPECT_GT(*high, 0.97);
}

TEST(Backoff, ThreadsThatFailTogetherDoNotComeBackTogether) {
  std::vector<Pauses> all(8);
  {
    std::vector<std::jthread> threads;
    for (Pauses& mine : all) threads.emplace_back([&mine] { mine = pauses_of_one(4); });
  }
  EXPECT_EQ(std::set<Pauses>(all.begin(), all.end()).size(), all.size());
}

TEST(Jitter, MovesAnIntervalByAFifthBothWays) {
  const Clock::Length interval = std::chrono::seconds(5);
  Clock::Length low = interval, high = interval;
  for (int n = 0; n < 1000; ++n) {
    const Clock::Length one = jittered(interval);
    low = std::min(low, one);
    high = std::max(high, one);
  }
  EXPECT_GE(low, interval * 8 / 10);
  EXPECT_LE(high, interval * 12 / 10);
  EXPECT_LT(low, interval * 82 / 100);
  EXPECT_GT(high, interval * 118 / 100);
}

TEST(SleepUntil, EndsWithItsTimeOrAStop) {
  test::FakeClock clock;
  std::stop_source stop;
  EXPECT_TRUE(sleep_until(clock, clock.now(), stop.get_token()));
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_FALSE(sleep_until(clock, clock.now() + std::chrono::hours(1), stop.get_token()));
}

}  // namespace
}  // namespace ql3
