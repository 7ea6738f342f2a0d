// Every limit of words, texts and counts: what is just allowed, what is just not.
#include "core/names.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <regex>
#include <string>

#include "core/limits.hpp"
#include "core_refusal.hpp"

namespace {

using namespace std::string_view_literals;
using ql3::test::expect_refused;
using ql3::test::refusal_of;

TEST(Owner, accepts_the_pattern_up_to_128) {
  for (const std::string& good :
       {std::string("a"), std::string("0"), std::string("Z"), std::string("host-1:pid.7_x"),
        std::string(128, 'a'), std::string("a-"), std::string("9..:")}) {
    EXPECT_NO_THROW(ql3::check_owner(good)) << good;
  }
}

TEST(Owner, refuses_everything_else) {
  for (const std::string& bad :
       {std::string(), std::string(129, 'a'), std::string("-a"), std::string(".a"),
        std::string("_a"), std::string(":a"), std::string("a b"), std::string("a/b"),
        std::string("a\n"), std::string(" a"), std::string("a "), std::string("\xC3\xA9"),
        std::string("a\xC3\xA9"), std::string("a\0b", 3), std::string("a@b")}) {
    expect_refused([&] { ql3::check_owner(bad); }, "22023", {"owner", "128"});
  }
  expect_refused([] { ql3::check_owner("a b", "writer"); }, "22023", {"writer \"a b\""});
}

TEST(Kind, accepts_the_pattern_up_to_63) {
  for (const std::string& good : {std::string("a"), std::string("run_attempt"), std::string("a1"),
                                  std::string("z__"), std::string(63, 'k')}) {
    EXPECT_NO_THROW(ql3::check_kind(good)) << good;
    EXPECT_NO_THROW(ql3::check_verdict(good)) << good;
    EXPECT_NO_THROW(ql3::check_source_kind(good)) << good;
  }
}

TEST(Kind, refuses_everything_else) {
  for (const std::string& bad :
       {std::string(), std::string(64, 'k'), std::string("A"), std::string("aB"), std::string("1a"),
        std::string("_a"), std::string("a-b"), std::string("a.b"), std::string("a "),
        std::string(" a"), std::string("a\n"), std::string("\xC3\xA4"), std::string("a\0", 2)}) {
    expect_refused([&] { ql3::check_kind(bad); }, "22023", {"kind", "63"});
    expect_refused([&] { ql3::check_verdict(bad); }, "22023", {"verdict", "63"});
    expect_refused([&] { ql3::check_source_kind(bad); }, "22023", {"kind", "63"});
  }
  expect_refused([] { ql3::check_kind("Job", "action"); }, "22023", {"action \"Job\""});
}

TEST(Kind, our_own_kind_is_reserved_for_sources_only) {
  expect_refused([] { ql3::check_source_kind("dispatch"); }, "42939", {"\"dispatch\"", "reserved"});
  EXPECT_NO_THROW(ql3::check_kind("dispatch"));
  EXPECT_NO_THROW(ql3::check_source_kind("dispatches"));
  EXPECT_NO_THROW(ql3::check_source_kind("dispatc"));
}

// The hand-written patterns against the ones of the contract, over all short words.
TEST(Names, agree_with_the_patterns_of_the_contract) {
  const std::regex owner("^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$");
  const std::regex kind("^[a-z][a-z0-9_]{0,62}$");
  for (int first = 1; first < 256; ++first) {
    const std::string one(1, static_cast<char>(first));
    EXPECT_EQ(ql3::is_owner(one), std::regex_match(one, owner)) << first;
    EXPECT_EQ(ql3::is_kind(one), std::regex_match(one, kind)) << first;
    const std::string two = "a" + one;
    EXPECT_EQ(ql3::is_owner(two), std::regex_match(two, owner)) << first;
    EXPECT_EQ(ql3::is_kind(two), std::regex_match(two, kind)) << first;
    const std::string three = "a" + one + "a";
    EXPECT_EQ(ql3::is_owner(three), std::regex_match(three, owner)) << first;
    EXPECT_EQ(ql3::is_kind(three), std::regex_match(three, kind)) << first;
  }
  EXPECT_FALSE(ql3::is_owner("a\0"sv));
  EXPECT_FALSE(ql3::is_kind("\0"sv));
}

TEST(Id, takes_1_to_255_bytes_of_anything) {
  for (const std::string& good :
       {std::string("1"), std::string(255, 'x'), std::string(" "), std::string("\n"),
        std::string("\xFF"), std::string("caf\xC3\xA9")}) {
    EXPECT_NO_THROW(ql3::check_id(good));
  }
  std::string wide;
  while (wide.size() < 255) wide += "\xE2\x82\xAC";
  EXPECT_NO_THROW(ql3::check_id(wide));
  expect_refused([] { ql3::check_id(""); }, "22023", {"id is empty", "255"});
  expect_refused([] { ql3::check_id(std::string(256, 'x')); }, "22023",
                 {"id \"xxx", "...\"", "256 bytes", "255"});
  expect_refused([&] { ql3::check_id(wide + "x", "run_id"); }, "22023", {"run_id", "256", "255"});
}

TEST(Reason, must_say_something) {
  for (const std::string& good : {std::string("x"), std::string("  x "), std::string(5000, 'y')}) {
    EXPECT_NO_THROW(ql3::check_reason(good));
  }
  for (const char* bad : {"", " ", "\t\n\v\f\r  "}) {
    expect_refused([&] { ql3::check_reason(bad); }, "22023", {"reason", "empty"});
  }
}

TEST(PageSize, is_1_to_128) {
  for (const int good : {1, 2, 16, 127, 128}) EXPECT_NO_THROW(ql3::check_page_size(good));
  for (const int bad :
       {0, -1, 129, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    expect_refused([&] { ql3::check_page_size(bad); }, "22023",
                   {"page_size " + std::to_string(bad), "1 to 128"});
  }
  expect_refused([] { ql3::check_page_size(0, "batch"); }, "22023", {"batch 0"});
}

TEST(ArrayLength, is_1_to_128_also) {
  for (const int good : {1, 128}) EXPECT_NO_THROW(ql3::check_array_length(good, "ids"));
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{129}, std::int64_t{-1},
                                 std::numeric_limits<std::int64_t>::max()}) {
    expect_refused([&] { ql3::check_array_length(bad, "ids"); }, "22023",
                   {"ids has " + std::to_string(bad), "1 to 128"});
  }
}

TEST(ArrayLength, arrays_of_one_page_are_equally_long) {
  EXPECT_NO_THROW(ql3::check_same_length(3, "ids", 3, "kinds"));
  expect_refused([] { ql3::check_same_length(2, "ids", 3, "kinds"); }, "22023",
                 {"ids has 2", "kinds has 3"});
  expect_refused([] { ql3::check_same_length(4, "ids", 3, "kinds"); }, "22023");
}

TEST(MaxFailures, is_1_to_a_million) {
  for (const int good : {1, 3, 1'000'000}) EXPECT_NO_THROW(ql3::check_max_failures(good));
  for (const int bad : {0, -1, 1'000'001}) {
    expect_refused([&] { ql3::check_max_failures(bad); }, "22023",
                   {"max_failures", "1 to 1000000"});
  }
}

TEST(FailureCount, is_0_to_1000000) {
  for (const int good : {0, 1, 1'000'000}) EXPECT_NO_THROW(ql3::check_failure_count(good));
  for (const int bad : {-1, 1'000'001, std::numeric_limits<int>::min()})
    expect_refused([&] { ql3::check_failure_count(bad); }, "22023",
                   {"failure_counts", "0 to 1000000"});
}

TEST(Batch, is_1_to_100000) {
  for (const int good : {1, 1000, 100'000}) EXPECT_NO_THROW(ql3::check_batch(good));
  for (const int bad : {0, -1, 100'001}) {
    expect_refused([&] { ql3::check_batch(bad); }, "22023", {"batch", "1 to 100000"});
  }
}

TEST(Documents, have_a_size_limit) {
  EXPECT_NO_THROW(ql3::check_evidence_size(0));
  EXPECT_NO_THROW(ql3::check_evidence_size(65536));
  expect_refused([] { ql3::check_evidence_size(65537); }, "22023", {"evidence", "65537", "65536"});
  EXPECT_NO_THROW(ql3::check_arguments_size(8192));
  expect_refused([] { ql3::check_arguments_size(8193); }, "22023", {"arguments", "8193", "8192"});
}

TEST(Null, is_refused_by_name) {
  expect_refused([] { ql3::refuse_null("owner"); }, "22004", {"owner must not be null"});
}

TEST(Names, a_hostile_value_does_not_break_the_message) {
  const auto refused =
      refusal_of([] { ql3::check_owner("x\x1B]0;title\x07\xFF" + std::string(1000, 'y')); });
  ASSERT_TRUE(refused.has_value());
  EXPECT_LT(std::string_view(refused->message()).size(), 120U);
  for (const char c : std::string_view(refused->message())) EXPECT_GE(c, ' ');
}

TEST(Names, a_token_in_the_place_of_a_kind_is_not_shown) {
  const std::string token = "6f1c9f0a-3c1e-4b52-9d0e-0a1b2c3d4e5f";
  const auto refused = refusal_of([&] { ql3::check_kind(token); });
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(std::string_view(refused->message()).find("6f1c"), std::string_view::npos);
}

}  // namespace
