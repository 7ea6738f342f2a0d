// A pass, for people and for machines.
#pragma once

#include <string>

#include "client/supervisor.hpp"

namespace ql3::cli {

// One line without its end.
std::string pass_text(const PassReport& report);
std::string pass_json(int cell, int pass, const std::string& owner, const PassReport& report);

}  // namespace ql3::cli
