#include "dispatch_rows.hpp"

#include "dispatch_columns.hpp"
#include "json_bytes.hpp"
#include "row_columns.hpp"
#include "session.hpp"
#include "tombstones.hpp"
#include "try_lock.hpp"

namespace ql3::pg {

namespace {

constexpr char of_token[] = "dispatches_token_key";
constexpr char in_order[] = "dispatches_order_key";
constexpr char of_attempt[] = "dispatches_pkey";
// Its rows are few, and in no order.
constexpr char standing[] = "dispatches_unreleased_idx";
constexpr int standing_max = 100;

bool has_state(TupleTableSlot* row, dispatch_state st) {
  bool null;
  return text_of(slot_getattr(row, attempt_state, &null)) == to_text(st);
}
bool is_null(TupleTableSlot* row, int column) { return slot_attisnull(row, column); }

bool is_unreleased(TupleTableSlot* row) { return !has_state(row, dispatch_state::released); }
bool is_concluded(TupleTableSlot* row) { return is_unreleased(row) && !has_state(row, dispatch_state::claimed); }
bool is_unpermitted(TupleTableSlot* row) {
  return has_state(row, dispatch_state::claimed) && is_null(row, attempt_permit_digest);
}
bool has_identity(TupleTableSlot* row) { return !is_null(row, attempt_action); }

// null is not absent: -> tells them apart.
constinit statement difference{
    "SELECT k FROM (SELECT pg_catalog.jsonb_object_keys($1) UNION SELECT "
    "pg_catalog.jsonb_object_keys($2)) AS keys(k)"
    " WHERE ($1 OPERATOR(pg_catalog.->) k) IS DISTINCT FROM ($2 OPERATOR(pg_catalog.->) k)"
    " ORDER BY k COLLATE \"C\" LIMIT 1",
    JSONBOID, JSONBOID};

constexpr int protocol_known = 1;

using pick = own_table::pick;

index_keys of_item(const item_name& name) { return index_keys().text(name.request_uid).text(name.item); }

HeapTuple find(const char* index, const index_keys& key, row_test wanted = nullptr, pick which = pick::first,
               int column = 0) {
  own_table& table = dispatches();
  Snapshot const snapshot = fresh_snapshot();
  HeapTuple const row = table.find(snapshot, index, key, wanted, which, column);
  release_snapshot(snapshot);
  return row;
}

std::optional<attempt_row> read(HeapTuple found) {
  if (found == nullptr) return std::nullopt;
  row_columns const at(found, dispatches());
  if (at.number16(attempt_protocol) > protocol_known)
    throw error(sqlstate::feature_not_supported, "a dispatch was written by a later version of ql3",
                "Install the library of that version, then ALTER EXTENSION ql3 UPDATE.");
  attempt_row row{};
  row.row = found;
  row.attempt = uuid_of(at.datum(attempt_id));
  row.attempt_no = at.number32(attempt_number);
  std::optional<dispatch_state> const st = parse_dispatch_state(at.text(attempt_state));
  if (!st) throw error(sqlstate::internal_error, "unknown state in ql3.dispatches");
  row.action = at.maybe_text(attempt_action);
  if (at.has(attempt_arguments)) {
    Datum const document = at.datum(attempt_arguments);
    row.arguments = call([&] { return JsonbPGetDatum(DatumGetJsonbP(document)); });
  }
  row.writer = at.text(attempt_writer);
  row.token_digest = at.maybe_digest(attempt_token_digest);
  row.permit_digest = at.maybe_digest(attempt_permit_digest);
  row.lineage = uuid_of(at.datum(attempt_lineage));
  row.claimed_at = at.time(attempt_claimed_at);
  row.permitted_at = at.maybe_time(attempt_permitted_at);
  row.observe_after = at.number(attempt_observe_after);
  row.observe_at = at.time(attempt_observe_at);
  row.facts.writer = fact_of(at.maybe_text(attempt_writer_outcome));
  row.facts.judged = fact_of(at.maybe_text(attempt_judged_outcome));
  row.facts.overridden = fact_of(at.maybe_text(attempt_override_outcome));
  row.concluded_at = at.maybe_time(attempt_concluded_at);
  row.facts.contradicted = at.boolean(attempt_contradicted);
  row.detail = at.maybe_text(attempt_detail);
  row.facts.released = *st == dispatch_state::released;
  row.facts.permitted = row.permit_digest != nullptr;
  return row;
}

// The row, else what was pruned.
template <class Pruned>
std::optional<attempt_row> found_or(HeapTuple found, Pruned&& pruned) {
  std::optional<attempt_row> row = read(found);
  return row ? row : pruned();
}

std::optional<identity> identity_of(const item_name& name) {
  std::optional<attempt_row> const first = read(find(in_order, of_item(name), has_identity));
  if (!first) return std::nullopt;
  return identity{*first->action, *first->arguments};
}

void set(changes& to, int column, const std::optional<std::string_view>& text) {
  if (text) to.set(column, text_datum(*text));
  else to.clear(column);
}
void set(changes& to, int column, const std::optional<instant>& at) {
  if (at) to.set(column, time_datum(*at));
  else to.clear(column);
}
void set_facts(changes& to, const attempt_facts& facts) {
  set(to, attempt_state, std::optional(to_text(state_of(facts))));
  set(to, attempt_writer_outcome, word_of(facts.writer));
  set(to, attempt_judged_outcome, word_of(facts.judged));
  set(to, attempt_override_outcome, word_of(facts.overridden));
  to.set(attempt_contradicted, BoolGetDatum(facts.contradicted));
}

}  // namespace

fact fact_of(const std::optional<std::string_view>& word) {
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
  return found_or(find(of_token, of_item(name).digest(token_digest)),
                  [&] { return tombstone_of_token(name, token_digest); });
}

void refuse_unseen(const item_name& name, const unsigned char* token_digest, std::optional<std::int32_t> attempt_no) {
  if (!IsolationUsesXactSnapshot()) return;
  own_table& table = dispatches();
  Snapshot const latest = call([] { return RegisterSnapshot(GetLatestSnapshot()); });
  bool const there =
      table.find(latest, of_token, of_item(name).digest(token_digest)) != nullptr ||
      is_buried(name, token_digest, latest) ||
      (attempt_no && table.find(latest, in_order, of_item(name).number32(*attempt_no)) != nullptr);
  release_snapshot(latest);
  if (there)
    throw error("40001", "could not serialize access due to concurrent update", "Repeat the transaction.");
}

std::optional<attempt_row> unreleased_attempt(const item_name& name) {
  return found_or(find(standing, of_item(name), is_unreleased, pick::least, attempt_number),
                  [&] { return unreleased_tombstone(name); });
}
std::optional<attempt_row> concluded_attempt(const item_name& name) {
  return found_or(find(standing, of_item(name), is_concluded, pick::least, attempt_number),
                  [&] { return unreleased_tombstone(name); });
}
std::optional<attempt_row> unpermitted_attempt(const item_name& name) {
  return read(find(standing, of_item(name), is_unpermitted, pick::least, attempt_number));
}
std::optional<attempt_row> latest_attempt(const item_name& name) {
  return found_or(find(in_order, of_item(name), nullptr, pick::last), [&] { return latest_tombstone(name); });
}
std::optional<attempt_row> attempt_by_id(const uuid_value& attempt) {
  return found_or(find(of_attempt, index_keys().uuid(uuid_datum(attempt))),
                  [&] { return conflicting_tombstone(attempt); });
}

int count_unreleased(const item_name& name) {
  own_table& table = dispatches();
  Snapshot const snapshot = fresh_snapshot();
  int const found = table.count(snapshot, standing, of_item(name), is_unreleased, standing_max);
  release_snapshot(snapshot);
  return found + count_unreleased_tombstones(name);
}

std::optional<item_name> item_of_attempt(const uuid_value& attempt) {
  HeapTuple const found = find(of_attempt, index_keys().uuid(uuid_datum(attempt)));
  if (found == nullptr) return item_of_conflicting_tombstone(attempt);
  row_columns const at(found, dispatches());
  return item_name{at.text(attempt_request_uid), at.text(attempt_item)};
}

void identity_digest(const identity& what, unsigned char (&digest)[digest_size]) {
  request_bytes().add(what.action).add(json_bytes(what.arguments)).digest(digest);
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
  std::int32_t const attempt_no = last ? last->attempt_no + 1 : 1;
  refuse_unseen(what.name, what.token_digest, attempt_no);
  changes to;
  to.set(attempt_id, uuid_datum(random_uuid())).set(attempt_request_uid, text_datum(what.name.request_uid))
      .set(attempt_item, text_datum(what.name.item)).set(attempt_number, Int32GetDatum(attempt_no));
  set_facts(to, what.facts);
  if (what.what) to.set(attempt_action, text_datum(what.what->action)).set(attempt_arguments, what.what->arguments);
  to.set(attempt_writer, text_datum(what.writer)).set(attempt_token_digest, bytea_datum(what.token_digest, digest_size))
      .set(attempt_lineage, uuid_datum(what.lineage)).set(attempt_claimed_at, time_datum(what.claimed_at))
      .set(attempt_observe_after, number_datum(what.observe_after))
      .set(attempt_observe_at, time_datum(later(what.claimed_at, what.observe_after)));
  if (state_of(what.facts) != dispatch_state::claimed)
    to.set(attempt_concluded_at, time_datum(what.claimed_at));
  set(to, attempt_detail, what.detail);
  to.set(attempt_protocol, Int16GetDatum(protocol_known));
  (void)dispatches().insert(to);
}

void update_attempt(const item_name& name, const attempt_row& row) {
  if (row.is_tombstone) {
    update_tombstone(name, row);
    return;
  }
  changes to;
  set_facts(to, row.facts);
  if (row.permit_digest != nullptr) to.set(attempt_permit_digest, bytea_datum(row.permit_digest, digest_size));
  else to.clear(attempt_permit_digest);
  set(to, attempt_permitted_at, row.permitted_at);
  to.set(attempt_observe_after, number_datum(row.observe_after))
      .set(attempt_observe_at, time_datum(row.observe_at));
  if (state_of(row.facts) == dispatch_state::claimed) to.clear(attempt_concluded_at);
  else to.set(attempt_concluded_at, time_datum(row.concluded_at.value_or(clock_now())));
  set(to, attempt_detail, row.detail);
  (void)dispatches().update(row.row, to);
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
    char* const text = JsonbToCString(nullptr, &document->root, static_cast<int>(VARSIZE(document)));
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
