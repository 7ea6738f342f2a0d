// attach and detach.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "client/store_error.hpp"

namespace ql3::cli {

namespace {

std::string interval_parameter(Milliseconds length) {
  return std::to_string(length.count()) + " milliseconds";
}

// The server says only that there is none.
[[noreturn]] void refuse_transition(const StoreError& error) {
  const ServerText& server = error.server();
  throw StoreError(error.sqlstate(),
                   {server.message, server.detail,
                    "A transition is a function (id text, verdict text, evidence jsonb) RETURNS "
                    "boolean; name it with its schema, like \"app.job_lost(text,text,jsonb)\"."});
}

}  // namespace

int attach(const AttachOptions& options) {
  if (only_said(options.dry_run, fmt::format("attach {} as the source of kind {}", options.relation,
                                             options.kind))) {
    return done;
  }
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
  try {
    connection.query(statement.c_str(), parameters, act_limit);
  } catch (const StoreError& error) {
    const bool bare = error.sqlstate() == "42883" && error.server().hint.empty();
    if (!options.transition.empty() && bare) refuse_transition(error);
    throw;
  }
  answer(options.database, "attached");
  return done;
}

int detach(const DetachOptions& options) {
  if (only_said(options.dry_run, fmt::format("detach the source of kind {}", options.kind)))
    return done;
  const Parameter parameters[] = {options.kind};
  Connection connection(operator_connection(options.database));
  connection.query("SELECT ql3.ql3_detach_source($1::text)", parameters, act_limit);
  answer(options.database, "detached");
  return done;
}

}  // namespace ql3::cli
