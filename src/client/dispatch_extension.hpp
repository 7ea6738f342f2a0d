// Says "still calling" while the call runs.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "client/clock.hpp"
#include "client/dispatch_store.hpp"
#include "client/events.hpp"

namespace ql3 {

// Extends the attempt a third of observe_after after the last time, on a thread and a connection
// of its own that is closed in between; sooner, with growing pauses, after an error. Ends by
// itself when the attempt is concluded or not ours any more: there is nothing to extend, and the
// result is stored all the same. The destructor waits for a statement in flight.
// REQUIRES: `store` is used by nobody else meanwhile.
class Extension {
 public:
  // `asked`: when the permission was asked for. std::system_error when no thread can be had.
  Extension(DispatchStore& store, const DispatchRequest& request, const OneTimeId& token,
            Clock::Time asked, Clock& clock, const Tell& listener);

  // No further statement is begun.
  void stop() noexcept { thread_.request_stop(); }

  // In a forked child, where the thread does not exist and must not be waited for.
  void abandon() noexcept { thread_.detach(); }

 private:
  enum class Went { well, badly, over };

  void run(std::stop_token stop, Clock::Time asked);
  Went extend_once(Clock::Length limit);

  DispatchStore& store_;
  const DispatchRequest& request_;
  const OneTimeId& token_;
  Clock& clock_;
  const Tell& listener_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace ql3
