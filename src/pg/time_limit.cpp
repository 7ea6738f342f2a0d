#include "time_limit.hpp"

#include "compat.hpp"

#include <csignal>

extern "C" {
#include "storage/latch.h"
#include "utils/timeout.h"
}

namespace ql3::pg {

namespace {

constinit bool registered = false;
constinit TimeoutId limit_id{};
volatile std::sig_atomic_t has_fired = 0;

// Runs in a signal handler.
void on_timeout() {
  // A cancel of the user that waits to be served is not ours, and must not be taken for ours.
  if (QueryCancelPending) return;
  has_fired = 1;
  InterruptPending = true;
  QueryCancelPending = true;
  SetLatch(MyLatch);
}

}  // namespace

time_limit::time_limit(int milliseconds) : armed_(milliseconds > 0) {
  has_fired = 0;
  if (!armed_) return;
  call([&] {
    if (!registered) limit_id = RegisterTimeout(USER_TIMEOUT, on_timeout);
    registered = true;
    compat::enable_timeout_repeated(limit_id, milliseconds);
  });
}

void time_limit::disarm() noexcept {
  if (!armed_) return;
  armed_ = false;
  disable_timeout(limit_id, false);
  if (has_fired != 0 && QueryCancelPending) QueryCancelPending = false;
}

bool time_limit::ran_out() const noexcept { return has_fired != 0; }

bool time_limit::caused(const ErrorData* raised) const noexcept {
  // The same SQLSTATE also tells of statement_timeout; the server's own words tell them apart.
  return has_fired != 0 && raised->sqlerrcode == ERRCODE_QUERY_CANCELED && raised->message_id != nullptr &&
         std::strcmp(raised->message_id, "canceling statement due to user request") == 0;
}

}  // namespace ql3::pg
