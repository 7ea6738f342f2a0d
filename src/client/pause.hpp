// Growing pauses between tries, and sleeping that a stop ends.
#pragma once

#include <stop_token>

#include "client/clock.hpp"

namespace ql3 {

// 100 ms, doubling up to 2 s, each cut by up to a quarter at random so that replicas that failed
// together do not come back together.
class Backoff {
 public:
  Clock::Length next();

 private:
  int tries_ = 0;
};

// `length` moved by up to +-20 % at random.
Clock::Length jittered(Clock::Length length);

// Sleeps until `until` or until `stop` is requested; true when the time came.
bool sleep_until(Clock& clock, Clock::Time until, std::stop_token stop);

}  // namespace ql3
