// Claiming through lost replies.
#include "client/claim_page.hpp"

#include <gtest/gtest.h>

#include "client_fakes.hpp"

namespace ql3 {
namespace {

using test::FakeClock;
using test::FakeStore;
using test::Ticker;

class ClaimPage : public ::testing::Test {
 protected:
  ClaimPage() { store.page = {test::make_claimed("job", "a"), test::make_claimed("job", "b")}; }
  Page claim() { return claim_page(store, request, clock, stop.get_token()); }

  FakeStore store;
  FakeClock clock;
  std::stop_source stop;
  ClaimRequest request{"tester", 16, Milliseconds(30'000), {"job"}};
};

TEST_F(ClaimPage, EachPageHasATokenOfItsOwn) {
  const Page first = claim();
  const Page second = claim();
  EXPECT_NE(first.token, second.token);
  EXPECT_EQ(first.targets.size(), 2U);
}

TEST_F(ClaimPage, TheDeadlineCountsFromBeforeTheSend) {
  const Clock::Time before = clock.now();
  store.on_claim = [&](int) { clock.advance(std::chrono::seconds(4)); };
  EXPECT_EQ(claim().deadline, before + std::chrono::seconds(30));
}

TEST_F(ClaimPage, TheDeadlineIsTheServersWhenThatIsSooner) {
  store.page[1].lease_left = Milliseconds(12'000);
  EXPECT_EQ(claim().deadline, clock.now() + std::chrono::seconds(12));
}

TEST_F(ClaimPage, ALostReplyIsAskedForAgainUnderTheSameToken) {
  const Ticker ticker(clock);
  store.on_claim = [](int tries) {
    if (tries == 1) throw StoreError(StoreCode::lost_reply, "the connection broke");
    if (tries == 2) throw StoreError("55P03", {});
  };
  const Page page = claim();
  const auto calls = store.calls("claim");
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].token, page.token.parameter());
  EXPECT_EQ(calls[1].token, page.token.parameter());
  EXPECT_EQ(calls[2].token, page.token.parameter());
}

TEST_F(ClaimPage, ARefusalIsNotRepeated) {
  store.on_claim = [](int) { throw StoreError("42704", {}); };
  EXPECT_THROW(claim(), StoreError);
  EXPECT_EQ(store.calls("claim").size(), 1U);
}

TEST_F(ClaimPage, GivesUpWhenTheFirstLeaseWouldBeOver) {
  const Ticker ticker(clock);
  const Clock::Time before = clock.now();
  store.on_claim = [](int) { throw StoreError(StoreCode::unreachable, "no server"); };
  EXPECT_THROW(claim(), StoreError);
  EXPECT_GT(store.calls("claim").size(), 3U);
  EXPECT_GE(clock.now(), before + std::chrono::seconds(25));
}

TEST_F(ClaimPage, AStopEndsTheTries) {
  store.on_claim = [&](int) {
    stop.request_stop();
    throw StoreError(StoreCode::unreachable, "no server");
  };
  EXPECT_THROW(claim(), StoreError);
  EXPECT_EQ(store.calls("claim").size(), 1U);
}

TEST_F(ClaimPage, AMalformedPageIsRefusedAsAWhole) {
  store.page.push_back(test::make_claimed("job", "a"));
  try {
    claim();
    FAIL() << "the page was accepted";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.code(), StoreCode::malformed);
    EXPECT_FALSE(error.retryable());
  }
  EXPECT_EQ(store.calls("claim").size(), 1U);
}

}  // namespace
}  // namespace ql3
