#include "cli/ready.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.hpp"
#include "client/readiness.hpp"
#include "client/store_error.hpp"

namespace ql3::cli {

namespace {

constexpr Clock::Length limit = std::chrono::seconds(30);

std::vector<ReadyCheck> ask(const DatabaseOptions& options) {
  ConnectionOptions to;
  to.dsn = options.dsn;
  to.application_name = "ql3 ready";
  try {
    Connection primary(to);
    return ask_ready(primary, limit);
  } catch (const StoreError& error) {
    if (error.code() != StoreCode::unreachable && error.code() != StoreCode::read_only) throw;
  }
  // No server takes writes: one that does not can say so itself.
  to.read_write = false;
  Connection any(to);
  return ask_ready(any, limit);
}

void print_json(const std::vector<ReadyCheck>& checks, bool is_ready) {
  nlohmann::ordered_json json = {{"ready", is_ready}, {"checks", nlohmann::ordered_json::array()}};
  for (const ReadyCheck& each : checks) {
    nlohmann::ordered_json one = {{"check", each.name},
                                  {"level", each.error ? "error" : "warning"},
                                  {"ok", each.ok},
                                  {"needed_for", each.needed_for},
                                  {"detail", each.detail},
                                  {"remedy", nullptr}};
    if (!each.remedy.empty()) one["remedy"] = each.remedy;
    json["checks"].push_back(std::move(one));
  }
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

// What is good for recovery and for dispatch alike is two checks, of two levels, and one line.
bool is_told(const std::vector<ReadyCheck>& checks, const ReadyCheck& each) {
  for (const ReadyCheck* before = checks.data(); before != &each; ++before) {
    if (before->ok && each.ok && before->name == each.name && before->detail == each.detail) {
      return true;
    }
  }
  return false;
}

void print_text(const std::vector<ReadyCheck>& checks, bool is_ready) {
  for (const ReadyCheck& each : checks) {
    if (is_told(checks, each)) continue;
    const char* const how = each.ok ? "ok" : each.error ? "ERROR" : "warning";
    fmt::print("{:<8} {:<30} {}\n", how, each.name, each.detail);
    if (!each.ok) fmt::print("{:<8} {:<30} {} (for {})\n", "", "", each.remedy, each.needed_for);
  }
  fmt::print("{}\n", is_ready ? "ready" : "not ready");
}

}  // namespace

int ready(const ReadyOptions& options) {
  std::vector<ReadyCheck> checks = ask(options.database);
  if (!options.needed_for.empty()) {
    std::erase_if(checks,
                  [&](const ReadyCheck& each) { return !each.is_needed_for(options.needed_for); });
  }
  bool is_ready = true;
  for (const ReadyCheck& each : checks) is_ready = is_ready && (each.ok || !each.error);
  (options.database.json ? print_json : print_text)(checks, is_ready);
  std::fflush(stdout);
  return is_ready ? done : not_ready;
}

std::string unreadiness(Connection& connection, std::string_view need, std::string_view excepted) {
  std::string why;
  for (const ReadyCheck& each : ask_ready(connection, limit)) {
    if (!each.forbids(need) || each.name == excepted) continue;
    if (!why.empty()) why += "; ";
    why += fmt::format("{}: {} Remedy: {}", each.name, each.detail, each.remedy);
  }
  return why;
}

}  // namespace ql3::cli
