// ql3_attach_source and ql3_detach_source.
#include "audit.hpp"
#include "compat.hpp"
#include "session.hpp"
#include "source_index.hpp"
#include "source_plans.hpp"
#include "transition.hpp"

extern "C" {
#include "storage/lmgr.h"
#include "utils/json.h"
}

namespace ql3::pg {

namespace {

enum attach_argument : int { arg_kind, arg_relation, arg_transition, arg_max_failures, arg_max_hold, arg_allow_slow };

constinit statement attached_count{
    "SELECT pg_catalog.count(*) FROM ql3.recovery_sources WHERE attached AND kind <> 'dispatch'"};
// FOR UPDATE also on a detached row: two attaches of one kind exclude each other.
constinit statement lock_source{
    "SELECT attached, generation FROM ql3.recovery_sources WHERE kind = $1 FOR UPDATE", TEXTOID};
constinit statement write_source{
    "INSERT INTO ql3.recovery_sources (kind, attached, generation, relation_schema, relation_name, relation_owner,"
    "  transition_schema, transition_name, max_failures, max_hold, attached_at, of_extension)"
    " VALUES ($1, true, $11, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
    " ON CONFLICT (kind) DO UPDATE SET attached = true, generation = EXCLUDED.generation,"
    "  relation_schema = EXCLUDED.relation_schema, relation_name = EXCLUDED.relation_name,"
    "  relation_owner = EXCLUDED.relation_owner, transition_schema = EXCLUDED.transition_schema,"
    "  transition_name = EXCLUDED.transition_name, max_failures = EXCLUDED.max_failures,"
    "  max_hold = EXCLUDED.max_hold, attached_at = EXCLUDED.attached_at, of_extension = EXCLUDED.of_extension"
    " WHERE NOT ql3.recovery_sources.attached",
    TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, INT4OID, INT8OID, TIMESTAMPTZOID, BOOLOID, INT8OID};
constinit statement unset_source{
    "UPDATE ql3.recovery_sources SET attached = false WHERE kind = $1 AND attached", TEXTOID};

struct named_object {
  const char* schema;
  const char* name;
  Oid owner;
};

named_object name_of_relation(Oid relation) {
  return call([&] {
    named_object found{};
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
    if (!HeapTupleIsValid(tuple)) return found;
    auto* form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
    found = {get_namespace_name(form->relnamespace), pstrdup(NameStr(form->relname)), form->relowner};
    ReleaseSysCache(tuple);
    // The schema may have been dropped with its relation meanwhile: as if there were none.
    return found.schema == nullptr ? named_object{} : found;
  });
}

named_object name_of_function(Oid function) {
  named_object const found = call([&] {
    Oid const schema = get_func_namespace(function);
    return named_object{OidIsValid(schema) ? get_namespace_name(schema) : nullptr, get_func_name(function), InvalidOid};
  });
  if (found.schema == nullptr || found.name == nullptr)
    throw error(sqlstate::undefined_function, "the transition function does not exist");
  return found;
}

void check_relation(Oid relation, const named_object& named) {
  if (named.name == nullptr)
    throw error(sqlstate::undefined_object, "the relation does not exist");
  char const relkind = call([&] { return get_rel_relkind(relation); });
  bool const readable = relkind == RELKIND_RELATION || relkind == RELKIND_VIEW || relkind == RELKIND_MATVIEW ||
                        relkind == RELKIND_FOREIGN_TABLE || relkind == RELKIND_PARTITIONED_TABLE;
  if (!readable)
    throw error("42809", (message_text<256>() << named.schema << "." << named.name << " is no table or view").view());
  if (call([&] { return get_rel_persistence(relation); }) == RELPERSISTENCE_TEMP)
    throw error("42809", (message_text<256>() << named.schema << "." << named.name << " is temporary").view(),
                "A source is read by every session.");
  // Asked as the caller: this function is SECURITY INVOKER for it.
  if (!call([&] { return compat::owns_relation(relation, GetUserId()); }))
    throw error(sqlstate::insufficient_privilege,
                (message_text<256>() << "must be owner of relation " << named.schema << "." << named.name).view(),
                "The source is read with the rights of its owner, so only its owner may attach it.");
}

void check_order(Oid relation, const named_object& named) {
  column_origin const origin = trace_column(relation, "lost_at");
  if (origin.access == column_access::indexed) return;
  if (origin.access == column_access::not_plain)
    throw error(
        sqlstate::not_in_prerequisite_state,
        (message_text<256>() << "lost_at of " << named.schema << "." << named.name << " is no plain column").view(),
        "Hand an indexed column through as lost_at, or attach with allow_slow => true: every claim then reads "
        "the whole relation.");
  named_object const table = name_of_relation(origin.table);
  if (table.name == nullptr) throw error(sqlstate::undefined_object, "the table behind the relation does not exist");
  const char* const command = call([&] {
    char* column = get_attname(origin.table, origin.column, false);
    return const_cast<const char*>(
        psprintf("CREATE INDEX ON %s (%s, ...); or attach with allow_slow => true.",
                 quote_qualified_identifier(table.schema, table.name), quote_identifier(column)));
  });
  throw error(sqlstate::not_in_prerequisite_state,
              (message_text<256>() << "lost_at of " << named.schema << "." << named.name << " leads no index").view(),
              command);
}

// Runs `body` as the owner of the extension, who owns the tables.
template <class Body>
void as_extension_owner(Body&& body) {
  struct identity {
    Oid user;
    int context;
  };
  identity const before = call([] {
    identity mine{};
    GetUserIdAndSecContext(&mine.user, &mine.context);
    Oid const table = get_relname_relid("recovery_sources", get_namespace_oid("ql3", false));
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
    if (!HeapTupleIsValid(tuple)) elog(ERROR, "the tables of ql3 are incomplete");
    Oid const owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relowner;
    ReleaseSysCache(tuple);
    SetUserIdAndSecContext(owner, mine.context | SECURITY_LOCAL_USERID_CHANGE);
    return mine;
  });
  body();  // an error leaves the identity to the transaction's abort
  call([&] { SetUserIdAndSecContext(before.user, before.context); });
}

std::string_view attached_json(const named_object& named, const std::optional<std::string_view>& transition) {
  return call([&] {
    StringInfoData json;
    initStringInfo(&json);
    appendStringInfoString(&json, "{\"relation\": ");
    escape_json(&json, quote_qualified_identifier(named.schema, named.name));
    if (transition) {
      appendStringInfoString(&json, ", \"transition\": ");
      escape_json(&json, transition->data());
    }
    appendStringInfoChar(&json, '}');
    return std::string_view(json.data, static_cast<std::size_t>(json.len));
  });
}

[[noreturn]] void refuse_attached(std::string_view kind) {
  throw error(sqlstate::duplicate_object,
              (message_text<256>() << "kind " << quoted{kind} << " is attached already").view(),
              "ql3.ql3_detach_source(kind) ends the present source first.");
}

Datum attach_source(FunctionCallInfo fcinfo) {
  require_writable("ql3_attach_source");
  arguments const given(fcinfo);
  std::string_view const kind = given.text(arg_kind, "kind");
  check_source_kind(kind);
  Oid const relation = DatumGetObjectId(given.datum(arg_relation, "relation"));
  std::optional<std::int32_t> max_failures;
  if (!given.is_null(arg_max_failures)) {
    max_failures = given.number32(arg_max_failures, "max_failures");
    check_max_failures(*max_failures);
  }
  std::optional<std::int64_t> max_hold;
  if (!given.is_null(arg_max_hold)) max_hold = check_max_hold(given.length(arg_max_hold, "max_hold"));
  bool const allow_slow = given.boolean(arg_allow_slow, "allow_slow");

  check_relation(relation, name_of_relation(relation));
  // Who drops or renames it waits from here on; asked again, because that may just have happened.
  call([&] { LockRelationOid(relation, AccessShareLock); });
  named_object const named = name_of_relation(relation);
  check_relation(relation, named);
  check_source_columns(relation);
  if (!allow_slow) check_order(relation, named);
  std::optional<std::string_view> transition_schema;
  std::optional<std::string_view> transition_name;
  if (!given.is_null(arg_transition)) {
    Oid const function = DatumGetObjectId(given.datum(arg_transition, "transition"));
    check_transition(function, named.owner);
    named_object const transition = name_of_function(function);
    transition_schema = transition.schema;
    transition_name = transition.name;
  }

  in_session([&] {
    as_extension_owner([&] {
      intend_to_write("recovery_sources");
      {
        rows const known = lock_source.run(params().text(kind));
        if (!known.empty() && known.boolean(0, 1)) refuse_attached(kind);
      }
      {
        rows const count = attached_count.run(params());
        if (count.number(0, 1) >= sources_max)
          throw error(sqlstate::program_limit_exceeded,
                      (message_text<128>() << "at most " << sources_max << " sources can be attached").view());
      }
      char* const owner = call([&] { return GetUserNameFromId(named.owner, false); });
      params to;
      to.text(kind).text(std::string_view(named.schema)).text(std::string_view(named.name))
          .text(std::string_view(owner)).text(transition_schema).text(transition_name).number32(max_failures);
      if (max_hold) to.number(*max_hold);
      else to.null();
      // What the script of another extension attaches, that script attaches again at restore: it is not dumped and
      // not an operator's act.
      // A generation never seen before, also after DROP and CREATE EXTENSION: hints of an earlier one are void.
      auto const generation = static_cast<std::int64_t>(random_bits() >> 1) | 1;
      if (write_source.write(to.time(clock_now()).boolean(creating_extension).number(generation)) == 0)
        refuse_attached(kind);  // another session attached it while we waited
      if (!creating_extension) audit({"attach", kind, {}, {}, {}, attached_json(named, transition_name)});
    });
  });
  return Datum(0);
}

Datum detach_source(FunctionCallInfo fcinfo) {
  require_writable("ql3_detach_source");
  arguments const given(fcinfo);
  std::string_view const kind = given.text(0, "kind");
  check_source_kind(kind);
  in_session([&] {
    if (unset_source.write(params().text(kind)) == 0)
      throw error(sqlstate::undefined_object,
                  (message_text<256>() << "no source is attached for kind " << quoted{kind}).view());
    audit({"detach", kind, {}, {}, "{\"attached\": true}", "{\"attached\": false}"});
  });
  return Datum(0);
}

}  // namespace

}  // namespace ql3::pg

QL3_FUNCTION(ql3_attach_source, ql3::pg::attach_source)
QL3_FUNCTION(ql3_detach_source, ql3::pg::detach_source)
