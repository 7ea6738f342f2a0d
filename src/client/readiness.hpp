// What ql3_ready says of a control database.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/connection.hpp"
#include "client/export.hpp"

namespace ql3 {

struct ReadyCheck {
  std::string name;  // stable
  bool error = false;  // else a warning
  bool ok = false;
  std::string needed_for;
  std::string detail;
  std::string remedy;  // empty when ok

  bool is_needed_for(std::string_view what) const {
    return needed_for.find(what) != std::string::npos;
  }
  // Keeps `what` (recovery, dispatch) from working as promised.
  bool forbids(std::string_view what) const { return error && !ok && is_needed_for(what); }
};

// Every check, in the order of the server. Read-only, also on a standby. Throws StoreError.
QL3_API std::vector<ReadyCheck> ask_ready(Connection& connection, Clock::Length limit);

}  // namespace ql3
