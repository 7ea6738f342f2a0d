// What a person can do about an error.
#pragma once

#include <string>

#include "client/store_error.hpp"

namespace ql3::cli {

// The server's own hint, else ours; empty where neither has one.
std::string hint_for(const StoreError& error);

}  // namespace ql3::cli
