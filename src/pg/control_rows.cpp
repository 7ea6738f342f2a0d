#include "control_rows.hpp"

#include "control_columns.hpp"
#include "control_peek.hpp"
#include "row_columns.hpp"
#include "session.hpp"
#include "try_lock.hpp"

namespace ql3::pg {

namespace {

void set(changes& to, int column, std::string_view text) { to.set(column, text_datum(text)); }
void set(changes& to, int column, const std::optional<std::string_view>& text) {
  if (text) set(to, column, *text);
  else to.clear(column);
}
void set(changes& to, int column, const std::optional<instant>& at) {
  if (at) to.set(column, time_datum(*at));
  else to.clear(column);
}
void set(changes& to, int column, instant at) { to.set(column, time_datum(at)); }

void clear_claim(changes& to) {
  for (int column : {control_owner, control_token_digest, control_claimed_at, control_expires_at, control_claim_mark})
    to.clear(column);
}

void set_facts(changes& to, const facts& now, instant observed_at) {
  set(to, control_run_id, now.run_id);
  set(to, control_status, now.status);
  set(to, control_created_at, now.created_at);
  set(to, control_lost_at, now.lost_at);
  set(to, control_observed_at, observed_at);
}

void set_claim(changes& to, const claim_stamp& stamp, std::int64_t version, std::int32_t failure_count) {
  set(to, control_state, to_text(state::claimed));
  set(to, control_owner, stamp.owner);
  to.set(control_token_digest, bytea_datum(stamp.token_digest, digest_size));
  to.set(control_version, number_datum(version));
  set(to, control_claimed_at, stamp.claimed_at);
  set(to, control_expires_at, stamp.expires_at);
  set(to, control_due_at, stamp.expires_at);
  to.set(control_claim_mark, number_datum(stamp.mark));
  to.set(control_failure_count, Int32GetDatum(failure_count));
}

changes new_row(std::string_view kind, std::string_view id) {
  changes to;
  set(to, control_kind, kind);
  set(to, control_id, id);
  to.set(control_protocol, Int16GetDatum(protocol_known));
  return to;
}

// A row that becomes due before what claims have looked at already is put before them (docs/selection.md).
void write(HeapTuple before, std::string_view kind, const changes& to) {
  (void)controls().update(before, to);
  if (to.replaced[control_due_at - 1] && !to.nulls[control_due_at - 1])
    note_due(kind, DatumGetTimestampTz(to.values[control_due_at - 1]));
}

}  // namespace

locked_control read_locked(HeapTuple tuple) {
  row_columns const at(tuple, controls());
  // Fail closed on a row written by a later protocol.
  if (DatumGetInt16(at.datum(control_protocol)) > protocol_known)
    throw error(sqlstate::feature_not_supported, "a control row was written by a later version of ql3",
                "Install the library of that version, then ALTER EXTENSION ql3 UPDATE.");
  locked_control row{};
  row.row = tuple;
  row.kind = at.text(control_kind);
  row.id = at.text(control_id);
  std::optional<state> const known = parse_state(at.text(control_state));
  if (!known) throw error(sqlstate::internal_error, "unknown state in ql3.run_recovery_controls");
  row.control.st = *known;
  row.run_id = at.text(control_run_id);
  row.status = at.maybe_text(control_status);
  row.created_at = at.maybe_time(control_created_at);
  row.lost_at = at.time(control_lost_at);
  row.observed_at = at.time(control_observed_at);
  row.owner = at.maybe_text(control_owner);
  row.token_digest = at.maybe_digest(control_token_digest);
  row.control.version = DatumGetInt64(at.datum(control_version));
  row.claimed_at = at.maybe_time(control_claimed_at);
  row.control.has_expires = at.has(control_expires_at);
  if (row.control.has_expires) row.control.expires_at = at.time(control_expires_at);
  row.control.has_next = at.has(control_next_claim_at);
  if (row.control.has_next) row.control.next_claim_at = at.time(control_next_claim_at);
  row.due_at = at.maybe_time(control_due_at);
  row.control.failure_count = DatumGetInt32(at.datum(control_failure_count));
  if (at.has(control_claim_mark)) row.claim_mark = DatumGetInt64(at.datum(control_claim_mark));
  row.ended_digest = at.maybe_digest(control_ended_digest);
  row.ended_result = at.maybe_text(control_ended_result);
  row.detail = at.maybe_text(control_detail);
  return row;
}

bounded<std::optional<locked_control>> lock_all(const bounded<target_name>& names, lock_wait policy) {
  own_table& table = controls();
  Snapshot const snapshot = fresh_snapshot();
  HeapTuple found[page_size_max];
  table.find_and_lock(snapshot, names.data(), static_cast<int>(names.size()), policy, found);
  bounded<std::optional<locked_control>> locked;
  for (std::size_t at = 0; at < names.size(); ++at)
    locked.push_back(found[at] == nullptr ? std::nullopt : std::optional(read_locked(found[at])));
  release_snapshot(snapshot);
  return locked;
}

std::optional<locked_control> lock_if_free(std::string_view kind, std::string_view id) {
  return lock_all({target_name{kind, id}}, lock_wait::skip)[0];
}
std::optional<locked_control> lock_waiting(std::string_view kind, std::string_view id) {
  return lock_all({target_name{kind, id}}, lock_wait::wait)[0];
}

std::optional<locked_control> read_control(std::string_view kind, std::string_view id) {
  own_table& table = controls();
  Snapshot const snapshot = fresh_snapshot();
  HeapTuple const row = table.find(snapshot, kind, id);
  release_snapshot(snapshot);
  return row == nullptr ? std::nullopt : std::optional(read_locked(row));
}

HeapTuple insert_claimed(std::string_view kind, const facts& now, const claim_stamp& stamp, std::int64_t version) {
  changes to = new_row(kind, now.id);
  set_facts(to, now, stamp.observed_at);
  set_claim(to, stamp, version, 0);
  HeapTuple const row = controls().insert(to);
  note_due(kind, stamp.expires_at);
  return row;
}

void update_claimed(HeapTuple row, std::string_view kind, const facts& now, const claim_stamp& stamp,
                    std::int64_t version, std::int32_t failure_count) {
  changes to;
  set_facts(to, now, stamp.observed_at);
  set_claim(to, stamp, version, failure_count);
  for (int column : {control_next_claim_at, control_ended_digest, control_ended_result, control_detail})
    to.clear(column);
  write(row, kind, to);
}

void delete_control(HeapTuple row) { controls().remove(row); }

bool insert_unclaimed(std::string_view kind, const facts& now, const ending& how) {
  brief_lock key(lock_space::target, lock_key(kind, now.id));
  if (!key.held()) return false;
  control_peek peek;
  bool const absent = peek.look(kind, now.id).there == presence::absent;
  peek.close();
  if (absent) {
    changes to = new_row(kind, now.id);
    set_facts(to, now, statement_time());
    set(to, control_state, to_text(how.st));
    to.set(control_version, number_datum(0)).set(control_failure_count, Int32GetDatum(how.failure_count));
    set(to, control_next_claim_at, how.next_claim_at);
    set(to, control_due_at, how.due_at);
    set(to, control_detail, how.detail);
    (void)controls().insert(to);
    if (how.due_at) note_due(kind, *how.due_at);
  }
  key.release();
  return absent;
}

void end_claim(const locked_control& of, const ending& how) {
  changes to;
  clear_claim(to);
  set(to, control_state, to_text(how.st));
  set(to, control_next_claim_at, how.next_claim_at);
  set(to, control_due_at, how.due_at);
  to.set(control_failure_count, Int32GetDatum(how.failure_count));
  if (how.ended_digest != nullptr) {
    to.set(control_ended_digest, bytea_datum(how.ended_digest, digest_size));
    set(to, control_ended_result, how.ended_result);
  } else {
    to.clear(control_ended_digest).clear(control_ended_result);
  }
  set(to, control_detail, how.detail);
  write(of.row, of.kind, to);
}

void mark_left(const locked_control& of, instant clock) {
  changes to;
  clear_claim(to);
  set(to, control_state, to_text(state::resolved));
  set(to, control_next_claim_at, clock);
  to.clear(control_due_at).clear(control_detail);
  to.set(control_failure_count, Int32GetDatum(0));
  write(of.row, of.kind, to);
}

void extend_claim(const locked_control& of, instant expires_at, std::optional<instant> due_at) {
  changes to;
  set(to, control_expires_at, expires_at);
  if (due_at) set(to, control_due_at, *due_at);
  write(of.row, of.kind, to);
}

}  // namespace ql3::pg
