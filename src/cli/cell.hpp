// One control database of a supervise command.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/command_line.hpp"
#include "client/candidates.hpp"
#include "client/pg_claim_store.hpp"
#include "client/probe.hpp"
#include "client/supervisor.hpp"

namespace ql3::cli {

// Called after each pass, from the cell's own thread.
using Publish = std::function<void(int cell, int pass, const PassReport&)>;

// A cell shares nothing with the others, so that a slow or broken one holds up nobody.
class Cell {
 public:
  // `number` names it in output: a dsn may hold a password.
  Cell(int number, const std::string& dsn, const SuperviseOptions& options,
       std::shared_ptr<const ProbeRegistry> probes);

  // Passes as the options say, until done or `shutdown`; the exit code.
  int run(const Shutdown& shutdown, const Publish& publish);

  std::size_t abandoned_probes() const { return supervisor_.abandoned_probes(); }

 private:
  ConnectionOptions connection(const std::string& dsn) const;
  bool is_ready();
  int ended(const PassReport& report) const;

  const int number_;
  const std::string dsn_;
  const SuperviseOptions& options_;
  PgClaimStore claims_;
  PgClaimStore renewal_;
  PgCandidateSource candidates_;
  RecoverySupervisor supervisor_;
};

}  // namespace ql3::cli
