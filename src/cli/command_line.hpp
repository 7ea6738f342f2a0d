// The commands and options of the program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "client/duration.hpp"

namespace ql3::cli {

struct SuperviseOptions {
  std::vector<std::string> dsns;
  std::optional<std::string> owner;
  std::vector<std::string> kinds;
  std::vector<std::string> probes;
  std::string probe_ca;
  int page_size = 16;
  Milliseconds lease = std::chrono::seconds(30);
  Milliseconds interval = std::chrono::seconds(5);
  Milliseconds grace = std::chrono::seconds(15);
  std::optional<Milliseconds> probe_timeout;
  bool once = false;
  bool until_converged = false;
  int max_passes = 8;
  // Where to serve /metrics; empty: nowhere.
  std::string metrics;
  bool json = false;
};

// What every command on one database takes.
struct DatabaseOptions {
  std::string dsn;
  bool json = false;
};

struct AttachOptions {
  DatabaseOptions database;
  std::string kind;
  std::string relation;
  std::string transition;
  std::optional<int> max_failures;
  std::optional<Milliseconds> max_hold;
  bool unlimited_hold = false;
  bool allow_slow = false;
  bool dry_run = false;
};

struct DetachOptions {
  DatabaseOptions database;
  std::string kind;
  bool dry_run = false;
};

// An option whose value is a duration between `least` and `most`, both named in the refusal.
CLI::Option* add_duration(CLI::App& app, const std::string& name, Milliseconds& into,
                          Milliseconds least, Milliseconds most, const std::string& about);

void add_database_options(CLI::App& app, DatabaseOptions& into);

// "host:pid:xxxx" in the owner pattern: another name in every process.
std::string default_owner();

}  // namespace ql3::cli
