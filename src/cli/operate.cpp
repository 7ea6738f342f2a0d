// The acts of an operator: attach, detach, release, park.
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "client/candidates.hpp"
#include "client/connection.hpp"

namespace ql3::cli {

namespace {

constexpr Clock::Length limit = std::chrono::seconds(30);

ConnectionOptions operator_connection(const DatabaseOptions& options) {
  ConnectionOptions connection;
  connection.dsn = options.dsn;
  connection.application_name = "ql3 operator";
  connection.on_notice = [](std::string_view state, std::string_view message) {
    spdlog::warn("server: {} (SQLSTATE {})", message, state);
  };
  return connection;
}

void answer(const DatabaseOptions& options, std::string_view word) {
  if (options.json) {
    fmt::print("{}\n", nlohmann::json({{"result", word}}).dump());
  } else {
    fmt::print("{}\n", word);
  }
  std::fflush(stdout);
}

std::string interval_parameter(Milliseconds length) {
  return std::to_string(length.count()) + " milliseconds";
}

// An act on one target takes the version it was decided on; without one it is that of now, which
// still refuses what changes between the look and the act.
long long version_of(const TargetOptions& options) {
  if (options.version) return *options.version;
  PgCandidateSource source(operator_connection(options.database));
  const auto seen = source.observe_one(options.kind, options.id, nullptr, limit);
  if (!seen) {
    throw std::invalid_argument(
        fmt::format("{} {} is not known", options.kind, options.id.substr(0, 255)));
  }
  return seen->version.value_or(0);
}

int act_on_target(const TargetOptions& options, const char* statement, std::string_view good) {
  const Parameter parameters[] = {options.kind, options.id, std::to_string(version_of(options)),
                                  options.reason};
  Connection connection(operator_connection(options.database));
  const Result result = connection.query(statement, parameters, limit);
  const std::string word(result.rows() == 1 ? result.text(0, 0) : std::string_view());
  answer(options.database, word);
  return word == good ? done : not_converged;
}

}  // namespace

int attach(const AttachOptions& options) {
  // What was not given is left to the server's own defaults.
  std::string statement =
      "SELECT ql3.ql3_attach_source(kind => $1::text, relation => $2::regclass,"
      " allow_slow => $3::boolean";
  std::vector<Parameter> parameters = {options.kind, options.relation,
                                       options.allow_slow ? "true" : "false"};
  const auto add = [&](const char* name, const char* type, Parameter value) {
    parameters.push_back(std::move(value));
    statement += fmt::format(", {} => ${}::{}", name, parameters.size(), type);
  };
  if (!options.transition.empty()) add("transition", "regprocedure", options.transition);
  if (options.max_failures) add("max_failures", "integer", std::to_string(*options.max_failures));
  if (options.max_hold) add("max_hold", "interval", interval_parameter(*options.max_hold));
  if (options.unlimited_hold) add("max_hold", "interval", std::nullopt);
  statement += ")";
  Connection connection(operator_connection(options.database));
  connection.query(statement.c_str(), parameters, limit);
  answer(options.database, "attached");
  return done;
}

int detach(const DetachOptions& options) {
  const Parameter parameters[] = {options.kind};
  Connection connection(operator_connection(options.database));
  connection.query("SELECT ql3.ql3_detach_source($1::text)", parameters, limit);
  answer(options.database, "detached");
  return done;
}

int release(const TargetOptions& options) {
  return act_on_target(options, "SELECT ql3.ql3_release($1::text, $2::text, $3::bigint, $4::text)",
                       "released");
}

int park(const TargetOptions& options) {
  return act_on_target(options, "SELECT ql3.ql3_park($1::text, $2::text, $3::bigint, $4::text)",
                       "parked");
}

}  // namespace ql3::cli
