// ql3 release KIND --all and ql3 park KIND --all: by filter, up to a limit.
#include "cli/bulk.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.hpp"
#include "cli/log.hpp"
#include "cli/printable.hpp"
#include "client/candidates.hpp"

namespace ql3::cli {

namespace {

struct Found {
  std::string id;
  std::string version;
  std::string state;
  std::string detail;
  std::string result;
};

// What is parked is read from its view, also when no source lists it; the rest as its source lists
// it, oldest loss first.
std::vector<Found> find(Connection& connection, const TargetOptions& options) {
  const bool parked = options.bulk.state == "manual";
  const char* const statement =
      parked ? "SELECT id, version, 'manual', coalesce(reason, '') FROM ql3.parked"
               " WHERE kind = $1::text AND $2::text = 'manual'"
               " AND pg_catalog.strpos(coalesce(reason, ''), $3::text) > 0"
               " ORDER BY parked_at, id LIMIT $4::integer"
             : "SELECT id, version, state, coalesce(detail, '') FROM"
               " ql3.ql3_observe(128, ARRAY[$1::text])"
               " WHERE state = $2::text AND pg_catalog.strpos(coalesce(detail, ''), $3::text) > 0"
               " LIMIT $4::integer";
  const Parameter parameters[] = {options.kind, options.bulk.state, options.bulk.matching,
                                  std::to_string(options.bulk.limit)};
  const Result rows = connection.query(statement, parameters, act_limit);
  std::vector<Found> found;
  for (int row = 0; row < rows.rows(); ++row) {
    found.push_back({std::string(rows.text(row, 0)), std::string(rows.text(row, 1)),
                     std::string(rows.text(row, 2)), std::string(rows.text(row, 3)), "not done"});
  }
  return found;
}

void release_found(Connection& connection, const TargetOptions& options,
                   std::vector<Found>& found) {
  std::vector<std::string> kinds, ids, versions;
  for (const Found& one : found) {
    kinds.push_back(options.kind);
    ids.push_back(one.id);
    versions.push_back(one.version);
  }
  const Parameter parameters[] = {array_parameter(kinds), array_parameter(ids),
                                  array_parameter(versions), options.reason};
  const Result rows = connection.query(
      "SELECT result FROM ql3.ql3_release_page($1::text[], $2::text[], $3::bigint[], $4::text)"
      " ORDER BY ordinal",
      parameters, act_limit);
  for (int row = 0; row < rows.rows(); ++row) found.at(row).result = rows.text(row, 0);
}

void park_found(Connection& connection, const TargetOptions& options, std::vector<Found>& found) {
  for (Found& one : found) {
    const Parameter parameters[] = {options.kind, one.id, one.version, options.reason};
    one.result = connection
                     .query("SELECT ql3.ql3_park($1::text, $2::text, $3::bigint, $4::text)",
                            parameters, act_limit)
                     .text(0, 0);
  }
}

void print(const TargetOptions& options, const std::vector<Found>& found) {
  if (options.database.json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const Found& one : found) {
      json.push_back({{"kind", options.kind},
                      {"id", one.id},
                      {"version", std::stoll(one.version)},
                      {"state", one.state},
                      {"detail", one.detail},
                      {"result", one.result}});
    }
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    for (const Found& one : found) {
      fmt::print("{}\n", printable(fmt::format("{} {} {} (version {}, {}{}{})", one.result,
                                               options.kind, one.id, one.version, one.state,
                                               one.detail.empty() ? "" : ": ", one.detail)));
    }
  }
  std::fflush(stdout);
}

}  // namespace

int act_on_many(const TargetOptions& options, TargetAct what) {
  const bool releases = what == TargetAct::release;
  const std::string_view word = releases ? "released" : "parked";
  Connection connection(operator_connection(options.database));
  std::vector<Found> found = find(connection, options);
  if (found.empty()) {
    print(options, found);
    log::info("no target of kind {} is {} and matches", options.kind, options.bulk.state);
    return done;
  }
  // A person sees which before the question.
  if (options.consent.dry_run || !options.consent.yes) {
    print(options, found);
  }
  if (!agreed(options.consent,
              fmt::format("{} these {} targets of kind {}", releases ? "release" : "park",
                          found.size(), options.kind))) {
    return done;
  }
  if (releases) {
    release_found(connection, options, found);
  } else {
    park_found(connection, options, found);
  }
  print(options, found);
  if (static_cast<int>(found.size()) == options.bulk.limit) {
    log::info("there may be more than these {}: repeat the command", options.bulk.limit);
  }
  const bool all =
      std::all_of(found.begin(), found.end(), [&](const Found& one) { return one.result == word; });
  return all ? done : not_converged;
}

}  // namespace ql3::cli
