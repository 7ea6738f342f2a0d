// ql3 audit: the record of operators' acts, and whether anybody has touched it.
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/printable.hpp"

namespace ql3::cli {

namespace {

// Read in steps, so that a long record costs neither side much memory.
constexpr int step = 1000;

constexpr char page_statement[] =
    "SELECT event_id, pg_catalog.to_jsonb(at) #>> '{}', actor, role_set, action, kind, id, reason,"
    " before::text, after::text, digest, sound FROM ql3.audit WHERE event_id > $1::bigint"
    " ORDER BY event_id LIMIT $2::integer";

struct AuditOptions {
  DatabaseOptions database;
  long long since = 0;
  std::string holds;
  bool quiet = false;
};

struct Verdict {
  long long events = 0;
  long long unsound = 0;
  long long first_unsound = 0;
  std::string last_digest;
  bool held = false;
};

void print(const AuditOptions& options, const Result& rows, int row) {
  const auto word = [&](int column) { return rows.optional_text(row, column); };
  if (options.database.json) {
    constexpr const char* names[] = {"event_id", "at",     "actor",  "role_set", "action", "kind",
                                     "id",       "reason", "before", "after",    "digest", "sound"};
    nlohmann::ordered_json json;
    for (int column = 0; column < 12; ++column) {
      json[names[column]] = nullptr;
      if (word(column)) json[names[column]] = *word(column);
    }
    json["event_id"] = rows.integer(row, 0);
    json["sound"] = rows.boolean(row, 11);
    for (const int column : {8, 9}) {
      if (word(column)) json[names[column]] = nlohmann::json::parse(*word(column));
    }
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  std::string target = word(5).value_or("");
  if (word(6)) target += (target.empty() ? "" : " ") + *word(6);
  const bool as_other = word(3) != word(2);
  fmt::print(
      "{}\n",
      printable(fmt::format(
          "{}{:>6}  {}  {} {}{}{}: {}{}{}", rows.boolean(row, 11) ? " " : "!", rows.integer(row, 0),
          rows.text(row, 1), rows.text(row, 4), target, target.empty() ? "by " : " by ",
          *word(2) + (as_other ? " as " + *word(3) : ""), word(7).value_or("no reason"),
          word(8) ? "  " + *word(8) : "", word(9) ? " -> " + *word(9) : "")));
}

int audit(const AuditOptions& options) {
  ConnectionOptions looking = operator_connection(options.database);
  looking.read_write = false;
  Connection connection(std::move(looking));
  Verdict seen;
  for (long long after = 0;;) {
    const Parameter parameters[] = {std::to_string(after), std::to_string(step)};
    const Result rows = connection.query(page_statement, parameters, act_limit);
    for (int row = 0; row < rows.rows(); ++row) {
      after = rows.integer(row, 0);
      ++seen.events;
      seen.last_digest = rows.text(row, 10);
      seen.held = seen.held || seen.last_digest == options.holds;
      if (!rows.boolean(row, 11) && ++seen.unsound == 1) seen.first_unsound = after;
      if (!options.quiet && after > options.since) print(options, rows, row);
    }
    if (rows.rows() < step) break;
  }
  const bool missed = !options.holds.empty() && !seen.held;
  if (options.database.json) {
    nlohmann::ordered_json json = {{"events", seen.events},
                                   {"unsound", seen.unsound},
                                   {"first_unsound", nullptr},
                                   {"last_digest", seen.last_digest},
                                   {"holds", nullptr}};
    if (seen.unsound > 0) json["first_unsound"] = seen.first_unsound;
    if (!options.holds.empty()) json["holds"] = seen.held;
    fmt::print("{}\n", json.dump());
  } else {
    if (seen.unsound > 0) {
      fmt::print("TAMPERED WITH: {} of {} events are not sound, the first is {}\n", seen.unsound,
                 seen.events, seen.first_unsound);
    } else {
      fmt::print("{} events, each follows the one before{}{}\n", seen.events,
                 seen.events > 0 ? "; keep this elsewhere and look for it with --holds: " : "",
                 seen.last_digest);
    }
    if (missed) fmt::print("CUT: no event has the digest {}\n", options.holds);
  }
  std::fflush(stdout);
  return seen.unsound > 0 || missed ? not_converged : done;
}

// Refused with the words that say what it must be, else made as the record has it.
std::string make_digest(std::string& text) {
  if (text.size() != 64 || text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
    return "a digest has 64 hexadecimal digits";
  }
  for (char& digit : text) {
    if (digit >= 'A' && digit <= 'F') digit = static_cast<char>(digit - 'A' + 'a');
  }
  return {};
}

}  // namespace

void add_audit(CLI::App& program, Run& run) {
  const auto options = std::make_shared<AuditOptions>();
  CLI::App& app = *program.add_subcommand(
      "audit", "print the acts of operators and check that nobody changed the record: 0 or 1");
  app.add_option("--since", options->since, "print the events after this number only");
  app.add_option("--holds", options->holds,
                 "a digest kept elsewhere that some event must still have: nothing was cut off")
      ->transform(CLI::Validator(make_digest, ""))
      ->type_name("DIGEST");
  app.add_flag("--quiet", options->quiet, "check only");
  add_database_options(app, options->database);
  app.callback([options, &run] { run = [options] { return audit(*options); }; });
}

}  // namespace ql3::cli
