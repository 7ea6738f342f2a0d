#include "client/dispatch_decision.hpp"

#include <gtest/gtest.h>

#include "core/claim.hpp"

namespace ql3 {
namespace {

ProbeAnswer answer(Verdict verdict, Why why = Why::none) {
  return {verdict, why, "seen", R"({"leader":"b"})"};
}

Target attempt(const char* source) {
  return {"dispatch", "7f", "ops-1", "claimed", {}, {}, source};
}

TEST(DispatchDecision, WhatWasNeverPermittedHereWasNotSent) {
  const auto decision = decide_unprobed(attempt(R"({"permitted": false, "own_lineage": true})"));
  ASSERT_TRUE(decision);
  EXPECT_TRUE(decision->conclude);
  EXPECT_EQ(decision->verdict, "not_sent");
}

TEST(DispatchDecision, EverythingElseIsLookedAt) {
  for (const char* source :
       {R"({"permitted": true, "own_lineage": true})",
        R"({"permitted": false, "own_lineage": false})",
        R"({"permitted": true, "own_lineage": false})", R"({"permitted": false})",
        R"({"own_lineage": true})", R"({"permitted": 0, "own_lineage": 1})",
        R"({"permitted": "false", "own_lineage": "true"})", "null", "[]", "garbage", ""}) {
    EXPECT_FALSE(decide_unprobed(attempt(source))) << source;
  }
  EXPECT_FALSE(decide_unprobed({"dispatch", "7f", {}, {}, {}, {}, {}}));
}

TEST(DispatchDecision, DefiniteVerdictsAreConcluded) {
  for (const auto& [verdict, word] :
       {std::pair(Verdict::succeeded, "succeeded"), std::pair(Verdict::failed, "failed")}) {
    const Decision decision = decide_dispatch(answer(verdict), 0);
    EXPECT_TRUE(decision.conclude);
    EXPECT_EQ(decision.verdict, word);
    EXPECT_EQ(decision.evidence, R"({"leader":"b"})");
    EXPECT_EQ(decision.note, std::string(word) + ": seen");
  }
}

TEST(DispatchDecision, RunningIsPutOffWithoutCounting) {
  const Decision decision = decide_dispatch(answer(Verdict::running), 100);
  EXPECT_FALSE(decision.conclude);
  EXPECT_EQ(decision.how, disposition::retry);
  EXPECT_FALSE(counts_as_failure(decision.how, decision.note));
}

TEST(DispatchDecision, AnUnavailableProviderIsAlwaysTriedAgain) {
  for (const int failures : {0, 3, 1'000'000}) {
    const Decision decision =
        decide_dispatch(answer(Verdict::unknown, Why::provider_unavailable), failures);
    EXPECT_FALSE(decision.conclude);
    EXPECT_EQ(decision.how, disposition::retry);
  }
}

TEST(DispatchDecision, WhatNobodyCanTellIsConcludedAsUnknownAfterThreeRetries) {
  for (const Why why : {Why::identity_unverifiable, Why::conflicting_evidence}) {
    for (const int failures : {0, 1, 2}) {
      const Decision decision = decide_dispatch(answer(Verdict::unknown, why), failures);
      EXPECT_FALSE(decision.conclude);
      EXPECT_EQ(decision.how, disposition::retry);
    }
    const Decision decision = decide_dispatch(answer(Verdict::unknown, why), 3);
    EXPECT_TRUE(decision.conclude);
    EXPECT_EQ(decision.verdict, "unknown");
  }
}

TEST(DispatchDecision, NoAnswerIsNeverAVerdict) {
  for (const ProbeAnswer& bad : {no_answer("crashed"), answer(Verdict::not_running)}) {
    for (const int failures : {0, 3, 100}) {
      const Decision decision = decide_dispatch(bad, failures);
      EXPECT_FALSE(decision.conclude);
      EXPECT_EQ(decision.how, disposition::retry);
      EXPECT_TRUE(counts_as_failure(decision.how, decision.note));
    }
  }
}

TEST(DispatchDecision, ItsVerdictsMeanNothingForOtherKinds) {
  for (const Verdict verdict : {Verdict::succeeded, Verdict::failed}) {
    const Decision decision = decide(answer(verdict), 0);
    EXPECT_FALSE(decision.conclude);
    EXPECT_TRUE(counts_as_failure(decision.how, decision.note));
  }
}

}  // namespace
}  // namespace ql3
