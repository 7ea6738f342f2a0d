// ql3 explain: why a target or a dispatch stands where it stands, and which call changes that.
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/printable.hpp"

namespace ql3::cli {

namespace {

struct ExplainOptions {
  DatabaseOptions database;
  std::string kind;
  std::string id;
};

int explain(const ExplainOptions& options) {
  ConnectionOptions looking = operator_connection(options.database);
  looking.read_write = false;  // a standby explains too
  Connection connection(std::move(looking));
  const Parameter parameters[] = {options.kind, options.id};
  const Result rows =
      connection.query("SELECT topic, text, command FROM ql3.ql3_explain($1::text, $2::text)",
                       parameters, act_limit);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (int row = 0; row < rows.rows(); ++row) {
    const std::string topic(rows.text(row, 0));
    const std::string text(rows.text(row, 1));
    const Parameter command = rows.optional_text(row, 2);
    if (options.database.json) {
      json.push_back({{"topic", topic}, {"text", text}, {"command", nullptr}});
      if (command) json.back()["command"] = *command;
      continue;
    }
    fmt::print("{:<9} {}\n", topic, printable(text));
    if (command) fmt::print("{:<9}   {}\n", "", printable_command(*command));
  }
  if (options.database.json) {
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  std::fflush(stdout);
  return done;
}

}  // namespace

void add_explain(CLI::App& program, Run& run) {
  const auto options = std::make_shared<ExplainOptions>();
  CLI::App& app = *program.add_subcommand(
      "explain", "why a target may be claimed or not, and the calls that change it");
  app.add_option("KIND", options->kind, "the kind; dispatch for an attempt")->required();
  app.add_option("ID", options->id, "the target, or the attempt's uuid")->required();
  add_database_options(app, options->database);
  app.callback([options, &run] { run = [options] { return explain(*options); }; });
}

}  // namespace ql3::cli
