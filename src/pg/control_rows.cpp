#include "control_rows.hpp"

#include "control_peek.hpp"
#include "session.hpp"
#include "try_lock.hpp"

namespace ql3::pg {

namespace {

#define QL3_CONTROL_COLUMNS                                                                                     \
  "SELECT kind, id, state, run_id, status, created_at, lost_at, owner, token_digest, version, claimed_at,"      \
  "       expires_at, next_claim_at, failure_count, claim_mark, ended_digest, ended_result, detail, protocol, " \
  "observed_at, due_at"                                                                                         \
  "  FROM ql3.run_recovery_controls"

// NO KEY: a foreign key's share lock on the row does not hide it.
constinit statement lock_free_row{
    QL3_CONTROL_COLUMNS " WHERE kind = $1 AND id = $2 FOR NO KEY UPDATE SKIP LOCKED", TEXTOID, TEXTOID};
constinit statement lock_row{QL3_CONTROL_COLUMNS " WHERE kind = $1 AND id = $2 FOR NO KEY UPDATE", TEXTOID, TEXTOID};
constinit statement read_row{QL3_CONTROL_COLUMNS " WHERE kind = $1 AND id = $2", TEXTOID, TEXTOID};

// A claim that was renewed may be due before it expires: it is filtered before the lock, never locked.
constinit statement lock_due_rows{
    QL3_CONTROL_COLUMNS
    " WHERE kind = $1 AND due_at <= $2"
    "   AND (expires_at IS NULL OR expires_at <= $2 OR expires_at > $2 + '5 min'::pg_catalog.interval)"
    " ORDER BY due_at LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED",
    TEXTOID, TIMESTAMPTZOID, INT8OID};

constinit statement insert_row{
    "INSERT INTO ql3.run_recovery_controls (kind, id, state, run_id, status, created_at, lost_at, observed_at, owner,"
    "  token_digest, version, claimed_at, expires_at, due_at, claim_mark, failure_count)"
    " VALUES ($1, $2, 'claimed', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, 0)",
    TEXTOID, TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID, BYTEAOID, INT8OID,
    TIMESTAMPTZOID, TIMESTAMPTZOID, INT8OID};

constinit statement claim_row{
    "UPDATE ql3.run_recovery_controls SET state = 'claimed', run_id = $3, status = $4, created_at = $5, lost_at = $6,"
    "  observed_at = $7, owner = $8, token_digest = $9, version = $10, claimed_at = $11, expires_at = $12,"
    "  due_at = $12, claim_mark = $13, failure_count = $14, next_claim_at = NULL, ended_digest = NULL,"
    "  ended_result = NULL, detail = NULL"
    " WHERE kind = $1 AND id = $2",
    TEXTOID, TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID, BYTEAOID, INT8OID,
    TIMESTAMPTZOID, TIMESTAMPTZOID, INT8OID, INT4OID};

constinit statement delete_row{"DELETE FROM ql3.run_recovery_controls WHERE kind = $1 AND id = $2", TEXTOID, TEXTOID};

constinit statement insert_unclaimed_row{
    "INSERT INTO ql3.run_recovery_controls (kind, id, state, run_id, status, created_at, lost_at, observed_at, version,"
    "  next_claim_at, due_at, failure_count, detail) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $11, $12)",
    TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID,
    TIMESTAMPTZOID, INT4OID, TEXTOID};

constinit statement end_row{
    "UPDATE ql3.run_recovery_controls SET state = $3, owner = NULL, token_digest = NULL, claimed_at = NULL,"
    "  expires_at = NULL, claim_mark = NULL, next_claim_at = $4, due_at = $5, failure_count = $6, ended_digest = $7,"
    "  ended_result = $8, detail = $9"
    " WHERE kind = $1 AND id = $2",
    TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT4OID, BYTEAOID, TEXTOID, TEXTOID};

constinit statement left_row{
    "UPDATE ql3.run_recovery_controls SET state = 'resolved', owner = NULL, token_digest = NULL, claimed_at = NULL,"
    "  expires_at = NULL, claim_mark = NULL, next_claim_at = $3, due_at = NULL, failure_count = 0, detail = NULL"
    " WHERE kind = $1 AND id = $2",
    TEXTOID, TEXTOID, TIMESTAMPTZOID};

// Leaves due_at alone: no index entry is written (HOT).
constinit statement extend_row{
    "UPDATE ql3.run_recovery_controls SET expires_at = $3 WHERE kind = $1 AND id = $2", TEXTOID, TEXTOID,
    TIMESTAMPTZOID};
constinit statement extend_row_and_due{
    "UPDATE ql3.run_recovery_controls SET expires_at = $3, due_at = $4 WHERE kind = $1 AND id = $2", TEXTOID, TEXTOID,
    TIMESTAMPTZOID, TIMESTAMPTZOID};

constinit statement insert_judgement{
    "INSERT INTO ql3.judgements (kind, id, version, owner, run_id, status, lost_at, disposition, verdict, note,"
    "  evidence, result, failure_count, judged_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    TEXTOID, TEXTOID, INT8OID, TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TEXTOID, TEXTOID, TEXTOID, JSONBOID, TEXTOID,
    INT4OID, TIMESTAMPTZOID};

constexpr int protocol_known = 1;

std::optional<std::string_view> kept(const std::optional<std::string_view>& text) {
  if (!text) return std::nullopt;
  return keep_text(*text);
}

const unsigned char* kept_digest(const rows& found, int at, int column) {
  if (found.is_null(at, column)) return nullptr;
  std::string_view const bytes = text_of(found.datum(at, column));
  return reinterpret_cast<const unsigned char*>(keep_text(bytes).data());
}

locked_control read_locked(const rows& found, int at) {
  // Fail closed on a row written by a later protocol.
  if (DatumGetInt16(found.datum(at, 19)) > protocol_known)
    throw error(sqlstate::feature_not_supported, "a control row was written by a later version of ql3",
                "Install the library of that version, then ALTER EXTENSION ql3 UPDATE.");
  locked_control row{};
  row.kind = keep_text(found.text(at, 1));
  row.id = keep_text(found.text(at, 2));
  std::optional<state> const known = parse_state(found.text(at, 3));
  if (!known) throw error(sqlstate::internal_error, "unknown state in ql3.run_recovery_controls");
  row.control.st = *known;
  row.run_id = keep_text(found.text(at, 4));
  row.status = kept(found.maybe_text(at, 5));
  row.created_at = found.maybe_time(at, 6);
  row.lost_at = found.time(at, 7);
  row.owner = kept(found.maybe_text(at, 8));
  row.token_digest = kept_digest(found, at, 9);
  row.control.version = found.number(at, 10);
  row.claimed_at = found.maybe_time(at, 11);
  row.control.has_expires = !found.is_null(at, 12);
  if (row.control.has_expires) row.control.expires_at = found.time(at, 12);
  row.control.has_next = !found.is_null(at, 13);
  if (row.control.has_next) row.control.next_claim_at = found.time(at, 13);
  row.control.failure_count = found.number32(at, 14);
  if (!found.is_null(at, 15)) row.claim_mark = found.number(at, 15);
  row.ended_digest = kept_digest(found, at, 16);
  row.ended_result = kept(found.maybe_text(at, 17));
  row.detail = kept(found.maybe_text(at, 18));
  row.observed_at = found.time(at, 20);
  row.due_at = found.maybe_time(at, 21);
  return row;
}

std::optional<locked_control> one(statement& by_key, std::string_view kind, std::string_view id) {
  rows const found = by_key.run(params().text(kind).text(id));
  if (found.empty()) return std::nullopt;
  return read_locked(found, 0);
}

}  // namespace

std::optional<locked_control> lock_if_free(std::string_view kind, std::string_view id) {
  return one(lock_free_row, kind, id);
}
std::optional<locked_control> lock_waiting(std::string_view kind, std::string_view id) {
  return one(lock_row, kind, id);
}
std::optional<locked_control> read_control(std::string_view kind, std::string_view id) {
  return one(read_row, kind, id);
}

bounded<locked_control> lock_due(std::string_view kind, instant clock, int limit) {
  bounded<locked_control> locked;
  rows const found = lock_due_rows.run(params().text(kind).time(clock).number(limit), limit);
  for (int at = 0; at < found.size(); ++at) locked.push_back(read_locked(found, at));
  return locked;
}

void insert_claimed(std::string_view kind, const facts& now, const claim_stamp& stamp, std::int64_t version) {
  insert_row.write(params().text(kind).text(now.id).text(now.run_id).text(now.status).time(now.created_at)
                       .time(now.lost_at).time(stamp.observed_at).text(stamp.owner).digest(stamp.token_digest)
                       .number(version).time(stamp.claimed_at).time(stamp.expires_at).number(stamp.mark));
}

void update_claimed(std::string_view kind, const facts& now, const claim_stamp& stamp, std::int64_t version,
                    std::int32_t failure_count) {
  claim_row.write(params().text(kind).text(now.id).text(now.run_id).text(now.status).time(now.created_at)
                      .time(now.lost_at).time(stamp.observed_at).text(stamp.owner).digest(stamp.token_digest)
                      .number(version).time(stamp.claimed_at).time(stamp.expires_at).number(stamp.mark)
                      .number32(failure_count));
}

bool insert_unclaimed(std::string_view kind, const facts& now, const ending& how) {
  brief_lock key(lock_space::target, lock_key(kind, now.id));
  if (!key.held()) return false;
  control_peek peek;
  bool const absent = peek.look(kind, now.id).there == presence::absent;
  peek.close();
  if (absent)
    insert_unclaimed_row.write(params().text(kind).text(now.id).text(to_text(how.st)).text(now.run_id).text(now.status)
                                   .time(now.created_at).time(now.lost_at).time(statement_time())
                                   .time(how.next_claim_at).time(how.due_at).number32(how.failure_count)
                                   .text(how.detail));
  key.release();
  return absent;
}

void delete_control(std::string_view kind, std::string_view id) { delete_row.write(params().text(kind).text(id)); }

void end_claim(std::string_view kind, std::string_view id, const ending& how) {
  params to;
  to.text(kind).text(id).text(to_text(how.st)).time(how.next_claim_at).time(how.due_at).number32(how.failure_count);
  if (how.ended_digest != nullptr) to.digest(how.ended_digest).text(how.ended_result);
  else to.null().null();
  to.text(how.detail);
  end_row.write(to);
}

void mark_left(std::string_view kind, std::string_view id, instant clock) {
  left_row.write(params().text(kind).text(id).time(clock));
}

void extend_claim(std::string_view kind, std::string_view id, instant expires_at, std::optional<instant> due_at) {
  if (due_at) extend_row_and_due.write(params().text(kind).text(id).time(expires_at).time(*due_at));
  else extend_row.write(params().text(kind).text(id).time(expires_at));
}

void write_judgement(const judgement& what) {
  params to;
  to.text(what.kind).text(what.id).number(what.version).text(what.owner).text(what.run_id).text(what.status)
      .time(what.lost_at).text(what.disposition).text(what.verdict).text(what.note);
  if (what.evidence) to.add(*what.evidence);
  else to.null();
  to.text(what.result).number32(what.failure_count).time(what.judged_at);
  insert_judgement.write(to);
}

}  // namespace ql3::pg
