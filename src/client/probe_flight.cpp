#include "client/probe_flight.hpp"

#include <csignal>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "client/probe_json.hpp"
#include "client/text.hpp"

namespace ql3 {

namespace {

ProbeAnswer judged(Probe& probe, const Target& target, const ProbeCall& call) noexcept {
  try {
    return vetted(probe.judge(target, call));
  } catch (const std::exception& error) {
    const char* const what = error.what();
    return no_answer(
        fmt::format("the probe threw: {}", what == nullptr ? "no text" : clean_text(what, 512)));
  } catch (...) {
    return no_answer("the probe threw something that is no exception of the library");
  }
}

// The thread inherits a mask with every signal blocked: signals belong to the program's own
// threads, and one that runs a stranger's code must not take them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

bool ProbeTraffic::enter(const std::string& kind) {
  const std::lock_guard lock(mutex_);
  return kinds_.insert(kind).second;
}

void ProbeTraffic::leave(const std::string& kind) {
  const std::lock_guard lock(mutex_);
  kinds_.erase(kind);
}

std::size_t ProbeTraffic::in_flight() const {
  const std::lock_guard lock(mutex_);
  return kinds_.size();
}

ProbeFlight::ProbeFlight(const ProbeRegistry::Entry& entry, const Target& target,
                         Clock::Length timeout, std::shared_ptr<Signal> signal,
                         std::shared_ptr<ProbeTraffic> traffic) {
  if (!traffic->enter(target.kind)) {
    state_->answer = ProbeAnswer{
        Verdict::unknown, Why::provider_unavailable, "the last probe of this kind still runs", {}};
    return;
  }
  // Nothing of the pass is used by the thread: it may outlive it.
  auto work = [probe = entry.probe, target, call = ProbeCall{stop_.get_token(), timeout},
               state = state_, signal, traffic]() noexcept {
    ProbeAnswer answer = judged(*probe, target, call);
    traffic->leave(target.kind);
    const std::lock_guard lock(signal->mutex);
    state->answer = std::move(answer);
    signal->changed.notify_all();
  };
  try {
    const SignalsBlocked quiet;
    std::thread(std::move(work)).detach();
  } catch (const std::system_error&) {
    traffic->leave(target.kind);
    state_->answer = no_answer("no thread for the probe");
  }
}

}  // namespace ql3
