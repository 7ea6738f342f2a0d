#include "client/clock.hpp"

#include <algorithm>
#include <ctime>

namespace ql3 {

BootClock::time_point BootClock::now() noexcept {
  timespec read{};
  // Cannot fail: the clock exists on every supported kernel and the pointer is good.
  clock_gettime(CLOCK_BOOTTIME, &read);
  return time_point(std::chrono::seconds(read.tv_sec) + std::chrono::nanoseconds(read.tv_nsec));
}

namespace {

class RealClock final : public Clock {
 public:
  Time now() const override { return BootClock::now(); }

  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            Time until) override {
    // Short turns: a condition variable does not count suspended time, this clock does.
    const Length left = std::min<Length>(until - now(), std::chrono::seconds(1));
    if (left > Length::zero()) changed.wait_for(lock, left);
  }
};

}  // namespace

Clock& boot_clock() {
  static RealClock clock;
  return clock;
}

}  // namespace ql3
