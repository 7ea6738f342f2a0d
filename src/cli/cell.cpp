#include "cli/cell.hpp"

#include <fmt/format.h>

#include "cli/exit_code.hpp"
#include "cli/hint.hpp"
#include "cli/log.hpp"
#include "cli/ready.hpp"
#include "client/pause.hpp"

namespace ql3::cli {

namespace {

constexpr Clock::Length first_look_limit = std::chrono::seconds(10);

SupervisorOptions supervisor_options(const SuperviseOptions& options, Pulse& pulse) {
  return {*options.owner, options.page_size, options.lease,
          options.kinds,  options.grace,     [&pulse] { pulse.beat(); }};
}

Tell listener(int number) {
  return [number](Level level, const std::string& text) {
    log::write(log::rank_of(level), fmt::format("cell {}: {}", number, text));
  };
}

// Only the server's own text says which argument it refused or which piece it lacks.
void warn(int number, const StoreError& error) {
  log::warn("cell {}: {}", number, error.what());
  const ExitCode code = exit_code_of(error);
  if (code != not_ready && code != usage) return;
  if (!error.server().message.empty()) {
    log::warn("cell {}: server: {}", number, error.server().message);
  }
  if (const std::string hint = hint_for(error); !hint.empty()) {
    log::warn("cell {}: hint: {}", number, hint);
  }
}

// Whether it may pass by itself soon. Where there is no server, or none that takes writes, whoever
// starts the program is told at once.
bool may_pass(const StoreError& error) {
  return error.retryable() && error.code() != StoreCode::unreachable &&
         error.code() != StoreCode::read_only;
}

}  // namespace

Cell::Cell(int number, const std::string& dsn, const SuperviseOptions& options,
           std::shared_ptr<const ProbeRegistry> probes, Pulse& pulse)
    : number_(number),
      dsn_(dsn),
      options_(options),
      pulse_(pulse),
      claims_(connection(dsn)),
      renewal_(connection(dsn)),
      candidates_(connection(dsn)),
      supervisor_(supervisor_options(options, pulse), {claims_, renewal_, candidates_},
                  std::move(probes), listener(number)) {}

ConnectionOptions Cell::connection(const std::string& dsn) const {
  ConnectionOptions options;
  options.dsn = dsn;
  options.application_name = "ql3 supervise";
  options.on_notice = [number = number_](std::string_view state, std::string_view message) {
    log::warn("cell {}: server: {} (SQLSTATE {})", number, message, state);
  };
  return options;
}

// So that a wrong database, a missing right or an unknown kind ends the program at its start and
// not in its log.
void Cell::first_look() {
  Connection connection(this->connection(dsn_));
  const std::string why = unreadiness(connection, "recovery");
  if (!why.empty()) {
    log::error("cell {}: not ready: {}", number_, why);
    throw StoreError(StoreCode::not_ready, "the installation is not ready");
  }
  candidates_.observe(1, supervisor_.kinds(), first_look_limit);
}

bool Cell::is_for_good() const { return !options_.once && !options_.until_converged; }

bool Cell::begin(const Shutdown& shutdown, const CellEvents& events) {
  const bool may_end = options_.dsns.size() < 2 || !is_for_good();
  const Clock::Time patience = boot_clock().now() + options_.lease;
  Backoff backoff;
  for (bool first = true;; first = false) {
    Clock::Length pause = jittered(options_.interval);
    try {
      first_look();
      if (first || may_end) events.started();
      return true;
    } catch (const StoreError& error) {
      if (may_end) {
        pause = backoff.next();
        if (!may_pass(error) || boot_clock().now() + pause >= patience) {
          if (options_.dsns.size() > 1) log::error("cell {}: wrong at the start", number_);
          throw;
        }
        warn(number_, error);
      } else {
        log::error("cell {}: {}; the other cells go on", number_, error.what());
        PassReport report;
        report.failed = 1;
        report.error = error;
        events.passed(number_, 0, report);
        if (first) events.started();
      }
    }
    const Clock::Time next = boot_clock().now() + pause;
    pulse_.beat(next);
    if (!sleep_until(boot_clock(), next, shutdown.drain)) return false;
  }
}

int Cell::run(const Shutdown& shutdown, const CellEvents& events) {
  if (!begin(shutdown, events)) return is_for_good() ? done : not_converged;
  for (int pass = 1;; ++pass) {
    const PassReport report = supervisor_.run_pass(shutdown);
    events.passed(number_, pass, report);
    if (report.error) warn(number_, *report.error);
    if (options_.once || (options_.until_converged && report.safe)) return ended(report);
    if (options_.until_converged && pass >= options_.max_passes) return ended(report);
    // After a full page there is more to do at once, unless the page was full of trouble.
    const bool go_on = report.discovered == options_.page_size && report.failed == 0;
    const Clock::Time next =
        boot_clock().now() + (go_on ? Clock::Length::zero() : jittered(options_.interval));
    pulse_.beat(next);
    if (!sleep_until(boot_clock(), next, shutdown.drain)) {
      return options_.until_converged ? not_converged : done;
    }
  }
}

int Cell::ended(const PassReport& report) const {
  if (report.safe) return done;
  if (report.failed > 0 && report.error) return exit_code_of(*report.error);
  return not_converged;
}

}  // namespace ql3::cli
