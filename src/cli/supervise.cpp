// ql3 supervise: one cell for each database, each on a thread of its own.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "cli/cell.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/hint.hpp"
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
    spdlog::error("{}", error.what());
    // Of a refused argument or a missing piece only the server's own text says which.
    if (exit_code_of(error) != unreachable && !error.server().message.empty()) {
      spdlog::error("server: {}", error.server().message);
    }
    if (const std::string hint = hint_for(error); !hint.empty()) spdlog::error("hint: {}", hint);
    return exit_code_of(error);
  } catch (const std::exception& error) {
    spdlog::error("{}", error.what());
    return not_converged;
  }
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
  spdlog::info("supervising as {}", *options.owner);
  std::vector<int> codes(cells.size(), not_converged);
  {
    const Watchdog watchdog(manager, pulses);
    std::vector<std::jthread> threads;
    for (std::size_t at = 0; at < cells.size(); ++at) {
      threads.emplace_back([&, at] {
        codes[at] = run_cell(cells[at], signals.shutdown(), events);
        pulses[at].end();
      });
    }
  }
  const int code = *std::max_element(codes.begin(), codes.end());
  const bool abandoned = std::any_of(cells.begin(), cells.end(),
                                     [](const Cell& cell) { return cell.abandoned_probes() > 0; });
  if (abandoned) {
    // A probe that was left behind still runs on its thread: nothing may be destroyed under it.
    spdlog::warn("a probe that ignored its cancellation ends with the program");
    spdlog::shutdown();
    std::fflush(nullptr);
    _exit(code);
  }
  return code;
}

}  // namespace ql3::cli
