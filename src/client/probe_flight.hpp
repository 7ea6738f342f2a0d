// One probe on its way, on a thread of its own.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "client/held_page.hpp"
#include "client/probe.hpp"

namespace ql3 {

// Which kinds have a probe running, counting those that were given up and still run. One flight
// for each kind: a probe that ignores its cancellation stops its own kind and piles up nothing.
class ProbeTraffic {
 public:
  bool enter(const std::string& kind);
  void leave(const std::string& kind);
  std::size_t in_flight() const;

 private:
  mutable std::mutex mutex_;
  std::set<std::string> kinds_;
};

// Starts the probe when constructed. When destroyed before it is done, the probe is told to stop
// and left behind: it keeps what it uses alive by itself.
// Thread rule: one thread, but for what the probe does on its own.
class ProbeFlight {
 public:
  // `signal` is notified when the answer is there. A probe that cannot be started, and a kind that
  // still has one running, is an answer at once.
  ProbeFlight(const ProbeRegistry::Entry& entry, const Target& target, Clock::Length timeout,
              std::shared_ptr<Signal> signal, std::shared_ptr<ProbeTraffic> traffic);
  ~ProbeFlight() { cancel(); }
  ProbeFlight(const ProbeFlight&) = delete;
  ProbeFlight& operator=(const ProbeFlight&) = delete;

  void cancel() { stop_.request_stop(); }

  // REQUIRES: the signal's mutex is held.
  bool done() const { return state_->answer.has_value(); }

  // The answer, once done.
  const ProbeAnswer& answer() const { return *state_->answer; }

 private:
  struct State {
    std::optional<ProbeAnswer> answer;  // guarded by the signal's mutex until done
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::stop_source stop_;
};

}  // namespace ql3
