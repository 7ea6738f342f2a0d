#include "tombstones.hpp"

#include "dispatch_columns.hpp"
#include "row_columns.hpp"
#include "session.hpp"

namespace ql3::pg {

struct item_digests {
  unsigned char request[digest_size];
  unsigned char item[digest_size];  // of both together
};

namespace {

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
    "  contradicted = $8, request_uid = $9, item = $10"
    " WHERE request_digest = $1 AND item_digest = $2 AND token_digest = $3",
    BYTEAOID, BYTEAOID, BYTEAOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, BOOLOID, TEXTOID, TEXTOID};
// Only these keep the name of their item.
constinit statement conflicting{
    "SELECT request_uid, item, token_digest FROM ql3.dispatch_tombstones"
    " WHERE attempt = $1 AND disagrees AND request_uid IS NOT NULL AND item IS NOT NULL",
    UUIDOID};

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

using pick = own_table::pick;

constexpr char by_key[] = "dispatch_tombstones_pkey";
// Of one item they are few: one for each attempt that was pruned.
constexpr int standing_max = 100;

const item_digests& digests_of(const item_name& name) {
  if (name.digests != nullptr) return *name.digests;
  auto* const made = call([] { return static_cast<item_digests*>(palloc(sizeof(item_digests))); });
  digest_request(name.request_uid, made->request);
  request_bytes().add(name.request_uid).add(name.item).digest(made->item);
  name.digests = made;
  return *made;
}

index_keys of_item(const item_name& name) {
  const item_digests& digests = digests_of(name);
  return index_keys().digest(digests.request).digest(digests.item);
}
params key_of(const item_name& name) {
  const item_digests& digests = digests_of(name);
  params to;
  to.digest(digests.request).digest(digests.item);
  return to;
}

bool is_unreleased(TupleTableSlot* row) {
  bool null;
  return text_of(slot_getattr(row, tombstone_state, &null)) != to_text(dispatch_state::released);
}
bool has_identity(TupleTableSlot* row) { return !slot_attisnull(row, tombstone_identity_digest); }

HeapTuple find(const index_keys& key, row_test wanted = nullptr, pick which = pick::first) {
  own_table& table = tombstones();
  Snapshot const snapshot = fresh_snapshot();
  HeapTuple const row = table.find(snapshot, by_key, key, wanted, which, tombstone_number);
  release_snapshot(snapshot);
  return row;
}

std::optional<attempt_row> read(HeapTuple found) {
  if (found == nullptr) return std::nullopt;
  row_columns const at(found, tombstones());
  if (at.number16(tombstone_protocol) > protocol_known)
    throw error(sqlstate::feature_not_supported, "a tombstone was written by a later version of ql3",
                "Install the library of that version, then ALTER EXTENSION ql3 UPDATE.");
  attempt_row row{};
  row.row = found;
  row.is_tombstone = true;
  row.attempt = uuid_of(at.datum(tombstone_attempt));
  row.attempt_no = at.number32(tombstone_number);
  row.writer = at.text(tombstone_writer);
  row.token_digest = at.maybe_digest(tombstone_token_digest);
  row.facts.permitted = at.boolean(tombstone_permitted);
  row.facts.released = at.text(tombstone_state) == to_text(dispatch_state::released);
  row.facts.contradicted = at.boolean(tombstone_contradicted);
  row.facts.writer = fact_of(at.maybe_text(tombstone_writer_outcome));
  row.facts.judged = fact_of(at.maybe_text(tombstone_judged_outcome));
  row.facts.overridden = fact_of(at.maybe_text(tombstone_override_outcome));
  row.claimed_at = at.time(tombstone_claimed_at);
  row.concluded_at = at.time(tombstone_concluded_at);
  row.detail = "pruned";
  return row;
}

struct conflict {
  item_name name;
  const unsigned char* token_digest;
};
std::optional<conflict> conflict_of(const uuid_value& attempt) {
  rows const found = conflicting.run(params().add(uuid_datum(attempt)));
  if (found.empty()) return std::nullopt;
  return conflict{{keep_text(found.text(0, 1)), keep_text(found.text(0, 2))},
                  reinterpret_cast<const unsigned char*>(keep_text(text_of(found.datum(0, 3))).data())};
}

}  // namespace

std::optional<attempt_row> tombstone_of_token(const item_name& name, const unsigned char* token_digest) {
  return read(find(of_item(name).digest(token_digest)));
}
std::optional<attempt_row> unreleased_tombstone(const item_name& name) {
  return read(find(of_item(name), is_unreleased, pick::least));
}
std::optional<attempt_row> latest_tombstone(const item_name& name) {
  return read(find(of_item(name), nullptr, pick::most));
}

std::optional<item_name> item_of_conflicting_tombstone(const uuid_value& attempt) {
  std::optional<conflict> const found = conflict_of(attempt);
  if (!found) return std::nullopt;
  return found->name;
}

std::optional<attempt_row> conflicting_tombstone(const uuid_value& attempt) {
  std::optional<conflict> const found = conflict_of(attempt);
  if (!found) return std::nullopt;
  return tombstone_of_token(found->name, found->token_digest);
}

int count_unreleased_tombstones(const item_name& name) {
  own_table& table = tombstones();
  Snapshot const snapshot = fresh_snapshot();
  int const found = table.count(snapshot, by_key, of_item(name), is_unreleased, standing_max);
  release_snapshot(snapshot);
  return found;
}

bool is_buried(const item_name& name, const unsigned char* token_digest, Snapshot snapshot) {
  return tombstones().find(snapshot, by_key, of_item(name).digest(token_digest)) != nullptr;
}

const unsigned char* identity_of_tombstones(const item_name& name) {
  HeapTuple const found = find(of_item(name), has_identity, pick::least);
  return found == nullptr ? nullptr : row_columns(found, tombstones()).maybe_digest(tombstone_identity_digest);
}

void update_tombstone(const item_name& name, const attempt_row& row) {
  params to = key_of(name);
  to.digest(row.token_digest).text(to_text(state_of(row.facts))).text(word_of(row.facts.writer))
      .text(word_of(row.facts.judged)).text(word_of(row.facts.overridden)).boolean(row.facts.contradicted);
  // Somebody has to look outside, and needs to know what for.
  if (facts_disagree(row.facts)) to.text(name.request_uid).text(name.item);
  else to.null().null();
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
  insert_row.write_one(to);
  delete_attempt.write_one(params().add(uuid_datum(row.attempt)));
}

bool has_attempts(std::string_view request_uid) { return !any_attempt.run(params().text(request_uid)).empty(); }

std::int64_t remove_tombstones(std::string_view request_uid, int most) {
  unsigned char request[digest_size];
  digest_request(request_uid, request);
  return static_cast<std::int64_t>(delete_rows.write(params().digest(request).number(most)));
}

}  // namespace ql3::pg
