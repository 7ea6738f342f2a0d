#include "tombstones.hpp"

#include "session.hpp"

namespace ql3::pg {

namespace {

#define QL3_TOMBSTONE_COLUMNS                                                                                        \
  "SELECT attempt, attempt_no, writer, token_digest, permitted, state, contradicted, writer_outcome, judged_outcome," \
  "       override_outcome, claimed_at, concluded_at, protocol"                                                      \
  "  FROM ql3.dispatch_tombstones WHERE request_digest = $1 AND item_digest = $2"

constinit statement of_token{QL3_TOMBSTONE_COLUMNS " AND token_digest = $3", BYTEAOID, BYTEAOID, BYTEAOID};
constinit statement unreleased{QL3_TOMBSTONE_COLUMNS " AND state <> 'released' ORDER BY attempt_no LIMIT 1", BYTEAOID,
                               BYTEAOID};
constinit statement latest{QL3_TOMBSTONE_COLUMNS " ORDER BY attempt_no DESC LIMIT 1", BYTEAOID, BYTEAOID};
constinit statement count_unreleased_rows{
    "SELECT pg_catalog.count(*) FROM ql3.dispatch_tombstones"
    " WHERE request_digest = $1 AND item_digest = $2 AND state <> 'released'",
    BYTEAOID, BYTEAOID};
constinit statement identity_row{
    "SELECT identity_digest FROM ql3.dispatch_tombstones"
    " WHERE request_digest = $1 AND item_digest = $2 AND identity_digest IS NOT NULL ORDER BY attempt_no LIMIT 1",
    BYTEAOID, BYTEAOID};

constinit statement insert_row{
    "INSERT INTO ql3.dispatch_tombstones (request_digest, item_digest, token_digest, identity_digest, attempt,"
    "  attempt_no, state, writer, permitted, writer_outcome, judged_outcome, override_outcome, contradicted,"
    "  claimed_at, concluded_at, pruned_at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
    BYTEAOID, BYTEAOID, BYTEAOID, BYTEAOID, UUIDOID, INT4OID, TEXTOID, TEXTOID, BOOLOID, TEXTOID, TEXTOID, TEXTOID,
    BOOLOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID};
constinit statement delete_attempt{"DELETE FROM ql3.dispatches WHERE attempt = $1", UUIDOID};

constinit statement update_row{
    "UPDATE ql3.dispatch_tombstones SET state = $4, writer_outcome = $5, judged_outcome = $6, override_outcome = $7,"
    "  contradicted = $8 WHERE request_digest = $1 AND item_digest = $2 AND token_digest = $3",
    BYTEAOID, BYTEAOID, BYTEAOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, BOOLOID};

constinit statement any_attempt{"SELECT 1 FROM ql3.dispatches WHERE request_uid = $1 LIMIT 1", TEXTOID};
constinit statement delete_rows{
    "DELETE FROM ql3.dispatch_tombstones WHERE (request_digest, item_digest, token_digest) IN"
    " (SELECT t.request_digest, t.item_digest, t.token_digest FROM ql3.dispatch_tombstones AS t"
    "   WHERE t.request_digest = $1 LIMIT $2)",
    BYTEAOID, INT8OID};

constexpr int protocol_known = 1;

void digest_request(std::string_view request_uid, unsigned char (&digest)[digest_size]) {
  request_bytes().add(request_uid).digest(digest);
}

params key_of(const item_name& name) {
  unsigned char request[digest_size];
  unsigned char item[digest_size];
  digest_request(name.request_uid, request);
  request_bytes().add(name.request_uid).add(name.item).digest(item);
  params to;
  to.digest(request).digest(item);
  return to;
}

std::optional<attempt_row> first(const rows& found) {
  if (found.empty()) return std::nullopt;
  if (DatumGetInt16(found.datum(0, 13)) > protocol_known)
    throw error(sqlstate::feature_not_supported, "a tombstone was written by a later version of ql3",
                "Install the library of that version, then ALTER EXTENSION ql3 UPDATE.");
  attempt_row row{};
  row.is_tombstone = true;
  row.attempt = uuid_of(found.datum(0, 1));
  row.attempt_no = found.number32(0, 2);
  row.writer = keep_text(found.text(0, 3));
  row.token_digest =
      reinterpret_cast<const unsigned char*>(keep_text(text_of(found.datum(0, 4))).data());
  row.facts.permitted = found.boolean(0, 5);
  row.facts.released = found.text(0, 6) == to_text(dispatch_state::released);
  row.facts.contradicted = found.boolean(0, 7);
  row.facts.writer = fact_of(found, 0, 8);
  row.facts.judged = fact_of(found, 0, 9);
  row.facts.overridden = fact_of(found, 0, 10);
  row.claimed_at = found.time(0, 11);
  row.concluded_at = found.time(0, 12);
  row.detail = "pruned";
  return row;
}

}  // namespace

std::optional<attempt_row> tombstone_of_token(const item_name& name, const unsigned char* token_digest) {
  return first(of_token.run(key_of(name).digest(token_digest)));
}
std::optional<attempt_row> unreleased_tombstone(const item_name& name) { return first(unreleased.run(key_of(name))); }
std::optional<attempt_row> latest_tombstone(const item_name& name) { return first(latest.run(key_of(name))); }

int count_unreleased_tombstones(const item_name& name) {
  rows const found = count_unreleased_rows.run(key_of(name));
  return static_cast<int>(found.number(0, 1));
}

const unsigned char* identity_of_tombstones(const item_name& name) {
  rows const found = identity_row.run(key_of(name));
  if (found.empty()) return nullptr;
  return reinterpret_cast<const unsigned char*>(keep_text(text_of(found.datum(0, 1))).data());
}

void update_tombstone(const item_name& name, const attempt_row& row) {
  params to = key_of(name);
  to.digest(row.token_digest).text(to_text(state_of(row.facts))).text(word_of(row.facts.writer))
      .text(word_of(row.facts.judged)).text(word_of(row.facts.overridden)).boolean(row.facts.contradicted);
  if (update_row.write(to) != 1)
    throw error("40001", "the attempt was forgotten meanwhile", "Repeat the call.");
}

void bury(const item_name& name, const attempt_row& row, instant clock) {
  params to = key_of(name);
  to.digest(row.token_digest);
  if (row.action && row.arguments) {
    unsigned char identity[digest_size];
    identity_digest({*row.action, *row.arguments}, identity);
    to.digest(identity);
  } else {
    to.null();
  }
  to.add(uuid_datum(row.attempt)).number32(row.attempt_no).text(to_text(state_of(row.facts))).text(row.writer)
      .boolean(row.facts.permitted).text(word_of(row.facts.writer)).text(word_of(row.facts.judged))
      .text(word_of(row.facts.overridden)).boolean(row.facts.contradicted).time(row.claimed_at)
      .time(row.concluded_at).time(clock);
  insert_row.write(to);
  delete_attempt.write(params().add(uuid_datum(row.attempt)));
}

bool has_attempts(std::string_view request_uid) { return !any_attempt.run(params().text(request_uid)).empty(); }

std::int64_t remove_tombstones(std::string_view request_uid, int most) {
  unsigned char request[digest_size];
  digest_request(request_uid, request);
  return static_cast<std::int64_t>(delete_rows.write(params().digest(request).number(most)));
}

}  // namespace ql3::pg
