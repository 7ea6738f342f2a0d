// The words of states and dispositions.
#include "core/state.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core_refusal.hpp"

namespace {

using ql3::disposition;
using ql3::state;
using ql3::test::expect_refused;

constexpr state all_states[] = {state::available, state::claimed, state::retry, state::manual,
                                state::resolved};
constexpr disposition all_dispositions[] = {disposition::resolved, disposition::retry,
                                            disposition::manual};

TEST(State, words_are_those_of_the_contract) {
  EXPECT_EQ(to_text(state::available), "available");
  EXPECT_EQ(to_text(state::claimed), "claimed");
  EXPECT_EQ(to_text(state::retry), "retry");
  EXPECT_EQ(to_text(state::manual), "manual");
  EXPECT_EQ(to_text(state::resolved), "resolved");
}

TEST(State, words_are_distinct_and_come_back) {
  std::set<std::string_view> words;
  for (const state value : all_states) {
    words.insert(to_text(value));
    EXPECT_EQ(ql3::parse_state(to_text(value)), value);
  }
  EXPECT_EQ(words.size(), 5U);
}

TEST(State, anything_else_is_no_state) {
  for (const char* word :
       {"", "Available", "available ", " retry", "claime", "claimedx", "blind"}) {
    EXPECT_EQ(ql3::parse_state(word), std::nullopt) << word;
  }
  EXPECT_EQ(to_text(static_cast<state>(99)), "");
  EXPECT_EQ(to_text(static_cast<disposition>(99)), "");
}

TEST(Disposition, words_come_back_and_name_the_state_they_lead_to) {
  for (const disposition value : all_dispositions) {
    EXPECT_EQ(ql3::check_disposition(to_text(value)), value);
    EXPECT_EQ(to_text(ql3::state_after(value)), to_text(value));
  }
  EXPECT_EQ(ql3::state_after(static_cast<disposition>(99)), state::manual);
}

TEST(Disposition, anything_else_is_refused_with_the_list) {
  for (const char* word : {"", "Resolved", "retry ", "done", "available", "claimed", "resolve"}) {
    expect_refused([&] { ql3::check_disposition(word); }, "22023",
                   {"disposition \"" + std::string(word) + "\"", "resolved, retry or manual"});
  }
  expect_refused([] { ql3::check_disposition("no", "dispositions"); }, "22023", {"dispositions"});
}

TEST(Disposition, a_delay_goes_with_retry_only) {
  for (const disposition value : all_dispositions) {
    EXPECT_NO_THROW(ql3::check_delay_allowed(value, false));
  }
  EXPECT_NO_THROW(ql3::check_delay_allowed(disposition::retry, true));
  expect_refused([] { ql3::check_delay_allowed(disposition::resolved, true); }, "22023",
                 {"delay", "resolved"});
  expect_refused([] { ql3::check_delay_allowed(disposition::manual, true); }, "22023",
                 {"delay", "manual"});
}

}  // namespace
