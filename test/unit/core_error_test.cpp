// The exception of the core: what it keeps, how it is cut, that it cannot fail.
#include "core/error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace {

using ql3::error;

static_assert(std::is_nothrow_copy_constructible_v<error>);
static_assert(std::is_nothrow_copy_assignable_v<error>);
static_assert(std::is_nothrow_destructible_v<error>);
static_assert(std::is_nothrow_constructible_v<error, const char*, std::string_view>);
static_assert(std::is_base_of_v<std::exception, error>);

TEST(Error, keeps_all_four_texts) {
  const error e("22023", "the message", "the hint", "the detail");
  EXPECT_STREQ(e.sqlstate(), "22023");
  EXPECT_STREQ(e.message(), "the message");
  EXPECT_STREQ(e.hint(), "the hint");
  EXPECT_STREQ(e.detail(), "the detail");
  EXPECT_STREQ(static_cast<const std::exception&>(e).what(), "the message");
}

TEST(Error, hint_and_detail_are_empty_when_left_out) {
  const error e(ql3::sqlstate::internal_error, "m");
  EXPECT_STREQ(e.hint(), "");
  EXPECT_STREQ(e.detail(), "");
}

TEST(Error, texts_survive_their_source_and_a_copy) {
  std::string text = "first";
  const error e("55P03", text, text, text);
  text.assign("other");
  const error copy = e;
  EXPECT_STREQ(copy.message(), "first");
  EXPECT_STREQ(copy.hint(), "first");
  EXPECT_STREQ(copy.detail(), "first");
  EXPECT_STREQ(copy.sqlstate(), "55P03");
}

TEST(Error, long_texts_are_cut_at_a_character_boundary) {
  const std::size_t room = ql3::error_text_max - 1;
  const error fits("22023", std::string(room, 'x'));
  EXPECT_EQ(std::string_view(fits.message()).size(), room);
  const std::string wide = std::string(room - 1, 'x') + "\xC3\xA9";
  const error cut("22023", wide, wide, wide);
  for (const char* text : {cut.message(), cut.hint(), cut.detail()}) {
    EXPECT_EQ(text, std::string(room - 1, 'x'));
  }
}

TEST(Error, a_code_that_is_no_sqlstate_becomes_internal_error) {
  EXPECT_STREQ(error("55P03", "m").sqlstate(), "55P03");
  for (const char* bad :
       {"", "2202", "220233", "2202x", "22 23", static_cast<const char*>(nullptr)}) {
    EXPECT_STREQ(error(bad, "m").sqlstate(), "XX000");
  }
}

}  // namespace
