#include "core/elapsed.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace ql3 {
namespace {

TEST(Elapsed, NamesTheTwoLargestUnits) {
  EXPECT_EQ(elapsed_text(0).view(), "0 ms");
  EXPECT_EQ(elapsed_text(999'999).view(), "999 ms");
  EXPECT_EQ(elapsed_text(one_second).view(), "1 s");
  EXPECT_EQ(elapsed_text(one_minute - 1).view(), "59 s");
  EXPECT_EQ(elapsed_text(one_minute + 4 * one_second).view(), "1 min 4 s");
  EXPECT_EQ(elapsed_text(one_hour - 1).view(), "59 min 59 s");
  EXPECT_EQ(elapsed_text(one_day - 1).view(), "23 h 59 min");
  EXPECT_EQ(elapsed_text(4 * one_day + 3 * one_hour).view(), "4 d 3 h");
}

TEST(Elapsed, IsTheSameBackwardsAndHoldsTheLongest) {
  EXPECT_EQ(elapsed_text(-90 * one_second).view(), "1 min 30 s");
  for (const std::int64_t end :
       {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(elapsed_text(end).view(), "106751991 d 4 h");
  }
}

}  // namespace
}  // namespace ql3
