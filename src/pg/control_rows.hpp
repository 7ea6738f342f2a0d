// The statements on ql3.run_recovery_controls: one key per execution, equality on every key column, no due column in
// a by-key statement.
#pragma once

#include "args.hpp"
#include "source_reader.hpp"

namespace ql3::pg {

// A locked control row.
struct locked_control {
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

// Locks the row if nobody else has it; never waits.
std::optional<locked_control> lock_if_free(std::string_view kind, std::string_view id);
// Locks the row, waiting at most for the session's lock timeout (1 s; 55P03).
std::optional<locked_control> lock_waiting(std::string_view kind, std::string_view id);
// Reads the row without a lock.
std::optional<locked_control> read_control(std::string_view kind, std::string_view id);

// Locks up to `limit` rows of the kind that are due at `clock` and not held, earliest due first, skipping what others
// have locked.
bounded<locked_control> lock_due(std::string_view kind, instant clock, int limit);

// What a claim writes.
struct claim_stamp {
  std::string_view owner;
  const unsigned char* token_digest;
  instant observed_at;
  instant claimed_at;
  instant expires_at;
  std::int64_t mark;
};
void insert_claimed(std::string_view kind, const facts& now, const claim_stamp& stamp, std::int64_t version);
void update_claimed(std::string_view kind, const facts& now, const claim_stamp& stamp, std::int64_t version,
                    std::int32_t failure_count);
// For a row that this transaction inserted or locked.
void delete_control(std::string_view kind, std::string_view id);

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
void end_claim(std::string_view kind, std::string_view id, const ending& how);
// The target left its source: resolved, count 0; how its last claim ended stays recognisable.
void mark_left(std::string_view kind, std::string_view id, instant clock);
void extend_claim(std::string_view kind, std::string_view id, instant expires_at, std::optional<instant> due_at);

// A row of ql3.judgements.
struct judgement {
  std::string_view kind;
  std::string_view id;
  std::int64_t version;
  std::optional<std::string_view> owner;
  std::string_view run_id;
  std::optional<std::string_view> status;
  instant lost_at;
  std::string_view disposition;
  std::optional<std::string_view> verdict;
  std::optional<std::string_view> note;
  std::optional<Datum> evidence;  // jsonb
  std::string_view result;
  std::int32_t failure_count;
  instant judged_at;
};
void write_judgement(const judgement& what);

}  // namespace ql3::pg
