// Tells the service manager that every cell gets on, and nothing once one of them does not.
#pragma once

#include <atomic>
#include <deque>
#include <thread>

#include "cli/service_manager.hpp"
#include "client/clock.hpp"

namespace ql3::cli {

// The last sign of life of a cell. Thread rule: any thread.
class Pulse {
 public:
  // A step has ended now; or, with a time to come, nothing will happen before it.
  void beat(Clock::Time at = BootClock::now()) noexcept { last_ = at.time_since_epoch().count(); }
  // Nothing will happen any more.
  void end() noexcept { beat(Clock::Time::max()); }
  Clock::Time last() const noexcept { return Clock::Time(Clock::Length(last_.load())); }

 private:
  std::atomic<Clock::Length::rep> last_{BootClock::now().time_since_epoch().count()};
};

// A thread of its own that does nothing but look and tell, so that the word is never the work's own
// good opinion of itself. Lives as long as the object; `pulses` outlive it.
class Watchdog {
 public:
  Watchdog(const ServiceManager& manager, const std::deque<Pulse>& pulses);

 private:
  void run(std::stop_token stop);

  const ServiceManager& manager_;
  const std::deque<Pulse>& pulses_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace ql3::cli
