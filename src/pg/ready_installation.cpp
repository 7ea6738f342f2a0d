// Is it installed exactly as shipped, and may only those use it who were given the right?
#include "contract.hpp"
#include "grants.hpp"
#include "installed.hpp"
#include "ready_catalog.hpp"

extern "C" {
#include "utils/array.h"
}

namespace ql3::pg {

namespace {

constexpr check version_check{"version", level_error, for_both};
constexpr check capabilities_check{"capabilities", level_error, for_both};
constexpr check catalog_check{"catalog", level_error, for_both};
constexpr check installation_check{"installation", level_error, for_both};
constexpr check rights_check{"rights", level_error, for_both};
constexpr check grants_check{"grants", level_error, for_both};
constexpr check owner_check{"owner", level_warning, for_both};

// The capabilities are those of this version's contract, no more and no fewer; `ql3` tells which protocols its rows
// have.
constinit statement capabilities{
    "SELECT coalesce(w.contract || ' ' || w.version, format('(not ours: %s %s)', c.contract, c.version)),"
    "       (c.version, c.capabilities) IS NOT DISTINCT FROM (w.version, w.capabilities)"
    "  FROM (VALUES ('control-core'::text, 7, '{\"cluster_recovery_claim\": 1}'::jsonb),"
    "               ('ql3', 1, '{\"at_most_once_dispatch\": 1, \"protocol\": 1, \"recovery_claims\": 1}'))"
    "         AS w (contract, version, capabilities)"
    "  FULL JOIN ql3.schema_capabilities AS c ON c.contract = w.contract ORDER BY 1"};

constinit statement installations{"SELECT count(*) FROM ql3.installation"};

// `rights`: what somebody other than the owner has on an object of the schema and no recorded profile gives.
// `grants`: what a recorded profile, or ownership, should give and does not.
constinit statement rights{R"sql(
  WITH ns AS (SELECT * FROM pg_namespace WHERE nspname = 'ql3'),
  object (class, oid, name, owner, kind, acl) AS (
    SELECT 'pg_namespace'::regclass, oid, 'schema ql3', nspowner, 'n'::"char", nspacl FROM ns
    UNION ALL
    SELECT 'pg_class'::regclass, c.oid, 'ql3.' || quote_ident(c.relname), c.relowner,
           CASE WHEN c.relkind = 'S' THEN 's' ELSE 'r' END::"char", c.relacl
      FROM pg_class AS c JOIN ns ON c.relnamespace = ns.oid WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p', 'S')
    UNION ALL
    SELECT 'pg_proc'::regclass, p.oid, 'function ' || p.oid::regprocedure, p.proowner, 'f', p.proacl
      FROM pg_proc AS p JOIN ns ON p.pronamespace = ns.oid
    UNION ALL
    SELECT 'pg_type'::regclass, t.oid, 'type ql3.' || quote_ident(t.typname), t.typowner, 'T', t.typacl
      FROM pg_type AS t JOIN ns ON t.typnamespace = ns.oid LEFT JOIN pg_class AS c ON c.oid = t.typrelid
     WHERE t.typelem = 0 AND coalesce(c.relkind, 'c') = 'c'),
  entry AS (
    SELECT o.class, o.oid, o.name, o.owner, x.grantee, x.privilege_type AS privilege, x.is_grantable
      FROM object AS o, aclexplode(coalesce(o.acl, acldefault(o.kind, o.owner))) AS x
    UNION ALL
    SELECT 'pg_class'::regclass, c.oid, format('column ql3.%I.%I', c.relname, a.attname), c.relowner, x.grantee,
           x.privilege_type, x.is_grantable
      FROM pg_class AS c JOIN ns ON c.relnamespace = ns.oid JOIN pg_attribute AS a ON a.attrelid = c.oid,
           aclexplode(a.attacl) AS x
     WHERE NOT a.attisdropped),
  given AS (
    SELECT g.role_name, r.oid AS role, g.profile, s.privilege, s.object,
           CASE s.privilege WHEN 'USAGE' THEN (SELECT oid FROM ns)
                WHEN 'EXECUTE' THEN to_regprocedure('ql3.' || s.object)::oid
                ELSE to_regclass('ql3.' || s.object)::oid END AS oid
      FROM unnest($1, $2, $3) AS s (profile, privilege, object)
      JOIN ql3.granted_profiles AS g ON g.profile = s.profile
      LEFT JOIN pg_roles AS r ON r.rolname = g.role_name)
  SELECT 'rights' AS which,
         format('%s has %s on %s%s', CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(e.grantee)::text END,
                e.privilege, e.name, CASE WHEN e.is_grantable THEN ' and may grant it' END)
    FROM entry AS e
   WHERE e.grantee <> e.owner
     AND (e.is_grantable OR e.name LIKE 'column %'
          OR NOT EXISTS (SELECT FROM given AS g
                          WHERE g.role = e.grantee AND g.oid = e.oid AND g.privilege = e.privilege))
  UNION
  SELECT 'grants', CASE WHEN g.role IS NULL THEN format('role %s does not exist', g.role_name)
              ELSE format('%s (%s) lacks %s on %s', g.role_name, g.profile, g.privilege, g.object) END
    FROM given AS g
   WHERE g.role IS NULL
      OR NOT EXISTS (SELECT FROM entry AS e WHERE e.grantee = g.role AND e.oid = g.oid AND e.privilege = g.privilege)
  UNION
  SELECT 'grants', format('the owner lacks %s on %s', d.privilege_type, o.name)
    FROM object AS o, aclexplode(acldefault(o.kind, o.owner)) AS d
   WHERE d.grantee = o.owner AND o.acl IS NOT NULL
     AND NOT EXISTS (SELECT FROM aclexplode(o.acl) AS x
                      WHERE x.grantee = o.owner AND x.privilege_type = d.privilege_type)
   ORDER BY 2
)sql", TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID};

// Who may do anything here without a grant of ours, superusers aside.
constinit statement owners_friends{R"sql(
  SELECT format('%s can act as %s', r.rolname, m.rolname)
    FROM pg_roles AS r, pg_roles AS m
   WHERE NOT r.rolsuper AND r.oid <> m.oid AND pg_has_role(r.oid, m.oid, 'MEMBER')
     AND (m.oid = (SELECT extowner FROM pg_extension WHERE extname = 'ql3')
          OR m.rolname IN ('pg_read_all_data', 'pg_write_all_data'))
     AND r.rolname NOT LIKE 'pg\_%'
   ORDER BY 1
)sql"};

Datum text_array(const profile_rights& rights, const char* profile_right::* field) {
  boost::container::static_vector<Datum, profile_rights::static_capacity> words;
  for (const profile_right& each : rights) words.push_back(text_datum(std::string_view(each.*field)));
  Datum* const first = words.data();
  int const count = static_cast<int>(words.size());
  return call([&] { return PointerGetDatum(construct_array(first, count, TEXTOID, -1, false, TYPALIGN_INT)); });
}

params rights_of_profiles() {
  profile_rights const rights = shipped_rights();
  params to;
  to.add(text_array(rights, &profile_right::profile)).add(text_array(rights, &profile_right::privilege))
      .add(text_array(rights, &profile_right::object));
  return to;
}

}  // namespace

void check_versions(readiness& to) {
  std::string_view const sql = installed_version();
  std::string_view const library = library_version();
  long_text detail;
  detail << "library " << library << ", SQL " << sql;
  if (sql == library) to.good(version_check, detail.view());
  else
    to.bad(version_check, detail.view(),
           "ALTER EXTENSION ql3 UPDATE; or, where the library is the older one, install that package and connect "
           "anew.");
}

void check_installation(readiness& to) {
  bool const same = installed_version() == library_version();
  to.run(capabilities_check, [&] {
    rows const found = capabilities.run(params());
    long_text good;
    long_text bad;
    for (int at = 0; at < found.size(); ++at) {
      long_text& list = found.boolean(at, 2) ? good : bad;
      if (!list.empty()) list << ", ";
      list << found.text(at, 1);
    }
    if (bad.empty()) to.good(capabilities_check, good.view());
    else
      to.bad(capabilities_check,
             (long_text() << "ql3.schema_capabilities does not say just this: " << bad.view()).view(), reinstall);
  });
  to.run(catalog_check, [&] {
    if (same) compare_catalog(to, catalog_check, core_extension, shipped_contract());
    else to.bad(catalog_check, "not compared: this library ships another version", "See the check version.");
  });
  to.run(installation_check, [&] {
    rows const found = installations.run(params());
    if (found.number(0, 1) == 1) to.good(installation_check, "has its id");
    else
      to.bad(installation_check, "ql3.installation must hold one row: no claim and no dispatch works without",
             reinstall);
  });
}

void check_rights(readiness& to) {
  struct both {
    check which;
    std::string_view good;
    std::string_view remedy;
  };
  constexpr both checks[] = {
      {rights_check, "nobody has more than ql3_grant gave",
       "REVOKE it, or give a profile with ql3.ql3_grant(role, profile), which records who has what."},
      {grants_check, "every granted profile is whole",
       "ql3.ql3_grant(role, profile) gives it again; of a role that is gone, the owner deletes the row of "
       "ql3.granted_profiles."}};
  for (const both& each : checks)
    to.run(each.which, [&] {
      differences seen;
      rows const found = rights.run(rights_of_profiles());
      for (int at = 0; at < found.size(); ++at)
        if (found.text(at, 1) == each.which.name) seen.note(found.text(at, 2));
      if (seen.none()) to.good(each.which, each.good);
      else to.bad(each.which, seen.detail(), each.remedy);
    });
  to.run(owner_check, [&] {
    differences seen;
    rows const found = owners_friends.run(params());
    for (int at = 0; at < found.size(); ++at) seen.note(found.text(at, 1));
    if (seen.none()) to.good(owner_check, "nobody but superusers can act as the owner");
    else
      to.bad(owner_check, seen.detail(),
             "Such a role reads or writes the tables past every function: REVOKE the membership, or give the extension "
             "an owner of its own.");
  });
}

}  // namespace ql3::pg
