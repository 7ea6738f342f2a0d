// ql3 ready, and the question that supervise and dispatch ask before they start.
#pragma once

#include <string>
#include <string_view>

#include "cli/command_line.hpp"
#include "client/connection.hpp"

namespace ql3::cli {

struct ReadyOptions {
  DatabaseOptions database;
  // recovery or dispatch; empty: both.
  std::string needed_for;
};

// 0 when no check that is an error failed, else 3. Throws StoreError.
int ready(const ReadyOptions& options);

// Why the database cannot do what `need` (recovery, dispatch) stands on, as "check: remedy" for
// each reason; empty when it can. `excepted` is a check whose answer comes better from elsewhere.
// Throws StoreError.
std::string unreadiness(Connection& connection, std::string_view need,
                        std::string_view excepted = {});

}  // namespace ql3::cli
