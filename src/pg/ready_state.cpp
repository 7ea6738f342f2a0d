// The present state of server and sources, as far as it can keep ql3 from its work.
#include "compat.hpp"
#include "lineage.hpp"
#include "ready.hpp"
#include "source_index.hpp"
#include "source_reader.hpp"
#include "transition.hpp"

namespace ql3::pg {

namespace {

constexpr check primary_check{"primary", level_error, for_both};
constexpr check standbys_check{"synchronous_standbys", level_warning, for_dispatch};
constexpr check halt_check{"dispatch_halt", level_error, for_dispatch};
constexpr check server_check{"server_version", level_warning, for_both};
constexpr check event_trigger_check{"event_triggers", level_warning, for_upgrade};
constexpr check drop_check{"drop_extension", level_warning, for_upgrade};
constexpr check source_check{"source", level_warning, for_recovery};

// How long all sources together may take; what was not reached is said.
constexpr std::int64_t sources_time_max = 5 * one_second;

constinit statement standbys{
    "SELECT current_setting('synchronous_standby_names'), count(*) FILTER (WHERE r.state = 'streaming')"
    "  FROM pg_stat_replication AS r"};

constinit statement event_triggers{
    "SELECT string_agg(format('%s of %s on %s', evtname, pg_get_userbyid(evtowner), evtevent), ', ' ORDER BY evtname)"
    "  FROM pg_event_trigger WHERE evtenabled <> 'D'"};

constinit statement undecided{
    "SELECT count(*) FROM (SELECT FROM ql3.dispatches WHERE state = 'claimed' LIMIT 100001) AS d"};

void check_standbys(readiness& to) {
  rows const found = standbys.run(params());
  std::string_view const names = found.text(0, 1);
  long_text detail;
  if (!names.empty()) {
    to.good(standbys_check, (detail << "commits wait for " << names).view());
  } else if (found.number(0, 2) == 0) {
    to.good(standbys_check, "no standby is connected");
  } else {
    detail << found.number(0, 2) << " standbys stream, and synchronous_standby_names is empty: a promotion can lose "
           << "dispatches that were answered, and halts dispatch until somebody confirms";
    to.bad(standbys_check, detail.view(), "Set synchronous_standby_names to what may be promoted.");
  }
}

void check_halt(readiness& to) {
  live_lineage const live = read_live_lineage();
  if (std::optional<halt_reason> const why = halted(live)) to.bad(halt_check, why->message, why->hint);
  else to.good(halt_check, "dispatch is not halted");
}

// Why the source cannot be read as it should, or nothing.
bool report_source(readiness& to, const source& each) {
  check const which{source_check.name, source_check.level, each.kind == dispatch_kind ? for_dispatch : for_recovery};
  long_text detail;
  detail << "kind " << each.kind << ": ";
  source_reader reader(each);
  (void)reader.page(place{}, page_rows_max, false);
  if (reader.is_blind()) {
    detail << "blind: " << reader.why().message << " (SQLSTATE " << std::string_view(reader.why().sqlstate) << ")";
    to.bad(which, detail.view(), "Mend the relation, or attach another one. The other kinds are not affected.");
    return true;
  }
  if (reader.flaw() != nullptr) {
    to.bad(which, (detail << "a row cannot be a target and is passed over: " << reader.flaw()).view(),
           "Mend such rows, or have the relation leave them out.");
    return true;
  }
  resolved_source now{};
  if (resolve(each, now)) return false;  // gone since it was read
  if (each.kind != dispatch_kind && trace_column(now.relation, "lost_at").access != column_access::indexed) {
    to.bad(which, (detail << "slow: lost_at leads no index, so that every claim reads the whole relation").view(),
           "CREATE INDEX on lost_at and id of the table behind it.");
    return true;
  }
  if (each.transition_name && is_transition_gone(each)) {
    to.bad(which, (detail << "its transition " << *each.transition_schema << "." << *each.transition_name
                          << "(text,text,jsonb) does not exist, so that nothing can be concluded").view(),
           "Create the function again, or detach and attach with another one.");
    return true;
  }
  return false;
}

}  // namespace

void check_state(readiness& to) {
  if (call([] { return RecoveryInProgress(); }))
    to.bad(primary_check, "this server is a standby: it observes, and refuses every claim",
           "Connect to the primary; target_session_attrs=read-write finds it.");
  else {
    to.good(primary_check, "this server takes writes");
    to.run(standbys_check, [&] { check_standbys(to); });
    to.run(halt_check, [&] { check_halt(to); });
  }
  if (compat::is_tested) to.good(server_check, PG_VERSION);
  else to.bad(server_check, PG_VERSION, "ql3 is tested on 13 to 18.");
  to.run(event_trigger_check, [&] {
    rows const found = event_triggers.run(params());
    std::optional<std::string_view> const names = found.maybe_text(0, 1);
    if (!names) to.good(event_trigger_check, "none");
    else
      to.bad(event_trigger_check, *names,
             "They run inside CREATE, ALTER and DROP EXTENSION with the rights of whoever does it: know what they do.");
  });
  to.run(drop_check, [&] {
    std::int64_t const open = undecided.run(params()).number(0, 1);
    long_text detail;
    detail << "DROP EXTENSION ql3 and DROP SCHEMA ql3 CASCADE cannot be refused by an extension; " << open
           << " undecided dispatches would be forgotten";
    to.good(drop_check, detail.view());
  });
}

void check_sources(readiness& to) {
  to.run(source_check, [&] {
    instant const start = clock_now();
    bool all_good = true;
    std::int64_t seen = 0;
    for (const source& each : attached_sources()) {
      if (clock_now() - start > sources_time_max) {
        to.bad(source_check, "not every source was looked at: the ones before took too long",
               "ql3.ql3_observe(1, ARRAY[kind]) looks at one.");
        return;
      }
      ++seen;
      if (report_source(to, each)) all_good = false;
    }
    if (all_good)
      to.good(source_check, (long_text() << seen << (seen == 1 ? " kind" : " kinds") << " can be read").view());
  });
}

}  // namespace ql3::pg
