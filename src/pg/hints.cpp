#include "hints.hpp"

#include <algorithm>

#include "compat.hpp"

namespace ql3::pg {

namespace {

// A row is written late when it was due this long before; marks stay as far behind the clock.
constexpr std::int64_t due_late_min = 50'000;
constexpr std::int64_t due_step_min = 10'000;

constexpr int slot_count = sources_max + 2;  // the built-in kind, and the pages of claims
constexpr char area_name[] = "ql3 hints";

struct slot {
  Oid database;
  std::int64_t generation;
  std::uint64_t used;  // for eviction: the slot used longest ago gives way
  instant swept_at;
  bool seeded;
  char kind[kind_max + 1];
  place places[2];
  Oid due_table;
  instant due_from;  // counts for due_table only
};

// Few are ever open: one per claim that was rolled back and not yet walked. With no room left the widest answer is to
// merge, and what does not fit at all is found by the sweep.
constexpr int gap_count = 24;
struct gap {
  Oid database;  // InvalidOid: free
  std::int64_t generation;
  char kind[kind_max + 1];
  place from;
  place to;
};

// Standard layout, no pointers: mapped by every backend.
struct area {
  LWLock lock;
  std::uint64_t clock;
  std::uint64_t late;        // writes of rows due before their writing, all kinds
  pg_atomic_uint64 highest;  // no mark was ever above it; read without the lock
  slot slots[slot_count];
  gap gaps[gap_count];
};
static_assert(std::is_standard_layout_v<area> && std::is_trivially_default_constructible_v<area> &&
              std::is_trivially_copyable_v<slot>);
// The server keeps about 100 kB of shared memory for those who come after its start; we take about 59.
static_assert(sizeof(area) < 60 * 1024);

constinit area private_area{};  // used when the server has no shared memory left to give: hints of this backend alone
constinit area* mapped = nullptr;
bool is_private = false;

void initialise(area* fresh) noexcept {
  memset(static_cast<void*>(fresh), 0, sizeof(area));
}

// Maps the area. Asking for shared memory can fail for want of it, and that must not fail a claim.
void map_area() {
  if (mapped != nullptr) return;
  area* found = nullptr;
  ErrorData* refused = discard([&] {
    found = call([] {
      bool existed = false;
      LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
      auto* shared = static_cast<area*>(ShmemInitStruct(area_name, sizeof(area), &existed));
      if (!existed) {
        initialise(shared);
        pg_atomic_init_u64(&shared->highest, 0);
      }
      // No tranche of an extension is 0: whoever made the area was refused one.
      if (shared->lock.tranche == 0) LWLockInitialize(&shared->lock, compat::new_lock_tranche(area_name));
      LWLockRelease(AddinShmemInitLock);
      compat::name_lock_tranche(shared->lock.tranche, area_name);
      return shared;
    });
  });
  if (refused == nullptr) {
    mapped = found;
    return;
  }
  initialise(&private_area);
  pg_atomic_init_u64(&private_area.highest, 0);
  mapped = &private_area;
  is_private = true;
}

// Holds the area's lock. Between construction and destruction nothing may fail.
class guard {
 public:
  guard() {
    map_area();
    if (!is_private) call([] { LWLockAcquire(&mapped->lock, LW_EXCLUSIVE); });
  }
  ~guard() noexcept {
    if (!is_private) LWLockRelease(&mapped->lock);
  }
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
};

slot& slot_of(std::string_view kind, std::int64_t generation) noexcept {
  slot* found = nullptr;
  slot* oldest = &mapped->slots[0];
  for (slot& each : mapped->slots) {
    if (each.database == MyDatabaseId && kind == each.kind) {
      found = &each;
      break;
    }
    if (each.used < oldest->used) oldest = &each;
  }
  if (found == nullptr || found->generation != generation) {
    if (found == nullptr) found = oldest;
    memset(static_cast<void*>(found), 0, sizeof(slot));
    found->database = MyDatabaseId;
    found->generation = generation;
    // Not memcpy: the empty kind has no text at all, and even no bytes may not come from nowhere.
    std::copy(kind.begin(), kind.end(), found->kind);
  }
  found->used = ++mapped->clock;
  return *found;
}

gap* gap_of(std::string_view kind, std::int64_t generation) noexcept {
  for (gap& each : mapped->gaps)
    if (each.database == MyDatabaseId && each.generation == generation && kind == each.kind) return &each;
  return nullptr;
}

// Ids are ordered by the source's collation, which is not ours to know: with equal times the whole tie is taken in.
void widen(gap& open, const place& from, const place& to) noexcept {
  if (from.at_start() || open.from.at_start()) open.from = place{};
  else if (!(from == open.from))
    open.from = from.lost_at < open.from.lost_at ? from : open.from.lost_at < from.lost_at ? open.from : place{};
  if (to.lost_at > open.to.lost_at) open.to = to;
  else if (to.lost_at == open.to.lost_at && !(to == open.to)) open.to.size = 0;
}

}  // namespace

place place::of(instant lost_at, std::string_view id) noexcept {
  place made{};
  made.lost_at = lost_at;
  made.size = static_cast<std::uint16_t>(id.size() > id_max ? id_max : id.size());
  std::memcpy(made.id, id.data(), made.size);
  return made;
}

std::optional<standing_place> read_place(std::string_view kind, std::int64_t generation, walk which) {
  guard locked;
  if (which != walk::gap) return standing_place{slot_of(kind, generation).places[static_cast<int>(which)], {}};
  if (gap* open = gap_of(kind, generation)) return standing_place{open->from, open->to};
  return std::nullopt;
}

bool move_place(std::string_view kind, std::int64_t generation, walk which, const place& from, const place& to,
                bool done) {
  guard locked;
  if (which == walk::gap) {
    gap* const open = gap_of(kind, generation);
    if (open == nullptr || !(open->from == from)) return false;
    if (done) open->database = InvalidOid;
    else open->from = to;
    return true;
  }
  place& present = slot_of(kind, generation).places[static_cast<int>(which)];
  if (!(present == from)) return false;
  present = to;
  return true;
}

void open_gap(std::string_view kind, std::int64_t generation, const place& from, const place& to) noexcept {
  if (mapped == nullptr) return;
  if (!is_private) LWLockAcquire(&mapped->lock, LW_EXCLUSIVE);
  gap* free = nullptr;
  gap* same = nullptr;
  for (gap& each : mapped->gaps) {
    if (each.database == InvalidOid) free = &each;
    else if (each.database == MyDatabaseId && kind == each.kind && each.generation == generation) same = &each;
  }
  if (free != nullptr) {
    memset(static_cast<void*>(free), 0, sizeof(gap));
    free->database = MyDatabaseId;
    free->generation = generation;
    memcpy(free->kind, kind.data(), kind.size());
    free->from = from;
    free->to = to;
  } else if (same != nullptr) {
    widen(*same, from, to);
  }
  if (!is_private) LWLockRelease(&mapped->lock);
}

bool take_sweep_turn(std::string_view kind, std::int64_t generation, instant clock, std::int64_t period) {
  guard locked;
  slot& present = slot_of(kind, generation);
  // A clock that stepped back must not stop the sweep.
  if (present.swept_at <= clock && clock - present.swept_at < period) return false;
  present.swept_at = clock;
  return true;
}

due_mark read_due_mark(std::string_view kind, std::int64_t generation, Oid table) {
  guard locked;
  const slot& present = slot_of(kind, generation);
  // Hints of this backend alone cannot know what others write.
  bool const known = present.due_table == table && !is_private;
  return {known ? present.due_from : instant_min, mapped->late};
}

void advance_due_mark(std::string_view kind, std::int64_t generation, Oid table, const due_mark& read, instant began,
                      instant to) {
  instant const mark = std::min(to, later(began, -due_late_min));
  // Small steps are not worth the lock.
  if (mark < 0 || (read.from != instant_min && mark - read.from < due_step_min)) return;
  guard locked;
  if (is_private || mapped->late != read.late || GetCurrentTimestamp() < began) return;
  slot& present = slot_of(kind, generation);
  if (present.due_table == table && present.due_from >= mark) return;
  // First the bound, then the mark: a writer that looks in between finds itself late.
  if (pg_atomic_read_u64(&mapped->highest) < static_cast<std::uint64_t>(mark))
    pg_atomic_write_u64(&mapped->highest, static_cast<std::uint64_t>(mark));
  pg_memory_barrier();
  present.due_table = table;
  present.due_from = mark;
}

void note_due(std::string_view kind, instant due) {
  map_area();
  pg_memory_barrier();
  bool const late = due <= GetCurrentTimestamp() - due_late_min || due < 0 ||
                    static_cast<std::uint64_t>(due) < pg_atomic_read_u64(&mapped->highest);
  if (!late) return;
  guard locked;
  ++mapped->late;
  for (slot& each : mapped->slots)
    if (each.database == MyDatabaseId && kind == each.kind && each.due_from > due) each.due_from = due;
}

bool needs_seed(std::string_view kind, std::int64_t generation) {
  guard locked;
  slot& present = slot_of(kind, generation);
  if (present.seeded) return false;
  present.seeded = true;
  return true;
}

}  // namespace ql3::pg
