#include "claim_page.hpp"

#include <algorithm>

#include "discovered.hpp"
#include "judgements.hpp"
#include "scratch.hpp"
#include "session.hpp"
#include "try_lock.hpp"
#include "vanished.hpp"

namespace ql3::pg {

namespace {

// How far one claim reads past rows it cannot take, per kind. With page_rows_max it bounds the work of a claim.
constexpr int discovery_rows_max = 4096;
// How often another claimer may take the same rows first before this one stops contending for the place.
constexpr int contention_max = 16;
// While pages are full, each source is swept this often all the same.
constexpr std::int64_t sweep_period = one_second;
// A page whose locks took longer than this gets a new lease start.
constexpr std::int64_t stamp_drift_max = 20'000;
// Due rows that turn out to have left their source are put aside in steps of a page, at most this often per kind.
constexpr int due_rounds_max = 8;

// How often what some kinds left over is shared by the others.
constexpr int share_rounds = 4;

int sweep_rows(int page_size) noexcept { return std::max(64, 4 * page_size); }

// Cuts the chunk behind the end of a gap; true when the end was reached. A place without an id ends with its tie.
bool cut_at(listed_rows& chunk, const std::optional<place>& end) noexcept {
  if (!end) return false;
  for (std::size_t at = 0; at < chunk.size(); ++at) {
    if (chunk[at].lost_at > end->lost_at) {
      chunk.resize(at);
      return true;
    }
    if (chunk[at].lost_at == end->lost_at && chunk[at].id == end->id_text()) {
      chunk.resize(at + 1);
      return true;
    }
  }
  return false;
}

facts kept_facts(MemoryContext where, const facts& row) {
  return in_memory(where, [&] {
    facts kept = row;
    kept.id = keep_text(row.id);
    kept.run_id = keep_text(row.run_id);
    if (row.status) kept.status = keep_text(*row.status);
    if (row.further) kept.further = keep_text(*row.further);
    return kept;
  });
}

}  // namespace

claim_page::claim_page(const claim_request& request, const per_source<source>& sources)
    : request_(request), timeline_(live_timeline()) {
  for (const source& each : sources) {
    readers_.push_back(source_reader(each));
    floors_.push_back(each.version_floor);
    due_.push_back(due_scan(each.kind, each.generation));
  }
}

bool claim_page::is_taken(int reader, std::string_view id) const noexcept {
  // Ids differ at their ends more often than at their beginnings.
  for (const taken_target& each : taken_)
    if (each.reader == reader && each.now.id.back() == id.back() && each.now.id == id) return true;
  return false;
}

void claim_page::stamp_once() {
  if (stamped_) return;
  stamped_ = true;
  stamp_.owner = request_.owner;
  stamp_.token_digest = request_.token_digest;
  stamp_.observed_at = statement_time();
  stamp_.claimed_at = clock_now();
  stamp_.expires_at = first_expiry(stamp_.claimed_at, request_.lease);
  stamp_.mark = transaction_mark(true);
}

void claim_page::fill() {
  int const kinds = static_cast<int>(readers_.size());
  // Which kind goes first changes from claim to claim, so that no kind always gets the larger part.
  auto const start = static_cast<unsigned>(random_bits());
  per_source<bool> more(readers_.size(), true);
  per_source<bool> unswept(readers_.size(), true);

  // First an equal part for every kind; then what the others left over is shared by those that have more.
  for (int round = 0; round < share_rounds && missing() > 0; ++round) {
    int left = static_cast<int>(std::count(more.begin(), more.end(), true));
    for (int step = 0; step < kinds && missing() > 0; ++step) {
      int const at = rotated(start, step, kinds);
      if (!more[at]) continue;
      int const part = round == 0 ? std::max(1, request_.page_size / kinds) : share(missing(), left--);
      more[at] = take_share(at, std::min(part, missing()), unswept[at]);
    }
  }
  // A short page looks behind discovery before it says so.
  for (int step = 0; step < kinds && missing() > 0; ++step) {
    int const at = rotated(start, step, kinds);
    if (unswept[at]) take_listed(at, missing(), walk::sweep, sweep_rows(request_.page_size));
  }
  for (int at = 0; at < kinds; ++at)
    if (readers_[at].is_blind()) drop_blind(at);
  write_known();
  peek_.close();
}

bool claim_page::take_share(int reader, int part, bool& unswept) {
  const source& from = readers_[reader].from();
  int const before = static_cast<int>(taken_.size());
  auto still = [&] { return part - (static_cast<int>(taken_.size()) - before); };
  if (take_sweep_turn(from.kind, from.generation, clock_now(), sweep_period))
    unswept = take_listed(reader, share(part, 4), walk::sweep, sweep_rows(request_.page_size));
  // Half of the part at first for what is due, so that neither stream starves the other.
  bool more_due = take_due(reader, share(still(), 2));
  take_listed(reader, still(), walk::gap, discovery_rows_max);
  bool const more_listed = take_listed(reader, still(), walk::discovery, discovery_rows_max);
  if (more_due && still() > 0) more_due = take_due(reader, still());
  return more_due || more_listed;
}

bool claim_page::take_due(int reader, int need) {
  if (need <= 0 || readers_[reader].is_blind()) return !readers_[reader].is_blind();
  int const goal = static_cast<int>(taken_.size()) + need;
  for (int round = 0; round < due_rounds_max; ++round) {
    int const want = goal - static_cast<int>(taken_.size());
    if (want <= 0) return true;
    bounded<locked_control> const due = due_[reader].lock_next(clock_now(), want);
    candidates locked;
    instant const clock = clock_now();
    for (const locked_control& row : due) {
      if (is_taken(reader, row.id) || static_cast<int>(locked.size()) == want) continue;
      if (judge(row.control, clock, false) != claimability::claimable) continue;
      facts as_known{};
      as_known.id = row.id;
      as_known.lost_at = row.lost_at;
      locked.push_back({as_known, false, row.row, row});
    }
    bool const exhausted_stream = static_cast<int>(due.size()) < want;
    if (!locked.empty()) verify(reader, locked);
    if (readers_[reader].is_blind()) return false;
    if (exhausted_stream || locked.empty()) return false;
  }
  return true;
}

bool claim_page::take_listed(int reader, int need, walk which, int row_budget) {
  source_reader& from = readers_[reader];
  if (need <= 0 || from.is_blind()) return !from.is_blind();
  std::string_view const kind = from.from().kind;
  std::int64_t const generation = from.from().generation;
  int const goal = static_cast<int>(taken_.size()) + need;
  int rows_left = row_budget;
  int contended = 0;
  bool wrapped = false;
  int limit = std::clamp(need, 32, page_rows_max);
  while (static_cast<int>(taken_.size()) < goal && rows_left > 0) {
    candidates chosen;
    bool ended = false;
    bool from_start = false;
    {
      scratch step;
      std::optional<standing_place> const standing = read_place(kind, generation, which);
      if (!standing) return false;
      place const stood = standing->at;
      limit = std::min(limit, rows_left);
      listed_rows chunk = from.page(stood, limit, false);
      if (from.is_blind()) return false;
      bool const last_rows = static_cast<int>(chunk.size()) < limit || cut_at(chunk, standing->end);
      from_start = stood.at_start();
      place reached = stood;
      bool all_seen = false;
      sort_out(reader, chunk, goal - static_cast<int>(taken_.size()), reached, chosen, all_seen);
      for (candidate& each : chosen) each.now = kept_facts(step.outer(), each.now);
      ended = all_seen && last_rows;
      rows_left -= static_cast<int>(chunk.size());
      place const to = ended && which == walk::sweep ? place{} : reached;
      bool const moves = !(to == stood) || (ended && which == walk::gap);
      if (moves && !move_place(kind, generation, which, stood, to, ended) && ++contended < contention_max) {
        rows_left += static_cast<int>(chunk.size());
        continue;  // another claimer took these rows: look from where it left off
      }
      if (!chosen.empty()) remember_discovered(kind, generation, stood, reached);
    }
    if (!chosen.empty()) {
      lock_candidates(reader, chosen);
      if (!chosen.empty()) verify(reader, chosen);
      if (from.is_blind()) return false;
    }
    // The sweep goes round: what it has not looked at in this call lies before where it stood.
    if (ended && which == walk::gap) continue;  // perhaps there is another gap
    if (ended && (which == walk::discovery || from_start || wrapped)) return false;
    wrapped = ended;
    limit = std::min(2 * limit, page_rows_max);
  }
  return true;
}

void claim_page::sort_out(int reader, const listed_rows& chunk, int need, place& reached, candidates& chosen,
                          bool& all_seen) {
  std::string_view const kind = readers_[reader].from().kind;
  instant const clock = clock_now();
  for (const facts& row : chunk) {
    if (static_cast<int>(chosen.size()) == need) return;
    check_for_interrupts();
    // A row from the future must not carry discovery past everything that comes before it.
    if (row.lost_at <= statement_time()) reached = place::of(row.lost_at, row.id);
    if (is_taken(reader, row.id)) continue;
    peeked const seen = peek_.look(kind, row.id);
    if (seen.there == presence::in_progress) continue;
    if (seen.there == presence::committed) {
      bool const changed = !row.same_incident(seen.run_id, seen.status, seen.lost_at);
      if (judge(seen.control, clock, changed) != claimability::claimable) continue;
    }
    chosen.push_back({row, seen.there == presence::absent, nullptr, {}});
  }
  all_seen = true;
}

void claim_page::lock_candidates(int reader, candidates& chosen) {
  const source& from = readers_[reader].from();
  candidates locked;
  for (candidate& each : chosen) {
    check_for_interrupts();
    if (each.fresh) {
      brief_lock key(lock_space::target, lock_key(from.kind, each.now.id));
      if (!key.held()) continue;
      // Under the lock nobody else can be between this look and the insert.
      if (peek_.look(from.kind, each.now.id).there == presence::absent) {
        stamp_once();
        each.row = insert_claimed(from.kind, each.now, stamp_, next_version(0, from.version_floor, timeline_));
        locked.push_back(each);
      }
      key.release();
      continue;
    }
    std::optional<locked_control> row = lock_if_free(from.kind, each.now.id);
    if (!row) continue;
    if (judge(row->control, clock_now(), !row->is_incident_of(each.now)) != claimability::claimable) continue;
    each.before = *row;
    each.row = row->row;
    locked.push_back(each);
  }
  // A prune since our first look may have removed a row and raised the floor above its version.
  for (const candidate& each : locked) {
    if (!each.fresh) continue;
    floors_[reader] = std::max(floors_[reader], current_floor(from.kind));
    break;
  }
  chosen = locked;
}

int claim_page::verify(int reader, candidates& locked) {
  source_reader& from = readers_[reader];
  bounded<wanted_row> wanted;
  for (const candidate& each : locked) wanted.push_back({each.now.id, each.now.lost_at, false, {}});
  from.look_up(wanted.data(), static_cast<int>(wanted.size()));
  std::size_t const before = taken_.size();
  for (std::size_t at = 0; at < locked.size(); ++at) {
    const candidate& one = locked[at];
    if (from.is_blind() || !wanted[at].listed) {
      // A blind source says nothing about its targets: known ones keep their state.
      if (one.fresh) delete_control(one.row);
      else if (!from.is_blind()) mark_left(one.before, clock_now());
      continue;
    }
    admit(reader, one, wanted[at].now);
  }
  return static_cast<int>(taken_.size() - before);
}

void claim_page::admit(int reader, const candidate& one, const facts& now) {
  const source& from = readers_[reader].from();
  taken_target target{};
  target.reader = reader;
  target.now = now;
  target.row = one.row;
  target.fresh = one.fresh;
  if (one.fresh) {
    target.rewrite = !now.same_incident(one.now.run_id, one.now.status, one.now.lost_at) ||
                     now.created_at != one.now.created_at || floors_[reader] != from.version_floor;
    target.version = next_version(0, floors_[reader], timeline_);
    taken_.push_back(target);
    return;
  }
  const locked_control& before = one.before;
  bool const changed = !before.is_incident_of(now);
  if (judge(before.control, clock_now(), changed) != claimability::claimable) return;
  // A new incident starts with a clean count; a claim that ran out counts when it is taken over.
  std::int32_t count = changed ? 0 : before.control.failure_count;
  if (before.control.st == state::claimed && !changed) {
    count = add_failure(count);
    if (exhausted(count, from.max_failures))
      return park_vanished(reader, before, count,
                           "owner vanished: its claims ran out as often as max_failures allows");
    if (vanished_too_often(before, count, clock_now()))
      return park_vanished(reader, before, count,
                           "owner vanished: its claims ran out with several owners in a row, as if it ended whoever "
                           "judges it");
  }
  target.version = next_version(before.control.version, floors_[reader], timeline_);
  target.failure_count = count;
  taken_.push_back(target);
}

void claim_page::park_vanished(int reader, const locked_control& before, std::int32_t failure_count,
                               std::string_view why) {
  const source& from = readers_[reader].from();
  end_claim(before, {state::manual, {}, {}, failure_count, nullptr, {}, why});
  write_judgement({from.kind, before.id, before.control.version, before.owner, before.run_id, before.status,
                   before.lost_at, to_text(disposition::manual), {}, why, {}, "parked", failure_count, clock_now()});
}

// A source that went blind on the way hands out nothing: what it gave before is put back as it was.
void claim_page::drop_blind(int reader) {
  bounded<taken_target> others;
  for (const taken_target& each : taken_) {
    if (each.reader != reader) others.push_back(each);
    else if (each.fresh) delete_control(each.row);
  }
  taken_ = others;
}

void claim_page::write_known() {
  if (taken_.empty()) return;
  stamp_once();
  bool const drifted = clock_now() - stamp_.claimed_at > stamp_drift_max;
  if (drifted) {
    stamp_.claimed_at = clock_now();
    stamp_.expires_at = first_expiry(stamp_.claimed_at, request_.lease);
  }
  for (const taken_target& each : taken_)
    if (!each.fresh || each.rewrite || drifted)
      update_claimed(each.row, readers_[each.reader].from().kind, each.now, stamp_, each.version, each.failure_count);
}

}  // namespace ql3::pg
