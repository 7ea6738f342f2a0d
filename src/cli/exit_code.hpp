// The exit codes of the program, the same for every command.
#pragma once

#include "client/store_error.hpp"

namespace ql3::cli {

enum ExitCode : int { done = 0, not_converged = 1, usage = 2, not_ready = 3, unreachable = 4 };

// The code for a command that ended with this error.
ExitCode exit_code_of(const StoreError& error) noexcept;

}  // namespace ql3::cli
