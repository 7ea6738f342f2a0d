#include "prune.hpp"

#include <algorithm>

#include "control_rows.hpp"
#include "scratch.hpp"
#include "session.hpp"

namespace ql3::pg {

namespace {

constexpr int window = 1000;
constexpr std::int64_t look_max = one_second;

constinit statement kinds_known{
    "SELECT s.kind, k.pruned_to FROM ql3.recovery_sources AS s LEFT JOIN ql3.recovery_kinds AS k ON k.kind = s.kind"
    " ORDER BY s.kind"};

// In key order from a place, so that a call reads what it looks at and no more.
constinit statement next_rows{
    "SELECT id, state = 'resolved' AND due_at IS NULL AND next_claim_at < $3 FROM ql3.run_recovery_controls"
    " WHERE kind = $1 AND id > $2 ORDER BY id LIMIT $4",
    TEXTOID, TEXTOID, TIMESTAMPTZOID, INT8OID};

constinit statement write_kind{
    "INSERT INTO ql3.recovery_kinds AS k (kind, version_floor, pruned_to) VALUES ($1, $2, $3)"
    " ON CONFLICT (kind) DO UPDATE SET version_floor = greatest(k.version_floor, EXCLUDED.version_floor),"
    "  pruned_to = EXCLUDED.pruned_to",
    TEXTOID, INT8OID, TEXTOID};

// One kind's walk through its controls.
struct walker {
  std::string_view kind;
  std::optional<source> from;  // none: not attached, so nothing lists its targets
  instant cutoff;
  int removed = 0;
  std::int64_t floor = 0;
};

bool is_over(const locked_control& row, instant cutoff) {
  return row.control.st == state::resolved && !row.due_at && row.control.has_next && row.control.next_claim_at < cutoff;
}

// Locked, judged again, and asked of the source: a target that came back keeps its row.
void remove_some(walker& at, const bounded<std::string_view>& ids) {
  bounded<locked_control> locked;
  bounded<wanted_row> wanted;
  for (std::string_view id : ids) {
    std::optional<locked_control> const row = lock_if_free(at.kind, id);
    if (!row || !is_over(*row, at.cutoff)) continue;
    locked.push_back(*row);
    wanted.push_back({row->id, row->lost_at, false, {}});
  }
  if (at.from) {
    source_reader reader(*at.from);
    reader.look_up(wanted.data(), static_cast<int>(wanted.size()));
    if (reader.is_blind()) return;  // it says nothing about its targets
  }
  for (std::size_t row = 0; row < locked.size(); ++row)
    if (!wanted[row].listed) at.floor = std::max(at.floor, locked[row].control.version);
  if (at.floor > 0) write_kind.write(params().text(at.kind).number(at.floor).null());
  for (std::size_t row = 0; row < locked.size(); ++row) {
    if (wanted[row].listed) continue;
    delete_control(locked[row].row);
    ++at.removed;
  }
}

// Looks at one window behind `place`; moves it, to empty at the end.
void step(walker& at, message_text<id_max + 1>& place, int most) {
  scratch memory;
  rows const found = next_rows.run(params().text(at.kind).text(place.view()).time(at.cutoff).number(window), window);
  bounded<std::string_view> over;
  std::string_view reached;
  for (int row = 0; row < found.size(); ++row) {
    check_for_interrupts();
    reached = found.text(row, 1);
    if (found.boolean(row, 2)) over.push_back(reached);
    if (static_cast<int>(over.size()) == std::min(most, page_size_max)) break;
    if (row == found.size() - 1 && found.size() < window) reached = {};
  }
  message_text<id_max + 1> next;
  next << reached;
  if (!over.empty()) remove_some(at, over);
  place = next;
}

}  // namespace

int prune_controls(instant cutoff, int most) {
  int removed = 0;
  instant const until = later(clock_now(), look_max);
  rows const kinds = kinds_known.run(params());
  for (int each = 0; each < kinds.size() && removed < most; ++each) {
    walker at{keep_text(kinds.text(each, 1)), {}, cutoff};
    at.from = source_of(at.kind);
    std::optional<std::string_view> const stood = kinds.maybe_text(each, 2);
    message_text<id_max + 1> place;
    place << stood.value_or(std::string_view{});
    bool const from_start = place.view().empty();
    bool wrapped = from_start;
    do {
      step(at, place, most - removed - at.removed);
      // Once round: what lies before where the last call stopped comes after the end.
      if (place.view().empty() && !wrapped) {
        wrapped = true;
        step(at, place, most - removed - at.removed);
      }
    } while (!place.view().empty() && removed + at.removed < most && clock_now() < until);
    removed += at.removed;
    if (!place.view().empty() || !from_start || at.floor > 0) {
      params to;
      to.text(at.kind).number(at.floor);
      if (place.view().empty()) to.null();
      else to.text(place.view());
      write_kind.write(to);
    }
  }
  return removed;
}

}  // namespace ql3::pg
