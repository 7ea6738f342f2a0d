// ql3 supervise: one cell for each database, each on a thread of its own.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/cell.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/hint.hpp"
#include "cli/log.hpp"
#include "cli/metrics.hpp"
#include "cli/probes.hpp"
#include "cli/report_output.hpp"
#include "cli/service_manager.hpp"
#include "cli/signals.hpp"
#include "cli/watchdog.hpp"

namespace ql3::cli {

namespace {

// Cells publish at the same time; a line is never torn. People are told once that nothing goes on,
// machines of every pass.
class Printer {
 public:
  explicit Printer(const SuperviseOptions& options) : options_(options) {}

  void operator()(int cell, int pass, const PassReport& report) {
    const std::lock_guard lock(mutex_);
    if (options_.json) {
      print(pass_json(cell, pass, *options_.owner, report));
      return;
    }
    std::string text = pass_text(report);
    if (report.discovered == 0 && text == last_[cell]) return;
    print(fmt::format("cell {} pass {}: {}", cell, pass, text));
    last_[cell] = std::move(text);
  }

 private:
  static void print(const std::string& line) {
    std::fprintf(stdout, "%s\n", line.c_str());
    std::fflush(stdout);
  }

  const SuperviseOptions& options_;
  std::mutex mutex_;
  std::map<int, std::string> last_;
};

int run_cell(Cell& cell, const Shutdown& shutdown, const CellEvents& events) {
  try {
    return cell.run(shutdown, events);
  } catch (const StoreError& error) {
    log::error("{}", error.what());
    // Of a refused argument or a missing piece only the server's own text says which.
    if (exit_code_of(error) != unreachable && !error.server().message.empty()) {
      log::error("server: {}", error.server().message);
    }
    if (const std::string hint = hint_for(error); !hint.empty()) log::error("hint: {}", hint);
    return exit_code_of(error);
  } catch (const std::exception& error) {
    log::error("{}", error.what());
    return not_converged;
  }
}

// The cells that have ended, and the worst of their codes.
class Ends {
 public:
  explicit Ends(std::size_t cells) : left_(cells) {}

  void ended(int code) {
    const std::lock_guard lock(mutex_);
    worst_ = std::max(worst_, code);
    --left_;
    changed_.notify_all();
  }

  // Until all have ended, or for the patience after a cancel; whether all have.
  bool wait(std::stop_token cancel) {
    const std::stop_callback wake(cancel, [this] {
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return left_ == 0 || cancel.stop_requested(); });
    return changed_.wait_for(lock, last_patience, [this] { return left_ == 0; });
  }

  int worst() const {
    const std::lock_guard lock(mutex_);
    return worst_;
  }

 private:
  // Giving back takes 5 s at most; what is longer waits for a name server or a host, which no
  // signal interrupts.
  static constexpr std::chrono::seconds last_patience{6};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t left_;
  int worst_ = done;
};

// Nothing may be destroyed under a thread that still runs.
[[noreturn]] void leave_behind(const char* what, int code) {
  log::warn("{}", what);
  log::flush();
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace

int supervise(const SuperviseOptions& given) {
  SuperviseOptions options = given;
  if (!options.owner) options.owner = default_owner();
  if (options.dsns.empty()) options.dsns.emplace_back();
  const std::shared_ptr<const ProbeRegistry> probes = make_probes(options);

  const ServiceManager manager;
  const SignalWatch signals("stopping: the probe in flight may finish, the rest is given back",
                            "stopping at once");
  Printer printer(options);
  std::optional<Metrics> metrics;
  if (!options.metrics.empty()) metrics.emplace(options.metrics);
  std::deque<Pulse> pulses(options.dsns.size());
  std::deque<Cell> cells;
  for (const std::string& dsn : options.dsns) {
    const std::size_t at = cells.size();
    cells.emplace_back(static_cast<int>(at) + 1, dsn, options, probes, pulses[at]);
  }
  const std::stop_callback at_drain(signals.shutdown().drain,
                                    [&manager] { manager.tell("STOPPING=1"); });
  std::atomic<std::size_t> starting = cells.size();
  const CellEvents events = {[&] {
                               if (--starting == 0) manager.tell("READY=1");
                             },
                             [&](int cell, int pass, const PassReport& report) {
                               if (metrics) metrics->count(cell, report);
                               printer(cell, pass, report);
                               manager.tell(fmt::format("STATUS=cell {} pass {}: {}", cell, pass,
                                                        pass_text(report)));
                             }};
  log::info("supervising as {}", *options.owner);
  Ends ends(cells.size());
  {
    const Watchdog watchdog(manager, pulses);
    std::vector<std::jthread> threads;
    for (std::size_t at = 0; at < cells.size(); ++at) {
      threads.emplace_back([&, at] {
        const int code = run_cell(cells[at], signals.shutdown(), events);
        pulses[at].end();
        ends.ended(code);
      });
    }
    if (!ends.wait(signals.shutdown().cancel)) {
      leave_behind("ending while a database is still waited for: its claims run out",
                   std::max<int>(ends.worst(), not_converged));
    }
  }
  const bool abandoned = std::any_of(cells.begin(), cells.end(),
                                     [](const Cell& cell) { return cell.abandoned_probes() > 0; });
  if (abandoned) {
    leave_behind("a probe that ignored its cancellation ends with the program", ends.worst());
  }
  return ends.worst();
}

}  // namespace ql3::cli
