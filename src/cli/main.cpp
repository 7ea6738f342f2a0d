// The program ql3.
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>

#include "cli/bench.hpp"
#include "cli/commands.hpp"
#include "cli/dispatch_command.hpp"
#include "cli/exit_code.hpp"
#include "cli/hint.hpp"
#include "cli/log.hpp"
#include "cli/maintenance.hpp"
#include "cli/ready.hpp"
#include "core/limits.hpp"

namespace {

using namespace ql3;
using namespace ql3::cli;

constexpr Milliseconds second = std::chrono::seconds(1);

constexpr char supervise_exit_codes[] =
    "Exit codes: 0 done, converged; 1 not converged; 2 usage; 3 not ready, or every kind it asks "
    "for is paused; 4 database unreachable, or none that takes writes.";

// Without an address the port would be open to everybody.
std::string address_fault(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const bool good = colon != std::string::npos && colon > 0 && colon + 1 < text.size() &&
                    text.find(',') == std::string::npos &&
                    text.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  return good ? std::string() : "an address and a port, like 127.0.0.1:9188";
}

// The server would only miss a parenthesis.
std::string signature_fault(const std::string& text) {
  const bool good = text.find('(') != std::string::npos && text.back() == ')';
  return good ? std::string() : "its argument types are missing: " + text + "(text,text,jsonb)";
}

void add_supervise(CLI::App& program, SuperviseOptions& options, Run& run) {
  CLI::App& app = *program.add_subcommand("supervise", "judge lost targets, pass by pass");
  app.add_option("--dsn", options.dsns,
                 "control database, as a conninfo string or URI; may be repeated. What it leaves "
                 "out comes from libpq's environment and service files")
      ->allow_extra_args(false);
  app.add_option("--owner", options.owner,
                 "name of this replica; by default host, process and a random part");
  app.add_option("--probe", options.probes,
                 "KIND=exec:PROGRAM or KIND=http(s)://HOST…; once for each kind")
      ->required()
      ->allow_extra_args(false);
  app.add_option("--probe-ca", options.probe_ca,
                 "certificates (PEM file) that vouch for https probes, in place of the system's");
  app.add_option("--kind", options.kinds,
                 "judge only this kind; may be repeated. By default every kind with a probe")
      ->allow_extra_args(false);
  app.add_option("--page", options.page_size, "targets claimed at once")
      ->check(CLI::Range(page_size_min, page_size_max))
      ->capture_default_str();
  add_duration(app, "--lease", options.lease, second, Milliseconds(lease_max / 1000),
               "how long a claim lasts without renewal (default 30s)");
  add_duration(app, "--interval", options.interval, Milliseconds(10), std::chrono::hours(1),
               "pause between passes, +-20% (default 5s); none after a full page");
  app.add_option_function<std::string>(
         "--probe-timeout",
         [&options](const std::string& text) { options.probe_timeout = parse_duration(text); },
         "time of one probe (default 5s, or what the lease leaves)")
      ->check([](const std::string& text) {
        return duration_fault(text, Milliseconds(1), std::chrono::seconds(30));
      })
      ->type_name("TIME");
  add_duration(app, "--grace", options.grace, Milliseconds(0), std::chrono::minutes(5),
               "time of the probe in flight after SIGTERM (default 15s)");
  CLI::Option* const once =
      app.add_flag("--once", options.once, "one pass: 0 when it is safe, else 1");
  app.add_flag("--until-converged", options.until_converged,
               "passes until one is safe: 0, or --max-passes are done: 1")
      ->excludes(once);
  app.add_option("--max-passes", options.max_passes, "most passes of --until-converged")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_flag("--json", options.json, "one JSON object for each pass");
  app.add_option("--metrics", options.metrics,
                 "serve /metrics for Prometheus on ADDRESS:PORT, like 127.0.0.1:9188")
      ->check(address_fault)
      ->type_name("ADDRESS:PORT");
  app.footer(supervise_exit_codes);
  app.callback([&] { run = [&options] { return supervise(options); }; });
}

void add_attach(CLI::App& program, AttachOptions& options, Run& run) {
  CLI::App& app = *program.add_subcommand("attach", "attach a view or table as source of a kind");
  app.add_option("KIND", options.kind, "the kind")->required();
  app.add_option("RELATION", options.relation, "the view or table")->required();
  app.add_option("--transition", options.transition,
                 "function called under the fence, like \"job_lost(text,text,jsonb)\"")
      ->check(signature_fault)
      ->type_name("SIGNATURE");
  app.add_option_function<int>(
         "--max-failures", [&options](const int& count) { options.max_failures = count; },
         "park a target after so many failures (default never)")
      ->check(CLI::Range(1, failure_count_max));
  CLI::Option* const hold =
      app.add_option_function<std::string>(
             "--max-hold",
             [&options](const std::string& text) { options.max_hold = parse_duration(text); },
             "longest hold of one claim with all its renewals (default 1h)")
          ->check([](const std::string& text) {
            return duration_fault(text, second, Milliseconds(max_hold_max / 1000));
          })
          ->type_name("TIME");
  app.add_flag("--unlimited-hold", options.unlimited_hold, "no longest hold")->excludes(hold);
  app.add_flag("--allow-slow", options.allow_slow, "accept a source without an index on lost_at");
  add_dry_run(app, options.dry_run);
  add_database_options(app, options.database);
  app.callback([&] { run = [&options] { return attach(options); }; });
}

void add_detach(CLI::App& program, DetachOptions& options, Run& run) {
  CLI::App& app = *program.add_subcommand("detach", "detach the source of a kind");
  app.add_option("KIND", options.kind, "the kind")->required();
  add_dry_run(app, options.dry_run);
  add_database_options(app, options.database);
  app.callback([&] { run = [&options] { return detach(options); }; });
}

// A person at a terminal may read what the server says about their own objects.
int report(const StoreError& error) {
  log::error("{}", error.what());
  const ServerText& server = error.server();
  if (!server.message.empty()) log::error("server: {}", server.message);
  if (!server.detail.empty()) log::error("detail: {}", server.detail);
  if (const std::string hint = hint_for(error); !hint.empty()) log::error("hint: {}", hint);
  return exit_code_of(error);
}

// What the command line asks for: its options live as long as the command runs.
struct Asked {
  std::string level = "info";
  SuperviseOptions supervise;
  DatabaseOptions status, verify;
  AttachOptions attach;
  DetachOptions detach;
  ReadyOptions ready;
  MaintenanceCommands maintenance;
  DispatchCommand dispatch;
  Run run;
};

// The exit code, where reading the command line is all there is to do. The parser, with its texts
// of every option, is gone then.
std::optional<int> read_command_line(int argc, char** argv, Asked& asked) {
  Run& run = asked.run;
  CLI::App program(
      "ql3 judges targets that lost their owner, under claims that only one replica "
      "at a time can hold, and dispatches an action at most once.\nExit codes: 0 done, converged; "
      "1 not converged, stale, not sound; 2 usage; 3 not ready; 4 database unreachable; dispatch "
      "has more.",
      "ql3");
  program.require_subcommand(1);
  program.set_version_flag("--version", "ql3 " QL3_VERSION);
  program.add_option("--log-level", asked.level, "what is told on standard error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  add_supervise(program, asked.supervise, run);
  CLI::App& status_app = *program.add_subcommand("status", "what is going on, on one screen");
  add_database_options(status_app, asked.status);
  status_app.callback([&] { run = [&asked] { return status(asked.status); }; });
  CLI::App& verify_app = *program.add_subcommand(
      "verify", "rows that break a promise: 0 when there are none, else 1");
  add_database_options(verify_app, asked.verify);
  verify_app.callback([&] { run = [&asked] { return verify(asked.verify); }; });
  add_attach(program, asked.attach, run);
  add_detach(program, asked.detach, run);
  add_top(program, run);
  add_release(program, run);
  add_park(program, run);
  add_explain(program, run);
  add_dispatch_acts(program, run);
  add_audit(program, run);
  CLI::App& ready_app = *program.add_subcommand(
      "ready", "is it installed as shipped, and does the server keep what it promises");
  ready_app.add_option("--for", asked.ready.needed_for, "only what this needs")
      ->check(CLI::IsMember({"recovery", "dispatch"}));
  add_database_options(ready_app, asked.ready.database);
  ready_app.callback([&] { run = [&asked] { return ready(asked.ready); }; });
  add_maintenance(program, asked.maintenance, run);
  add_dispatch(program, asked.dispatch, run);
  for (CLI::App* const command : program.get_subcommands({})) command->fallthrough();
  // After the loop: everything behind the word is the benchmark's, --help too.
  CLI::App& bench_app = *program.add_subcommand(
      "bench", "measure ql3 against its baselines, in databases of its own");
  bench_app.prefix_command()->set_help_flag();
  bench_app.callback([&] { run = [words = bench_app.remaining()] { return bench(words); }; });

  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> unknown = program.remaining();
    if (program.get_subcommands().empty() && !unknown.empty() && unknown.front().front() != '-') {
      std::fprintf(stderr, "There is no command \"%s\"\nRun with --help for more information.\n",
                   unknown.front().c_str());
      return usage;
    }
    return program.exit(error) == 0 ? done : usage;
  }
  return std::nullopt;
}

int run_program(int argc, char** argv) {
  Asked asked;
  if (const auto code = read_command_line(argc, argv, asked)) return *code;
  log::set_least(asked.level);
  try {
    return asked.run();
  } catch (const StoreError& error) {
    return report(error);
  } catch (const std::invalid_argument& error) {
    log::error("{}", error.what());
    return usage;
  }
}

}  // namespace

int main(int argc, char** argv) {
#ifdef M_ARENA_MAX
  // Threads here come one after another; a heap for each would only hold what is free.
  mallopt(M_ARENA_MAX, 1);
  // Setting it keeps it from growing with the largest answer ever seen.
  mallopt(M_TRIM_THRESHOLD, 128 * 1024);
#endif
  log::begin();
  try {
    return run_program(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ql3: %s\n", error.what());
  }
  return not_converged;
}
