// SIGPIPE, held back while this thread writes to what may be closed at the other end.
#pragma once

#include <cerrno>
#include <csignal>
#include <ctime>

namespace ql3 {

// The handling of the signal belongs to the program we are linked into: it is blocked for this
// thread, and one that came meanwhile is taken away again. Thread rule: made and destroyed by one
// thread.
class PipeSignalHeld {
 public:
  PipeSignalHeld() noexcept {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalHeld() {
    if (sigismember(&before_, SIGPIPE) == 1) return;
    const timespec at_once{};
    while (sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipeSignalHeld(const PipeSignalHeld&) = delete;
  PipeSignalHeld& operator=(const PipeSignalHeld&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
};

}  // namespace ql3
