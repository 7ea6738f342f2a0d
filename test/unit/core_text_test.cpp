// Cutting at character boundaries and building messages in a fixed buffer.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "core/message_text.hpp"
#include "core/utf8.hpp"

namespace {

using namespace std::string_view_literals;
using ql3::cut_text;
using ql3::message_text;
using ql3::quoted;
using ql3::utf8_character;

TEST(Utf8, knows_characters_of_every_length_and_their_edges) {
  EXPECT_EQ(utf8_character("a", 0), 1U);
  EXPECT_EQ(utf8_character("\0"sv, 0), 1U);
  EXPECT_EQ(utf8_character("\x7F", 0), 1U);
  EXPECT_EQ(utf8_character("\xC2\x80", 0), 2U);
  EXPECT_EQ(utf8_character("\xDF\xBF", 0), 2U);
  EXPECT_EQ(utf8_character("\xE0\xA0\x80", 0), 3U);
  EXPECT_EQ(utf8_character("\xED\x9F\xBF", 0), 3U);
  EXPECT_EQ(utf8_character("\xEE\x80\x80", 0), 3U);
  EXPECT_EQ(utf8_character("\xEF\xBF\xBF", 0), 3U);
  EXPECT_EQ(utf8_character("\xF0\x90\x80\x80", 0), 4U);
  EXPECT_EQ(utf8_character("\xF4\x8F\xBF\xBF", 0), 4U);
  EXPECT_EQ(utf8_character("ab\xE2\x82\xAC", 2), 3U);
}

TEST(Utf8, refuses_what_is_no_character) {
  for (const std::string_view bad : {""sv,
                                     "\x80"sv,
                                     "\xBF"sv,
                                     "\xC0\x80"sv,
                                     "\xC1\xBF"sv,
                                     "\xC2"sv,
                                     "\xC2\x41"sv,
                                     "\xC2\xC2"sv,
                                     "\xE0\x9F\xBF"sv,
                                     "\xED\xA0\x80"sv,
                                     "\xED\xBF\xBF"sv,
                                     "\xE2\x82"sv,
                                     "\xE2\x41\x80"sv,
                                     "\xE2\x82\x41"sv,
                                     "\xF0\x8F\xBF\xBF"sv,
                                     "\xF4\x90\x80\x80"sv,
                                     "\xF5\x80\x80\x80"sv,
                                     "\xFF"sv,
                                     "\xF0\x9F\x92"sv,
                                     "\xF0\x9F\x41\xA9"sv,
                                     "\xF0\x9F\x92\x41"sv,
                                     "\xF0\x41\x92\xA9"sv}) {
    EXPECT_EQ(utf8_character(bad, 0), 0U) << testing::PrintToString(std::string(bad));
  }
  EXPECT_EQ(utf8_character("a", 1), 0U);
  EXPECT_EQ(utf8_character("a", std::string_view::npos), 0U);
}

TEST(CutText, leaves_what_fits_alone) {
  EXPECT_EQ(cut_text("", 0), "");
  EXPECT_EQ(cut_text("abc", 3), "abc");
  EXPECT_EQ(cut_text("abc", 4), "abc");
  EXPECT_EQ(cut_text("\xE2\x82\xAC", 3), "\xE2\x82\xAC");
  EXPECT_EQ(cut_text("\xE2\x82", 2), "\xE2\x82");
}

TEST(CutText, cuts_before_the_character_that_does_not_fit) {
  EXPECT_EQ(cut_text("abc", 2), "ab");
  EXPECT_EQ(cut_text("abc", 0), "");
  EXPECT_EQ(cut_text("a\xC3\xA9z", 1), "a");
  EXPECT_EQ(cut_text("a\xC3\xA9z", 2), "a");
  EXPECT_EQ(cut_text("a\xC3\xA9z", 3), "a\xC3\xA9");
  const std::string euro =
      "a\xE2\x82\xAC"
      "b";
  EXPECT_EQ(cut_text(euro, 1), "a");
  EXPECT_EQ(cut_text(euro, 2), "a");
  EXPECT_EQ(cut_text(euro, 3), "a");
  EXPECT_EQ(cut_text(euro, 4), "a\xE2\x82\xAC");
  const std::string face = "\xF0\x9F\x98\x80\xF0\x9F\x98\x81";
  for (std::size_t bytes = 0; bytes < 4; ++bytes) EXPECT_EQ(cut_text(face, bytes), "");
  for (std::size_t bytes = 4; bytes < 8; ++bytes) EXPECT_EQ(cut_text(face, bytes).size(), 4U);
  EXPECT_EQ(cut_text(face, 8), face);
}

TEST(CutText, single_byte_encodings_are_cut_at_the_byte) {
  const std::string latin = "caf\xE9 \xC3\xA9";
  EXPECT_EQ(cut_text(latin, 6, false), "caf\xE9 \xC3");
  EXPECT_EQ(cut_text(latin, 6, true), "caf\xE9 ");
}

TEST(CutText, text_that_is_no_utf8_loses_nothing_more) {
  const std::string stray(10, '\x80');
  EXPECT_EQ(cut_text(stray, 5).size(), 5U);
  EXPECT_EQ(cut_text("ab\xE9\x80zz", 4).size(), 4U);
  EXPECT_EQ(cut_text("ab\xC3zz", 3), "ab\xC3");
}

// Any text made of whole characters is cut to whole characters, never more than asked, and never
// by more than one character too much.
TEST(CutText, property_whole_characters_stay_whole) {
  const std::string_view alphabet[] = {
      "a", "\xC3\xA9", "\xE2\x82\xAC", "\xE5\x85\xB3", "\xF0\x9F\x98\x80", "\xCC\x81"};
  std::mt19937_64 random(20260901);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    std::string reference;
    const auto limit = static_cast<std::size_t>(random() % 40);
    for (auto n = random() % 20; n > 0; --n) {
      const std::string_view next = alphabet[random() % std::size(alphabet)];
      if (reference.size() == text.size() && text.size() + next.size() <= limit) reference += next;
      text += next;
    }
    EXPECT_EQ(cut_text(text, limit), reference);
  }
}

TEST(MessageText, joins_texts_and_numbers) {
  message_text<100> text;
  text << "page_size " << std::int32_t{-1} << " of " << std::size_t{128} << std::string_view(".");
  EXPECT_EQ(text.view(), "page_size -1 of 128.");
  EXPECT_STREQ(text.c_str(), "page_size -1 of 128.");
  EXPECT_FALSE(text.was_cut());
}

TEST(MessageText, writes_the_extreme_numbers) {
  message_text<200> text;
  text << std::numeric_limits<std::int64_t>::min() << " "
       << std::numeric_limits<std::int64_t>::max() << " "
       << std::numeric_limits<std::uint64_t>::max() << " "
       << std::numeric_limits<std::int32_t>::min() << " " << 0 << " "
       << std::numeric_limits<std::int16_t>::min();
  EXPECT_EQ(text.view(),
            "-9223372036854775808 9223372036854775807 18446744073709551615 -2147483648 0 -32768");
}

TEST(MessageText, is_a_prefix_when_full_and_always_terminated) {
  message_text<6> text;
  text << "abc"
       << "def"
       << "g";
  EXPECT_STREQ(text.c_str(), "abcde");
  EXPECT_TRUE(text.was_cut());

  message_text<6> exact;
  exact << "abcde";
  EXPECT_FALSE(exact.was_cut());
  exact << "";
  EXPECT_FALSE(exact.was_cut());
  exact << "f";
  EXPECT_TRUE(exact.was_cut());
  EXPECT_STREQ(exact.c_str(), "abcde");
}

TEST(MessageText, is_cut_between_characters_and_takes_nothing_after_the_cut) {
  message_text<6> text;
  text << "abcd"
       << "\xC3\xA9"
       << "z";
  EXPECT_STREQ(text.c_str(), "abcd");
  EXPECT_TRUE(text.was_cut());
}

TEST(Quoted, shows_the_value_in_quotes) {
  message_text<200> text;
  text << quoted{"Abc"} << quoted{""} << quoted{"\xE5\x85\xB3"};
  EXPECT_EQ(text.view(), "\"Abc\"\"\"\"\xE5\x85\xB3\"");
}

TEST(Quoted, shows_at_most_64_bytes) {
  message_text<200> text;
  text << quoted{std::string(64, 'x')};
  EXPECT_EQ(text.view(), "\"" + std::string(64, 'x') + "\"");
  message_text<200> longer;
  longer << quoted{std::string(65, 'x')};
  EXPECT_EQ(longer.view(), "\"" + std::string(64, 'x') + "...\"");
  message_text<200> split;
  split << quoted{std::string(63, 'x') + "\xC3\xA9"};
  EXPECT_EQ(split.view(), "\"" + std::string(63, 'x') + "...\"");
}

TEST(Quoted, hides_control_characters_and_broken_bytes) {
  message_text<200> text;
  text << quoted{"a\nb\tc\x1B[31m\x7F\0z"sv} << quoted{"\xC2\x85|\xC2\xA0|\xE9|\xFF\xC3\xA9"};
  EXPECT_EQ(text.view(), "\"a?b?c?[31m??z\"\"?|\xC2\xA0|?|?\xC3\xA9\"");
}

TEST(Quoted, never_shows_a_uuid_that_came_in_the_wrong_place) {
  for (const char* uuid :
       {"6f1c9f0a-3c1e-4b52-9d0e-0a1b2c3d4e5f", "6F1C9F0A-3C1E-4B52-9D0E-0A1B2C3D4E5F",
        "{6f1c9f0a-3c1e-4b52-9d0e-0a1b2c3d4e5f}", "6f1c9f0a3c1e4b529d0e0a1b2c3d4e5f",
        "6f1c9f0a-3c1e-4b52-9d0e-0a1b2c3d4e5f ", "token=6f1c9f0a-3c1e-4b52-9d0e-0a1b2c3d4e5f;x"}) {
    message_text<200> text;
    text << quoted{uuid};
    EXPECT_EQ(text.view(), "(a uuid, not shown)");
  }
  for (const char* other :
       {"6f1c9f0a-3c1e-4b52-9d0e-0a1b2c3d4e5", "6f1c9f0a-3c1e-4b52-9d0e-0a1b2c3d4e5fa",
        "6f1c9f0a-3c1e-4b52-9d0e-0a1b2c3d4e5g", "----", ""}) {
    message_text<200> text;
    text << quoted{other};
    EXPECT_EQ(text.view(), "\"" + std::string(other) + "\"");
  }
}

// Whatever bytes come in, the quoted form is well-formed UTF-8 without control characters.
TEST(Quoted, property_any_bytes_become_printable_utf8) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string bytes;
    for (auto n = random() % 80; n > 0; --n) bytes += static_cast<char>(random() & 0xFF);
    message_text<60> text;
    text << quoted{bytes};
    const std::string_view shown = text.view();
    for (std::size_t at = 0; at < shown.size();) {
      const std::size_t length = utf8_character(shown, at);
      ASSERT_NE(length, 0U) << testing::PrintToString(bytes);
      ASSERT_GE(static_cast<unsigned char>(shown[at]), 0x20);
      at += length;
    }
  }
}

}  // namespace
