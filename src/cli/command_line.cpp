#include "cli/command_line.hpp"

#include <cctype>

#include <fmt/format.h>
#include <unistd.h>

#include "client/claim_token.hpp"

namespace ql3::cli {

CLI::Option* add_duration(CLI::App& app, const std::string& name, Milliseconds& into,
                          Milliseconds least, Milliseconds most, const std::string& about) {
  CLI::Option* const option = app.add_option_function<std::string>(
      name, [&into](const std::string& text) { into = *parse_duration(text); }, about);
  const CLI::Validator in_range(
      [least, most](const std::string& text) { return duration_fault(text, least, most); },
      fmt::format("{}..{}", to_text(least), to_text(most)));
  return option->check(in_range)->type_name("TIME");
}

void add_database_options(CLI::App& app, DatabaseOptions& into) {
  app.add_option("--dsn", into.dsn,
                 "control database, as a conninfo string or URI; what it leaves out comes from "
                 "libpq's environment and service files");
  app.add_flag("--json", into.json, "answer in JSON");
}

std::string default_owner() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::string name;
  for (const char* c = host; *c != '\0' && name.size() < 80; ++c) {
    const auto letter = static_cast<unsigned char>(*c);
    const bool kept = std::isalnum(letter) != 0 || *c == '.' || *c == '-' || *c == '_';
    if (!name.empty() || std::isalnum(letter) != 0) name += kept ? *c : '-';
  }
  if (name.empty()) name = "ql3";
  // In containers the name and the number are often the same in every replica.
  return fmt::format("{}:{}:{}", name, getpid(), random_hex(4));
}

}  // namespace ql3::cli
