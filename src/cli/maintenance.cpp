#include "cli/maintenance.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.hpp"
#include "cli/import_lines.hpp"
#include "core/limits.hpp"

namespace ql3::cli {

namespace {

constexpr const char* reason_about = "why; kept in the audit trail";

void print(const DatabaseOptions& options, const nlohmann::json& document, std::string_view text) {
  if (options.json) {
    fmt::print("{}\n", document.dump());
  } else {
    fmt::print("{}\n", text);
  }
  std::fflush(stdout);
}

// Answers paused, resumed, or unchanged where it was so already.
int change_pause(const PauseOptions& options, const char* statement, std::string_view word) {
  if (only_said(
          options.dry_run,
          fmt::format("{} {}", word, options.kind ? "kind " + *options.kind : "every kind"))) {
    return done;
  }
  const Parameter parameters[] = {options.kind, options.reason};
  Connection connection(operator_connection(options.database));
  answer(options.database, connection.query(statement, parameters, act_limit).text(0, 0));
  return done;
}

int pause(const PauseOptions& options) {
  return change_pause(options, "SELECT ql3.ql3_pause($1::text, $2::text)", "pause");
}

int resume(const PauseOptions& options) {
  return change_pause(options, "SELECT ql3.ql3_resume($1::text, $2::text)", "resume");
}

void print_count(const DatabaseOptions& options, const char* what, long long count) {
  print(options, {{what, count}}, fmt::format("{} {}", what, count));
}

// Calls a function that answers how much it did, until that is nothing.
long long until_nothing(Connection& connection, const char* statement,
                        std::span<const Parameter> parameters) {
  long long total = 0;
  for (;;) {
    const Result result = connection.query(statement, parameters, act_limit);
    const long long done_now = std::stoll(std::string(result.text(0, 0)));
    if (done_now == 0) return total;
    total += done_now;
  }
}

int prune(const PruneOptions& options) {
  if (only_said(options.dry_run, fmt::format("remove what has been over for {}, {} rows at a time",
                                             options.older_than, options.batch))) {
    return done;
  }
  const Parameter parameters[] = {options.older_than, std::to_string(options.batch)};
  Connection connection(operator_connection(options.database));
  print_count(
      options.database, "removed",
      until_nothing(connection, "SELECT ql3.ql3_prune($1::interval, $2::integer)", parameters));
  return done;
}

int forget(const ForgetOptions& options) {
  if (!agreed(options.consent,
              fmt::format("let the items of request {} be dispatched anew", options.request))) {
    return options.consent.dry_run ? done : not_converged;
  }
  const Parameter parameters[] = {options.request, options.reason};
  Connection connection(operator_connection(options.database));
  print_count(options.database, "forgotten",
              until_nothing(connection, "SELECT ql3.ql3_forget($1::text, $2::text)", parameters));
  return done;
}

int import(const ImportOptions& options) {
  ImportLines lines(options.file);
  if (options.dry_run) {
    int count = 0;
    for (ImportPage page = lines.next(); page.size != 0; page = lines.next()) count += page.size;
    only_said(true, fmt::format("import {} targets of kind {}", count, options.kind));
    return done;
  }
  Connection connection(operator_connection(options.database));
  long long imported = 0, known = 0, not_listed = 0;
  for (ImportPage page = lines.next(); page.size != 0; page = lines.next()) {
    const Parameter parameters[] = {options.kind, page.ids, page.states, page.failure_counts,
                                    options.reason};
    const Result result = connection.query(
        "SELECT result FROM ql3.ql3_import($1::text, $2::text[], $3::text[], $4::integer[], "
        "$5::text)",
        parameters, act_limit);
    for (int row = 0; row < result.rows(); ++row) {
      const std::string_view word = result.text(row, 0);
      ++(word == "imported" ? imported : word == "known" ? known : not_listed);
    }
  }
  print(options.database, {{"imported", imported}, {"known", known}, {"not_listed", not_listed}},
        fmt::format("imported {}, known {}, not listed {}", imported, known, not_listed));
  return done;
}

void add_pause(CLI::App& program, const char* name, const char* about, PauseOptions& options,
               int (*command)(const PauseOptions&), Run& run) {
  CLI::App& app = *program.add_subcommand(name, about);
  CLI::Option* const kind = app.add_option_function<std::string>(
      "KIND", [&options](const std::string& word) { options.kind = word; }, "the kind");
  CLI::Option* const all = app.add_flag("--all", options.all, "every kind");
  kind->excludes(all);
  app.add_option("--reason", options.reason, reason_about)->required();
  add_dry_run(app, options.dry_run);
  add_database_options(app, options.database);
  app.callback([&options, command, &run] {
    if (!options.kind && !options.all) throw CLI::RequiredError("KIND or --all");
    run = [&options, command] { return command(options); };
  });
}

void add_prune(CLI::App& program, PruneOptions& options, Run& run) {
  CLI::App& app = *program.add_subcommand(
      "prune", "remove what has been over for long; decided dispatches leave a tombstone");
  app.add_option("--older-than", options.older_than, "like \"30 days\"; a month has no length")
      ->required();
  app.add_option("--batch", options.batch, "rows of one transaction")
      ->check(CLI::Range(1, prune_batch_max))
      ->capture_default_str();
  add_dry_run(app, options.dry_run);
  add_database_options(app, options.database);
  app.callback([&] { run = [&options] { return prune(options); }; });
}

void add_forget(CLI::App& program, ForgetOptions& options, Run& run) {
  CLI::App& app = *program.add_subcommand(
      "forget", "remove the tombstones of a request, so that it can be dispatched anew");
  app.add_option("REQUEST", options.request, "the request uid")->required();
  app.add_option("--reason", options.reason, reason_about)->required();
  add_consent_options(app, options.consent);
  add_database_options(app, options.database);
  app.callback([&] { run = [&options] { return forget(options); }; });
}

void add_import(CLI::App& program, ImportOptions& options, Run& run) {
  CLI::App& app = *program.add_subcommand(
      "import",
      "take over where targets stood in another table, from lines of ID, state and "
      "failure count with tabs between");
  app.add_option("KIND", options.kind, "the kind")->required();
  app.add_option("FILE", options.file, "the file; - is the standard input")->capture_default_str();
  app.add_option("--reason", options.reason, reason_about)->required();
  add_dry_run(app, options.dry_run);
  add_database_options(app, options.database);
  app.callback([&] { run = [&options] { return import(options); }; });
}

}  // namespace

void add_maintenance(CLI::App& program, MaintenanceCommands& into, Run& run) {
  add_pause(program, "pause", "stop claims and conclusions of a kind", into.pause, pause, run);
  add_pause(program, "resume", "end the pause of a kind", into.resume, resume, run);
  add_prune(program, into.prune, run);
  add_forget(program, into.forget, run);
  add_import(program, into.import, run);
}

}  // namespace ql3::cli
