// A store, a source, a clock and probes that follow a script.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/candidates.hpp"
#include "client/claims.hpp"
#include "client/clock.hpp"
#include "client/probe.hpp"
#include "client/store_error.hpp"

namespace ql3::test {

// Stands still until it is moved.
class FakeClock final : public Clock {
 public:
  Time now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            Time until) override {
    // Real time only paces the looks at the fake one; no result depends on it.
    if (now() < until) changed.wait_for(lock, std::chrono::milliseconds(1));
  }
  void advance(Length length) {
    const std::lock_guard lock(mutex_);
    now_ += length;
  }

 private:
  mutable std::mutex mutex_;
  Time now_{std::chrono::hours(1)};
};

// Moves the clock on by itself, for tests in which somebody sleeps.
class Ticker {
 public:
  explicit Ticker(FakeClock& clock, Milliseconds step = Milliseconds(20))
      : thread_([&clock, step](std::stop_token stop) {
          while (!stop.stop_requested()) {
            clock.advance(step);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}

 private:
  std::jthread thread_;
};

// Waits for the condition. The limit only ends a test that waits for what never comes.
inline void wait_for(const std::function<bool()>& condition) {
  const auto limit = BootClock::now() + std::chrono::seconds(120);
  while (!condition()) {
    if (BootClock::now() > limit) {
      std::fputs("waited 120 s for what did not come\n", stderr);
      std::abort();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

inline ClaimedTarget make_claimed(std::string kind, std::string id, int failure_count = 0) {
  return {{std::move(kind), std::move(id), "run-1", "running", "2026-01-01T00:00:00Z",
           "2026-01-01T00:01:00Z", R"({"pid":7})"},
          "tester",
          ClaimToken(""),
          1,
          Milliseconds(30'000),
          failure_count};
}

struct Call {
  std::string what;  // claim, renew, settle, conclude, give_back
  std::string id;    // of a settle or conclude
  std::string word;  // disposition or verdict
  std::string note;  // or evidence
  std::string token;
  std::vector<std::string> ids;  // of a renew or give_back
};

// Answers as its hooks say; without a hook, the good word.
class FakeStore final : public ClaimStore {
 public:
  std::vector<ClaimedTarget> page;
  std::function<void(int try_number)> on_claim;
  std::function<std::vector<Renewed>(std::span<const Held>)> on_renew;
  std::function<Settled(const Held&, disposition, const std::string& note)> on_settle;
  std::function<Concluded(const Held&, const std::string& verdict)> on_conclude;
  std::function<std::vector<GivenBack>(std::span<const Held>)> on_give_back;

  std::vector<Call> calls(const std::string& what) const {
    const std::lock_guard lock(mutex_);
    std::vector<Call> found;
    for (const Call& call : calls_) {
      if (call.what == what) found.push_back(call);
    }
    return found;
  }

  std::vector<ClaimedTarget> claim(const ClaimRequest& request, const ClaimToken& token,
                                   Clock::Length) override {
    record({"claim", {}, {}, {}, token.parameter(), {}});
    if (on_claim) on_claim(static_cast<int>(calls("claim").size()));
    std::vector<ClaimedTarget> answer = page;
    for (ClaimedTarget& one : answer) {
      if (one.token.parameter().empty()) one.token = token;
      if (one.owner == "tester") one.owner = request.owner;
      one.lease_left = std::min(one.lease_left, request.lease);
    }
    return answer;
  }
  std::vector<Renewed> renew_page(const Holder& holder, std::span<const Held> held, Milliseconds,
                                  Clock::Length) override {
    record({"renew", {}, {}, {}, holder.token.parameter(), ids(held)});
    if (on_renew) return on_renew(held);
    return std::vector<Renewed>(held.size(), Renewed::renewed);
  }
  Settled settle(const Holder& holder, const Held& held, disposition how,
                 std::optional<Milliseconds>, const std::string& note, Clock::Length) override {
    record({"settle", held.id, std::string(to_text(how)), note, holder.token.parameter(), {}});
    return on_settle ? on_settle(held, how, note) : Settled::settled;
  }
  Concluded conclude(const Holder& holder, const Held& held, const std::string& verdict,
                     const std::string& evidence, Clock::Length) override {
    record({"conclude", held.id, verdict, evidence, holder.token.parameter(), {}});
    return on_conclude ? on_conclude(held, verdict) : Concluded::concluded;
  }
  std::vector<GivenBack> give_back(const Holder& holder, std::span<const Held> held,
                                   Clock::Length) override {
    record({"give_back", {}, {}, {}, holder.token.parameter(), ids(held)});
    if (on_give_back) return on_give_back(held);
    return std::vector<GivenBack>(held.size(), GivenBack::released);
  }

 private:
  static std::vector<std::string> ids(std::span<const Held> held) {
    std::vector<std::string> all;
    for (const Held& one : held) all.push_back(one.id);
    return all;
  }
  void record(Call call) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }

  mutable std::mutex mutex_;
  std::vector<Call> calls_;
};

class FakeSource final : public CandidateSource {
 public:
  Observation seen{{}, false, true};
  std::function<void()> on_observe;
  std::map<std::string, bool> listed;  // by id

  Observation observe(int, const std::vector<std::string>&, Clock::Length) override {
    if (on_observe) on_observe();
    return seen;
  }
  std::optional<TargetState> observe_one(const std::string&, const std::string& id,
                                         const ClaimToken*, Clock::Length) override {
    TargetState state;
    state.listed = listed[id];
    return state;
  }
};

class FakeProbe final : public Probe {
 public:
  using Judge = std::function<ProbeAnswer(const Target&, const ProbeCall&)>;
  explicit FakeProbe(Judge judge) : judge_(std::move(judge)) {}
  std::string identity() const override { return "fake"; }
  ProbeAnswer judge(const Target& target, const ProbeCall& call) override {
    return judge_(target, call);
  }

 private:
  Judge judge_;
};

// Ends when it is told to, and not before.
inline ProbeAnswer until_stopped(const Target&, const ProbeCall& call) {
  wait_for([&] { return call.stop.stop_requested(); });
  return no_answer("stopped before it answered");
}

}  // namespace ql3::test
