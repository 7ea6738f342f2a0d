#include "transition.hpp"

extern "C" {
#include "commands/trigger.h"
#include "parser/parse_func.h"
}

namespace ql3::pg {

namespace {

struct function_facts {
  Oid owner;
  Oid result;
  bool set;
  char kind;
  bool found;
  int arguments;
  Oid types[3];
};

function_facts look_at(Oid function) {
  return call([&] {
    function_facts facts{};
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple)) return facts;
    auto* form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
    facts = {form->proowner, form->prorettype, form->proretset, form->prokind, true, form->pronargs, {}};
    for (int at = 0; at < 3 && at < form->pronargs; ++at) facts.types[at] = form->proargtypes.values[at];
    ReleaseSysCache(tuple);
    return facts;
  });
}

Oid find_transition(const source& from) {
  return call([&] {
    Oid const types[] = {TEXTOID, TEXTOID, JSONBOID};
    List* name = list_make2(makeString(const_cast<char*>(from.transition_schema->data())),
                            makeString(const_cast<char*>(from.transition_name->data())));
    return LookupFuncName(name, 3, types, true);
  });
}

// Runs the statement and answers its boolean; NULL is false.
bool ask(Oid owner, const char* sql, const params& with) {
  return call([&] {
    Oid user;
    int context;
    GetUserIdAndSecContext(&user, &context);
    SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
    int const level = NewGUCNestLevel();
    // As for the reader of the source: a caller without row security neither widens nor fails what the owner may do.
    (void)set_config_option("row_security", "on", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
    Oid types[] = {TEXTOID, TEXTOID, JSONBOID};
    int const code = SPI_execute_with_args(sql, 3, types, with.values(), with.nulls(), false, 1);
    if (code != SPI_OK_SELECT || SPI_processed != 1) elog(ERROR, "the transition answered no row");
    bool null;
    Datum const answer = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null);
    bool const yes = !null && DatumGetBool(answer);
    SPI_freetuptable(SPI_tuptable);
    AtEOXact_GUC(false, level);  // settings the transition changed
    SetUserIdAndSecContext(user, context);
    return yes;
  });
}

void set_constraints_immediate() {
  call([] {
    ConstraintsSetStmt* all = makeNode(ConstraintsSetStmt);
    all->constraints = NIL;
    all->deferred = false;
    AfterTriggerSetState(all);
  });
}

}  // namespace

bool is_transition_gone(const source& from) { return !OidIsValid(find_transition(from)); }

void check_transition(Oid function, Oid relation_owner) {
  function_facts const facts = look_at(function);
  if (!facts.found) throw error(sqlstate::undefined_function, "the transition function does not exist");
  bool const fits = facts.kind == PROKIND_FUNCTION && facts.arguments == 3 && facts.types[0] == TEXTOID &&
                    facts.types[1] == TEXTOID && facts.types[2] == JSONBOID;
  if (!fits)
    throw error(sqlstate::undefined_function, "a transition takes (id text, verdict text, evidence jsonb)",
                "CREATE FUNCTION ...(id text, verdict text, evidence jsonb) RETURNS boolean.");
  if (facts.result != BOOLOID || facts.set)
    throw error(sqlstate::datatype_mismatch, "a transition returns boolean",
                "true = the row was changed; false or null = stale, judge it anew.");
  if (facts.owner != relation_owner)
    throw error(sqlstate::insufficient_privilege, "the transition must belong to the owner of the relation",
                "It runs with that owner's rights.");
}

bool run_transition(session& in, const source& from, std::string_view id, std::string_view verdict,
                    std::optional<Datum> evidence) {
  if (!from.transition_name)
    throw error(sqlstate::not_in_prerequisite_state,
                (message_text<256>() << "the source of kind " << quoted{from.kind} << " has no transition").view(),
                "Settle the claim as resolved, or attach the source with a transition.");
  resolved_source found{};
  if (std::optional<blindness> const why = resolve(from, found)) throw error(why->sqlstate, why->message);
  Oid const function = find_transition(from);
  if (!OidIsValid(function))
    throw error(sqlstate::undefined_function,
                (message_text<256>() << "transition " << *from.transition_schema << "." << *from.transition_name
                                     << "(text, text, jsonb) does not exist").view());
  check_transition(function, found.owner);

  params with;
  with.text(id).text(verdict);
  if (evidence) with.add(*evidence);
  else with.null();
  const char* const sql = call([&] {
    return const_cast<const char*>(psprintf("SELECT %s($1, $2, $3)", quote_qualified_identifier(
                                                from.transition_schema->data(), from.transition_name->data())));
  });
  bool yes = false;
  in.unpin();
  set_constraints_immediate();
  keep_if([&] { return yes = ask(found.owner, sql, with); });
  in.pin();
  return yes;
}

}  // namespace ql3::pg
