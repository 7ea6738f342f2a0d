#include "client/dispatch_latch.hpp"

#include <unistd.h>

namespace ql3 {

CallLatch::CallLatch() noexcept : process_(getpid()), until_(Clock::Time::min()) {}

void CallLatch::arm(Clock::Time until) noexcept {
  until_ = until;
  Position closed = Position::closed;
  position_.compare_exchange_strong(closed, Position::armed);
}

void CallLatch::give_up() noexcept { position_ = Position::given_up; }

bool CallLatch::open(Clock::Time now) noexcept {
  if (!is_own_process() || now >= until_.load()) return false;
  Position armed = Position::armed;
  return position_.compare_exchange_strong(armed, Position::opened);
}

bool CallLatch::is_own_process() const noexcept { return getpid() == process_; }

}  // namespace ql3
