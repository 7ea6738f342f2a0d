#include "cli/acting.hpp"

#include <cstdio>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.hpp"
#include "cli/log.hpp"

namespace ql3::cli {

ConnectionOptions operator_connection(const DatabaseOptions& options) {
  ConnectionOptions connection;
  connection.dsn = options.dsn;
  connection.application_name = "ql3 operator";
  connection.on_notice = [](std::string_view state, std::string_view message) {
    log::warn("server: {} (SQLSTATE {})", message, state);
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

void add_dry_run(CLI::App& app, bool& into) {
  app.add_flag("--dry-run", into, "say what would be done");
}

bool only_said(bool dry_run, std::string_view what) {
  if (dry_run) log::info("would {}", what);
  return dry_run;
}

void add_consent_options(CLI::App& app, Consent& into) {
  CLI::Option* const dry = app.add_flag("--dry-run", into.dry_run, "say what would be done");
  app.add_flag("--yes", into.yes, "do it without asking")->excludes(dry);
}

bool agreed(const Consent& consent, std::string_view what) {
  if (consent.yes) return true;
  if (only_said(consent.dry_run, what)) return false;
  if (isatty(STDIN_FILENO) == 0) {
    throw std::invalid_argument(
        fmt::format("will {}: nobody at a terminal can be asked, so say --yes", what));
  }
  fmt::print(stderr, "will {}\ngo on? [y/N] ", what);
  std::fflush(stderr);
  const int said = std::getchar();
  for (int rest = said; rest != '\n' && rest != EOF;) rest = std::getchar();
  return said == 'y' || said == 'Y';
}

int act(const DatabaseOptions& options, const char* statement,
        std::span<const Parameter> parameters, std::string_view good) {
  Connection connection(operator_connection(options));
  const Result result = connection.query(statement, parameters, act_limit);
  const std::string word(result.rows() == 1 ? result.text(0, 0) : std::string_view());
  answer(options, word);
  if (word == "stale") {
    log::warn("stale: it changed meanwhile, or there is none; look with ql3 explain");
  }
  return word == good ? done : not_converged;
}

}  // namespace ql3::cli
