// The rows of ql3.run_recovery_controls, by key and by due time, through its indexes (own_table.hpp): no statistics and
// no planner setting have a say in it.
#pragma once

#include "args.hpp"
#include "own_table.hpp"
#include "source_reader.hpp"

namespace ql3::pg {

// A locked control row. Views lie in `row`.
struct locked_control {
  HeapTuple row;
  std::string_view kind;
  std::string_view id;
  control_view control;
  std::string_view run_id;
  std::optional<std::string_view> status;
  std::optional<instant> created_at;
  instant lost_at;
  instant observed_at;
  std::optional<std::string_view> owner;
  const unsigned char* token_digest;  // nullptr when absent
  std::optional<instant> claimed_at;
  std::optional<instant> due_at;
  std::optional<std::int64_t> claim_mark;
  const unsigned char* ended_digest;  // nullptr when absent
  std::optional<std::string_view> ended_result;
  std::optional<std::string_view> detail;

  bool is_incident_of(const facts& now) const noexcept { return now.same_incident(run_id, status, lost_at); }
};

using target_name = own_table::row_name;

// Locks the row if nobody else has it; never waits.
std::optional<locked_control> lock_if_free(std::string_view kind, std::string_view id);
// Locks the row, waiting at most for the session's lock timeout (1 s; 55P03).
std::optional<locked_control> lock_waiting(std::string_view kind, std::string_view id);
// As these, each of a page in the order given, under one snapshot.
bounded<std::optional<locked_control>> lock_all(const bounded<target_name>& names, lock_wait policy);
// Reads the row without a lock.
std::optional<locked_control> read_control(std::string_view kind, std::string_view id);
// The row of this tuple of the table.
locked_control read_locked(HeapTuple row);

// What a claim writes.
struct claim_stamp {
  std::string_view owner;
  const unsigned char* token_digest;
  instant observed_at;
  instant claimed_at;
  instant expires_at;
  std::int64_t mark;
};
// Answers the row, for update_claimed() or delete_control().
HeapTuple insert_claimed(std::string_view kind, const facts& now, const claim_stamp& stamp, std::int64_t version);
void update_claimed(HeapTuple row, std::string_view kind, const facts& now, const claim_stamp& stamp,
                    std::int64_t version, std::int32_t failure_count);
// For a row that this transaction inserted or locked.
void delete_control(HeapTuple row);

// What ends a claim, or moves a row without one. `due_at` empty = looked at only when listed again.
struct ending {
  state st;
  std::optional<instant> next_claim_at;
  std::optional<instant> due_at;
  std::int32_t failure_count;
  const unsigned char* ended_digest;  // nullptr: keep none
  std::string_view ended_result;
  std::optional<std::string_view> detail;
};
// Writes the row of a target that has none, with version 0. False, and nothing written, when there is one or another
// session is just making it.
bool insert_unclaimed(std::string_view kind, const facts& now, const ending& how);
void end_claim(const locked_control& of, const ending& how);
// The target left its source: resolved, count 0; how its last claim ended stays recognisable.
void mark_left(const locked_control& of, instant clock);
// Without `due_at` no index entry is written (HOT).
void extend_claim(const locked_control& of, instant expires_at, std::optional<instant> due_at);

}  // namespace ql3::pg
