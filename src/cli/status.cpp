// ql3 status: what every source lists, by state.
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "client/candidates.hpp"
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

void print_json(const Kinds& kinds, bool writable, bool has_more) {
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
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_text(const Kinds& kinds, bool writable, bool has_more) {
  fmt::print("server: {}\n",
             writable ? "primary, takes writes" : "standby or read-only; what it shows may lag");
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

}  // namespace

int status(const DatabaseOptions& options) {
  ConnectionOptions connection;
  connection.dsn = options.dsn;
  // Looking works on a standby too.
  connection.read_write = false;
  connection.application_name = "ql3 status";
  PgCandidateSource source(std::move(connection));
  bool writable = false;
  bool has_more = false;
  const Kinds kinds = look(source, writable, has_more);
  (options.json ? print_json : print_text)(kinds, writable, has_more);
  std::fflush(stdout);
  return done;
}

}  // namespace ql3::cli
