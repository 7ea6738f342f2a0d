#include "dispatch_rows.hpp"

#include "session.hpp"
#include "tombstones.hpp"
#include "try_lock.hpp"

extern "C" {
#include "utils/fmgrprotos.h"
}

namespace ql3::pg {

namespace {

#define QL3_ATTEMPT_COLUMNS                                                                     \
  "SELECT attempt, attempt_no, state, action, arguments, writer, token_digest, permit_digest, " \
  "lineage, claimed_at,"                                                                        \
  "       permitted_at, observe_after, observe_at, writer_outcome, judged_outcome, "            \
  "override_outcome, concluded_at,"                                                             \
  "       contradicted, detail, protocol FROM ql3.dispatches"

constinit statement of_token{QL3_ATTEMPT_COLUMNS " WHERE request_uid = $1 AND item = $2 AND token_digest = $3", TEXTOID,
                             TEXTOID, BYTEAOID};
constinit statement unreleased{
    QL3_ATTEMPT_COLUMNS " WHERE request_uid = $1 AND item = $2 AND state <> 'released' ORDER BY attempt_no LIMIT 1",
    TEXTOID, TEXTOID};
constinit statement concluded{QL3_ATTEMPT_COLUMNS
                              " WHERE request_uid = $1 AND item = $2 AND state <> 'released' AND state <> 'claimed'"
                              " ORDER BY attempt_no LIMIT 1",
                              TEXTOID, TEXTOID};
constinit statement unpermitted{QL3_ATTEMPT_COLUMNS
                                " WHERE request_uid = $1 AND item = $2 AND state <> 'released' AND state = 'claimed'"
                                " AND permit_digest IS NULL ORDER BY attempt_no LIMIT 1",
                                TEXTOID, TEXTOID};
constinit statement unreleased_count{
    "SELECT pg_catalog.count(*) FROM (SELECT FROM ql3.dispatches WHERE request_uid = $1 AND item = "
    "$2"
    "  AND state <> 'released' LIMIT 100) AS standing",
    TEXTOID, TEXTOID};
constinit statement latest{QL3_ATTEMPT_COLUMNS " WHERE request_uid = $1 AND item = $2 ORDER BY attempt_no DESC LIMIT 1",
                           TEXTOID, TEXTOID};
constinit statement by_id{QL3_ATTEMPT_COLUMNS " WHERE attempt = $1", UUIDOID};
constinit statement item_by_id{"SELECT request_uid, item FROM ql3.dispatches WHERE attempt = $1", UUIDOID};
constinit statement first_identity{
    "SELECT action, arguments FROM ql3.dispatches WHERE request_uid = $1 AND item = $2 AND action "
    "IS NOT NULL"
    " ORDER BY attempt_no LIMIT 1",
    TEXTOID, TEXTOID};

// null is not absent: -> tells them apart.
constinit statement difference{
    "SELECT k FROM (SELECT pg_catalog.jsonb_object_keys($1) UNION SELECT "
    "pg_catalog.jsonb_object_keys($2)) AS keys(k)"
    " WHERE ($1 OPERATOR(pg_catalog.->) k) IS DISTINCT FROM ($2 OPERATOR(pg_catalog.->) k)"
    " ORDER BY k COLLATE \"C\" LIMIT 1",
    JSONBOID, JSONBOID};

constinit statement insert_row{
    "INSERT INTO ql3.dispatches (attempt, request_uid, item, attempt_no, state, action, arguments, "
    "writer, token_digest,"
    "  lineage, claimed_at, observe_after, observe_at, writer_outcome, override_outcome, "
    "concluded_at, detail)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
    // Only an old snapshot can meet a row here: that is 40001 then, not a duplicate.
    " ON CONFLICT DO NOTHING",
    UUIDOID,
    TEXTOID,
    TEXTOID,
    INT4OID,
    TEXTOID,
    TEXTOID,
    JSONBOID,
    TEXTOID,
    BYTEAOID,
    UUIDOID,
    TIMESTAMPTZOID,
    INT8OID,
    TIMESTAMPTZOID,
    TEXTOID,
    TEXTOID,
    TIMESTAMPTZOID,
    TEXTOID};

constinit statement update_row{
    "UPDATE ql3.dispatches SET state = $2, permit_digest = $3, permitted_at = $4, observe_after = "
    "$5, observe_at = $6,"
    "  writer_outcome = $7, judged_outcome = $8, override_outcome = $9, concluded_at = $10, "
    "contradicted = $11,"
    "  detail = $12 WHERE attempt = $1",
    UUIDOID,
    TEXTOID,
    BYTEAOID,
    TIMESTAMPTZOID,
    INT8OID,
    TIMESTAMPTZOID,
    TEXTOID,
    TEXTOID,
    TEXTOID,
    TIMESTAMPTZOID,
    BOOLOID,
    TEXTOID};

constexpr int protocol_known = 1;

const unsigned char* digest_at(const rows& found, int column) {
  if (found.is_null(0, column)) return nullptr;
  return reinterpret_cast<const unsigned char*>(keep_text(text_of(found.datum(0, column))).data());
}

std::optional<attempt_row> first(const rows& found) {
  if (found.empty()) return std::nullopt;
  if (DatumGetInt16(found.datum(0, 20)) > protocol_known)
    throw error(sqlstate::feature_not_supported, "a dispatch was written by a later version of ql3",
                "Install the library of that version, then ALTER EXTENSION ql3 UPDATE.");
  attempt_row row{};
  row.attempt = uuid_of(found.datum(0, 1));
  row.attempt_no = found.number32(0, 2);
  std::optional<dispatch_state> const st = parse_dispatch_state(found.text(0, 3));
  if (!st) throw error(sqlstate::internal_error, "unknown state in ql3.dispatches");
  if (!found.is_null(0, 4)) row.action = keep_text(found.text(0, 4));
  if (!found.is_null(0, 5)) {
    Datum const document = found.datum(0, 5);
    row.arguments = call([&] { return JsonbPGetDatum(DatumGetJsonbPCopy(document)); });
  }
  row.writer = keep_text(found.text(0, 6));
  row.token_digest = digest_at(found, 7);
  row.permit_digest = digest_at(found, 8);
  row.lineage = uuid_of(found.datum(0, 9));
  row.claimed_at = found.time(0, 10);
  row.permitted_at = found.maybe_time(0, 11);
  row.observe_after = found.number(0, 12);
  row.observe_at = found.time(0, 13);
  row.facts.writer = fact_of(found, 0, 14);
  row.facts.judged = fact_of(found, 0, 15);
  row.facts.overridden = fact_of(found, 0, 16);
  row.concluded_at = found.maybe_time(0, 17);
  row.facts.contradicted = found.boolean(0, 18);
  if (!found.is_null(0, 19)) row.detail = keep_text(found.text(0, 19));
  row.facts.released = *st == dispatch_state::released;
  row.facts.permitted = row.permit_digest != nullptr;
  return row;
}

params item_params(const item_name& name) {
  params to;
  to.text(name.request_uid).text(name.item);
  return to;
}

// The first of the rows, else what was pruned.
template <class Pruned>
std::optional<attempt_row> first_or(const rows& found, Pruned&& pruned) {
  std::optional<attempt_row> row = first(found);
  return row ? row : pruned();
}

std::optional<identity> identity_of(const item_name& name) {
  rows const found = first_identity.run(item_params(name));
  if (found.empty()) return std::nullopt;
  Datum const document = found.datum(0, 2);
  return identity{keep_text(found.text(0, 1)), call([&] { return JsonbPGetDatum(DatumGetJsonbPCopy(document)); })};
}

}  // namespace

fact fact_of(const rows& found, int row, int column) {
  std::optional<std::string_view> const word = found.maybe_text(row, column);
  if (!word) return std::nullopt;
  std::optional<outcome> const known = parse_outcome(*word);
  if (!known) throw error(sqlstate::internal_error, "unknown outcome in a table of dispatches");
  return known;
}

std::optional<std::string_view> word_of(const fact& value) {
  if (!value) return std::nullopt;
  return to_text(*value);
}

void lock_item(const item_name& name) {
  intend_to_write("dispatches", "dispatch_tombstones", "dispatch_lineage");
  // Against ql3_forget: what it takes away is the past of every item of the request.
  wait_shared_lock(lock_space::request, request_key(name.request_uid));
  wait_transaction_lock(lock_space::item, lock_key(name.request_uid, name.item));
}

std::optional<attempt_row> attempt_of_token(const item_name& name, const unsigned char* token_digest) {
  return first_or(of_token.run(item_params(name).digest(token_digest)),
                  [&] { return tombstone_of_token(name, token_digest); });
}
std::optional<attempt_row> unreleased_attempt(const item_name& name) {
  return first_or(unreleased.run(item_params(name)), [&] { return unreleased_tombstone(name); });
}
std::optional<attempt_row> concluded_attempt(const item_name& name) {
  return first_or(concluded.run(item_params(name)), [&] { return unreleased_tombstone(name); });
}
std::optional<attempt_row> unpermitted_attempt(const item_name& name) {
  return first(unpermitted.run(item_params(name)));
}
std::optional<attempt_row> latest_attempt(const item_name& name) {
  return first_or(latest.run(item_params(name)), [&] { return latest_tombstone(name); });
}
std::optional<attempt_row> attempt_by_id(const uuid_value& attempt) {
  return first(by_id.run(params().add(uuid_datum(attempt))));
}

int count_unreleased(const item_name& name) {
  rows const found = unreleased_count.run(item_params(name));
  return static_cast<int>(found.number(0, 1)) + count_unreleased_tombstones(name);
}

std::optional<item_name> item_of_attempt(const uuid_value& attempt) {
  rows const found = item_by_id.run(params().add(uuid_datum(attempt)));
  if (found.empty()) return std::nullopt;
  return item_name{keep_text(found.text(0, 1)), keep_text(found.text(0, 2))};
}

void identity_digest(const identity& what, unsigned char (&digest)[digest_size]) {
  // The type's own hash, twice: equal documents have one whatever their spelling.
  request_bytes bytes;
  bytes.add(what.action);
  for (std::int64_t seed : {std::int64_t{1}, std::int64_t{2}})
    bytes.add(call([&] {
      return DatumGetInt64(DirectFunctionCall2(jsonb_hash_extended, what.arguments, Int64GetDatum(seed)));
    }));
  bytes.digest(digest);
}

std::optional<std::string_view> difference_from_known(const item_name& name, const identity& what) {
  if (std::optional<identity> const known = identity_of(name)) {
    if (known->action != what.action) return "action";
    rows const found = difference.run(params().add(known->arguments).add(what.arguments));
    if (found.empty()) return std::nullopt;
    return keep_text(found.text(0, 1));
  }
  const unsigned char* const pruned = identity_of_tombstones(name);
  if (pruned == nullptr) return std::nullopt;
  unsigned char given[digest_size];
  identity_digest(what, given);
  if (same_digest(pruned, given)) return std::nullopt;
  return "action or arguments";
}

void insert_attempt(const new_attempt& what) {
  std::optional<attempt_row> const last = latest_attempt(what.name);
  params to;
  to.add(uuid_datum(random_uuid()))
      .text(what.name.request_uid)
      .text(what.name.item)
      .number32(last ? last->attempt_no + 1 : 1)
      .text(to_text(state_of(what.facts)));
  if (what.what)
    to.text(what.what->action).add(what.what->arguments);
  else
    to.null().null();
  to.text(what.writer)
      .digest(what.token_digest)
      .add(uuid_datum(what.lineage))
      .time(what.claimed_at)
      .number(what.observe_after)
      .time(later(what.claimed_at, what.observe_after))
      .text(word_of(what.facts.writer))
      .text(word_of(what.facts.overridden));
  if (state_of(what.facts) == dispatch_state::claimed)
    to.null();
  else
    to.time(what.claimed_at);
  if (insert_row.write(to.text(what.detail)) != 1)
    throw error(sqlstate::internal_error, "an attempt exists already that was not seen");
}

void update_attempt(const item_name& name, const attempt_row& row) {
  if (row.is_tombstone) {
    update_tombstone(name, row);
    return;
  }
  dispatch_state const st = state_of(row.facts);
  params to;
  to.add(uuid_datum(row.attempt)).text(to_text(st));
  if (row.permit_digest != nullptr)
    to.digest(row.permit_digest);
  else
    to.null();
  to.time(row.permitted_at)
      .number(row.observe_after)
      .time(row.observe_at)
      .text(word_of(row.facts.writer))
      .text(word_of(row.facts.judged))
      .text(word_of(row.facts.overridden));
  if (st == dispatch_state::claimed)
    to.null();
  else
    to.time(row.concluded_at.value_or(clock_now()));
  update_row.write(to.boolean(row.facts.contradicted).text(row.detail));
}

item_name read_item(const arguments& given) {
  item_name name{given.text(0, "request_uid"), given.text(1, "item")};
  check_id(name.request_uid, "request_uid");
  check_id(name.item, "item");
  return name;
}

identity read_identity(const arguments& given, int action_position, int arguments_position) {
  identity what{given.text(action_position, "action"), given.datum(arguments_position, "arguments")};
  check_kind(what.action, "action");
  struct measured {
    bool object;
    int size;
  };
  measured const found = call([&] {
    Jsonb* document = DatumGetJsonbP(what.arguments);
    char* const text = JsonbToCString(nullptr, &document->root, VARSIZE(document));
    return measured{JB_ROOT_IS_OBJECT(document) != 0, static_cast<int>(strlen(text))};
  });
  if (!found.object)
    throw error(sqlstate::invalid_parameter, "arguments must be a JSON object", "For example '{\"source\": \"a\"}'.");
  check_arguments_size(static_cast<std::size_t>(found.size));
  return what;
}

outcome read_outcome(std::string_view word, bool not_sent_allowed) {
  std::optional<outcome> const known = parse_outcome(word);
  if (known && (not_sent_allowed || *known != outcome::not_sent)) return *known;
  throw error(sqlstate::invalid_parameter, (message_text<256>() << "unknown outcome " << quoted{word}).view(),
              not_sent_allowed ? "The outcomes are succeeded, failed, unknown and not_sent."
                               : "The outcomes here are succeeded, failed and unknown.");
}

}  // namespace ql3::pg
