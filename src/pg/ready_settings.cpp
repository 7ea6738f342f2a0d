// Settings of the server that a promise stands on. A setting that a role or database brings along counts as this
// session has it.
#include "ready.hpp"

namespace ql3::pg {

namespace {

struct setting_check {
  std::string_view name;
  const char* setting;
  std::string_view wanted;    // values that will do, or
  std::string_view unwanted;  // the one that will not
  std::string_view for_recovery_level;
  std::string_view for_dispatch_level;  // empty: not needed for it
  std::string_view why;
  std::string_view remedy;
};

constexpr std::string_view none{};

constexpr setting_check checks[] = {
    {"fsync", "fsync", "on", none, level_warning, level_error,
     "a crash of the machine can lose or tear what was committed: a recorded call would be made again",
     "ALTER SYSTEM SET fsync = on, then reload."},
    {"full_page_writes", "full_page_writes", "on", none, level_warning, level_error,
     "a crash of the machine can leave a torn page: a recorded call would be unreadable",
     "ALTER SYSTEM SET full_page_writes = on, then reload."},
    {"synchronous_commit", "synchronous_commit", none, "off", level_warning, none,
     "a crash can lose the latest claims and judgements (never a dispatch: those are forced); they are judged again",
     "ALTER SYSTEM SET synchronous_commit = on, then reload."},
    {"zero_damaged_pages", "zero_damaged_pages", "off", none, level_error, level_error,
     "a damaged page would read as an empty one: what was recorded there never happened", "SET it off."},
    {"ignore_checksum_failure", "ignore_checksum_failure", "off", none, level_error, level_error,
     "a damaged page would be believed", "SET it off."},
    {"ignore_system_indexes", "ignore_system_indexes", "off", none, level_warning, level_warning,
     "every call reads whole catalogs", "Start the server without it."},
    {"session_replication_role", "session_replication_role", "origin", none, level_error, level_error,
     "triggers do not fire: what is append-only can be changed", "SET session_replication_role = origin."},
    {"default_transaction_isolation", "default_transaction_isolation", "read committed|read uncommitted", none,
     level_error, level_error, "claims and permits need read committed",
     "Set default_transaction_isolation to 'read committed' for the role or database of these programs."},
    {"default_transaction_read_only", "default_transaction_read_only", "off", none, level_error, level_error,
     "every claim is refused", "Set default_transaction_read_only to off for the role or database of these programs."},
    {"autovacuum", "autovacuum", "on", none, level_warning, level_warning,
     "dead rows of claims are never removed: every claim gets slower",
     "ALTER SYSTEM SET autovacuum = on, then reload."},
    {"track_counts", "track_counts", "on", none, level_warning, level_warning,
     "autovacuum sees no work without it", "ALTER SYSTEM SET track_counts = on, then reload."},
    {"claim_transaction_timeout", "ql3.claim_transaction_timeout", none, "0", level_warning, level_warning,
     "a client that forgets its transaction hides what it took and holds locks without end",
     "ALTER SYSTEM RESET ql3.claim_transaction_timeout, or set a length, then reload."},
    {"dispatch_after_promotion", "ql3.dispatch_after_promotion", "halt", none, none, level_warning,
     "after a promotion that lost commits a call can be made twice",
     "ALTER SYSTEM RESET ql3.dispatch_after_promotion, then reload."},
};

bool is_fine(const setting_check& each, std::string_view value) noexcept {
  if (!each.unwanted.empty()) return value != each.unwanted;
  for (std::string_view rest = each.wanted;;) {
    std::size_t const bar = rest.find('|');
    if (value == rest.substr(0, bar)) return true;
    if (bar == std::string_view::npos) return false;
    rest.remove_prefix(bar + 1);
  }
}

void report(readiness& to, const setting_check& each, std::string_view level, std::string_view needed_for) {
  check const which{each.name, level, needed_for};
  to.run(which, [&] {
    const char* const value = call([&] { return GetConfigOption(each.setting, true, false); });
    long_text detail;
    detail << std::string_view(each.setting) << " = " << std::string_view(value == nullptr ? "unknown" : value);
    if (value != nullptr && is_fine(each, value)) to.good(which, detail.view());
    else to.bad(which, (detail << ": " << each.why).view(), each.remedy);
  });
}

}  // namespace

void check_settings(readiness& to) {
  for (const setting_check& each : checks) {
    if (each.for_recovery_level == each.for_dispatch_level) {
      report(to, each, each.for_recovery_level, for_both);
      continue;
    }
    if (!each.for_recovery_level.empty()) report(to, each, each.for_recovery_level, for_recovery);
    if (!each.for_dispatch_level.empty()) report(to, each, each.for_dispatch_level, for_dispatch);
  }
}

}  // namespace ql3::pg
