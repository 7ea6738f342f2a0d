// What the commands of an operator share: the connection, the answer, and the word of consent.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/command_line.hpp"
#include "client/connection.hpp"

namespace ql3::cli {

// Registers a command and says what it runs.
using Run = std::function<int()>;

inline constexpr Clock::Length act_limit = std::chrono::seconds(30);

ConnectionOptions operator_connection(const DatabaseOptions& options);

// The word that a function answered.
void answer(const DatabaseOptions& options, std::string_view word);

// What an act that cannot be taken back is asked before.
struct Consent {
  bool dry_run = false;
  bool yes = false;
};

// For acts that nobody is asked before.
void add_dry_run(CLI::App& app, bool& into);
// Says what would be done, where only that is wanted.
bool only_said(bool dry_run, std::string_view what);

void add_consent_options(CLI::App& app, Consent& into);

// Tells what is about to be done. True when it is to be done: --yes, or a person at the terminal
// said so. False after --dry-run or a no. std::invalid_argument where nobody can be asked.
bool agreed(const Consent& consent, std::string_view what);

// Runs a statement that answers one word and prints it: done when the word is `good`.
int act(const DatabaseOptions& options, const char* statement,
        std::span<const Parameter> parameters, std::string_view good);

}  // namespace ql3::cli
