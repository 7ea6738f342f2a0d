#include "source_reader.hpp"

#include <algorithm>

#include "arrays.hpp"
#include "row_columns.hpp"
#include "session.hpp"
#include "source_plans.hpp"
#include "time_limit.hpp"

extern "C" {
#include "storage/proc.h"
}

namespace ql3::pg {

namespace {

// A source that waits for locks is not worth a page: it goes blind instead.
constexpr char source_lock_timeout[] = "250ms";

void become_owner(Oid owner) {
  Oid user;
  int context;
  GetUserIdAndSecContext(&user, &context);
  SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
  XactReadOnly = true;
  (void)set_config_option("row_security", "on", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
  (void)set_config_option("lock_timeout", source_lock_timeout, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0,
                          false);
}

[[noreturn]] void refuse_twice(std::string_view id) {
  throw error("21000", (message_text<256>() << "it lists the id " << quoted{id} << " twice").view());
}

// Why a row cannot be a target, or nothing.
const char* flaw_of(const row_columns& row) {
  struct key {
    int column;
    const char* null;
    const char* empty;
    const char* over_long;
  };
  constexpr key keys[] = {{col_id, "a null id", "an empty id", "an over-long id"},
                          {col_run_id, "a null run_id", "an empty run_id", "an over-long run_id"}};
  for (const key& each : keys) {
    if (!row.has(each.column)) return each.null;
    std::size_t const size = row.text(each.column).size();
    if (size == 0) return each.empty;
    if (size > id_max) return each.over_long;
  }
  return row.has(col_lost_at) ? nullptr : "a null lost_at";
}

// An attempt's row has its arguments, which may take the limit by themselves.
std::size_t further_max(const source& from) noexcept {
  return from.kind == dispatch_kind ? arguments_max + source_json_max : source_json_max;
}

// The texts are copied together: the row is given back before they are used.
facts read_facts(const row_columns& from, std::size_t further_max) {
  facts row{};
  row.id = from.text(col_id);
  row.run_id = from.text(col_run_id);
  row.status = from.maybe_text(col_status);
  row.created_at = from.maybe_time(col_created_at);
  row.lost_at = from.time(col_lost_at);
  if (std::optional<std::string_view> const further = from.maybe_text(col_further))
    if (further->size() <= further_max) row.further = further;
  std::size_t const size = row.id.size() + row.run_id.size() + row.status.value_or(std::string_view()).size() +
                           row.further.value_or(std::string_view()).size();
  char* to = call([&] { return static_cast<char*>(palloc(size)); });
  auto keep = [&to](std::string_view text) {
    std::memcpy(to, text.data(), text.size());
    return std::string_view(std::exchange(to, to + text.size()), text.size());
  };
  row.id = keep(row.id);
  row.run_id = keep(row.run_id);
  if (row.status) row.status = keep(*row.status);
  if (row.further) row.further = keep(*row.further);
  return row;
}

// A target is one row. Rows of one id that lie further apart than a page are found by key, where the id has an index.
void refuse_repeated_ids(const listed_rows& listed) {
  boost::container::static_vector<std::string_view, page_rows_max> ids;
  for (const facts& row : listed) ids.push_back(row.id);
  std::sort(ids.begin(), ids.end());
  auto const twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) refuse_twice(*twice);
}

blindness overdue() { return blind("57014", "reading it took longer than ql3.source_timeout"); }

// While a source is read: code of the user runs, and what it calls must not read sources in turn. It would read itself
// without end, and could remake the very plans that are running.
class reading {
 public:
  reading() {
    if (busy_) throw error(sqlstate::feature_not_supported, "a source must not read the sources of ql3");
    busy_ = true;
  }
  ~reading() noexcept { busy_ = false; }
  reading(const reading&) = delete;
  reading& operator=(const reading&) = delete;

 private:
  static inline constinit bool busy_ = false;
};

}  // namespace

template <class Body>
bool source_reader::as_owner(Body&& body) {
  if (is_blind()) return false;
  reading now;
  resolved_source found{};
  if (std::optional<blindness> why = resolve(from_, found)) {
    go_blind(*why);
    return false;
  }
  time_limit limit(source_timeout_ms());
  try {
    ErrorData* raised = discard([&] {
      call([&] { become_owner(found.owner); });
      body(plans_of(from_, found));
      limit.disarm();
    });
    if (limit.ran_out()) go_blind(overdue());
    else if (raised != nullptr) go_blind(blind(raised));
  } catch (const pg_error& cancelled) {
    // Our own limit looks like the user's cancel; a cancel, timeout or shutdown of the session passes.
    if (!limit.caused(cancelled.data)) throw;
    go_blind(overdue());
  } catch (const error& malformed) {
    go_blind(blind(malformed.sqlstate(), malformed.message()));
  }
  return !is_blind();
}

bool source_reader::is_sound(const row_columns& row) {
  const char* const flaw = flaw_of(row);
  if (flaw_ == nullptr) flaw_ = flaw;
  return flaw == nullptr;
}

void source_reader::warn_of_flaw() const {
  if (is_blind() || flaw_ == nullptr) return;
  warn("01000",
       (message_text<512>() << "source of kind " << quoted{from_.kind}
                            << " has a row that cannot be a target: " << flaw_).view(),
       "Rows like it are passed over, and count as not listed, until the relation is mended or leaves them out.");
}

bool source_reader::go_on_bare() {
  if (!is_blind() || bare_) return false;
  std::string_view const state = why().sqlstate;
  if (state.substr(0, 2) != "22" && state != "54001") return false;
  bare_ = true;
  why_.reset();
  return true;
}

listed_rows source_reader::page(const place& after, int limit, bool whole) {
  limit = std::min(limit, page_rows_max);
  listed_rows listed;
  bool again = false;
  do {
    bool const all = flaw_ == nullptr;
    listed = read_page(after, limit, whole && !bare_, all);
    // With flawed rows left out by the query, the page is full of others, and ends at a row that is a place.
    again = (all && flaw_ != nullptr) || (whole && go_on_bare());
  } while (again && !is_blind());
  return listed;
}

listed_rows source_reader::read_page(const place& after, int limit, bool whole, bool all) {
  listed_rows listed;
  bool const readable = as_owner([&](source_plans& plans) {
    bool const from_start = after.at_start() || !fits_type(plans.id_type, after.id_text());
    rows const found =
        from_start ? run_plan(whole ? plans.first_whole : plans.first, params().number(limit).boolean(all), limit,
                              sight::fresh)
                   : run_plan(whole ? plans.next_whole : plans.next,
                              params().time(after.lost_at).text(after.id_text()).number(limit).boolean(all), limit,
                              sight::fresh);
    for (int at = 0; at < found.size() && at < page_rows_max; ++at) {
      row_columns const row(found.tuple(at), found.descriptor());
      if (is_sound(row)) listed.push_back(read_facts(row, further_max(from_)));
    }
    refuse_repeated_ids(listed);
  });
  if (!readable) listed.clear();
  return listed;
}

void source_reader::look_up(wanted_row* wanted, int count, sight seen) {
  do {
    for (int at = 0; at < count; ++at) wanted[at].listed = false;
    if (count == 1 || !look_up_at_once(wanted, count, seen)) look_up_one_by_one(wanted, count, seen);
  } while (go_on_bare());
  if (!is_blind()) return;
  for (int at = 0; at < count; ++at) wanted[at].listed = false;
}

void source_reader::take_row(wanted_row& one, const row_columns& row) {
  // A collation may call other ids equal; a target is its bytes.
  if (!row.has(col_id) || row.text(col_id) != one.id || !is_sound(row)) return;
  if (one.listed) refuse_twice(one.id);
  one.now = read_facts(row, further_max(from_));
  one.listed = true;
}

bool source_reader::look_up_at_once(wanted_row* wanted, int count, sight seen) {
  bool supported = true;
  source_plans* asked = nullptr;
  (void)as_owner([&](source_plans& plans) {
    bounded<std::string_view> ids;
    bounded<instant> times;
    bounded<wanted_row*> targets;
    supported = !plans.one_by_one;
    for (int at = 0; at < count && supported; ++at) {
      if (!fits_type(plans.id_type, wanted[at].id)) continue;
      if (!plans.id_indexed && !wanted[at].lost_at) supported = false;
      ids.push_back(wanted[at].id);
      times.push_back(wanted[at].lost_at.value_or(0));
      targets.push_back(&wanted[at]);
    }
    if (!supported || ids.empty()) return;
    asked = &plans;
    rows const found =
        run_plan(plans.by_keys, params().add(text_array(ids)).add(time_array(times)).boolean(!bare_), 0, seen);
    for (int at = 0; at < found.size(); ++at) {
      row_columns const row(found.tuple(at), found.descriptor());
      take_row(*targets[static_cast<std::size_t>(row.number(col_ordinal)) - 1], row);
    }
  });
  // Some kinds of relation have no correlated queries (tables spread over servers): they are asked by key.
  if (asked != nullptr && is_blind() && std::string_view(why().sqlstate) == sqlstate::feature_not_supported) {
    asked->one_by_one = true;
    why_.reset();
    for (int at = 0; at < count; ++at) wanted[at].listed = false;
    return false;
  }
  return supported;
}

void source_reader::look_up_one_by_one(wanted_row* wanted, int count, sight seen) {
  (void)as_owner([&](source_plans& plans) {
    for (int at = 0; at < count; ++at) {
      check_for_interrupts();
      wanted_row& one = wanted[at];
      if (!fits_type(plans.id_type, one.id)) continue;
      bool const by_id = !plans.id_indexed && !one.lost_at;
      params const key = params().text(one.id).time(one.lost_at.value_or(0)).boolean(!bare_);
      rows const found = run_plan(by_id ? plans.by_id : plans.by_key, key, equal_ids_max, seen);
      for (int row = 0; row < found.size(); ++row) take_row(one, row_columns(found.tuple(row), found.descriptor()));
    }
  });
}

}  // namespace ql3::pg
