// The numbers of the contract, written out once more so that none changes unseen.
#include "core/limits.hpp"

#include <gtest/gtest.h>

namespace {

TEST(ContractLimits, are_the_published_ones) {
  EXPECT_EQ(ql3::page_size_min, 1);
  EXPECT_EQ(ql3::page_size_max, 128);
  EXPECT_EQ(ql3::page_size_default, 16);
  EXPECT_EQ(ql3::lease_min, 1'000'000);
  EXPECT_EQ(ql3::lease_max, 300'000'000);
  EXPECT_EQ(ql3::lease_default, 30'000'000);
  EXPECT_EQ(ql3::max_hold_min, 1'000'000);
  EXPECT_EQ(ql3::max_hold_default, 3'600'000'000);
  EXPECT_EQ(ql3::retry_delay_min, 0);
  EXPECT_EQ(ql3::retry_delay_max, 300'000'000);
  EXPECT_EQ(ql3::observe_after_min, 1'000'000);
  EXPECT_EQ(ql3::observe_after_max, 86'400'000'000);
  EXPECT_EQ(ql3::observe_after_default, 300'000'000);
  EXPECT_EQ(ql3::failure_count_max, 1'000'000);
  EXPECT_EQ(ql3::sources_max, 64);
  EXPECT_EQ(ql3::owner_max, 128U);
  EXPECT_EQ(ql3::kind_max, 63U);
  EXPECT_EQ(ql3::id_max, 255U);
  EXPECT_EQ(ql3::note_max, 2048U);
  EXPECT_EQ(ql3::source_json_max, 8192U);
  EXPECT_EQ(ql3::arguments_max, 8192U);
  EXPECT_EQ(ql3::evidence_max, 65536U);
  EXPECT_EQ(ql3::evidence_kept, 2048U);
}

}  // namespace
