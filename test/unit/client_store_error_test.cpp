#include "client/store_error.hpp"

#include <gtest/gtest.h>

namespace ql3 {
namespace {

TEST(StoreError, RetryableIsWhatMayPass) {
  for (const char* state : {"08000", "08006", "25006", "40001", "40P01", "53100", "53300", "55P03",
                            "57P01", "57P02", "57P03", "57014"}) {
    EXPECT_TRUE(StoreError(state, {}).retryable()) << state;
  }
  for (const char* state : {"22023", "22004", "25000", "25001", "0A000", "42501", "28P01", "42704",
                            "42883", "3F000", "55000", "23505", "P0001", "XX000", "22P05"}) {
    EXPECT_FALSE(StoreError(state, {}).retryable()) << state;
  }
}

TEST(StoreError, CodesAreStable) {
  EXPECT_EQ(code_of_sqlstate("25006"), StoreCode::read_only);
  EXPECT_EQ(code_of_sqlstate("25001"), StoreCode::wrong_transaction);
  EXPECT_EQ(code_of_sqlstate("42704"), StoreCode::unknown_kind);
  EXPECT_EQ(code_of_sqlstate("42883"), StoreCode::not_ready);
  EXPECT_EQ(code_of_sqlstate("42501"), StoreCode::denied);
  EXPECT_EQ(code_of_sqlstate("55000"), StoreCode::not_possible);
  EXPECT_EQ(code_of_sqlstate("22P05"), StoreCode::bad_text);
  EXPECT_EQ(code_of_sqlstate("22023"), StoreCode::invalid);
  EXPECT_EQ(code_of_sqlstate(""), StoreCode::failed);
  EXPECT_EQ(to_text(StoreCode::lost_reply), "lost_reply");
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
