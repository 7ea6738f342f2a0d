// The renewal of one pass: a thread and a store of its own, so that nothing a probe does delays it.
#pragma once

#include <memory>
#include <thread>

#include "client/claims.hpp"
#include "client/clock.hpp"
#include "client/events.hpp"
#include "client/held_page.hpp"

namespace ql3 {

// Renews everything the page still holds, in one statement, a third of the lease after the last
// one was sent; sooner, with growing pauses, after an error. Lives as long as the object; the
// destructor waits for a statement in flight.
// REQUIRES: `store` is used by nobody else meanwhile.
class Renewal {
 public:
  Renewal(ClaimStore& store, HeldPage& page, std::shared_ptr<Signal> signal, Milliseconds lease,
          Clock::Time claimed, Clock& clock, Tell listener);

 private:
  void run(std::stop_token stop);
  // True when the server answered.
  bool renew_once(const HeldPage::Kept& kept, Clock::Time sent);
  // True when `until` came, false on stop.
  bool wait(std::stop_token stop, Clock::Time until);

  ClaimStore& store_;
  HeldPage& page_;
  const std::shared_ptr<Signal> signal_;
  const Milliseconds lease_;
  const Clock::Time claimed_;
  Clock& clock_;
  const Tell listener_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace ql3
