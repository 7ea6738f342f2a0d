// Repeating a look that failed: for calls that change nothing.
#pragma once

#include <stop_token>

#include "client/clock.hpp"
#include "client/pause.hpp"
#include "client/store_error.hpp"

namespace ql3 {

// `look()`, up to 3 times with growing pauses while its StoreError is retryable and `stop` is not
// requested; then the error is thrown. The first look after a quiet time often meets a connection
// that has died meanwhile.
template <typename Look>
auto look_again(Clock& clock, std::stop_token stop, Look look) {
  constexpr int tries_max = 3;
  Backoff backoff;
  for (int tries = 1;; ++tries) {
    try {
      return look();
    } catch (const StoreError& error) {
      if (!error.retryable() || tries == tries_max ||
          !sleep_until(clock, clock.now() + backoff.next(), stop)) {
        throw;
      }
    }
  }
}

}  // namespace ql3
