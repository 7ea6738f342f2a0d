// What keeps an installation going: pause, resume, prune, forget, import.
#pragma once

#include <optional>
#include <string>

#include "cli/acting.hpp"

namespace ql3::cli {

// No kind means every kind, and is asked for by --all.
struct PauseOptions {
  DatabaseOptions database;
  std::optional<std::string> kind;
  bool all = false;
  std::string reason;
  bool dry_run = false;
};

struct PruneOptions {
  DatabaseOptions database;
  std::string older_than;  // as the server reads an interval
  int batch = 1000;
  bool dry_run = false;
};

struct ForgetOptions {
  DatabaseOptions database;
  std::string request;
  std::string reason;
  Consent consent;
};

struct ImportOptions {
  DatabaseOptions database;
  std::string kind;
  std::string file = "-";
  std::string reason;
  bool dry_run = false;
};

struct MaintenanceCommands {
  PauseOptions pause, resume;
  PruneOptions prune;
  ForgetOptions forget;
  ImportOptions import;
};

void add_maintenance(CLI::App& program, MaintenanceCommands& into, Run& run);

}  // namespace ql3::cli
