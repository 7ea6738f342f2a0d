#include "cli/signals.hpp"

#include <csignal>
#include <utility>

#include <unistd.h>

#include "cli/log.hpp"

namespace ql3::cli {

namespace {

// SIGUSR1 is how the watch itself is ended.
sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&set, number);
  return set;
}

}  // namespace

SignalWatch::SignalWatch(std::string at_drain, std::string at_cancel)
    : at_drain_(std::move(at_drain)), at_cancel_(std::move(at_cancel)) {
  const sigset_t set = watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  thread_ = std::thread([this] { run(); });
}

SignalWatch::~SignalWatch() {
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

void SignalWatch::run() {
  const sigset_t set = watched();
  for (;;) {
    siginfo_t info{};
    const int number = sigwaitinfo(&set, &info);
    if (number == SIGUSR1 && info.si_pid == getpid()) return;
    if (number != SIGTERM && number != SIGINT) continue;
    if (drain_.request_stop()) {
      log::info("{}", at_drain_);
    } else if (cancel_.request_stop()) {
      log::info("{}", at_cancel_);
    }
  }
}

}  // namespace ql3::cli
