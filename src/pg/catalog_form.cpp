#include "catalog_form.hpp"

#include "args.hpp"
#include "contract.hpp"
#include "result_set.hpp"
#include "session.hpp"

namespace ql3::pg {

namespace {

// Nothing here names a column that a supported major lacks, and no pg_get_*def() is taken as it is: those change
// between majors. A row of NOT NULL in pg_constraint (18) is told by the column; a view of one relation is printed with
// its alias before every column up to 15 and without later, so the alias goes; AT TIME ZONE is a call in 13; which
// views and row types a view depends on differs. Left out on purpose: storage
// parameters, tablespaces, statistics targets, comments, and rights (they have a check of their own).
constinit statement catalog_form{R"sql(
WITH ext AS (SELECT * FROM pg_extension WHERE extname = $1),
     ns AS (SELECT * FROM pg_namespace WHERE nspname = $1),
     member AS (
       SELECT d.classid, d.objid FROM pg_depend AS d JOIN ext ON d.refobjid = ext.oid
        WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'),
     dumped AS (
       SELECT u.rel, u.condition FROM ext, unnest(ext.extconfig, ext.extcondition) AS u (rel, condition)),
     rel AS (
       SELECT c.*, format('%s.%s', (SELECT nspname FROM pg_namespace WHERE oid = c.relnamespace), c.relname) AS called
         FROM pg_class AS c
        WHERE c.relnamespace = (SELECT oid FROM ns)
           OR (c.oid IN (SELECT objid FROM member WHERE classid = 'pg_class'::regclass))),
     proc AS (
       SELECT p.* FROM pg_proc AS p
        WHERE p.pronamespace = (SELECT oid FROM ns)
           OR p.oid IN (SELECT objid FROM member WHERE classid = 'pg_proc'::regclass)),
     form (object, form) AS (
  SELECT 'extension ' || $1, format('version %s%s', extversion, CASE WHEN extrelocatable THEN ' relocatable' END)
    FROM ext
  UNION ALL
  SELECT 'schema ' || $1, concat_ws(' ', CASE WHEN ns.nspowner = ext.extowner THEN 'owned'
                                           ELSE 'owner ' || pg_get_userbyid(ns.nspowner) END, m.word)
    FROM ns, ext, LATERAL (SELECT CASE WHEN ('pg_namespace'::regclass, ns.oid) IN (SELECT classid, objid FROM member)
                                       THEN 'member' ELSE 'not a member' END) AS m (word)
  UNION ALL
  SELECT format('%s %s', k.word, r.called),
         concat_ws(' ', CASE WHEN r.relkind = 'i' THEN NULL WHEN r.relowner = ext.extowner THEN 'owned'
                             ELSE 'owner ' || pg_get_userbyid(r.relowner) END,
                   CASE WHEN r.relkind = 'i' THEN NULL
                        WHEN (k.class, k.oid) IN (SELECT classid, objid FROM member) THEN 'member'
                        ELSE 'not a member' END,
                   CASE r.relpersistence WHEN 'u' THEN 'unlogged' WHEN 't' THEN 'temporary' END,
                   'using ' || (SELECT amname FROM pg_am WHERE oid = r.relam),
                   CASE WHEN r.relkind = 'r' AND r.relreplident <> 'd'
                        THEN 'replica identity ' || r.relreplident::text END,
                   CASE WHEN r.relrowsecurity THEN 'row security' END,
                   CASE WHEN r.relforcerowsecurity THEN 'forced' END,
                   CASE WHEN r.relispartition THEN 'partition' END,
                   'of type ' || (SELECT format_type(nullif(r.reloftype, 0), NULL)),
                   (SELECT 'dumped ' || coalesce(nullif(d.condition, ''), 'whole')
                      FROM dumped AS d WHERE d.rel = r.oid),
                   (SELECT format('%s start %s step %s from %s to %s%s', format_type(s.seqtypid, NULL), s.seqstart,
                           s.seqincrement, s.seqmin, s.seqmax, CASE WHEN s.seqcycle THEN ' cycle' END)
                      FROM pg_sequence AS s WHERE s.seqrelid = r.oid),
                   (SELECT concat_ws(' ', 'on', x.indrelid::regclass, CASE WHEN x.indisunique THEN 'unique' END,
                           '(' || (SELECT string_agg(concat_ws(' ', pg_get_indexdef(x.indexrelid, u.n::int, false),
                                     (SELECT opcname FROM pg_opclass WHERE oid = u.class),
                                     (SELECT collname FROM pg_collation WHERE oid = u.coll), nullif(u.option, 0)),
                                     ', ' ORDER BY u.n)
                                     FROM unnest(x.indclass, x.indcollation, x.indoption)
                                            WITH ORDINALITY AS u (class, coll, option, n)) || ')',
                           'where ' || pg_get_expr(x.indpred, x.indrelid),
                           CASE WHEN NOT x.indisvalid THEN 'invalid' END,
                           CASE WHEN NOT x.indisready THEN 'not ready' END,
                           CASE WHEN NOT x.indimmediate THEN 'deferrable' END)
                      FROM pg_index AS x WHERE x.indexrelid = r.oid),
                   CASE WHEN r.relkind IN ('v', 'm') THEN (
                     SELECT CASE WHEN single IS NULL THEN def
                                 ELSE regexp_replace(def, '\m' || single || '[.]', '', 'g') END
                       FROM (SELECT regexp_replace(pg_get_viewdef(r.oid, false),
                                                   'timezone\((''\w+''::text), ([\w.]+)\)',
                                                   '(\2 AT TIME ZONE \1)', 'g') AS def,
                                    substring(pg_get_viewdef(r.oid, false) FROM
                                      '(?:\sFROM [a-z0-9_]+[.][a-z0-9_]+|\)) ([a-z]+)'
                                      '(?:\s+WHERE (?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*)?;$')
                                      AS single) AS v) END,
                   CASE WHEN r.relkind IN ('v', 'm') THEN (
                     SELECT 'reads ' || string_agg(seen, ', ' ORDER BY seen COLLATE "C")
                       FROM (SELECT DISTINCT pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid) AS seen
                               FROM pg_rewrite AS w
                               JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
                              WHERE w.ev_class = r.oid AND d.deptype = 'n'
                                AND NOT (d.refclassid = 'pg_class'::regclass
                                         AND d.refobjid IN (SELECT c.oid FROM pg_class AS c
                                                             WHERE c.oid = r.oid OR c.relkind = 'c'))) AS d)
                   END)
    FROM ext, rel AS r,
         LATERAL (SELECT CASE r.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence'
                              WHEN 'i' THEN 'index' WHEN 'c' THEN 'type' WHEN 'm' THEN 'materialized view'
                              WHEN 'f' THEN 'foreign table' ELSE 'relation' END,
                         CASE r.relkind WHEN 'c' THEN 'pg_type' ELSE 'pg_class' END::regclass,
                         CASE r.relkind WHEN 'c' THEN r.reltype ELSE r.oid END) AS k (word, class, oid)
  UNION ALL
  SELECT format('column %s.%s', r.called, a.attname),
         concat_ws(' ', format_type(a.atttypid, a.atttypmod),
                   (SELECT 'collate ' || collname FROM pg_collation AS l JOIN pg_type AS t ON t.oid = a.atttypid
                     WHERE l.oid = a.attcollation AND l.oid <> t.typcollation),
                   CASE WHEN a.attnotnull THEN 'not null' END,
                   CASE a.attidentity WHEN 'd' THEN 'identity by default' WHEN 'a' THEN 'identity always' END,
                   CASE WHEN a.attgenerated <> '' THEN 'generated' ELSE 'default' END || ' ' ||
                     pg_get_expr(d.adbin, d.adrelid),
                   'after ' || lag(a.attname) OVER (PARTITION BY r.oid ORDER BY a.attnum))
    FROM rel AS r JOIN pg_attribute AS a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
   WHERE r.relkind IN ('r', 'v', 'm', 'f', 'c', 'p')
  UNION ALL
  SELECT format('constraint %s.%s', n.conrelid::regclass, n.conname),
         concat_ws(' ', CASE n.contype WHEN 'c' THEN 'check' WHEN 'p' THEN 'primary key' WHEN 'u' THEN 'unique'
                          WHEN 'f' THEN 'foreign key to ' || n.confrelid::regclass WHEN 'x' THEN 'exclusion'
                          ELSE n.contype::text END,
                   (SELECT format('(%s)', string_agg(a.attname, ', '
                             ORDER BY CASE WHEN n.contype = 'c' THEN a.attnum ELSE k.n END))
                      FROM unnest(n.conkey) WITH ORDINALITY AS k (attnum, n)
                      JOIN pg_attribute AS a ON a.attrelid = n.conrelid AND a.attnum = k.attnum),
                   pg_get_expr(n.conbin, n.conrelid),
                   CASE WHEN n.condeferrable THEN 'deferrable' END, CASE WHEN n.condeferred THEN 'deferred' END,
                   CASE WHEN NOT n.convalidated THEN 'not valid' END)
    FROM pg_constraint AS n
   WHERE (n.conrelid IN (SELECT oid FROM rel) OR n.confrelid IN (SELECT oid FROM rel)) AND n.contype NOT IN ('n', 't')
  UNION ALL
  SELECT 'function ' || p.oid::regprocedure,
         concat_ws(' ', format('(%s)', pg_get_function_arguments(p.oid)),
                   'returns ' || CASE WHEN p.proretset THEN 'setof ' ELSE '' END || format_type(p.prorettype, NULL),
                   (SELECT lanname FROM pg_language WHERE oid = p.prolang),
                   CASE WHEN p.prolang IN (SELECT oid FROM pg_language WHERE lanname = 'c')
                        THEN format('%s:%s', p.probin, p.prosrc)
                        ELSE 'body ' || encode(sha256(convert_to(p.prosrc, 'UTF8')), 'hex') END,
                   CASE p.prokind WHEN 'f' THEN NULL ELSE 'kind ' || p.prokind::text END,
                   CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
                   CASE WHEN p.proisstrict THEN 'strict' END,
                   CASE WHEN p.prosecdef THEN 'security definer' ELSE 'security invoker' END,
                   CASE WHEN p.proleakproof THEN 'leakproof' END, 'parallel ' || p.proparallel::text,
                   'cost ' || p.procost, 'rows ' || nullif(p.prorows, 0),
                   'support ' || nullif(p.prosupport::oid, 0)::regproc,
                   (SELECT string_agg('set ' || s, ' ' ORDER BY s COLLATE "C") FROM unnest(p.proconfig) AS s),
                   CASE WHEN p.proowner = ext.extowner THEN 'owned' ELSE 'owner ' || pg_get_userbyid(p.proowner) END,
                   CASE WHEN ('pg_proc'::regclass, p.oid) IN (SELECT classid, objid FROM member) THEN 'member'
                        ELSE 'not a member' END)
    FROM ext, proc AS p
  UNION ALL
  SELECT format('trigger %s.%s', t.tgrelid::regclass, t.tgname),
         concat_ws(' ', t.tgfoid::regprocedure, 'type', t.tgtype, 'enabled', t.tgenabled,
                   'columns ' || nullif(t.tgattr::text, ''),
                   CASE WHEN t.tgqual IS NOT NULL THEN 'conditional' END,
                   CASE WHEN t.tgdeferrable THEN 'deferrable' END,
                   nullif(encode(t.tgargs, 'escape'), ''))
    FROM pg_trigger AS t WHERE t.tgrelid IN (SELECT oid FROM rel) AND NOT t.tgisinternal
  UNION ALL
  SELECT format('rule %s.%s', w.ev_class::regclass, w.rulename),
         concat_ws(' ', 'event', w.ev_type, 'enabled', w.ev_enabled, CASE WHEN w.is_instead THEN 'instead' END)
    FROM pg_rewrite AS w WHERE w.ev_class IN (SELECT oid FROM rel)
  UNION ALL
  SELECT format('policy %s.%s', p.polrelid::regclass, p.polname), 'command ' || p.polcmd::text
    FROM pg_policy AS p WHERE p.polrelid IN (SELECT oid FROM rel)
  UNION ALL
  SELECT format('child %s of %s', i.inhrelid::regclass, i.inhparent::regclass), 'inherits'
    FROM pg_inherits AS i WHERE i.inhparent IN (SELECT oid FROM rel) OR i.inhrelid IN (SELECT oid FROM rel)
  UNION ALL
  SELECT DISTINCT format('subscription of %s', s.srrelid::regclass), 'writes'
    FROM pg_subscription_rel AS s WHERE s.srrelid IN (SELECT oid FROM rel)
  UNION ALL
  SELECT DISTINCT 'object ' || pg_describe_object(d.classid, d.objid, 0), NULL
    FROM (SELECT d.classid, d.objid FROM pg_depend AS d JOIN ns ON d.refobjid = ns.oid
           WHERE d.refclassid = 'pg_namespace'::regclass
          UNION SELECT classid, objid FROM member) AS d
   WHERE d.classid NOT IN ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_namespace'::regclass, 'pg_rewrite'::regclass,
                           'pg_trigger'::regclass)
     AND NOT EXISTS (SELECT FROM pg_type AS t WHERE d.classid = 'pg_type'::regclass AND t.oid = d.objid
                        AND (t.typrelid <> 0 OR t.typelem <> 0)))
SELECT object, trim(regexp_replace(coalesce(form, ''), '\s+', ' ', 'g')) FROM form ORDER BY object COLLATE "C"
)sql", TEXTOID};

Datum catalog_form_rows(FunctionCallInfo fcinfo) {
  arguments const given(fcinfo);
  std::string_view const extension = given.text(0, "extension");
  if (extension != core_extension && extension != ledger_extension)
    throw error(sqlstate::invalid_parameter,
                (message_text<256>() << "no extension of ours: " << quoted{extension}).view(),
                "They are ql3 and ql3_ledger.");
  result_set result(fcinfo);
  in_session([&](session& opened) {
    opened.unpin();
    {
      rows const form = read_catalog_form(extension);
      for (int at = 0; at < form.size(); ++at)
        result_row().text(form.text(at, form_object)).text(form.text(at, form_text)).into_any(result);
    }
    opened.pin();
  }, versions_may::differ);
  return Datum(0);
}

}  // namespace

rows read_catalog_form(std::string_view extension) { return catalog_form.run(params().text(extension)); }

}  // namespace ql3::pg

QL3_FUNCTION(ql3_catalog_form, ql3::pg::catalog_form_rows)
