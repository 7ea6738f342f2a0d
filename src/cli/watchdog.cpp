#include "cli/watchdog.hpp"

#include <algorithm>

#include "client/pause.hpp"

namespace ql3::cli {

Watchdog::Watchdog(const ServiceManager& manager, const std::deque<Pulse>& pulses)
    : manager_(manager), pulses_(pulses) {
  if (manager_.watchdog() > Clock::Length::zero()) {
    thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
  }
}

void Watchdog::run(std::stop_token stop) {
  Clock& clock = boot_clock();
  do {
    const Clock::Time oldest = clock.now() - manager_.watchdog();
    const bool all_alive = std::all_of(pulses_.begin(), pulses_.end(), [&](const Pulse& pulse) {
      return pulse.last() > oldest;
    });
    if (all_alive) manager_.tell("WATCHDOG=1");
  } while (sleep_until(clock, clock.now() + manager_.watchdog() / 4, stop));
}

}  // namespace ql3::cli
