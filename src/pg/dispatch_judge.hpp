// Recovery's judgement of an attempt that outlived its writer's time: the transition of the built-in kind dispatch.
#pragma once

#include "args.hpp"

namespace ql3::pg {

// True when the attempt took the judgement; false = stale: it was extended, permitted or concluded meanwhile, or is of
// an earlier lineage (for not_sent). REQUIRES: the control row's lock. 22023 for a verdict that is no outcome.
bool judge_dispatch(std::string_view attempt_id, std::string_view verdict,
                    const std::optional<std::string_view>& evidence);

}  // namespace ql3::pg
