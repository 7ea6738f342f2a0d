#include "client/decision.hpp"

#include <gtest/gtest.h>

#include "core/claim.hpp"

namespace ql3 {
namespace {

ProbeAnswer answer(Verdict verdict, Why why = Why::none, std::string reason = {}) {
  return {verdict, why, std::move(reason), R"({"pid":7})"};
}

TEST(Decision, RunningIsPutOffWithoutCounting) {
  for (const char* reason : {"", "pid 7 lives"}) {
    const Decision decision = decide(answer(Verdict::running, Why::none, reason), 100);
    EXPECT_FALSE(decision.conclude);
    EXPECT_EQ(decision.how, disposition::retry);
    EXPECT_FALSE(counts_as_failure(decision.how, decision.note)) << decision.note;
  }
}

TEST(Decision, NotRunningIsConcluded) {
  const Decision decision = decide(answer(Verdict::not_running), 0);
  EXPECT_TRUE(decision.conclude);
  EXPECT_EQ(decision.verdict, "not_running");
  EXPECT_EQ(decision.evidence, R"({"pid":7})");
}

TEST(Decision, WithoutATransitionItIsResolved) {
  const Decision decision = without_transition(decide(answer(Verdict::not_running), 0));
  EXPECT_FALSE(decision.conclude);
  EXPECT_EQ(decision.how, disposition::resolved);
  EXPECT_EQ(decision.note, "the source has no transition; not_running");
}

TEST(Decision, AnUnavailableProviderIsAlwaysTriedAgain) {
  for (const int failures : {0, 3, 1'000'000}) {
    const Decision decision = decide(answer(Verdict::unknown, Why::provider_unavailable), failures);
    EXPECT_EQ(decision.how, disposition::retry);
    EXPECT_TRUE(counts_as_failure(decision.how, decision.note));
  }
}

TEST(Decision, WhatWaitingDoesNotCureGoesToAPersonAfterThreeRetries) {
  for (const Why why : {Why::identity_unverifiable, Why::conflicting_evidence}) {
    for (const int failures : {0, 1, 2}) {
      EXPECT_EQ(decide(answer(Verdict::unknown, why), failures).how, disposition::retry);
    }
    EXPECT_EQ(decide(answer(Verdict::unknown, why), 3).how, disposition::manual);
    EXPECT_EQ(decide(answer(Verdict::unknown, why), 4).how, disposition::manual);
  }
}

TEST(Decision, NoAnswerIsNeverAGoodVerdict) {
  for (const int failures : {0, 3, 100}) {
    const Decision decision = decide(no_answer("running: not really"), failures);
    EXPECT_FALSE(decision.conclude);
    EXPECT_EQ(decision.how, disposition::retry);
    // The reason is the probe's own text: it must not pass for the verdict "running".
    EXPECT_TRUE(counts_as_failure(decision.how, decision.note)) << decision.note;
  }
}

TEST(Decision, TheNoteOfAnUnknownSaysWhyAndWhat) {
  EXPECT_EQ(decide(no_answer("signal 11"), 0).note, "unknown: provider_unavailable: signal 11");
  EXPECT_EQ(
      decide({Verdict::unknown, Why::conflicting_evidence, "conflicting_evidence", {}}, 0).note,
      "unknown: conflicting_evidence");
}

TEST(Decision, AFailedTransitionIsCountedAndNamed) {
  const Decision decision = after_failed_transition("23505");
  EXPECT_EQ(decision.how, disposition::retry);
  EXPECT_EQ(decision.note, "the transition failed with SQLSTATE 23505");
}

TEST(Decision, NotesAreCleanAndShort) {
  const Decision decision =
      decide(answer(Verdict::running, Why::none, std::string("\xff\xfe\0x", 4)), 0);
  EXPECT_EQ(decision.note, "running: ?? x");
  std::string emojis;
  for (int i = 0; i < 1'000; ++i) emojis += "\xF0\x9F\x98\x80";
  const std::string note = decide(answer(Verdict::running, Why::none, emojis), 0).note;
  EXPECT_LE(note.size(), 2048U);
  EXPECT_GE(note.size(), 2045U);
  EXPECT_EQ(note.substr(note.size() - 4), "\xF0\x9F\x98\x80");
}

}  // namespace
}  // namespace ql3
