// The call that is a program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/dispatch.hpp"

namespace ql3 {

struct ProgramOptions {
  // The program, looked up in PATH when its name has no slash, and its arguments. Not empty.
  std::vector<std::string> command;
  // Exit statuses by which the program promises that nothing went out.
  std::vector<int> not_sent_statuses;
  // Lets the program read our standard input; else it reads nothing.
  bool pass_input = false;
  // NAME=VALUE, beside our own environment.
  std::vector<std::string> environment;
};

// Runs the program without a shell, in a process group of its own, with our standard output and
// error and none of our other descriptors. Exit status 0 is `succeeded`, a declared one `not_sent`,
// every other one `failed`; ended by a signal is `unknown`; could not be started is `not_sent`.
//
// The program is never killed: it lives on when we are asked to stop, and when we die. Only when
// `detaching` is asked for it is no longer waited for, and the result says `left`.
// `began` is called with the process id once it runs.
// REQUIRES: SIGCHLD is not ignored, or the exit status is lost and the result is `unknown`.
CallResult run_program(const ProgramOptions& options, const DispatchStop& stop,
                       const std::function<void(int)>& began = {});

}  // namespace ql3
