// Fair division of a page over kinds.
#include "core/page_share.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "core/limits.hpp"

namespace {

using ql3::rotated;
using ql3::share;

TEST(Share, nothing_of_nothing) {
  EXPECT_EQ(share(0, 3), 0);
  EXPECT_EQ(share(-1, 3), 0);
  EXPECT_EQ(share(3, 0), 0);
  EXPECT_EQ(share(3, -1), 0);
  EXPECT_EQ(share(std::numeric_limits<int>::max(), 1), std::numeric_limits<int>::max());
}

// Every page size with every number of kinds: when all kinds have enough, the page is full,
// exactly, and no two kinds differ by more than one.
TEST(Share, divides_every_page_fully_and_evenly) {
  for (int page = 1; page <= ql3::page_size_max; ++page) {
    for (int kinds = 1; kinds <= ql3::sources_max + 1; ++kinds) {
      int remaining = page;
      int least = page;
      int most = 0;
      for (int left = kinds; left > 0; --left) {
        const int part = share(remaining, left);
        least = std::min(least, part);
        most = std::max(most, part);
        remaining -= part;
      }
      ASSERT_EQ(remaining, 0) << page << " over " << kinds;
      ASSERT_LE(most - least, 1) << page << " over " << kinds;
    }
  }
}

TEST(Share, what_one_kind_leaves_goes_to_the_next) {
  EXPECT_EQ(share(16, 4), 4);
  EXPECT_EQ(share(16, 3), 6);
  EXPECT_EQ(share(16, 1), 16);
}

TEST(Rotated, a_round_visits_every_kind_once_from_its_start) {
  for (int kinds = 1; kinds <= ql3::sources_max + 1; ++kinds) {
    for (const unsigned start : {0U, 1U, 7U, 1000U, std::numeric_limits<unsigned>::max()}) {
      std::vector<int> visits(static_cast<std::size_t>(kinds), 0);
      EXPECT_EQ(rotated(start, 0, kinds), static_cast<int>(start % static_cast<unsigned>(kinds)));
      for (int step = 0; step < kinds; ++step) {
        const int at = rotated(start, step, kinds);
        ASSERT_GE(at, 0);
        ASSERT_LT(at, kinds);
        ++visits[static_cast<std::size_t>(at)];
      }
      for (const int count : visits) ASSERT_EQ(count, 1);
    }
  }
}

// A page smaller than the number of kinds cannot serve all of them at once; over as many rounds as
// there are kinds, each comes first once.
TEST(Rotated, every_kind_comes_first_in_turn) {
  const int kinds = 5;
  std::vector<int> first(kinds, 0);
  for (unsigned round = 0; round < kinds; ++round) {
    ++first[static_cast<std::size_t>(rotated(round, 0, kinds))];
  }
  for (const int count : first) EXPECT_EQ(count, 1);
}

}  // namespace
