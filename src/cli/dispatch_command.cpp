#include "cli/dispatch_command.hpp"

#include <csignal>
#include <cstdio>

#include <fcntl.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.hpp"
#include "cli/hint.hpp"
#include "cli/log.hpp"
#include "cli/ready.hpp"
#include "cli/signals.hpp"
#include "client/dispatch_pg_store.hpp"
#include "client/dispatch_program.hpp"
#include "client/pause.hpp"
#include "core/limits.hpp"

namespace ql3::cli {

namespace {

constexpr char exit_codes[] =
    "Exit codes: 0 the program succeeded and that is stored; 10 it failed; 11 another writer has "
    "the item; 12 the item has an outcome already; 13 the item is known with another action or "
    "other arguments; 14 dispatch is halted until an operator has spoken; 15 nobody can tell, or "
    "the attempt was left to be observed; 16 not sent, may be tried again; 2 usage; 3 not ready; "
    "4 database unreachable, nothing was run.";

ConnectionOptions connection(const DispatchCommand& options) {
  ConnectionOptions made;
  made.dsn = options.database.dsn;
  made.application_name = "ql3 dispatch";
  made.on_notice = [](std::string_view state, std::string_view message) {
    log::warn("server: {} (SQLSTATE {})", message, state);
  };
  return made;
}

void listen(Level level, const std::string& text) {
  log::write(log::rank_of(level), text);
}

// Where our caller has closed one of them, the next socket would take its number, and what is
// printed would go into it.
void open_standard_streams() {
  for (int number = 0; number <= 2; ++number) {
    if (fcntl(number, F_GETFD) < 0) open("/dev/null", number == 0 ? O_RDONLY : O_WRONLY);
  }
}

ProgramOptions program_of(const DispatchCommand& options) {
  const DispatchRequest& request = options.request;
  return {options.command,
          options.not_sent_statuses,
          options.pass_input,
          {"QL3_REQUEST_UID=" + request.request_uid, "QL3_ITEM=" + request.item,
           "QL3_ACTION=" + request.action, "QL3_ARGUMENTS=" + request.arguments}};
}

// The program writes to our standard output, so people read the result on standard error; for
// machines it is the last line of standard output.
void print(const DispatchCommand& options, const DispatchReport& report, int code) {
  const std::string_view what = report.what ? to_text(*report.what) : "unknown";
  if (options.database.json) {
    nlohmann::ordered_json json = {{"request", options.request.request_uid},
                                   {"item", options.request.item},
                                   {"end", to_text(report.end)},
                                   {"outcome", nullptr},
                                   {"called", report.called},
                                   {"stored", report.stored},
                                   {"detail", report.detail},
                                   {"error", nullptr},
                                   {"exit", code}};
    if (report.what) json["outcome"] = what;
    if (report.error) {
      json["error"] = {{"code", to_text(report.error->code())},
                       {"sqlstate", report.error->sqlstate()},
                       {"retryable", report.error->retryable()}};
    }
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    std::fflush(stdout);
  }
  if (report.end == DispatchEnd::recorded) {
    log::write(report.what == outcome::succeeded ? log::Rank::info : log::Rank::error,
               fmt::format("{}: {}", what, report.detail));
  } else if (report.called && report.what && report.end != DispatchEnd::not_sent) {
    log::error("{}, the program's outcome is {}{}: {}", to_text(report.end), what,
                  report.stored ? "" : " and is not stored", report.detail);
  } else if (!report.detail.empty()) {
    log::error("{}: {}", to_text(report.end), report.detail);
  }
  if (!report.error) return;
  log::error("{}", report.error->what());
  const ServerText& server = report.error->server();
  if (!server.message.empty()) log::error("server: {}", server.message);
  if (const std::string hint = hint_for(*report.error); !hint.empty()) {
    log::error("hint: {}", hint);
  }
}

// Asked until the database answers, at most as long as the permission may take; nothing was sent.
std::optional<DispatchReport> refusal(const DispatchCommand& options, std::stop_token stop) {
  Connection asked(connection(options));
  const Clock::Time until = boot_clock().now() + options.limits.deadline;
  DispatchReport report;
  for (Backoff backoff;;) {
    try {
      // A halt is told by the claim itself, with an exit code of its own.
      const std::string why = unreadiness(asked, "dispatch", "dispatch_halt");
      if (why.empty()) return std::nullopt;
      report.detail = "not ready: " + why;
      return report;
    } catch (const StoreError& error) {
      report.error = error;
      if (!error.retryable()) return report;
    }
    const Clock::Time next = boot_clock().now() + backoff.next();
    if (next >= until || !sleep_until(boot_clock(), next, stop)) return report;
  }
}

}  // namespace

void add_dispatch(CLI::App& program, DispatchCommand& into, std::function<int()>& run) {
  CLI::App& app = *program.add_subcommand(
      "dispatch", "run a program at most once for an item of a request: … -- PROGRAM ARGUMENTS");
  DispatchRequest& request = into.request;
  app.add_option("--request", request.request_uid,
                 "uid of the request; a new try of a finished "
                 "item needs a new one")
      ->required();
  app.add_option("--item", request.item, "what is acted on")->required();
  app.add_option("--action", request.action, "name of the action")->required();
  app.add_option("--arguments", request.arguments,
                 "arguments of the action, a JSON object; they are part of what the item is")
      ->required();
  app.add_option("--writer", request.writer,
                 "name of this process; by default host, process and a random part");
  add_duration(app, "--observe-after", request.observe_after,
               Milliseconds(observe_after_min / 1000), Milliseconds(observe_after_max / 1000),
               "how long after our last sign of life recovery may look at the item (default 5min)");
  add_duration(app, "--deadline", into.limits.deadline, std::chrono::seconds(1),
               std::chrono::hours(24),
               "how long the permission to run may take; then nothing is run (default 30s)");
  app.add_option("--not-sent-status", into.not_sent_statuses,
                 "an exit status by which the program promises that nothing went out; may be "
                 "repeated. By default there is none")
      ->check(CLI::Range(1, 255))
      ->allow_extra_args(false);
  app.add_flag("--stdin", into.pass_input, "let the program read our standard input");
  add_database_options(app, into.database);
  app.add_option("PROGRAM", into.command,
                 "the program and its arguments, run without a shell; it is never killed. It finds "
                 "QL3_REQUEST_UID, QL3_ITEM, QL3_ACTION and QL3_ARGUMENTS in its environment")
      ->required();
  app.footer(exit_codes);
  app.callback([&] { run = [&into] { return dispatch(into); }; });
}

int exit_code_of(const DispatchReport& report) noexcept {
  switch (report.end) {
    case DispatchEnd::recorded:
      if (report.what == outcome::succeeded) return recorded_success;
      return report.what == outcome::failed ? recorded_failure : unknown;
    case DispatchEnd::concluded: return concluded;
    case DispatchEnd::foreign: return foreign;
    case DispatchEnd::identity_conflict: return identity_conflict;
    case DispatchEnd::halted: return halted;
    case DispatchEnd::not_sent: return not_sent;
    case DispatchEnd::left: return unknown;
    case DispatchEnd::refused: break;
  }
  if (!report.error) return not_ready;
  const int code = exit_code_of(*report.error);
  if (report.error->code() == StoreCode::malformed) return not_ready;
  return code == not_converged ? static_cast<int>(not_sent) : code;
}

int dispatch(const DispatchCommand& given) {
  DispatchCommand options = given;
  if (options.request.writer.empty()) options.request.writer = default_owner();
  open_standard_streams();
  // Ignored by our parent, it would cost us the program's exit status.
  std::signal(SIGCHLD, SIG_DFL);
  const SignalWatch signals(
      "stopping: nothing more is started; a program that runs is not ended, its outcome is kept. "
      "A second signal leaves both",
      "leaving: the attempt is not waited for and will be observed");
  if (std::string fault = request_fault(options.request); !fault.empty()) {
    throw std::invalid_argument(fault);
  }
  if (const auto refused = refusal(options, signals.shutdown().drain)) {
    const int code = exit_code_of(*refused);
    print(options, *refused, code);
    return code;
  }
  PgDispatchStore store(connection(options)), extending(connection(options));
  Dispatcher dispatcher(store, extending, options.limits, listen);
  const DispatchReport report =
      dispatcher.dispatch(options.request,
                          [program = program_of(options)](const DispatchStop& stop) {
                            return run_program(program, stop, [](int process) {
                              log::info("the program runs as process {}", process);
                            });
                          },
                          {signals.shutdown().drain, signals.shutdown().cancel});
  const int code = exit_code_of(report);
  print(options, report, code);
  return code;
}

}  // namespace ql3::cli
