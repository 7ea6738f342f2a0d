// One control database of a supervise command.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/command_line.hpp"
#include "cli/watchdog.hpp"
#include "client/candidates.hpp"
#include "client/pg_claim_store.hpp"
#include "client/probe.hpp"
#include "client/supervisor.hpp"

namespace ql3::cli {

// What a cell tells from its own thread.
struct CellEvents {
  // It has looked at its database for the first time.
  std::function<void()> started;
  std::function<void(int cell, int pass, const PassReport&)> passed;
};

// A cell shares nothing with the others, so that a slow or broken one holds up nobody.
class Cell {
 public:
  // `number` names it in output: a dsn may hold a password.
  // `pulse` outlives the cell.
  Cell(int number, const std::string& dsn, const SuperviseOptions& options,
       std::shared_ptr<const ProbeRegistry> probes, Pulse& pulse);

  // Passes as the options say, until done or `shutdown`; the exit code. What is wrong at the start
  // is thrown: at once when there is no server that takes writes or the error is not retryable,
  // else when it lasts as long as a lease. Where other cells are to go on for good it is waited
  // out, and told as a failed pass 0.
  int run(const Shutdown& shutdown, const CellEvents& events);

  std::size_t abandoned_probes() const { return supervisor_.abandoned_probes(); }

 private:
  ConnectionOptions connection(const std::string& dsn) const;
  void first_look();
  bool is_for_good() const;
  // False when it was told to end before it could begin.
  bool begin(const Shutdown& shutdown, const CellEvents& events);
  int ended(const PassReport& report) const;

  const int number_;
  const std::string dsn_;
  const SuperviseOptions& options_;
  Pulse& pulse_;
  PgClaimStore claims_;
  PgClaimStore renewal_;
  PgCandidateSource candidates_;
  RecoverySupervisor supervisor_;
};

}  // namespace ql3::cli
