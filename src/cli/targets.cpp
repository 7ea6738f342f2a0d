// ql3 release and ql3 park: one target by its id, or many by filter.
#include <memory>
#include <stdexcept>

#include <fmt/format.h>

#include "cli/bulk.hpp"
#include "cli/exit_code.hpp"
#include "client/candidates.hpp"

namespace ql3::cli {

namespace {

// An act on one target takes the version it was decided on; without one it is that of now, which
// still refuses what changes between the look and the act.
long long version_of(const TargetOptions& options) {
  if (options.version) return *options.version;
  PgCandidateSource source(operator_connection(options.database));
  const auto seen = source.observe_one(options.kind, options.id, nullptr, act_limit);
  if (!seen) {
    throw std::invalid_argument(
        fmt::format("{} {} is not known", options.kind, options.id.substr(0, 255)));
  }
  return seen->version.value_or(0);
}

int act_on_target(const TargetOptions& options, const char* statement, std::string_view good) {
  const std::string version = std::to_string(version_of(options));
  if (options.consent.dry_run) {
    agreed(options.consent,
           fmt::format("leave {} {} at version {} {}", options.kind, options.id, version, good));
    return done;
  }
  const Parameter parameters[] = {options.kind, options.id, version, options.reason};
  return act(options.database, statement, parameters, good);
}

int release(const TargetOptions& options) {
  if (options.bulk.all) return act_on_many(options, TargetAct::release);
  return act_on_target(options, "SELECT ql3.ql3_release($1::text, $2::text, $3::bigint, $4::text)",
                       "released");
}

int park(const TargetOptions& options) {
  if (options.bulk.all) return act_on_many(options, TargetAct::park);
  return act_on_target(options, "SELECT ql3.ql3_park($1::text, $2::text, $3::bigint, $4::text)",
                       "parked");
}

void add_target(CLI::App& program, Run& run, const char* name, const char* about,
                const char* usual_state, const std::vector<std::string>& states,
                int (*command)(const TargetOptions&)) {
  const auto options = std::make_shared<TargetOptions>();
  options->bulk.state = usual_state;
  CLI::App& app = *program.add_subcommand(name, about);
  app.add_option("KIND", options->kind, "the kind")->required();
  CLI::Option* const id = app.add_option("ID", options->id, "the target; or --all");
  CLI::Option* const version =
      app.add_option_function<long long>(
             "--version", [options](const long long& given) { options->version = given; },
             "version the target must still have (default: the one it has now)")
          ->needs(id);
  CLI::Option* const all =
      app.add_flag("--all", options->bulk.all, "every target that the filter finds");
  all->excludes(id)->excludes(version);
  app.add_option("--state", options->bulk.state, "with --all: the state they are in")
      ->check(CLI::IsMember(states))
      ->capture_default_str()
      ->needs(all);
  app.add_option("--matching", options->bulk.matching, "with --all: a part of their reason or note")
      ->needs(all);
  app.add_option("--limit", options->bulk.limit, "with --all: how many at most")
      ->check(CLI::Range(1, page_size_max))
      ->capture_default_str()
      ->needs(all);
  app.add_option("--reason", options->reason, "why; kept in the audit trail")->required();
  add_consent_options(app, options->consent);
  add_database_options(app, options->database);
  app.callback([options, id, command, &run] {
    if (id->count() == 0 && !options->bulk.all) throw CLI::RequiredError("ID or --all");
    run = [options, command] { return command(*options); };
  });
}

}  // namespace

void add_release(CLI::App& program, Run& run) {
  add_target(program, run, "release", "make parked or waiting targets claimable again", "manual",
             {"manual", "retry", "resolved"}, release);
}

void add_park(CLI::App& program, Run& run) {
  add_target(program, run, "park", "take targets away from the supervisors", "retry",
             {"available", "claimed", "retry", "resolved"}, park);
}

}  // namespace ql3::cli
