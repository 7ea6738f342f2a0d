#include "prune.hpp"

#include <algorithm>

#include "scratch.hpp"
#include "session.hpp"
#include "tombstones.hpp"
#include "try_lock.hpp"

namespace ql3::pg {

namespace {

constexpr int items_max = 1000;
constexpr int window = 128;

constinit statement decided_rows{
    "SELECT attempt, concluded_at FROM ql3.dispatches"
    " WHERE state IN ('succeeded', 'failed', 'not_sent', 'released') AND concluded_at < $1"
    "   AND (concluded_at, attempt) > ($2, $3) ORDER BY concluded_at, attempt LIMIT $4",
    TIMESTAMPTZOID, TIMESTAMPTZOID, UUIDOID, INT8OID};

// Undecided attempts stay, and so does what somebody has to look at: facts that disagree, two that stand for one item.
bool may_bury(const item_name& name, const attempt_row& row, instant cutoff) {
  dispatch_state const st = state_of(row.facts);
  if (st == dispatch_state::claimed || st == dispatch_state::unknown || facts_disagree(row.facts)) return false;
  if (!row.concluded_at || *row.concluded_at >= cutoff) return false;
  return st == dispatch_state::released || count_unreleased(name) == 1;
}

bool prune_one(const uuid_value& attempt, instant cutoff) {
  std::optional<item_name> const name = item_of_attempt(attempt);
  if (!name || !try_transaction_lock(lock_space::item, lock_key(name->request_uid, name->item))) return false;
  std::optional<attempt_row> const row = attempt_by_id(attempt);
  if (!row || row->is_tombstone || !may_bury(*name, *row, cutoff)) return false;
  bury(*name, *row, clock_now());
  return true;
}

}  // namespace

int prune_dispatches(instant cutoff, int most) {
  most = std::min(most, items_max);
  int removed = 0;
  instant after_time = instant_min;
  uuid_value after{};
  while (removed < most) {
    scratch step;
    rows const found = decided_rows.run(
        params().time(cutoff).time(after_time).add(uuid_datum(after)).number(window), window);
    for (int at = 0; at < found.size() && removed < most; ++at) {
      check_for_interrupts();
      after = uuid_of(found.datum(at, 1));
      after_time = found.time(at, 2);
      if (prune_one(after, cutoff)) ++removed;
    }
    if (found.size() < window) break;
  }
  return removed;
}

}  // namespace ql3::pg
