// Tokens: random uuids only, and never in a message.
#include "core/token.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "core_refusal.hpp"

namespace {

using ql3::is_random_uuid;
using ql3::test::expect_refused;
using ql3::test::refusal_of;

// All 65,536 values of the two bytes that carry version and variant.
TEST(Token, only_versions_4_and_7_of_the_rfc_variant_are_random) {
  unsigned char bytes[16];
  std::memset(bytes, 0xA5, sizeof bytes);
  int accepted = 0;
  for (unsigned six = 0; six < 256; ++six) {
    for (unsigned eight = 0; eight < 256; ++eight) {
      bytes[6] = static_cast<unsigned char>(six);
      bytes[8] = static_cast<unsigned char>(eight);
      const bool right = (six / 16 == 4 || six / 16 == 7) && eight >= 0x80 && eight < 0xC0;
      ASSERT_EQ(is_random_uuid(bytes), right) << six << " " << eight;
      accepted += right ? 1 : 0;
    }
  }
  EXPECT_EQ(accepted, 2 * 16 * 64);
}

TEST(Token, nil_and_max_are_not_random) {
  unsigned char bytes[16];
  std::memset(bytes, 0, sizeof bytes);
  EXPECT_FALSE(is_random_uuid(bytes));
  std::memset(bytes, 0xFF, sizeof bytes);
  EXPECT_FALSE(is_random_uuid(bytes));
}

TEST(Token, a_refusal_names_the_argument_and_hides_the_value) {
  unsigned char bytes[16];
  std::memset(bytes, 0xAB, sizeof bytes);
  expect_refused([&] { ql3::check_token(bytes); }, "22023", {"token", "version 4 or 7"});
  expect_refused([&] { ql3::check_token(bytes, "permit"); }, "22023", {"permit"});
  const auto refused = refusal_of([&] { ql3::check_token(bytes); });
  ASSERT_TRUE(refused.has_value());
  for (const char* text : {refused->message(), refused->hint(), refused->detail()}) {
    EXPECT_EQ(std::string(text).find("ab"), std::string::npos) << text;
  }
  ql3::make_v4(bytes);
  EXPECT_NO_THROW(ql3::check_token(bytes));
}

TEST(Token, make_v4_sets_six_bits_and_keeps_the_rest) {
  for (const int fill : {0x00, 0xFF, 0x5A}) {
    unsigned char bytes[16];
    std::memset(bytes, fill, sizeof bytes);
    unsigned char before[16];
    std::memcpy(before, bytes, sizeof bytes);
    ql3::make_v4(bytes);
    EXPECT_TRUE(is_random_uuid(bytes));
    EXPECT_EQ(bytes[6] >> 4, 4);
    EXPECT_EQ(bytes[6] & 0x0F, fill & 0x0F);
    EXPECT_EQ(bytes[8] & 0x3F, fill & 0x3F);
    for (const int i : {0, 1, 2, 3, 4, 5, 7, 9, 10, 11, 12, 13, 14, 15}) {
      EXPECT_EQ(bytes[i], before[i]);
    }
  }
}

}  // namespace
