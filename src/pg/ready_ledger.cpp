// ql3_ledger, where it is installed: as shipped, and closed to whom it does not concern.
#include "contract.hpp"
#include "installed.hpp"
#include "ready_catalog.hpp"

namespace ql3::pg {

namespace {

constexpr check ledger_check{"ledger", level_error, for_recovery};

constinit statement is_there{"SELECT count(*) FROM pg_extension WHERE extname = 'ql3_ledger'"};

// Who may call or read it is its owner's to say; the tables are written by its functions alone, and nobody passes on
// what was given.
constinit statement ledger_rights{R"sql(
  WITH ns AS (SELECT * FROM pg_namespace WHERE nspname = 'ql3_ledger'),
  object (name, owner, acl) AS (
    SELECT 'schema ql3_ledger', nspowner, coalesce(nspacl, acldefault('n', nspowner)) FROM ns
    UNION ALL
    SELECT c.oid::regclass::text, c.relowner, coalesce(c.relacl, acldefault('r', c.relowner))
      FROM pg_class AS c JOIN ns ON c.relnamespace = ns.oid WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p')
    UNION ALL
    SELECT format('column %s.%I', c.oid::regclass, a.attname), c.relowner, a.attacl
      FROM pg_class AS c JOIN ns ON c.relnamespace = ns.oid JOIN pg_attribute AS a ON a.attrelid = c.oid
     WHERE NOT a.attisdropped AND a.attacl IS NOT NULL
    UNION ALL
    SELECT 'function ' || p.oid::regprocedure, p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
      FROM pg_proc AS p JOIN ns ON p.pronamespace = ns.oid)
  SELECT format('%s has %s on %s%s', CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(x.grantee)::text END,
                x.privilege_type, o.name, CASE WHEN x.is_grantable THEN ' and may grant it' END)
    FROM object AS o, aclexplode(o.acl) AS x
   WHERE x.grantee <> o.owner
     AND (x.grantee = 0 OR x.is_grantable OR x.privilege_type NOT IN ('USAGE', 'SELECT', 'EXECUTE'))
   ORDER BY 1
)sql"};

}  // namespace

void check_ledger(readiness& to) {
  to.run(ledger_check, [&] {
    if (is_there.run(params()).number(0, 1) == 0) {
      to.good(ledger_check, "ql3_ledger is not installed");
      return;
    }
    if (installed_version() != library_version()) {
      to.bad(ledger_check, "not compared: this library ships another version", "See the check version.");
      return;
    }
    differences seen;
    std::int64_t const objects = find_changes(seen, ledger_extension, shipped_ledger_contract());
    rows const found = ledger_rights.run(params());
    for (int at = 0; at < found.size(); ++at) seen.note(found.text(at, 1));
    if (seen.none()) to.good(ledger_check, (long_text() << objects << " objects as shipped").view());
    else
      to.bad(ledger_check, seen.detail(),
             "Find out who changed or granted it; ql3_ledger.grant_worker(role) gives what a worker needs.");
  });
}

}  // namespace ql3::pg
