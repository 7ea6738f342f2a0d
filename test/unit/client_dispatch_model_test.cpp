// Dispatchers against a server in memory, under faults drawn at random: lost answers, delayed
// duplicates, errors, kills, restarts, failovers that lose commits, recovery, overrides and other
// dispatchers on the same item. QL3_SEED and QL3_RUNS choose the runs; a failure names its seed.
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "client/dispatch.hpp"
#include "client_dispatch_fakes.hpp"
#include "client_dispatch_server.hpp"

namespace ql3::test {
namespace {

// What one dispatcher has said and done.
struct Trace {
  std::string token;
  bool granted = false;
  bool said_not_sent = false;
  bool called = false;
};

class Channel final : public DispatchStore {
 public:
  Channel(World& world, Trace& trace) : world_(world), trace_(trace) {}

  ClaimAnswer claim(const DispatchRequest&, const OneTimeId& token, Clock::Length) override {
    EXPECT_TRUE(trace_.token.empty() || trace_.token == token.parameter());
    trace_.token = token.parameter();
    return world_.send<ClaimAnswer>([token = trace_.token](FakeServer& server) {
      const ClaimVerdict verdict = server.claim(token);
      return ClaimAnswer{verdict, {}, {}, server.place()};
    });
  }
  PermitAnswer permit(const DispatchRequest&, const OneTimeId&, const OneTimeId& permit,
                      Clock::Length) override {
    EXPECT_FALSE(trace_.said_not_sent || trace_.called);
    const PermitAnswer answer = world_.send<PermitAnswer>(
        [token = trace_.token, id = permit.parameter()](FakeServer& server) {
          const auto granted = server.permit(token, id);
          if (!granted) throw StoreError("55000", {});
          return PermitAnswer{*granted, server.place()};
        });
    trace_.granted = answer.granted;
    return answer;
  }
  ExtendAnswer extend(const DispatchRequest&, const OneTimeId&, Clock::Length) override {
    return ExtendAnswer::extended;
  }
  SettleAnswer settle(const DispatchRequest&, const OneTimeId&, outcome what,
                      const std::optional<std::string>&, const OneTimeId* permit,
                      Clock::Length) override {
    if (what == outcome::not_sent) trace_.said_not_sent = true;
    const std::string id = permit == nullptr ? "" : permit->parameter();
    return world_.send<SettleAnswer>([token = trace_.token, what, id](FakeServer& server) {
      return server.settle(token, what, id);
    });
  }
  ReassertAnswer reassert(const DispatchRequest&, const OneTimeId&, outcome what,
                          Clock::Length) override {
    return world_.send<ReassertAnswer>(
        [token = trace_.token, what](FakeServer& server) { return server.reassert(token, what); });
  }
  void drop() noexcept override {}

 private:
  World& world_;
  Trace& trace_;
};

// For the thread that extends: it shares nothing with the world.
class Silent final : public DispatchStore {
 public:
  ClaimAnswer claim(const DispatchRequest&, const OneTimeId&, Clock::Length) override {
    std::abort();
  }
  PermitAnswer permit(const DispatchRequest&, const OneTimeId&, const OneTimeId&,
                      Clock::Length) override {
    std::abort();
  }
  ExtendAnswer extend(const DispatchRequest&, const OneTimeId&, Clock::Length) override {
    return ExtendAnswer::extended;
  }
  SettleAnswer settle(const DispatchRequest&, const OneTimeId&, outcome,
                      const std::optional<std::string>&, const OneTimeId*, Clock::Length) override {
    std::abort();
  }
  ReassertAnswer reassert(const DispatchRequest&, const OneTimeId&, outcome,
                          Clock::Length) override {
    std::abort();
  }
  void drop() noexcept override {}
};

struct Sums {
  int dispatches = 0, calls = 0, killed = 0, reasserted = 0, released = 0, lossy = 0;
};

class Story {
 public:
  Story(std::uint64_t seed, Sums& sums) : world_(seed), sums_(sums) {
    world_.kills = world_.chance(30);
    world_.another = [this] { dispatch(); };
  }

  void all() {
    for (int i = 0; i < 3; ++i) dispatch();
    EXPECT_LE(sent_, 1) << "the action was sent twice";
    sums_.lossy += world_.lossy ? 1 : 0;
  }

 private:
  void dispatch() {
    ++sums_.dispatches;
    Trace trace;
    Channel channel(world_, trace);
    Silent silent;
    Dispatcher dispatcher(channel, silent, {}, {}, clock_);
    const outcome what =
        world_.one_of({outcome::succeeded, outcome::failed, outcome::unknown, outcome::not_sent});
    try {
      const DispatchReport report = dispatcher.dispatch(switchover(), [&](const DispatchStop&) {
        EXPECT_TRUE(trace.granted) << "called without permission";
        EXPECT_FALSE(trace.said_not_sent) << "called after not_sent";
        EXPECT_FALSE(trace.called);
        trace.called = true;
        ++sums_.calls;
        sent_ += what == outcome::not_sent ? 0 : 1;
        world_.happen();
        return CallResult{what, {}, false};
      });
      check(report, trace, what);
    } catch (const Killed&) {
      ++sums_.killed;
    }
  }

  void check(const DispatchReport& report, const Trace& trace, outcome what) {
    EXPECT_EQ(report.called, trace.called);
    const FakeServer::Attempt* const own = world_.server.attempt(trace.token);
    if (trace.called && what != outcome::not_sent) {
      // Alive to the end: its outcome is in the database, whatever happened on the way.
      EXPECT_TRUE(report.end == DispatchEnd::recorded || report.end == DispatchEnd::concluded);
      EXPECT_EQ(report.what, what);
      ASSERT_NE(own, nullptr) << "a known outcome was lost";
      if (what != outcome::unknown) {
        EXPECT_EQ(own->facts.writer, fact(what));
        EXPECT_FALSE(own->facts.released);
      }
      if (own->permit.empty()) ++sums_.reasserted;
      return;
    }
    EXPECT_FALSE(report.what && *report.what != outcome::not_sent);
    if (report.end == DispatchEnd::not_sent && report.stored && !world_.disturbed) {
      // The item is free again.
      ASSERT_NE(own, nullptr);
      EXPECT_TRUE(own->facts.released);
      ++sums_.released;
    }
  }

  World world_;
  JumpingClock clock_;
  Sums& sums_;
  int sent_ = 0;
};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(DispatchModel, CallsAtMostOnceAndLosesNoOutcome) {
  const std::uint64_t first = from_environment("QL3_SEED", 20261129);
  const std::uint64_t runs = from_environment("QL3_RUNS", 4000);
  std::cout << "seeds " << first << " to " << first + runs - 1 << '\n';
  Sums sums;
  for (std::uint64_t seed = first; seed < first + runs && !HasFailure(); ++seed) {
    SCOPED_TRACE("replay with QL3_RUNS=1 QL3_SEED=" + std::to_string(seed));
    Story(seed, sums).all();
  }
  std::cout << sums.dispatches << " dispatches, " << sums.calls << " calls, " << sums.killed
            << " killed, " << sums.reasserted << " asserted again, " << sums.released
            << " released, " << sums.lossy << " runs with lost commits\n";
  if (runs >= 1000) {
    // The faults that matter did happen.
    for (const int seen : {sums.calls, sums.killed, sums.reasserted, sums.released, sums.lossy}) {
      EXPECT_GT(seen, static_cast<int>(runs / 200));
    }
  }
}

}  // namespace
}  // namespace ql3::test
