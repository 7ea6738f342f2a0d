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

// discovery and sweep have one place each; gap walks what a rolled-back claim left behind discovery.
enum class walk { discovery, sweep, gap };

// Where a walk stands, and for a gap where it ends. `generation` is the source's: hints of another one are forgotten
// first. Absent: there is no gap to walk.
struct standing_place {
  place at;
  std::optional<place> end;
};
std::optional<standing_place> read_place(std::string_view kind, std::int64_t generation, walk which);

// Moves the walk from `from` to `to`, unless somebody else moved it meanwhile. The winner owns the rows in between.
// A gap that is walked to its end is closed with `done`.
bool move_place(std::string_view kind, std::int64_t generation, walk which, const place& from, const place& to,
                bool done = false);

// Rows after `from` up to `to` were chosen by a claim that was rolled back. Called while a transaction aborts: it
// allocates nothing and cannot fail. REQUIRES: this backend has read a place before.
void open_gap(std::string_view kind, std::int64_t generation, const place& from, const place& to) noexcept;

// True at most once per `period` and source: a sweep is due even though pages are full.
bool take_sweep_turn(std::string_view kind, std::int64_t generation, instant clock, std::int64_t period);

// Where the due rows of a source begin in the due-time index: before `from` lie only entries of rows that are gone.
// Under an old snapshot held elsewhere nobody can clear those away, so a claim must not walk them.
struct due_mark {
  instant from;         // instant_min where nothing is known
  std::uint64_t late;   // number of late writes when it was read
};
// The mark speaks about one table: another `table` starts anew. (The pages of claims have one too, under no kind.)
due_mark read_due_mark(std::string_view kind, std::int64_t generation, Oid table);

// A scan that began at `began` with the mark `read` found that no row that is or may yet become visible is due before
// `to`. Does nothing when a row was written late meanwhile, or the clock stepped back.
void advance_due_mark(std::string_view kind, std::int64_t generation, Oid table, const due_mark& read, instant began,
                      instant to);

// A row that is due at `due` has just been written, its index entry too. Whoever writes calls this afterwards: a scan
// that missed the entry began before it, so its mark lies before now and the write is late by then (docs/selection.md).
void note_due(std::string_view kind, instant due);

// True for the first caller after a restart or attach: it seeds the discovery place from what claims remembered.
bool needs_seed(std::string_view kind, std::int64_t generation);

}  // namespace ql3::pg
