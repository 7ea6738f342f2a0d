// Releasing or parking many targets by filter.
#pragma once

#include "cli/commands.hpp"

namespace ql3::cli {

enum class TargetAct { release, park };

// Acts on the targets that the filter finds, at the versions they were found with. Done when each
// answered the good word; those that changed meanwhile are stale.
int act_on_many(const TargetOptions& options, TargetAct what);

}  // namespace ql3::cli
