// How a claim on an attempt of a dispatch ends. Recovery only says what has come of it: it never
// sends, and gives nobody permission to.
#pragma once

#include <optional>

#include "client/decision.hpp"

namespace ql3 {

// What is known without looking: an attempt of this very database that was never permitted was not
// sent. Nothing where a probe must look.
std::optional<Decision> decide_unprobed(const Target& target);

// The table of the probe contract for kind `dispatch`:
//   succeeded, failed                conclude with that verdict
//   running                          retry, not counted as a failure
//   unknown, provider_unavailable    retry
//   unknown, otherwise               retry, from the 4th time on conclude with the verdict unknown
//   bad, or a verdict of other kinds retry
Decision decide_dispatch(const ProbeAnswer& answer, int failure_count);

}  // namespace ql3
