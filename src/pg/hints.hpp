// Where discovery and the sweep of each source stand: hints in shared memory, seen by every backend at once, outside
// any transaction. Losing them (restart, eviction) costs re-reading, never correctness; so they need no WAL, an idle
// claim can move them without writing, and an open transaction elsewhere cannot hold them back.
#pragma once

#include "boundary.hpp"

namespace ql3::pg {

// A place in a source's order (lost_at, id).
struct place {
  instant lost_at;
  std::uint16_t size;  // of id; 0 = before the first row
  char id[id_max];

  bool at_start() const noexcept { return size == 0; }
  std::string_view id_text() const noexcept { return {id, size}; }
  static place of(instant lost_at, std::string_view id) noexcept;
  friend bool operator==(const place& a, const place& b) noexcept {
    return a.size == b.size && (a.size == 0 || (a.lost_at == b.lost_at && std::memcmp(a.id, b.id, a.size) == 0));
  }
};

enum class walk { discovery, sweep };

// The present place of a walk. `generation` is the source's: hints of another one are forgotten first.
place read_place(std::string_view kind, std::int64_t generation, walk which);

// Moves the walk from `from` to `to`, unless somebody else moved it meanwhile. The winner owns the rows in between.
bool move_place(std::string_view kind, std::int64_t generation, walk which, const place& from, const place& to);

// True at most once per `period` and source: a sweep is due even though pages are full.
bool take_sweep_turn(std::string_view kind, std::int64_t generation, instant clock, std::int64_t period);

// True for the first caller after a restart or attach: it seeds the discovery place from what claims remembered.
bool needs_seed(std::string_view kind, std::int64_t generation);

}  // namespace ql3::pg
