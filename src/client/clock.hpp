// The clock of the client: monotonic, and counting while the machine is suspended, because a lease
// runs on at the server meanwhile. Wall-clock time decides nothing here.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "client/export.hpp"

namespace ql3 {

struct QL3_API BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;
};

// What the supervisor asks the time. A test hands in one that it moves by hand.
// Thread rule: every method may be called from any thread.
class QL3_API Clock {
 public:
  using Time = BootClock::time_point;
  using Length = BootClock::duration;

  virtual ~Clock() = default;
  virtual Time now() const = 0;

  // Waits on `changed` until it is notified or `until` has come; may also return for no reason.
  // REQUIRES: `lock` is held. It is held again on return.
  virtual void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                    Time until) = 0;
};

// The real clock; lives as long as the process.
QL3_API Clock& boot_clock();

}  // namespace ql3
