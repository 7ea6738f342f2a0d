// The last guard before the call, inside the process.
#pragma once

#include <atomic>

#include <sys/types.h>

#include "client/clock.hpp"

namespace ql3 {

// Opens at most once, only when it was armed, only in the process that made it, only before its
// time is over, and never after give_up(). It cannot be copied or moved, so a second one with the
// same permission does not exist.
// Thread rule: every method may be called from any thread.
class CallLatch {
 public:
  CallLatch() noexcept;
  CallLatch(const CallLatch&) = delete;
  CallLatch& operator=(const CallLatch&) = delete;

  // Permission is there and is good until `until`. Does nothing after give_up().
  void arm(Clock::Time until) noexcept;

  // To be called before `not_sent` is sent.
  void give_up() noexcept;

  // True for exactly one caller, who must call now.
  bool open(Clock::Time now) noexcept;

  // False in a forked child, which must leave the attempt alone.
  bool is_own_process() const noexcept;

 private:
  enum class Position { closed, armed, opened, given_up };

  const pid_t process_;
  std::atomic<Clock::Time> until_;
  std::atomic<Position> position_ = Position::closed;
};

}  // namespace ql3
