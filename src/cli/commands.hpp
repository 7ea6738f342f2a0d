// The commands. Each returns its exit code and throws StoreError or std::invalid_argument.
// Results go to standard output, everything else to standard error.
#pragma once

#include "cli/acting.hpp"
#include "cli/command_line.hpp"
#include "core/limits.hpp"

namespace ql3::cli {

// Which targets of a kind, where no id is given.
struct BulkFilter {
  bool all = false;
  std::string state;     // the state they are in
  std::string matching;  // a part of their reason or note; empty matches all
  int limit = page_size_max;
};

// release and park.
struct TargetOptions {
  DatabaseOptions database;
  Consent consent;
  BulkFilter bulk;
  std::string kind;
  std::string id;
  std::optional<long long> version;
  std::string reason;
};

int supervise(const SuperviseOptions& options);
int status(const DatabaseOptions& options);
int verify(const DatabaseOptions& options);
int attach(const AttachOptions& options);
int detach(const DetachOptions& options);

// Commands that register themselves.
void add_release(CLI::App& program, Run& run);
void add_park(CLI::App& program, Run& run);
void add_top(CLI::App& program, Run& run);
void add_explain(CLI::App& program, Run& run);
void add_audit(CLI::App& program, Run& run);
void add_dispatch_acts(CLI::App& program, Run& run);

}  // namespace ql3::cli
