// The rules of the Dispatcher, one by one, against a store that follows a script.
#include "client/dispatch.hpp"

#include <set>
#include <stdexcept>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client_dispatch_fakes.hpp"

namespace ql3::test {
namespace {

class DispatchTest : public testing::Test {
 protected:
  DispatchReport dispatch(CallResult result = {outcome::succeeded, "done", false}) {
    return dispatch([result](const DispatchStop&) { return result; });
  }
  DispatchReport dispatch(const DispatchCall& call) {
    Dispatcher dispatcher(store, extending, options, listener, clock);
    return dispatcher.dispatch(request,
                               [&](const DispatchStop& stop) {
                                 ++calls;
                                 connected_in_call = store.connected();
                                 return call(stop);
                               },
                               {stopping.get_token(), detaching.get_token()});
  }

  // Nothing went out, and the database was told so, last of all, under `permit`.
  void expect_not_sent(const DispatchReport& report, bool under_permit = true) {
    EXPECT_EQ(calls, 0);
    EXPECT_FALSE(report.called);
    const auto settles = store.messages("settle");
    ASSERT_FALSE(settles.empty());
    EXPECT_EQ(settles.back().word, "not_sent");
    EXPECT_EQ(settles.back().token, store.messages("claim").front().token);
    EXPECT_EQ(settles.back().permit,
              under_permit ? store.messages("permit").front().permit : std::string());
  }

  JumpingClock clock;
  ScriptedStore store, extending;
  DispatchOptions options;
  Tell listener;
  DispatchRequest request = switchover();
  std::stop_source stopping, detaching;
  int calls = 0;
  bool connected_in_call = true;
};

TEST_F(DispatchTest, ClaimsIsPermittedCallsOnceAndStores) {
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::recorded);
  EXPECT_EQ(report.what, outcome::succeeded);
  EXPECT_TRUE(report.called);
  EXPECT_TRUE(report.stored);
  EXPECT_EQ(calls, 1);
  const auto settles = store.messages("settle");
  ASSERT_EQ(settles.size(), 1U);
  EXPECT_EQ(settles[0].word, "succeeded");
  EXPECT_EQ(settles[0].detail, "done");
  EXPECT_EQ(settles[0].permit, store.messages("permit")[0].permit);
}

TEST_F(DispatchTest, HoldsNoConnectionWhileItCalls) {
  dispatch();
  EXPECT_FALSE(connected_in_call);
}

TEST_F(DispatchTest, MakesTokenAndPermitIdAnewInEveryInvocation) {
  std::set<std::string> seen;
  for (int i = 0; i < 10; ++i) dispatch();
  for (const Message& message : store.messages("permit")) {
    seen.insert(message.token);
    seen.insert(message.permit);
  }
  EXPECT_EQ(seen.size(), 20U);
}

TEST_F(DispatchTest, NeverTellsATokenOrPermitId) {
  std::string told;
  listener = [&](Level, const std::string& text) { told += text + '\n'; };
  store.on_claim = [](int number) -> ClaimAnswer {
    if (number == 1) throw lost();
    return {ClaimVerdict::recorded, "claimed", {}, {1, 1}};
  };
  store.on_settle = [](int number, const Message&) -> SettleAnswer {
    if (number < 3) throw lost();
    return SettleAnswer::absent;
  };
  const DispatchReport report = dispatch();
  ASSERT_EQ(calls, 1);
  told += report.detail;
  const Message permit = store.messages("permit")[0];
  EXPECT_NE(told.find("lost_reply"), std::string::npos);
  EXPECT_EQ(told.find(permit.token), std::string::npos);
  EXPECT_EQ(told.find(permit.permit), std::string::npos);
}

// Missing prerequisites: zero calls, and nothing sent to any database.
TEST_F(DispatchTest, RefusesARequestThatCannotBeSent) {
  const auto refused = [&](auto&& change) {
    request = switchover();
    change();
    EXPECT_THROW(dispatch(), std::invalid_argument);
    EXPECT_FALSE(request_fault(request).empty());
  };
  refused([&] { request.request_uid.clear(); });
  refused([&] { request.request_uid = std::string(256, 'x'); });
  refused([&] { request.request_uid = std::string("a\0b", 3); });
  refused([&] { request.item.clear(); });
  refused([&] { request.item = "\xff"; });
  refused([&] { request.action = "Switchover"; });
  refused([&] { request.writer = "-x"; });
  refused([&] { request.observe_after = std::chrono::milliseconds(999); });
  refused([&] { request.observe_after = std::chrono::hours(25); });
  refused([&] { request.arguments = "[1]"; });
  refused([&] { request.arguments = "{"; });
  refused([&] { request.arguments = ""; });
  refused([&] { request.arguments = "{\"a\":\"" + std::string(8192, 'x') + "\"}"; });
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(store.messages().empty());
  request = switchover();
  request.arguments = " {}";
  EXPECT_EQ(request_fault(request), "");
}

TEST_F(DispatchTest, WithoutAWritablePrimaryNothingIsSentAndNothingChanged) {
  store.on_claim = [](int) -> ClaimAnswer {
    throw StoreError(StoreCode::read_only, "no server takes writes");
  };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::refused);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), StoreCode::read_only);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(store.count("permit") + store.count("settle"), 0);
  EXPECT_GT(store.count("claim"), 3);
}

// The claim.

TEST_F(DispatchTest, RepeatsAClaimInDoubtWithItsTokenOnAFreshConnection) {
  int number_of_errors = 0;
  store.on_claim = [&](int number) -> ClaimAnswer {
    ++number_of_errors;
    switch (number) {
      case 1: throw lost();
      case 2: throw StoreError(StoreCode::malformed, "what?");
      case 3: throw refusal("57P01");
      case 4: throw refusal("XX000");
      case 5: throw down();
      case 6: throw refusal("40001");
      case 7: throw refusal("55P03");
      case 8: throw refusal("53300");
      default: return {ClaimVerdict::recorded, "claimed", {}, {1, 1}};
    }
  };
  EXPECT_EQ(dispatch().end, DispatchEnd::recorded);
  EXPECT_EQ(calls, 1);
  std::set<std::string> tokens;
  const auto all = store.messages();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].what != "claim") continue;
    tokens.insert(all[i].token);
    if (i > 0) {
      EXPECT_EQ(all[i - 1].what, "drop");
    }
  }
  EXPECT_EQ(tokens.size(), 1U);
  EXPECT_EQ(store.count("claim"), 9);
}

TEST_F(DispatchTest, GivesAClaimUpAtTheDeadlineAndFreesWhatItMayHaveTaken) {
  store.on_claim = [](int) -> ClaimAnswer { throw lost(); };
  store.on_settle = [](int, const Message&) { return SettleAnswer::absent; };
  const auto began = clock.now();
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::refused);
  EXPECT_EQ(report.error->code(), StoreCode::lost_reply);
  EXPECT_LE(clock.now() - began, options.deadline);
  expect_not_sent(report, false);
}

TEST_F(DispatchTest, DoesNotRepeatAClaimThatWasRefusedForGood) {
  store.on_claim = [](int) -> ClaimAnswer { throw refusal("42501"); };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::refused);
  EXPECT_EQ(report.error->code(), StoreCode::denied);
  EXPECT_EQ(store.count("claim"), 1);
  EXPECT_EQ(store.count("settle"), 0);
  EXPECT_EQ(calls, 0);
}

TEST_F(DispatchTest, OtherVerdictsMeanNoPermitAndNoCall) {
  const std::pair<ClaimVerdict, DispatchEnd> cases[] = {
      {ClaimVerdict::released, DispatchEnd::not_sent},
      {ClaimVerdict::identity_conflict, DispatchEnd::identity_conflict},
      {ClaimVerdict::concluded, DispatchEnd::concluded},
      {ClaimVerdict::foreign, DispatchEnd::foreign},
      {ClaimVerdict::halted, DispatchEnd::halted}};
  for (const auto& [verdict, end] : cases) {
    store.on_claim = [v = verdict](int) { return ClaimAnswer{v, "failed", "detail", {1, 1}}; };
    const DispatchReport report = dispatch();
    EXPECT_EQ(report.end, end);
    EXPECT_NE(report.detail.find("detail"), std::string::npos);
  }
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(store.count("permit") + store.count("settle"), 0);
}

TEST_F(DispatchTest, AnUnansweredClaimIsFreedBeforeAnotherVerdictIsReported) {
  for (const ClaimVerdict verdict :
       {ClaimVerdict::identity_conflict, ClaimVerdict::foreign, ClaimVerdict::halted}) {
    const int before = store.count("claim");
    store.on_claim = [=](int number) -> ClaimAnswer {
      if (number == before + 1) throw lost();
      return {verdict, "claimed", "detail", {1, 1}};
    };
    const DispatchReport report = dispatch();
    EXPECT_FALSE(report.called);
    EXPECT_EQ(store.messages().back().word, "not_sent");
    EXPECT_EQ(store.messages().back().token, store.messages("claim").back().token);
  }
  EXPECT_EQ(store.count("settle"), 3);
  EXPECT_EQ(calls, 0);
}

// The permit.

TEST_F(DispatchTest, APermitThatWasRefusedMeansNoCall) {
  store.on_permit = [](int) { return PermitAnswer{false, {1, 2}}; };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::not_sent);
  EXPECT_TRUE(report.stored);
  EXPECT_EQ(store.count("permit"), 1);
  expect_not_sent(report);
}

class PermitInDoubt : public DispatchTest, public testing::WithParamInterface<const char*> {};

TEST_P(PermitInDoubt, IsNeverAskedAgainAndNeverUsed) {
  const std::string word = GetParam();
  store.on_permit = [&](int) -> PermitAnswer {
    if (word == "lost") throw lost();
    if (word == "malformed") throw StoreError(StoreCode::malformed, "what?");
    throw refusal(word.c_str());
  };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::not_sent);
  EXPECT_EQ(store.count("permit"), 1);
  expect_not_sent(report);
  // The connection was closed for good before anything else was sent.
  const auto all = store.messages();
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    if (all[i].what == "permit") {
      EXPECT_EQ(all[i + 1].what, "drop");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Doubt, PermitInDoubt,
                         testing::Values("lost", "malformed", "57P01", "57P02", "08006", "XX000"));

TEST_F(DispatchTest, NotSentIsRepeatedUntilItIsAnswered) {
  store.on_permit = [](int) -> PermitAnswer { throw lost(); };
  store.on_settle = [](int number, const Message&) -> SettleAnswer {
    switch (number) {
      case 1: throw lost();
      case 2: throw down();
      case 3: throw refusal("25006");
      case 4: throw StoreError(StoreCode::malformed, "what?");
    }
    if (number < 200) throw refusal("53100");
    return SettleAnswer::recorded;
  };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::not_sent);
  EXPECT_TRUE(report.stored);
  EXPECT_EQ(store.count("settle"), 200);
  expect_not_sent(report);
}

TEST_F(DispatchTest, AsksAgainUnderTheSameIdWhereTheServerSaysItDidNothing) {
  store.on_permit = [](int number) -> PermitAnswer {
    switch (number) {
      case 1: throw refusal("55P03");
      case 2: throw refusal("40001");
      case 3: throw refusal("40P01");
      case 4: throw refusal("53100");
      case 5: throw refusal("25006");
      case 6: throw down();
      default: return {true, {1, 2}};
    }
  };
  EXPECT_EQ(dispatch().end, DispatchEnd::recorded);
  EXPECT_EQ(calls, 1);
  std::set<std::string> permits;
  for (const Message& message : store.messages("permit")) permits.insert(message.permit);
  EXPECT_EQ(permits.size(), 1U);
}

TEST_F(DispatchTest, GivesUpAPermitThatIsNeverProvenDurable) {
  store.on_permit = [](int) -> PermitAnswer { throw refusal("55P03"); };
  const auto began = clock.now();
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::not_sent);
  EXPECT_LE(clock.now() - began, options.deadline);
  EXPECT_GT(store.count("permit"), 5);
  EXPECT_LT(store.count("permit"), 40);
  expect_not_sent(report);
}

TEST_F(DispatchTest, AHaltAtThePermitGivesTheItemBack) {
  store.on_permit = [](int) -> PermitAnswer { throw refusal("55000"); };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::halted);
  EXPECT_TRUE(report.stored);
  EXPECT_EQ(store.count("permit"), 1);
  expect_not_sent(report);
}

TEST_F(DispatchTest, ARefusedPermitGivesTheItemBackAndSaysWhy) {
  store.on_permit = [](int) -> PermitAnswer { throw refusal("42501"); };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::refused);
  EXPECT_EQ(report.error->sqlstate(), "42501");
  expect_not_sent(report);
}

TEST_F(DispatchTest, NotSentAnsweredByAnotherFact) {
  store.on_permit = [](int) { return PermitAnswer{false, {1, 2}}; };
  store.on_settle = [](int, const Message&) { return SettleAnswer::concluded; };
  EXPECT_EQ(dispatch().end, DispatchEnd::concluded);
  store.on_settle = [](int, const Message&) { return SettleAnswer::foreign; };
  EXPECT_EQ(dispatch().end, DispatchEnd::foreign);
  store.on_settle = [](int, const Message&) { return SettleAnswer::absent; };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::not_sent);
  EXPECT_FALSE(report.stored);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(store.count("reassert"), 0);
}

TEST_F(DispatchTest, NotSentThatIsRefusedForGoodIsLeftToRecovery) {
  store.on_permit = [](int) { return PermitAnswer{false, {1, 2}}; };
  store.on_settle = [](int, const Message&) -> SettleAnswer { throw refusal("42501"); };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::not_sent);
  EXPECT_FALSE(report.stored);
  EXPECT_NE(report.detail.find("recovery"), std::string::npos);
  EXPECT_EQ(store.count("settle"), 1);
}

TEST_F(DispatchTest, NeverCallsLaterThanHalfOfObserveAfter) {
  store.on_permit = [&](int) {
    clock.advance(std::chrono::seconds(150));
    return PermitAnswer{true, {1, 2}};
  };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::not_sent);
  expect_not_sent(report);
  store.on_permit = [&](int) {
    clock.advance(std::chrono::seconds(150) - std::chrono::milliseconds(1));
    return PermitAnswer{true, {1, 2}};
  };
  EXPECT_EQ(dispatch().end, DispatchEnd::recorded);
}

TEST_F(DispatchTest, TheTimeToCallCountsFromTheAnsweredTry) {
  options.deadline = std::chrono::hours(1);
  store.on_permit = [&](int number) -> PermitAnswer {
    clock.advance(std::chrono::seconds(100));
    if (number < 3) throw refusal("55P03");
    return {true, {1, 2}};
  };
  EXPECT_EQ(dispatch().end, DispatchEnd::recorded);
  EXPECT_EQ(calls, 1);
}

TEST_F(DispatchTest, DoesNotCallOnAServerWhoseLogWentBackwards) {
  store.on_claim = [](int) { return ClaimAnswer{ClaimVerdict::recorded, "claimed", {}, {3, 900}}; };
  for (const LogPlace& place : {LogPlace{3, 899}, LogPlace{2, 1000}, LogPlace{4, 10}}) {
    store.on_permit = [place](int) { return PermitAnswer{true, place}; };
    const DispatchReport report = dispatch();
    EXPECT_EQ(report.end, DispatchEnd::not_sent);
    EXPECT_NE(report.detail.find("backwards"), std::string::npos);
    EXPECT_EQ(calls, 0);
  }
  store.on_permit = [](int) { return PermitAnswer{true, {3, 900}}; };
  EXPECT_EQ(dispatch().end, DispatchEnd::recorded);
}

TEST_F(DispatchTest, AForkedChildNeitherCallsNorSettles) {
  pid_t child = -1;
  const auto at_permit = [&](int) {
    child = fork();
    return PermitAnswer{true, {1, 2}};
  };
  store.on_permit = at_permit;
  DispatchReport report = dispatch();
  if (child == 0) {
    const bool left = report.end == DispatchEnd::left && calls == 0 && store.count("settle") == 0;
    _exit(left ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(report.end, DispatchEnd::recorded);
  EXPECT_EQ(calls, 1);
}

TEST_F(DispatchTest, AForkedChildDoesNotGiveTheItemBack) {
  pid_t child = -1;
  store.on_permit = [&](int) {
    child = fork();
    return PermitAnswer{child != 0, {1, 2}};
  };
  const DispatchReport report = dispatch();
  if (child == 0) {
    _exit(report.end == DispatchEnd::left && store.count("settle") == 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(report.end, DispatchEnd::recorded);
}

TEST_F(DispatchTest, AChildForkedInTheCallLeavesTheResultToItsParent) {
  pid_t child = -1;
  const DispatchReport report = dispatch([&](const DispatchStop&) {
    child = fork();
    return CallResult{outcome::succeeded, "", false};
  });
  if (child == 0) {
    _exit(report.end == DispatchEnd::left && store.count("settle") == 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(report.end, DispatchEnd::recorded);
  EXPECT_EQ(store.count("settle"), 1);
}

TEST_F(DispatchTest, AStopBeforeTheCallMeansNoCall) {
  store.on_permit = [&](int) {
    stopping.request_stop();
    return PermitAnswer{true, {1, 2}};
  };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::not_sent);
  expect_not_sent(report);
}

TEST_F(DispatchTest, AStopBeforeTheClaimSendsNothing) {
  stopping.request_stop();
  EXPECT_EQ(dispatch().end, DispatchEnd::not_sent);
  EXPECT_TRUE(store.messages().empty());
}

TEST_F(DispatchTest, AStopAfterTheClaimGivesTheItemBackWithoutAPermit) {
  store.on_claim = [&](int) {
    stopping.request_stop();
    return ClaimAnswer{ClaimVerdict::recorded, "claimed", {}, {1, 1}};
  };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::not_sent);
  EXPECT_EQ(store.count("permit"), 0);
  expect_not_sent(report, false);
}

// The result.

class KeepsOutcome : public DispatchTest, public testing::WithParamInterface<outcome> {};

TEST_P(KeepsOutcome, ThroughEveryErrorUntilItIsStored) {
  store.on_settle = [](int number, const Message&) -> SettleAnswer {
    switch (number % 10) {
      case 0: throw lost();
      case 1: throw down();
      case 2: throw refusal("25006");
      case 3: throw refusal("53100");
      case 4: throw refusal("53300");
      case 5: throw refusal("40001");
      case 6: throw refusal("57P01");
      case 7: throw refusal("42501");
      case 8: throw std::runtime_error("out of something");
      default: break;
    }
    if (number < 500) throw StoreError(StoreCode::malformed, "what?");
    return SettleAnswer::recorded;
  };
  const auto began = clock.now();
  const DispatchReport report = dispatch({GetParam(), "as it was", false});
  EXPECT_TRUE(report.stored);
  EXPECT_EQ(report.what, GetParam());
  EXPECT_EQ(calls, 1);
  std::set<std::string> words;
  for (const Message& message : store.messages("settle")) words.insert(message.word);
  EXPECT_EQ(words, std::set<std::string>{std::string(to_text(GetParam()))});
  EXPECT_EQ(store.messages("settle").back().detail, "as it was");
  // Bounded pauses: never more than 2 s between two tries, never none at all.
  const auto pauses = store.count("settle") - 1;
  EXPECT_LE(clock.now() - began, pauses * std::chrono::seconds(2));
  EXPECT_GE(clock.now() - began, pauses * std::chrono::milliseconds(75));
}

INSTANTIATE_TEST_SUITE_P(All, KeepsOutcome,
                         testing::Values(outcome::succeeded, outcome::failed, outcome::unknown,
                                         outcome::not_sent));

TEST_F(DispatchTest, EveryTryAfterAnErrorTakesAFreshConnection) {
  store.on_settle = [](int number, const Message&) -> SettleAnswer {
    if (number < 5) throw refusal("40001");
    return SettleAnswer::recorded;
  };
  dispatch();
  const auto all = store.messages();
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].what == "settle") {
      EXPECT_EQ(all[i - 1].what, "drop");
    }
  }
}

TEST_F(DispatchTest, AResultWhoseRowIsGoneIsAssertedAgain) {
  for (const SettleAnswer gone : {SettleAnswer::absent, SettleAnswer::foreign}) {
    store.on_settle = [gone](int, const Message&) { return gone; };
    const DispatchReport report = dispatch({outcome::failed, "refused by the target", false});
    EXPECT_EQ(report.end, DispatchEnd::recorded);
    EXPECT_EQ(report.what, outcome::failed);
    EXPECT_TRUE(report.stored);
  }
  EXPECT_EQ(store.count("reassert"), 2);
  EXPECT_EQ(store.messages("reassert")[0].word, "failed");
}

TEST_F(DispatchTest, AnUnansweredAssertionIsRepeated) {
  store.on_settle = [](int number, const Message&) {
    return number < 4 ? SettleAnswer::absent : SettleAnswer::recorded;
  };
  store.on_reassert = [](int) -> ReassertAnswer { throw lost(); };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::recorded);
  EXPECT_EQ(store.count("reassert"), 3);
  EXPECT_EQ(calls, 1);
}

TEST_F(DispatchTest, AnAssertionAnsweredByAnotherFact) {
  store.on_settle = [](int, const Message&) { return SettleAnswer::absent; };
  store.on_reassert = [](int) { return ReassertAnswer::concluded; };
  EXPECT_EQ(dispatch().end, DispatchEnd::concluded);
  store.on_reassert = [](int) { return ReassertAnswer::foreign; };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::foreign);
  EXPECT_FALSE(report.stored);
  EXPECT_EQ(report.what, outcome::succeeded);
}

TEST_F(DispatchTest, AResultBesideAnotherFactIsStoredAndReportedSo) {
  store.on_settle = [](int, const Message&) { return SettleAnswer::concluded; };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::concluded);
  EXPECT_TRUE(report.called);
  EXPECT_TRUE(report.stored);
  EXPECT_EQ(report.what, outcome::succeeded);
}

TEST_F(DispatchTest, ACallThatSentNothingGivesTheItemBackUnderItsPermit) {
  const DispatchReport report = dispatch({outcome::not_sent, "no such program", false});
  EXPECT_EQ(report.end, DispatchEnd::not_sent);
  EXPECT_TRUE(report.called);
  EXPECT_EQ(store.messages("settle")[0].permit, store.messages("permit")[0].permit);
  store.on_settle = [](int, const Message&) { return SettleAnswer::absent; };
  EXPECT_EQ(dispatch({outcome::not_sent, "", false}).end, DispatchEnd::not_sent);
  EXPECT_EQ(store.count("reassert"), 0);
}

TEST_F(DispatchTest, ACallThatThrowsIsUnknown) {
  DispatchReport report = dispatch(
      [](const DispatchStop&) -> CallResult { throw std::runtime_error("reset by peer"); });
  EXPECT_EQ(report.end, DispatchEnd::recorded);
  EXPECT_EQ(report.what, outcome::unknown);
  EXPECT_NE(report.detail.find("reset by peer"), std::string::npos);
  report = dispatch([](const DispatchStop&) -> CallResult { throw 7; });
  EXPECT_EQ(report.what, outcome::unknown);
}

TEST_F(DispatchTest, AStopDuringTheCallKeepsTheResult) {
  const DispatchReport report = dispatch([&](const DispatchStop& stop) {
    stopping.request_stop();
    EXPECT_TRUE(stop.stopping.stop_requested());
    return CallResult{outcome::succeeded, "", false};
  });
  EXPECT_EQ(report.end, DispatchEnd::recorded);
  EXPECT_EQ(store.messages("settle")[0].word, "succeeded");
}

TEST_F(DispatchTest, ACallThatIsLeftIsLeftToBeObserved) {
  const DispatchReport report = dispatch({outcome::unknown, "still running", true});
  EXPECT_EQ(report.end, DispatchEnd::left);
  EXPECT_TRUE(report.called);
  EXPECT_FALSE(report.what);
  EXPECT_EQ(store.count("settle"), 0);
}

TEST_F(DispatchTest, DetachingEndsTheStoringButNotTheResult) {
  store.on_settle = [&](int number, const Message&) -> SettleAnswer {
    if (number == 3) detaching.request_stop();
    throw down();
  };
  const DispatchReport report = dispatch();
  EXPECT_EQ(report.end, DispatchEnd::left);
  EXPECT_EQ(report.what, outcome::succeeded);
  EXPECT_FALSE(report.stored);
  EXPECT_EQ(store.count("settle"), 3);
}

// The text of an outcome.

TEST_F(DispatchTest, TheTextIsCleanedAndCut) {
  const DispatchReport report =
      dispatch({outcome::failed, std::string("a\0b\xff\xfe", 5) + std::string(3000, 'x'), false});
  const auto detail = store.messages("settle")[0].detail;
  ASSERT_TRUE(detail);
  EXPECT_EQ(detail->substr(0, 5), "a b??");
  EXPECT_EQ(detail->size(), 2048U);
  EXPECT_EQ(report.detail, *detail);
}

TEST_F(DispatchTest, ATextThatCannotBeStoredCostsNoOutcome) {
  for (const char* state : {"22021", "22P05"}) {
    store.on_settle = [state](int, const Message& message) -> SettleAnswer {
      if (message.detail) throw refusal(state);
      return SettleAnswer::recorded;
    };
    const auto began = clock.now();
    const DispatchReport report = dispatch({outcome::failed, "na\xc3\xafve", false});
    EXPECT_EQ(report.end, DispatchEnd::recorded);
    EXPECT_EQ(report.what, outcome::failed);
    EXPECT_EQ(clock.now(), began);
  }
  const auto settles = store.messages("settle");
  ASSERT_EQ(settles.size(), 6U);
  EXPECT_EQ(settles[0].detail, "na\xc3\xafve");
  EXPECT_EQ(settles[1].detail, "na?ve");
  EXPECT_EQ(settles[2].detail, std::nullopt);
}

// Extending.

TEST_F(DispatchTest, ExtendsWhileTheCallRuns) {
  dispatch([&](const DispatchStop&) {
    for (int wanted = 1; wanted <= 3; ++wanted) {
      clock.advance(std::chrono::seconds(100));
      while (extending.count("extend") < wanted) std::this_thread::yield();
    }
    return CallResult{outcome::succeeded, "", false};
  });
  const auto extends = extending.messages("extend");
  ASSERT_EQ(extends.size(), 3U);
  EXPECT_EQ(extends[0].token, store.messages("claim")[0].token);
  EXPECT_EQ(extending.count("drop"), 3);
  EXPECT_EQ(store.count("extend"), 0);
}

TEST_F(DispatchTest, ExtendsAgainSoonAfterAnError) {
  extending.on_extend = [](int number) -> ExtendAnswer {
    if (number < 4) throw down();
    return ExtendAnswer::extended;
  };
  dispatch([&](const DispatchStop&) {
    const auto began = clock.now();
    clock.advance(std::chrono::seconds(100));
    while (extending.count("extend") < 4) {
      clock.advance(std::chrono::milliseconds(10));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_LT(clock.now() - began, std::chrono::minutes(5));
    return CallResult{outcome::succeeded, "", false};
  });
  EXPECT_EQ(store.messages("settle")[0].word, "succeeded");
}

TEST_F(DispatchTest, StopsExtendingWhatIsConcludedAndStoresTheResultAllTheSame) {
  for (const ExtendAnswer answer :
       {ExtendAnswer::concluded, ExtendAnswer::foreign, ExtendAnswer::absent}) {
    extending.on_extend = [answer](int) { return answer; };
    const int before = extending.count("extend");
    const DispatchReport report = dispatch([&](const DispatchStop&) {
      clock.advance(std::chrono::seconds(100));
      while (extending.count("drop") <= before) std::this_thread::yield();
      // Time enough for a second one, if there were one.
      for (int i = 0; i < 20; ++i) {
        clock.advance(std::chrono::seconds(10));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return CallResult{outcome::succeeded, "", false};
    });
    EXPECT_EQ(report.end, DispatchEnd::recorded);
    EXPECT_EQ(extending.count("extend"), before + 1);
  }
}

}  // namespace
}  // namespace ql3::test
