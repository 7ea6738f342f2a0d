// The policy of a pass, with a scripted store, a fake clock and fake probes.
#include "client/supervisor.hpp"

#include <atomic>
#include <deque>
#include <stdexcept>

#include <gtest/gtest.h>

#include "client/held_page.hpp"
#include "client_fakes.hpp"

namespace ql3 {
namespace {

using namespace test;
using std::chrono::seconds;

const ProbeAnswer gone{Verdict::not_running, Why::none, "no such pid", R"({"pid":7})"};
const ProbeAnswer alive{Verdict::running, Why::none, "pid 7 lives", {}};

class Supervisor : public ::testing::Test {
 protected:
  void fill(int count) {
    for (int i = 0; i < count; ++i) {
      claims.page.push_back(make_claimed("job", "t" + std::to_string(i)));
    }
  }

  void probe(FakeProbe::Judge judge) {
    probes->add("job", std::make_shared<FakeProbe>(std::move(judge)));
  }

  PassReport pass() {
    if (!supervisor) {
      supervisor.emplace(options, Stores{claims, renewal, source}, probes, Tell(), clock);
    }
    return supervisor->run_pass({drain.get_token(), cancel.get_token()});
  }

  SupervisorOptions options{"tester", 16, Milliseconds(30'000), {}, Milliseconds(15'000)};
  FakeClock clock;
  FakeStore claims, renewal;
  FakeSource source;
  std::shared_ptr<ProbeRegistry> probes = std::make_shared<ProbeRegistry>();
  std::stop_source drain, cancel;
  std::optional<RecoverySupervisor> supervisor;
};

TEST_F(Supervisor, AnEmptyPassIsSafeOnlyByItsObservation) {
  probe(until_stopped);
  EXPECT_TRUE(pass().safe);

  source.seen.writable = false;
  EXPECT_FALSE(pass().safe);

  source.seen = {{}, false, true};
  ObservedTarget listed;
  listed.target.kind = "job";
  listed.state = "manual";
  source.seen.rows = {listed};
  const PassReport report = pass();
  EXPECT_FALSE(report.safe);
  EXPECT_EQ(report.remaining, 1);
  EXPECT_EQ(report.failed, 0);
}

TEST_F(Supervisor, ADispatchThatWasNeverPermittedIsConcludedWithoutAProbe) {
  std::vector<std::string> probed;
  probes->add("dispatch", std::make_shared<FakeProbe>([&](const Target& target, const ProbeCall&) {
                probed.push_back(target.id);
                return ProbeAnswer{Verdict::succeeded, Why::none, "the candidate leads", "{}"};
              }));
  const auto attempt = [](const char* id, const char* source) {
    ClaimedTarget one = make_claimed("dispatch", id);
    one.target.source = source;
    return one;
  };
  claims.page = {attempt("unsent", R"({"permitted": false, "own_lineage": true})"),
                 attempt("sent", R"({"permitted": true, "own_lineage": true})"),
                 attempt("earlier", R"({"permitted": false, "own_lineage": false})")};
  pass();
  EXPECT_EQ(probed, (std::vector<std::string>{"sent", "earlier"}));
  const auto concluded = claims.calls("conclude");
  ASSERT_EQ(concluded.size(), 3U);
  EXPECT_EQ(concluded[0].word, "not_sent");
  EXPECT_EQ(concluded[1].word, "succeeded");
  EXPECT_EQ(concluded[2].word, "succeeded");
}

TEST_F(Supervisor, ABlindSourceIsAFailure) {
  probe(until_stopped);
  ObservedTarget blind;
  blind.target.kind = "other";
  blind.state = "blind";
  source.seen.rows = {blind};
  const PassReport report = pass();
  EXPECT_FALSE(report.safe);
  EXPECT_EQ(report.failed, 1);
  EXPECT_EQ(report.remaining, 0);
}

TEST_F(Supervisor, ConcludesWhatIsGone) {
  fill(3);
  probe([](const Target&, const ProbeCall&) { return gone; });
  const PassReport report = pass();
  EXPECT_TRUE(report.safe);
  EXPECT_EQ(report.discovered, 3);
  EXPECT_EQ(report.remaining, 0);
  const auto calls = claims.calls("conclude");
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].word, "not_running");
  EXPECT_EQ(calls[0].note, R"({"pid":7})");
  EXPECT_TRUE(claims.calls("settle").empty());
  EXPECT_TRUE(claims.calls("give_back").empty());
}

TEST_F(Supervisor, EveryEndedStepIsTold) {
  fill(3);
  int steps = 0;
  std::vector<int> at_probe;
  options.on_step = [&] { ++steps; };
  probe([&](const Target&, const ProbeCall&) {
    at_probe.push_back(steps);
    return gone;
  });
  pass();
  EXPECT_EQ(at_probe, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(steps, 5);
}

TEST_F(Supervisor, PutsOffWhatRuns) {
  fill(1);
  probe([](const Target&, const ProbeCall&) { return alive; });
  const PassReport report = pass();
  EXPECT_FALSE(report.safe);
  EXPECT_EQ(report.remaining, 1);
  const auto calls = claims.calls("settle");
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].word, "retry");
  EXPECT_EQ(calls[0].note, "running: pid 7 lives");
}

TEST_F(Supervisor, ParksAfterThreeRetriesByTheClaimsCount) {
  claims.page = {make_claimed("job", "young", 2), make_claimed("job", "old", 3)};
  probe([](const Target&, const ProbeCall&) {
    return ProbeAnswer{Verdict::unknown, Why::identity_unverifiable, "identity_unverifiable", {}};
  });
  const PassReport report = pass();
  EXPECT_EQ(report.remaining, 2);
  const auto calls = claims.calls("settle");
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].word, "retry");
  EXPECT_EQ(calls[1].word, "manual");
}

TEST_F(Supervisor, OneAfterAnother) {
  fill(16);
  std::atomic<int> now_running = 0;
  std::atomic<bool> overlapped = false;
  probe([&](const Target&, const ProbeCall&) {
    if (++now_running > 1) overlapped = true;
    std::this_thread::yield();
    --now_running;
    return gone;
  });
  EXPECT_TRUE(pass().safe);
  EXPECT_FALSE(overlapped);
}

TEST_F(Supervisor, PoisonAmongFiftyCostsOnlyItself) {
  options.page_size = 50;
  fill(50);
  probe([](const Target& target, const ProbeCall&) -> ProbeAnswer {
    if (target.id == "t3") throw std::runtime_error("cannot decode");
    if (target.id == "t4") throw 42;
    return gone;
  });
  const PassReport report = pass();
  EXPECT_EQ(claims.calls("conclude").size(), 48U);
  const auto settled = claims.calls("settle");
  ASSERT_EQ(settled.size(), 2U);
  EXPECT_EQ(settled[0].id, "t3");
  EXPECT_EQ(settled[0].word, "retry");
  EXPECT_EQ(settled[0].note, "unknown: provider_unavailable: the probe threw: cannot decode");
  EXPECT_EQ(settled[1].id, "t4");
  EXPECT_EQ(report.remaining, 2);
  EXPECT_EQ(report.failed, 0);
}

TEST_F(Supervisor, WithoutATransitionItSettlesResolvedAndAsksOnce) {
  fill(3);
  probe([](const Target&, const ProbeCall&) { return gone; });
  claims.on_conclude = [](const Held&, const std::string&) -> Concluded {
    throw StoreError("55000", {"the source of kind \"job\" has no transition", "", ""});
  };
  source.listed["t1"] = true;
  const PassReport report = pass();
  EXPECT_EQ(claims.calls("conclude").size(), 1U);
  const auto settled = claims.calls("settle");
  ASSERT_EQ(settled.size(), 3U);
  for (const Call& call : settled) EXPECT_EQ(call.word, "resolved");
  EXPECT_EQ(report.remaining, 1);
  EXPECT_FALSE(report.safe);
  EXPECT_EQ(report.failed, 0);
}

TEST_F(Supervisor, APausedKindIsGivenBackAndNotSettled) {
  fill(2);
  probe([](const Target&, const ProbeCall&) { return gone; });
  claims.on_conclude = [](const Held&, const std::string&) -> Concluded {
    throw StoreError("55000", {"kind job is paused", "", ""});
  };
  const PassReport report = pass();
  EXPECT_TRUE(claims.calls("settle").empty());
  ASSERT_FALSE(claims.calls("give_back").empty());
  EXPECT_EQ(report.remaining, 2);
}

TEST_F(Supervisor, AFailingTransitionIsPutOffWithItsSqlstate) {
  fill(2);
  probe([](const Target&, const ProbeCall&) { return gone; });
  claims.on_conclude = [](const Held& held, const std::string&) -> Concluded {
    if (held.id == "t0") throw StoreError("23505", {});
    return Concluded::concluded;
  };
  const PassReport report = pass();
  const auto settled = claims.calls("settle");
  ASSERT_EQ(settled.size(), 1U);
  EXPECT_EQ(settled[0].word, "retry");
  EXPECT_EQ(settled[0].note, "the transition failed with SQLSTATE 23505");
  EXPECT_EQ(claims.calls("conclude").size(), 2U);
  EXPECT_EQ(report.remaining, 1);
}

TEST_F(Supervisor, ATransitionThatNeverStopsFailingIsPutOffToo) {
  const Ticker ticker(clock);
  fill(1);
  probe([](const Target&, const ProbeCall&) { return gone; });
  claims.on_conclude = [](const Held&, const std::string&) -> Concluded {
    throw StoreError("40001", {});
  };
  EXPECT_EQ(pass().remaining, 1);
  EXPECT_EQ(claims.calls("conclude").size(), 5U);
  EXPECT_EQ(claims.calls("settle").size(), 1U);
}

TEST_F(Supervisor, StaleAndFencedRemain) {
  fill(2);
  probe([](const Target&, const ProbeCall&) { return gone; });
  claims.on_conclude = [](const Held& held, const std::string&) {
    return held.id == "t0" ? Concluded::stale : Concluded::fenced;
  };
  const PassReport report = pass();
  EXPECT_EQ(report.remaining, 2);
  EXPECT_EQ(report.fenced, 1);
  EXPECT_EQ(report.targets[0].outcome, Outcome::stale);
  EXPECT_EQ(report.targets[1].outcome, Outcome::fenced);
}

TEST_F(Supervisor, ALostReplyOfAConclusionIsRepeatedAsItWas) {
  const Ticker ticker(clock);
  fill(1);
  probe([](const Target&, const ProbeCall&) { return gone; });
  int tries = 0;
  claims.on_conclude = [&](const Held&, const std::string&) -> Concluded {
    if (++tries < 3) throw StoreError(StoreCode::lost_reply, "the connection broke");
    return Concluded::concluded;
  };
  const PassReport report = pass();
  EXPECT_EQ(report.remaining, 0);
  EXPECT_EQ(report.failed, 0);
  const auto calls = claims.calls("conclude");
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].token, calls[2].token);
  EXPECT_EQ(calls[0].note, calls[2].note);
}

TEST_F(Supervisor, AStoreThatStaysAwayEndsAsFailedWithinTheLease) {
  const Ticker ticker(clock);
  fill(1);
  probe([](const Target&, const ProbeCall&) { return alive; });
  const StoreError away(StoreCode::unreachable, "no server");
  claims.on_settle = [&](const Held&, disposition, const std::string&) -> Settled { throw away; };
  renewal.on_renew = [&](std::span<const Held>) -> std::vector<Renewed> { throw away; };
  const Clock::Time before = clock.now();
  const PassReport report = pass();
  EXPECT_FALSE(report.safe);
  EXPECT_EQ(report.failed + report.fenced, 1);
  EXPECT_LT(clock.now(), before + seconds(120));
}

TEST_F(Supervisor, ATextTheDatabaseCannotStoreCostsTheTextOnly) {
  fill(1);
  probe([](const Target&, const ProbeCall&) {
    return ProbeAnswer{Verdict::running, Why::none, "caf\xC3\xA9", {}};
  });
  claims.on_settle = [](const Held&, disposition, const std::string& note) -> Settled {
    if (note.find('\xC3') != std::string::npos) throw StoreError("22P05", {});
    return Settled::settled;
  };
  const PassReport report = pass();
  EXPECT_EQ(report.failed, 0);
  EXPECT_EQ(claims.calls("settle").back().note, "running: caf?");
}

TEST_F(Supervisor, AFailedClaimIsAFailureAndNothingElse) {
  probe(until_stopped);
  claims.on_claim = [](int) { throw StoreError("55000", {"no source is attached", "", ""}); };
  const PassReport report = pass();
  EXPECT_FALSE(report.safe);
  EXPECT_EQ(report.failed, 1);
  ASSERT_TRUE(report.error.has_value());
  EXPECT_EQ(report.error->sqlstate(), "55000");
}

TEST_F(Supervisor, AMalformedPageIsNotProbed) {
  fill(2);
  claims.page[1].target.id = "t0";
  std::atomic<int> probed = 0;
  probe([&](const Target&, const ProbeCall&) {
    ++probed;
    return gone;
  });
  const PassReport report = pass();
  EXPECT_EQ(probed, 0);
  EXPECT_EQ(report.failed, 1);
  EXPECT_EQ(report.error->code(), StoreCode::malformed);
}

TEST_F(Supervisor, WhileAProbeRunsOneRenewalSpeaksForAllThatIsHeld) {
  fill(3);
  probes->add("job", std::make_shared<FakeProbe>([&](const Target& target, const ProbeCall&) {
                if (target.id == "t1") {
                  for (std::size_t round = 1; round <= 2; ++round) {
                    clock.advance(seconds(10));
                    wait_for([&] { return renewal.calls("renew").size() >= round; });
                  }
                }
                return gone;
              }),
              Milliseconds(29'000));
  const PassReport report = pass();
  EXPECT_EQ(report.remaining, 0);
  const auto calls = renewal.calls("renew");
  ASSERT_GE(calls.size(), 2U);
  // What was settled before is no longer spoken for; what waits is.
  EXPECT_EQ(calls[0].ids, (std::vector<std::string>{"t1", "t2"}));
  EXPECT_TRUE(claims.calls("renew").empty());
}

TEST_F(Supervisor, AFencedRenewalStopsTheProbe) {
  fill(2);
  std::atomic<bool> stopped = false;
  probes->add("job", std::make_shared<FakeProbe>([&](const Target& target, const ProbeCall& call) {
                clock.advance(seconds(10));
                const ProbeAnswer answer = until_stopped(target, call);
                stopped = true;
                return answer;
              }),
              Milliseconds(29'000));
  renewal.on_renew = [](std::span<const Held> held) {
    return std::vector<Renewed>(held.size(), Renewed::fenced);
  };
  claims.on_settle = [](const Held&, disposition, const std::string&) { return Settled::fenced; };
  claims.on_give_back = [](std::span<const Held> held) {
    return std::vector<GivenBack>(held.size(), GivenBack::fenced);
  };
  const PassReport report = pass();
  EXPECT_TRUE(stopped);
  EXPECT_EQ(report.fenced, 2);
  EXPECT_EQ(report.remaining, 2);
  EXPECT_TRUE(claims.calls("conclude").empty());
}

TEST_F(Supervisor, AnAnswerAfterTheDeadlineIsNotSent) {
  fill(2);
  probes->add("job", std::make_shared<FakeProbe>([&](const Target&, const ProbeCall&) {
                // As after SIGSTOP and SIGCONT: the time went by in one step.
                clock.advance(seconds(31));
                return gone;
              }),
              Milliseconds(29'000));
  const PassReport report = pass();
  EXPECT_TRUE(claims.calls("conclude").empty());
  EXPECT_TRUE(claims.calls("settle").empty());
  EXPECT_TRUE(claims.calls("give_back").empty());
  EXPECT_EQ(report.fenced, 2);
  EXPECT_EQ(report.targets[1].verdict, "");
}

TEST_F(Supervisor, NothingIsStartedWithoutMargin) {
  fill(2);
  std::atomic<int> probed = 0;
  renewal.on_renew = [](std::span<const Held>) -> std::vector<Renewed> {
    throw StoreError(StoreCode::unreachable, "no server");
  };
  probes->add("job", std::make_shared<FakeProbe>([&](const Target&, const ProbeCall&) {
                ++probed;
                return gone;
              }),
              Milliseconds(29'000));
  claims.on_conclude = [&](const Held&, const std::string&) {
    clock.advance(seconds(30) - HeldPage::margin + Milliseconds(1));
    return Concluded::concluded;
  };
  const PassReport report = pass();
  EXPECT_EQ(probed, 1);
  EXPECT_EQ(report.remaining, 1);
  EXPECT_EQ(report.targets[1].outcome, Outcome::given_back);
}

TEST_F(Supervisor, ARenewalThatIsLateStopsTheProbeBeforeTheExpiry) {
  fill(2);
  renewal.on_renew = [](std::span<const Held>) -> std::vector<Renewed> {
    throw StoreError(StoreCode::unreachable, "no server");
  };
  // The first takes most of the lease, so the second's own timeout lies beyond its end.
  probes->add("job", std::make_shared<FakeProbe>([&](const Target& target, const ProbeCall& call) {
                if (target.id == "t0") {
                  clock.advance(seconds(20));
                  return gone;
                }
                clock.advance(seconds(10) - HeldPage::margin + Milliseconds(1));
                return until_stopped(target, call);
              }),
              Milliseconds(29'000));
  pass();
  EXPECT_EQ(claims.calls("conclude").size(), 1U);
  const auto settled = claims.calls("settle");
  ASSERT_EQ(settled.size(), 1U);
  EXPECT_EQ(settled[0].id, "t1");
  EXPECT_EQ(settled[0].note, "unknown: provider_unavailable: stopped: the claim could not be renewed in time");
}

TEST_F(Supervisor, AHangIsABadAnswerAfterItsTimeout) {
  const Ticker ticker(clock);
  fill(1);
  probe(until_stopped);
  pass();
  const auto settled = claims.calls("settle");
  ASSERT_EQ(settled.size(), 1U);
  EXPECT_EQ(settled[0].word, "retry");
  EXPECT_EQ(settled[0].note, "unknown: provider_unavailable: no answer within 5s");
}

TEST_F(Supervisor, AProbeThatIgnoresItsCancellationIsLeftBehindOnce) {
  const Ticker ticker(clock);
  fill(3);
  auto release = std::make_shared<std::atomic<bool>>(false);
  auto entered = std::make_shared<std::atomic<int>>(0);
  probe([release, entered](const Target&, const ProbeCall&) {
    ++*entered;
    wait_for([&] { return release->load(); });
    return gone;
  });
  const PassReport report = pass();
  EXPECT_EQ(*entered, 1);
  EXPECT_EQ(supervisor->abandoned_probes(), 1U);
  const auto settled = claims.calls("settle");
  ASSERT_EQ(settled.size(), 3U);
  const char* const left = "unknown: provider_unavailable: the last probe of this kind still runs";
  EXPECT_EQ(settled[1].note, left);
  EXPECT_EQ(settled[2].note, left);
  EXPECT_EQ(report.remaining, 3);
  *release = true;
  wait_for([&] { return supervisor->abandoned_probes() == 0; });
}

TEST_F(Supervisor, ADrainGivesBackAtOnceAndLetsTheProbeFinish) {
  fill(50);
  options.page_size = 50;
  probe([&](const Target&, const ProbeCall&) {
    drain.request_stop();
    // The probe goes on until it has seen the others given back.
    wait_for([&] { return !claims.calls("give_back").empty(); });
    return gone;
  });
  const PassReport report = pass();
  EXPECT_TRUE(report.stopped);
  EXPECT_FALSE(report.safe);
  const auto given = claims.calls("give_back");
  ASSERT_EQ(given.size(), 1U);
  EXPECT_EQ(given[0].ids.size(), 49U);
  EXPECT_EQ(claims.calls("conclude").size(), 1U);
  EXPECT_EQ(report.targets[0].outcome, Outcome::concluded);
  EXPECT_EQ(report.targets[49].outcome, Outcome::given_back);
}

TEST_F(Supervisor, TheGraceEndsTheProbeAndGivesItBack) {
  const Ticker ticker(clock);
  fill(2);
  options.grace = Milliseconds(100);
  probe([&](const Target& target, const ProbeCall& call) {
    drain.request_stop();
    return until_stopped(target, call);
  });
  const PassReport report = pass();
  EXPECT_TRUE(claims.calls("settle").empty());
  EXPECT_EQ(report.targets[0].outcome, Outcome::given_back);
  EXPECT_EQ(report.targets[1].outcome, Outcome::given_back);
}

TEST_F(Supervisor, ACancelEndsTheProbeAtOnce) {
  fill(1);
  probe([&](const Target& target, const ProbeCall& call) {
    drain.request_stop();
    cancel.request_stop();
    return until_stopped(target, call);
  });
  EXPECT_EQ(pass().targets[0].outcome, Outcome::given_back);
}

TEST_F(Supervisor, ADrainBeforeTheFirstProbeGivesAllBack) {
  fill(4);
  std::atomic<int> probed = 0;
  probe([&](const Target&, const ProbeCall&) {
    ++probed;
    return gone;
  });
  claims.on_claim = [&](int) { drain.request_stop(); };
  const PassReport report = pass();
  EXPECT_EQ(probed, 0);
  EXPECT_EQ(report.remaining, 4);
  EXPECT_EQ(claims.calls("give_back").at(0).ids.size(), 4U);
}

TEST_F(Supervisor, OptionsOutsideOfTheirLimitsAreRefused) {
  probe(until_stopped);
  const auto refuses = [&](SupervisorOptions changed) {
    EXPECT_THROW(RecoverySupervisor(changed, {claims, renewal, source}, probes, {}, clock),
                 std::invalid_argument);
  };
  SupervisorOptions changed = options;
  changed.owner = "bad owner";
  refuses(changed);
  for (const int size : {0, -1, 129}) {
    changed = options;
    changed.page_size = size;
    refuses(changed);
  }
  for (const int lease : {0, 999, 300'001}) {
    changed = options;
    changed.lease = Milliseconds(lease);
    refuses(changed);
  }
  changed = options;
  changed.lease = Milliseconds(5'250);  // the probe's 5 s need more than this
  refuses(changed);
  changed = options;
  changed.kinds = {"job", "unprobed"};
  refuses(changed);
  changed = options;
  changed.lease = Milliseconds(5'251);
  EXPECT_NO_THROW(RecoverySupervisor(changed, {claims, renewal, source}, probes, {}, clock));
}

}  // namespace
}  // namespace ql3
