// What a service manager is told, by systemd's protocol (Type=notify): one datagram a word.
#pragma once

#include <string>

#include "client/clock.hpp"

namespace ql3::cli {

// Silent where nobody asked. Thread rule: after construction every method from any thread.
class ServiceManager {
 public:
  // Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment, so that no probe
  // speaks for us. REQUIRES: there is no other thread yet.
  ServiceManager();
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=…". A failure is nobody's business: whoever
  // waits for the word will act on its absence.
  void tell(const std::string& word) const noexcept;

  // How long it waits for a sign of life before it ends us; zero when it does not wait.
  Clock::Length watchdog() const noexcept { return watchdog_; }

 private:
  std::string address_;
  int socket_ = -1;
  Clock::Length watchdog_{};
};

}  // namespace ql3::cli
