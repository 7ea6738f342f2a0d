// ql3_grant and ql3_revoke: the rights of a profile, and the record of who has which.
#include "grants.hpp"

#include "args.hpp"
#include "compat.hpp"
#include "session.hpp"

extern "C" {
#include "catalog/pg_extension.h"
#include "utils/fmgroids.h"
}

namespace ql3::pg {

namespace {

enum profile_bit : unsigned { runtime = 1, observer = 2, operators = 4 };

struct granted_function {
  const char* signature;
  unsigned profiles;
};

constexpr granted_function functions[] = {
    {"ql3_claim(text, integer, interval, uuid, text[])", runtime},
    {"ql3_renew(text, text, text, uuid, bigint, interval)", runtime},
    {"ql3_renew_page(text, uuid, text[], text[], bigint[], interval)", runtime},
    {"ql3_settle(text, text, text, uuid, bigint, text, interval, text)", runtime},
    {"ql3_settle_page(text, uuid, text[], text[], bigint[], text[], interval[], text[])", runtime},
    {"ql3_give_back(text, uuid, text[], text[], bigint[])", runtime},
    {"ql3_conclude(text, text, text, uuid, bigint, text, jsonb)", runtime},
    {"ql3_require_fence(text, text, text, uuid, bigint)", runtime},
    {"ql3_observe(integer, text[])", runtime | observer},
    {"ql3_observe_one(text, text, uuid)", runtime | observer},
    {"ql3_dispatch_claim(text, text, text, jsonb, text, uuid, interval)", runtime},
    {"ql3_dispatch_permit(text, text, text, uuid, uuid)", runtime},
    {"ql3_dispatch_extend(text, text, text, uuid, interval)", runtime},
    {"ql3_dispatch_settle(text, text, text, uuid, text, text, uuid)", runtime},
    {"ql3_dispatch_reassert(text, text, text, jsonb, text, uuid, text)", runtime},
    {"ql3_dispatch_observe(text, text, uuid)", runtime | observer},
    {"ql3_dispatch_override(uuid, text, text, text)", operators},
    {"ql3_dispatch_record(text, text, text, jsonb, text, text)", operators},
    {"ql3_confirm_promotion(text, integer, text, text)", operators},
    {"ql3_halt_dispatch(text)", operators},
    {"ql3_unhalt_dispatch(uuid, text)", operators},
    {"ql3_attach_source(text, regclass, regprocedure, integer, interval, boolean)", operators},
    {"ql3_detach_source(text)", operators},
    {"ql3_pause(text, text)", operators},
    {"ql3_resume(text, text)", operators},
    {"ql3_import(text, text[], text[], integer[], text)", operators},
    {"ql3_prune(interval, integer)", operators},
    {"ql3_forget(text, text)", operators},
    {"ql3_release(text, text, bigint, text)", operators},
    {"ql3_park(text, text, bigint, text)", operators},
    {"ql3_release_page(text[], text[], bigint[], text)", operators},
    {"ql3_live_lineage()", observer | operators},
    {"ql3_explain(text, text)", runtime | observer | operators},
    {"ql3_horizon()", observer | operators},
    {"ql3_ready()", runtime | observer | operators},
    {"ql3_verify()", runtime | observer | operators},
};

// Views that observers and operators read; no profile has a right on a table.
constexpr const char* views[] = {"backlog", "claims",          "parked",  "failing",
                                 "dispatch_halted", "dispatches_open", "history", "audit"};

constinit statement add_grant{
    "INSERT INTO ql3.granted_profiles (role_name, profile, granted_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    TEXTOID, TEXTOID, TIMESTAMPTZOID};
constinit statement remove_grant{
    "DELETE FROM ql3.granted_profiles WHERE role_name = $1 AND profile = $2", TEXTOID, TEXTOID};
constinit statement grants_of{"SELECT profile FROM ql3.granted_profiles WHERE role_name = $1", TEXTOID};

unsigned profile_of(std::string_view word) {
  if (word == "runtime") return runtime;
  if (word == "observer") return observer;
  if (word == "operator") return operators;
  throw error(sqlstate::invalid_parameter, (message_text<256>() << "unknown profile " << quoted{word}).view(),
              "The profiles are runtime, observer and operator.");
}

void require_extension_owner(const char* what) {
  bool const owner = call([] {
    Oid const table = get_relname_relid("granted_profiles", get_namespace_oid("ql3", false));
    return compat::owns_relation(table, GetUserId());
  });
  if (!owner)
    throw error(sqlstate::insufficient_privilege,
                (message_text<128>() << what << "() is for the owner of the extension").view());
}

void run_utility(const char* sql) {
  call([&] {
    int const code = SPI_execute(sql, false, 0);
    if (code < 0) elog(ERROR, "grant of ql3 failed: %s", SPI_result_code_string(code));
  });
}

void change(const char* verb, const char* direction, const char* object, std::string_view role) {
  run_utility(call([&] {
    return const_cast<const char*>(psprintf("%s %s %s %s", verb, object, direction, quote_identifier(role.data())));
  }));
}

void apply(const char* verb, const char* direction, std::string_view role, unsigned profiles) {
  change(verb, direction, "USAGE ON SCHEMA ql3", role);
  if ((profiles & (observer | operators)) != 0)
    for (const char* view : views)
      change(verb, direction, call([&] { return const_cast<const char*>(psprintf("SELECT ON ql3.%s", view)); }), role);
  for (const granted_function& each : functions) {
    if ((each.profiles & profiles) == 0) continue;
    change(verb, direction, call([&] {
             return const_cast<const char*>(psprintf("EXECUTE ON FUNCTION ql3.%s", each.signature));
           }), role);
  }
}

std::string_view role_of(const arguments& given) {
  Oid const role = DatumGetObjectId(given.datum(0, "role"));
  char* const name = call([&] { return GetUserNameFromId(role, true); });
  if (name == nullptr)
    throw error(sqlstate::undefined_object,
                (message_text<128>() << "role with OID " << role << " does not exist").view());
  return name;
}

Datum grant(FunctionCallInfo fcinfo) {
  require_writable("ql3_grant");
  arguments const given(fcinfo);
  std::string_view const role = role_of(given);
  std::string_view const profile = given.text(1, "profile");
  unsigned const bits = profile_of(profile);
  require_extension_owner("ql3_grant");
  in_session([&] {
    apply("GRANT", "TO", role, bits);
    add_grant.write(params().text(role).text(profile).time(clock_now()));
  });
  return Datum(0);
}

Datum revoke(FunctionCallInfo fcinfo) {
  require_writable("ql3_revoke");
  arguments const given(fcinfo);
  std::string_view const role = role_of(given);
  std::string_view const profile = given.text(1, "profile");
  (void)profile_of(profile);
  require_extension_owner("ql3_revoke");
  in_session([&] {
    if (remove_grant.write(params().text(role).text(profile)) == 0)
      throw error(sqlstate::undefined_object, (message_text<256>() << "role " << quoted{role} << " has not the profile "
                                                                    << quoted{profile}).view());
    // Profiles overlap: take everything, give back what the others still grant.
    apply("REVOKE", "FROM", role, runtime | observer | operators);
    unsigned left = 0;
    rows const others = grants_of.run(params().text(role));
    for (int at = 0; at < others.size(); ++at) left |= profile_of(others.text(at, 1));
    if (left != 0) apply("GRANT", "TO", role, left);
  });
  return Datum(0);
}

}  // namespace

profile_rights shipped_rights() {
  struct named_profile {
    const char* word;
    unsigned bit;
  };
  profile_rights all;
  for (const named_profile& each :
       {named_profile{"runtime", runtime}, named_profile{"observer", observer}, named_profile{"operator", operators}}) {
    all.push_back({each.word, "USAGE", "ql3"});
    for (const granted_function& function : functions)
      if ((function.profiles & each.bit) != 0) all.push_back({each.word, "EXECUTE", function.signature});
    if (each.bit != runtime)
      for (const char* view : views) all.push_back({each.word, "SELECT", view});
  }
  return all;
}

}  // namespace ql3::pg

QL3_FUNCTION(ql3_grant, ql3::pg::grant)
QL3_FUNCTION(ql3_revoke, ql3::pg::revoke)
