#include "client/store_error.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace ql3 {
namespace {

struct Row {
  const char* word;
  bool retryable;
  std::vector<const char*> states;
};

// The table of docs/supervise.md. Codes without a state are found out by the client itself.
const Row table[] = {
    {"unreachable", true, {}},
    {"lost_reply", true, {"08000", "08001", "08003", "08004", "08006", "08007", "08P01"}},
    {"read_only", true, {"25006"}},
    {"shutting_down", true, {"57P01", "57P02", "57P03", "57P05"}},
    {"exhausted", true, {"53000", "53100", "53200", "53300", "53400"}},
    {"locked", true, {"55P03"}},
    {"conflict", true, {"40000", "40001", "40002", "40003", "40P01"}},
    {"cancelled", true, {"57014", "25P04"}},
    {"not_ready", false, {"3F000", "42883", "42P01"}},
    {"denied", false, {"42501", "28000", "28P01"}},
    {"unknown_kind", false, {"42704"}},
    {"not_possible", false, {"55000", "55006"}},
    {"wrong_transaction", false, {"25000", "25001", "25P02", "25P03", "0A000"}},
    {"bad_text", false, {"22021", "22P05"}},
    {"invalid", false, {"22004", "22023", "42601", "42703", "42804", "54000"}},
    {"malformed", false, {}},
    {"failed", false, {"57P04", "23505", "58030", "P0001", "XX000", "XX001", "", "5"}},
};

TEST(StoreError, EverySqlstateHasItsCode) {
  for (const Row& row : table) {
    for (const char* state : row.states) {
      const StoreError error(state, {});
      EXPECT_EQ(to_text(error.code()), row.word) << state;
      EXPECT_EQ(error.retryable(), row.retryable) << state;
    }
  }
}

TEST(StoreError, EveryCodeHasItsWordAndIsInTheTable) {
  for (int number = 0; number <= static_cast<int>(StoreCode::failed); ++number) {
    const auto code = static_cast<StoreCode>(number);
    const auto row = std::find_if(std::begin(table), std::end(table),
                                  [&](const Row& one) { return one.word == to_text(code); });
    ASSERT_NE(row, std::end(table)) << number;
    EXPECT_EQ(is_retryable(code), row->retryable) << row->word;
    EXPECT_EQ(row - std::begin(table), number) << row->word;
  }
}

TEST(StoreError, WhatHasNothingOfTheServersText) {
  const StoreError error("22023", {"token 5e7a is bad", "on host db1", "SELECT secret"});
  EXPECT_STREQ(error.what(), "invalid: an argument was refused (SQLSTATE 22023)");
  EXPECT_EQ(error.server().hint, "SELECT secret");
}

TEST(StoreError, OnlyALostReplyIsInDoubt) {
  EXPECT_TRUE(StoreError(StoreCode::lost_reply, "x").in_doubt());
  EXPECT_FALSE(StoreError(StoreCode::unreachable, "x").in_doubt());
  EXPECT_FALSE(StoreError("55P03", {}).in_doubt());
}

}  // namespace
}  // namespace ql3
