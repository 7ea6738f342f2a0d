// ql3 dispatch: runs a program at most once for one item of one request.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "client/dispatch.hpp"

namespace ql3::cli {

// What of `ql3 dispatch` goes beyond the exit codes of every command.
enum DispatchExitCode : int {
  recorded_success = 0,
  recorded_failure = 10,
  foreign = 11,
  concluded = 12,
  identity_conflict = 13,
  halted = 14,
  unknown = 15,
  not_sent = 16
};

struct DispatchCommand {
  DatabaseOptions database;
  DispatchRequest request;
  DispatchOptions limits;
  std::vector<int> not_sent_statuses;
  bool pass_input = false;
  std::vector<std::string> command;
};

void add_dispatch(CLI::App& program, DispatchCommand& into, std::function<int()>& run);

// The exit code for a dispatch that ended so.
int exit_code_of(const DispatchReport& report) noexcept;

// std::invalid_argument for a request that cannot be sent.
int dispatch(const DispatchCommand& options);

}  // namespace ql3::cli
