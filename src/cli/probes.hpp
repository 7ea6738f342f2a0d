// The probes named on the command line.
#pragma once

#include <memory>

#include "cli/command_line.hpp"
#include "client/probe.hpp"

namespace ql3::cli {

// std::invalid_argument for what is no KIND=exec:PROGRAM or KIND=http(s)://…. It never repeats what
// stands after the KIND of an address: that may hold a password.
std::shared_ptr<const ProbeRegistry> make_probes(const SuperviseOptions& options);

}  // namespace ql3::cli
