// SIGTERM and SIGINT as stop requests.
#pragma once

#include <stop_token>
#include <string>
#include <thread>

#include "client/supervisor.hpp"

namespace ql3::cli {

// The first SIGTERM or SIGINT asks for a drain, the second for a cancel. SIGHUP and SIGPIPE do
// nothing. REQUIRES: made before any other thread, whose masks are inherited from here.
class SignalWatch {
 public:
  // What is told at the first signal and at the second.
  SignalWatch(std::string at_drain, std::string at_cancel);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  Shutdown shutdown() const { return {drain_.get_token(), cancel_.get_token()}; }

 private:
  void run();

  const std::string at_drain_;
  const std::string at_cancel_;
  std::stop_source drain_;
  std::stop_source cancel_;
  std::thread thread_;
};

}  // namespace ql3::cli
