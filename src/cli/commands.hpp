// The commands. Each returns its exit code and throws StoreError or std::invalid_argument.
// Results go to standard output, everything else to standard error.
#pragma once

#include "cli/command_line.hpp"

namespace ql3::cli {

int supervise(const SuperviseOptions& options);
int status(const DatabaseOptions& options);
int attach(const AttachOptions& options);
int detach(const DetachOptions& options);
int release(const TargetOptions& options);
int park(const TargetOptions& options);

}  // namespace ql3::cli
