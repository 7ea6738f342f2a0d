// ql3 status: what every source lists, by state, and what the views tell, on one screen.
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/status_views.hpp"
#include "client/candidates.hpp"
#include "client/store_error.hpp"
#include "core/limits.hpp"

namespace ql3::cli {

namespace {

constexpr Clock::Length limit = std::chrono::seconds(10);
constexpr const char* states[] = {"available", "claimed", "retry", "manual", "resolved"};

struct KindStatus {
  std::map<std::string, int> by_state;
  int claimable = 0;
  std::optional<std::string> oldest;
  std::optional<std::string> blind;
  // The counts are of the oldest targets only: there are more.
  bool more = false;

  void add(const ObservedTarget& one) {
    if (one.blind()) {
      blind = one.detail.value_or("unknown");
      return;
    }
    ++by_state[one.state];
    if (one.claimable) ++claimable;
    const auto& lost = one.target.lost_at;
    if (lost && (!oldest || *lost < *oldest)) oldest = lost;
  }

  int listed() const {
    int all = 0;
    for (const auto& [state, count] : by_state) all += count;
    return all;
  }
};

using Kinds = std::map<std::string, KindStatus>;

// One bounded look over everything; where that did not reach, one more for each kind it met.
Kinds look(CandidateSource& source, bool& writable, bool& has_more) {
  const Observation all = source.observe(page_size_max, {}, limit);
  writable = all.writable;
  has_more = all.has_more;
  Kinds kinds;
  for (const ObservedTarget& one : all.rows) kinds[one.target.kind].add(one);
  if (!all.has_more) return kinds;
  for (auto& [kind, status] : kinds) {
    const Observation own = source.observe(page_size_max, {kind}, limit);
    status = KindStatus();
    for (const ObservedTarget& one : own.rows) status.add(one);
    status.more = own.has_more;
  }
  return kinds;
}

// What a role may see: the sources need the profile runtime or observer, the views observer or
// operator.
struct Seen {
  bool sources = false;
  // Nothing but the built-in kind is attached.
  bool unattached = false;
  Kinds kinds;
  bool writable = false;
  bool has_more = false;
  std::optional<std::vector<Section>> views;
};

void print_json(const Seen& seen) {
  const auto& [sources, unattached, kinds, writable, has_more, views] = seen;
  nlohmann::ordered_json json = {
      {"writable", writable}, {"has_more", has_more}, {"kinds", nlohmann::ordered_json::array()}};
  for (const auto& [kind, status] : kinds) {
    nlohmann::ordered_json one = {
        {"kind", kind}, {"listed", status.listed()}, {"claimable", status.claimable}};
    for (const char* state : states) {
      const auto count = status.by_state.find(state);
      one[state] = count == status.by_state.end() ? 0 : count->second;
    }
    one["oldest_lost_at"] = status.oldest ? nlohmann::ordered_json(*status.oldest) : nullptr;
    one["more"] = status.more;
    one["blind"] = status.blind ? nlohmann::ordered_json(*status.blind) : nullptr;
    json["kinds"].push_back(std::move(one));
  }
  // Not the empty list of sources that list nothing.
  if (!sources) json["kinds"] = nullptr;
  json["attached"] = sources || unattached ? nlohmann::ordered_json(sources) : nullptr;
  if (views) {
    for (const Section& section : *views) json[section.name] = section.rows;
  }
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_kinds(const Kinds& kinds, bool has_more) {
  if (kinds.empty()) {
    fmt::print("every attached source was read and lists nothing\n");
    return;
  }
  fmt::print("{:<20} {:>7} {:>9} {:>9} {:>7} {:>5} {:>6} {:>8}  {}\n", "kind", "listed",
             "claimable", "available", "claimed", "retry", "manual", "resolved", "oldest loss");
  for (const auto& [kind, status] : kinds) {
    if (status.blind) {
      fmt::print("{:<20} blind: its source cannot be read (SQLSTATE {})\n", kind, *status.blind);
      if (status.listed() == 0) continue;
    }
    const auto count = [&status = status](const char* state) {
      const auto found = status.by_state.find(state);
      return found == status.by_state.end() ? 0 : found->second;
    };
    fmt::print("{:<20} {:>7} {:>9} {:>9} {:>7} {:>5} {:>6} {:>8}  {}\n", kind,
               fmt::format("{}{}", status.listed(), status.more ? "+" : ""), status.claimable,
               count("available"), count("claimed"), count("retry"), count("manual"),
               count("resolved"), status.oldest.value_or("-"));
  }
  if (has_more) {
    fmt::print(
        "there is more: counts with + are of the oldest {} of their kind, and a kind whose "
        "targets are all younger is not shown\n",
        page_size_max);
  }
}

void print_text(const Seen& seen) {
  fmt::print("server: {}\n", seen.writable ? "primary, takes writes"
                                           : "standby or read-only; what it shows may lag");
  if (seen.sources) {
    print_kinds(seen.kinds, seen.has_more);
  } else if (seen.unattached) {
    fmt::print("no source of your own is attached\n");
  } else {
    fmt::print("the sources are not shown: that takes the profile observer or runtime\n");
  }
  if (seen.views) {
    print_sections(*seen.views);
  } else {
    fmt::print("the views are not shown: that takes the profile observer or operator\n");
  }
}

bool is_writable(Connection& connection) {
  return connection
      .query("SELECT NOT pg_catalog.pg_is_in_recovery()"
             " AND pg_catalog.current_setting('transaction_read_only') = 'off'",
             {}, limit)
      .boolean(0, 0);
}

}  // namespace

int status(const DatabaseOptions& options) {
  ConnectionOptions connection;
  connection.dsn = options.dsn;
  // Looking works on a standby too.
  connection.read_write = false;
  connection.application_name = "ql3 status";
  Connection reading(connection);
  PgCandidateSource source(std::move(connection));
  Seen seen;
  seen.views = read_sections(reading);
  try {
    seen.kinds = look(source, seen.writable, seen.has_more);
    seen.sources = true;
  } catch (const StoreError& error) {
    seen.unattached = error.code() == StoreCode::not_possible;
    if ((error.code() != StoreCode::denied && !seen.unattached) || !seen.views) throw;
    seen.writable = is_writable(reading);
  }
  (options.json ? print_json : print_text)(seen);
  std::fflush(stdout);
  return done;
}

}  // namespace ql3::cli
