#include "source_plans.hpp"

#include "arrays.hpp"
#include "source_index.hpp"

namespace ql3::pg {

namespace {

constinit source_plans cache[sources_max + 1]{};

// What is stored in more bytes than this is longer than source_json_max as JSON, compressed or not.
constexpr int stored_max = 65536;

constexpr Oid id_types[] = {TEXTOID, VARCHAROID, UUIDOID, INT2OID, INT4OID, INT8OID};

Oid column_type(Oid relation, const char* column) {
  Oid const type = call([&] {
    AttrNumber const number = get_attnum(relation, column);
    return number > 0 ? get_atttype(relation, number) : InvalidOid;
  });
  if (!OidIsValid(type))
    throw error(
        sqlstate::undefined_column,
        (message_text<256>() << "relation " << call([&] { return const_cast<const char*>(get_rel_name(relation)); })
                             << " has no column " << quoted{column})
            .view(),
        "A source has the columns id, run_id, status, created_at and lost_at.");
  return type;
}

[[noreturn]] void refuse_type(const char* column, Oid type, const char* wanted) {
  const char* const shown = call([&] { return const_cast<const char*>(format_type_be(type)); });
  throw error(
      sqlstate::datatype_mismatch,
      (message_text<256>() << "column " << quoted{column} << " has type " << shown << ", not " << wanted).view());
}

Oid key_type(Oid relation, const char* column) {
  Oid const type = column_type(relation, column);
  for (Oid allowed : id_types)
    if (type == allowed) return type;
  refuse_type(column, type, "text, varchar, uuid, smallint, integer or bigint");
}

void time_type(Oid relation, const char* column) {
  Oid const type = column_type(relation, column);
  if (type != TIMESTAMPTZOID) refuse_type(column, type, "timestamp with time zone");
}

const char* cast_name(Oid type) noexcept {
  switch (type) {
    case UUIDOID: return "pg_catalog.uuid";
    case INT2OID: return "pg_catalog.int2";
    case INT4OID: return "pg_catalog.int4";
    case INT8OID: return "pg_catalog.int8";
    default: return "pg_catalog.text";
  }
}

void on_relation_change(Datum, Oid relation) {
  for (source_plans& each : cache)
    if (!OidIsValid(relation) || each.relation == relation) each.stale = true;
}

void free_plans(source_plans& slot) {
  for (SPIPlanPtr* plan : {&slot.first, &slot.next, &slot.first_whole, &slot.next_whole, &slot.by_key, &slot.by_keys,
                           &slot.by_id}) {
    if (*plan != nullptr) SPI_freeplan(*plan);
    *plan = nullptr;
  }
}

bool is_required(const char* name) noexcept {
  for (const char* each : {"id", "run_id", "status", "created_at", "lost_at"})
    if (strcmp(name, each) == 0) return true;
  return false;
}

// The further columns of a row as JSON text, or NULL where they are too long to be handed out: told by their size as
// stored, so that a huge value is not even fetched and one row cannot use up the time of all. NULL also where the
// parameter `wanted` is false.
const char* further_columns(Oid relation, const char* wanted) {
  Relation const opened = relation_open(relation, AccessShareLock);
  StringInfoData stored;
  initStringInfo(&stored);
  bool any = false;
  for (int at = 0; at < opened->rd_att->natts; ++at) {
    Form_pg_attribute const column = TupleDescAttr(opened->rd_att, at);
    if (column->attisdropped || is_required(NameStr(column->attname))) continue;
    any = true;
    if (column->attlen != -1) continue;
    appendStringInfo(&stored, "%sCOALESCE(pg_catalog.pg_column_size(s.%s)::pg_catalog.int8, 0)",
                     stored.len > 0 ? " + " : "", quote_identifier(NameStr(column->attname)));
  }
  relation_close(opened, AccessShareLock);
  if (!any) return "'{}'::pg_catalog.text";
  const char* const all =
      "(pg_catalog.to_jsonb(s.*) - '{id,run_id,status,created_at,lost_at}'::pg_catalog.text[])::pg_catalog.text";
  if (stored.len == 0) return psprintf("CASE WHEN %s THEN %s END", wanted, all);
  return psprintf("CASE WHEN %s AND %s <= %d THEN %s END", wanted, stored.data, stored_max, all);
}

// Prepares the plans. One leaf: server structures only.
void prepare(source_plans& slot, const source& which) {
  char relation[2 * NAMEDATALEN * 2 + 8];
  pg_snprintf(relation, sizeof relation, "%s", quote_qualified_identifier(which.schema.data(), which.name.data()));
  const char* const further = further_columns(slot.relation, "true");
  const char* const columns =
      "s.id::pg_catalog.text, s.run_id::pg_catalog.text, s.status::pg_catalog.text, s.created_at, s.lost_at";
  const char* const type = cast_name(slot.id_type);
  const char* const nothing = "NULL::pg_catalog.text";
  Oid first_types[] = {INT8OID, BOOLOID};
  Oid next_types[] = {TIMESTAMPTZOID, TEXTOID, INT8OID, BOOLOID};
  Oid key_types[] = {TEXTOID, TIMESTAMPTZOID, BOOLOID};
  const char* const asked_further = further_columns(slot.relation, "$3");
  const char* const sound = psprintf(
      "s.id IS NOT NULL AND s.run_id IS NOT NULL AND s.lost_at IS NOT NULL"
      " AND pg_catalog.octet_length(s.id::pg_catalog.text) BETWEEN 1 AND %d"
      " AND pg_catalog.octet_length(s.run_id::pg_catalog.text) BETWEEN 1 AND %d", int(id_max), int(id_max));
  for (bool whole : {false, true}) {
    SPIPlanPtr const first = prepare_kept(
        psprintf("SELECT %s, %s FROM %s AS s WHERE $2 OR (%s) ORDER BY s.lost_at, s.id LIMIT $1", columns,
                 whole ? further : nothing, relation, sound), 2, first_types);
    (whole ? slot.first_whole : slot.first) = first;
    SPIPlanPtr const next = prepare_kept(
        psprintf("SELECT %s, %s FROM %s AS s WHERE (s.lost_at, s.id) > ($1, CAST($2 AS %s)) AND ($4 OR (%s))"
                 " ORDER BY s.lost_at, s.id LIMIT $3", columns, whole ? further : nothing, relation, type, sound),
        4, next_types);
    (whole ? slot.next_whole : slot.next) = next;
  }
  if (!slot.id_indexed)
    slot.by_id = prepare_kept(
        psprintf("SELECT %s, %s FROM %s AS s WHERE s.id = CAST($1 AS %s)", columns, asked_further, relation, type), 3,
        key_types);
  slot.by_key = prepare_kept(
      psprintf("SELECT %s, %s FROM %s AS s WHERE s.id = CAST($1 AS %s)%s", columns, asked_further, relation, type,
               slot.id_indexed ? "" : " AND s.lost_at = $2"), 3, key_types);
  // LIMIT keeps the planner from merging the inner query into a join: it is run once per key, with equality, as by_key.
  Oid keys_types[] = {TEXTARRAYOID, timestamptz_array, BOOLOID};
  slot.by_keys = prepare_kept(
      psprintf("SELECT f.*, k.n"
               "  FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) WITH ORDINALITY AS k (id, lost_at, n)"
               " CROSS JOIN LATERAL (SELECT %s, %s FROM %s AS s WHERE s.id = CAST(k.id AS %s)%s LIMIT %d) AS f",
               columns, asked_further, relation, type, slot.id_indexed ? "" : " AND s.lost_at = k.lost_at",
               equal_ids_max),
      3, keys_types);
}

bool is_digits(std::string_view text, std::string_view limit, std::string_view negative_limit) noexcept {
  bool const negative = !text.empty() && text.front() == '-';
  std::string_view const digits = negative ? text.substr(1) : text;
  std::string_view const most = negative ? negative_limit : limit;
  if (digits.empty() || digits.size() > most.size() || (digits.front() == '0' && text != "0")) return false;
  for (char c : digits)
    if (c < '0' || c > '9') return false;
  return digits.size() < most.size() || digits <= most;
}

bool is_lower_uuid(std::string_view text) noexcept {
  if (text.size() != 36) return false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    char const c = text[at];
    bool const dash = at == 8 || at == 13 || at == 18 || at == 23;
    if (dash ? c != '-' : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

}  // namespace

void check_source_columns(Oid relation) {
  (void)key_type(relation, "id");
  (void)key_type(relation, "run_id");
  (void)column_type(relation, "status");
  time_type(relation, "created_at");
  time_type(relation, "lost_at");
}

source_plans& plans_of(const source& which, const resolved_source& found) {
  source_plans* slot = nullptr;
  for (source_plans& each : cache)
    if (which.kind == each.kind) slot = &each;
  if (slot == nullptr)
    for (source_plans& each : cache)
      if (slot == nullptr && (each.kind[0] == '\0' || each.stale)) slot = &each;
  // A bounded number of attached kinds, but a long session may have seen more: any slot can be remade.
  if (slot == nullptr) slot = &cache[0];
  bool const usable = slot->by_key != nullptr && !slot->stale && which.kind == slot->kind &&
                      slot->relation == found.relation && slot->owner == found.owner;
  if (usable) return *slot;

  call([&] { free_plans(*slot); });
  *slot = source_plans{};
  std::memcpy(slot->kind, which.kind.data(), which.kind.size());
  slot->relation = found.relation;
  slot->owner = found.owner;
  // Not stale from here on: an invalidation that arrives while we prepare marks it again.
  check_source_columns(found.relation);
  slot->id_type = key_type(found.relation, "id");
  slot->id_indexed = trace_column(found.relation, "id").access == column_access::indexed;
  call([&] { prepare(*slot, which); });
  return *slot;
}

bool fits_type(Oid type, std::string_view id) noexcept {
  switch (type) {
    case UUIDOID: return is_lower_uuid(id);
    case INT2OID: return is_digits(id, "32767", "32768");
    case INT4OID: return is_digits(id, "2147483647", "2147483648");
    case INT8OID: return is_digits(id, "9223372036854775807", "9223372036854775808");
    default: return true;
  }
}

void watch_relations() { CacheRegisterRelcacheCallback(on_relation_change, Datum(0)); }

}  // namespace ql3::pg
