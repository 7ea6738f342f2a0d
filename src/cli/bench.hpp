// ql3 bench: a thin front of the benchmark, which is a Python program beside this one.
#pragma once

#include <string>
#include <vector>

namespace ql3::cli {

// Becomes the benchmark with these arguments and does not return. Where it is not installed, or
// cannot be started, says so and returns not_ready.
int bench(const std::vector<std::string>& arguments);

}  // namespace ql3::cli
