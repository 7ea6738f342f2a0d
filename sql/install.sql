-- What CREATE EXTENSION makes: its own schema, tables that refuse every broken mix, and no right
-- for anybody. Runs first: it drops an extension that an earlier run left behind.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
DROP EXTENSION IF EXISTS ql3 CASCADE;
RESET client_min_messages;

-- A schema that exists is never adopted, whoever made it.
CREATE SCHEMA ql3;
\set VERBOSITY sqlstate
CREATE EXTENSION ql3;
\set VERBOSITY default
DROP SCHEMA ql3;
CREATE EXTENSION ql3;
SELECT extname, extversion, extrelocatable FROM pg_extension WHERE extname = 'ql3';
SELECT count(*) FROM ql3.schema_capabilities AS c
WHERE to_jsonb(c)::text LIKE '%"control-core"%'
  AND to_jsonb(c)::text LIKE '%"cluster_recovery_claim": 1%'
  AND to_jsonb(c)::text ~ ': 7[,}]';

-- The names of the interface, each exactly once: an overload would make an untyped call ambiguous.
SELECT f FROM unnest('{ql3_attach_source,ql3_detach_source,ql3_claim,ql3_renew,ql3_renew_page,
ql3_settle,ql3_settle_page,ql3_give_back,ql3_conclude,ql3_require_fence,ql3_observe,ql3_observe_one,
ql3_release,ql3_park,ql3_pause,ql3_resume,ql3_import,ql3_prune,ql3_forget,ql3_grant,ql3_revoke}'::text[]) AS f
WHERE (SELECT count(*) FROM pg_proc WHERE proname = f AND pronamespace = 'ql3'::regnamespace) <> 1;
SELECT proname FROM pg_proc WHERE pronamespace = 'ql3'::regnamespace GROUP BY 1 HAVING count(*) > 1;
-- Every function is described, and names itself in no other schema.
SELECT proname FROM pg_proc
WHERE pronamespace = 'ql3'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL;
-- A definer function that looks names up in the caller's path would lend its owner's rights. What must
-- be checked as the caller runs as the caller.
SELECT proname FROM pg_proc
WHERE pronamespace = 'ql3'::regnamespace AND proname LIKE 'ql3\_%'
  AND NOT (proconfig @> '{"search_path=pg_catalog, pg_temp"}');
SELECT proname FROM pg_proc
WHERE pronamespace = 'ql3'::regnamespace AND proname LIKE 'ql3\_%' AND NOT prosecdef
  AND prorettype NOT IN ('trigger'::regtype, 'internal'::regtype) ORDER BY 1;
-- A strict function would answer NULL for a NULL; whatever writes is volatile and never runs in parallel.
SELECT proname FROM pg_proc
WHERE pronamespace = 'ql3'::regnamespace
  AND proname ~ '^ql3_(claim|renew|settle|give_back|conclude|require_fence|observe|release|park|pause|resume|import|prune|forget|attach|detach|grant|revoke)'
  AND (proisstrict OR proparallel = 's' OR (provolatile <> 'v' AND proname !~ 'observe'));

-- Nobody has a right: not PUBLIC on a function, a table or the schema.
SELECT proname FROM pg_proc
WHERE pronamespace = 'ql3'::regnamespace AND has_function_privilege('public', oid, 'EXECUTE');
SELECT relname FROM pg_class
WHERE relnamespace = 'ql3'::regnamespace AND relkind IN ('r', 'v', 'p', 'm')
  AND has_table_privilege('public', oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER');
SELECT relname FROM pg_class
WHERE CASE WHEN relnamespace = 'ql3'::regnamespace AND relkind = 'S'
           THEN has_sequence_privilege('public', oid, 'USAGE, SELECT, UPDATE') END;
SELECT has_schema_privilege('public', 'ql3', 'USAGE'), has_schema_privilege('public', 'ql3', 'CREATE');
SELECT typname FROM pg_type
WHERE typnamespace = 'ql3'::regnamespace AND typtype = 'd' AND has_type_privilege('public', oid, 'USAGE');

-- The control table: the columns people read, no foreign key, no token in clear.
SELECT c FROM unnest('{kind,id,run_id,status,created_at,lost_at,observed_at,state,owner,token_digest,
version,expires_at,next_claim_at,failure_count}'::text[]) AS c
EXCEPT SELECT attname::text FROM pg_attribute
WHERE attrelid = 'ql3.run_recovery_controls'::regclass AND attnum > 0 AND NOT attisdropped;
SELECT count(*) FROM pg_constraint WHERE connamespace = 'ql3'::regnamespace AND contype = 'f';
SELECT c.relname, a.attname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
WHERE c.relnamespace = 'ql3'::regnamespace AND c.relkind IN ('r', 'v')
  AND a.attname LIKE '%token%' AND a.atttypid = 'uuid'::regtype;
-- A dump carries every table whose rows are somebody's work.
SELECT t FROM unnest('{ql3.run_recovery_controls,ql3.recovery_sources,ql3.judgements,
ql3.audit_events,ql3.recovery_kinds,ql3.dispatch_tombstones}'::regclass[]) AS t
WHERE NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'ql3' AND t::oid = ANY (extconfig));

-- The timeout of a claiming transaction belongs to the superuser, also before the library is loaded.
LOAD 'ql3';
SELECT current_setting('ql3.claim_transaction_timeout'), context
FROM pg_settings WHERE name = 'ql3.claim_transaction_timeout';

-- Each broken mix of owner, token, expiry and next time is impossible.
CREATE SCHEMA t_install;
SET search_path = t_install, ql3, public;
CREATE TABLE jobs (id text PRIMARY KEY, run_id text, status text, created_at timestamptz, lost_at timestamptz);
CREATE INDEX ON jobs (lost_at, id);
INSERT INTO jobs SELECT i, i, 'running', '2026-01-01', '2026-01-01' FROM unnest('{a,b,c,d,e}'::text[]) AS i;
SELECT FROM ql3_attach_source('install', 'jobs');
CREATE FUNCTION breaks(target text, assignment text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('UPDATE ql3.run_recovery_controls SET %s WHERE kind = ''install'' AND id = %L', assignment, target);
  RETURN 'stored';
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE;
END $$;
SELECT count(*) FROM ql3_claim('A', 5, '5 min', '00000000-0000-4000-8000-000000000001', '{install}');
SELECT id, ql3_settle('install', id, 'A', '00000000-0000-4000-8000-000000000001', version, disposition)
FROM ql3.run_recovery_controls
JOIN (VALUES ('b', 'retry'), ('c', 'manual'), ('d', 'resolved')) AS v (id, disposition) USING (id)
WHERE kind = 'install' ORDER BY id;
SELECT id, result FROM ql3_give_back('A', '00000000-0000-4000-8000-000000000001', '{install}', '{e}', '{1}');
SELECT id, state, owner IS NULL, token_digest IS NULL, expires_at IS NULL, next_claim_at IS NULL
FROM ql3.run_recovery_controls WHERE kind = 'install' ORDER BY id;
SELECT breaks(target, assignment), target, assignment FROM (VALUES
  ('a', 'owner = NULL'), ('a', 'token_digest = NULL'), ('a', 'expires_at = NULL'),
  ('a', 'expires_at = ''infinity'''), ('a', 'expires_at = ''-infinity'''),
  ('a', 'next_claim_at = now()'), ('a', 'state = ''available'''), ('a', 'state = ''manual'''),
  ('a', 'state = ''retry'''), ('a', 'state = ''resolved'''), ('a', 'state = ''busy'''),
  ('a', 'state = NULL'), ('a', 'version = NULL'), ('a', 'version = -1'), ('a', 'failure_count = NULL'),
  ('a', 'failure_count = -1'), ('a', 'failure_count = 1000001'),
  ('a', 'token_digest = ''\x00'''),
  ('b', 'owner = ''A'''), ('b', 'token_digest = sha256('''')'), ('b', 'expires_at = now()'),
  ('b', 'next_claim_at = NULL'), ('b', 'next_claim_at = ''infinity'''), ('b', 'state = ''claimed'''),
  ('b', 'state = ''manual'''), ('b', 'state = ''available'''),
  ('c', 'owner = ''A'''), ('c', 'token_digest = sha256('''')'), ('c', 'expires_at = now()'),
  ('c', 'next_claim_at = now()'), ('c', 'state = ''claimed'''), ('c', 'state = ''retry'''),
  ('d', 'owner = ''A'''), ('d', 'token_digest = sha256('''')'), ('d', 'expires_at = now()'),
  ('d', 'state = ''claimed'''), ('d', 'next_claim_at = NULL'),
  ('e', 'owner = ''A'''), ('e', 'token_digest = sha256('''')'), ('e', 'expires_at = now()'),
  ('e', 'next_claim_at = now()'), ('e', 'state = ''claimed'''), ('e', 'state = ''retry''')
) AS v (target, assignment);

-- The record of operators' acts can be added to, never changed, not even by the table's owner.
SELECT ql3_release('install', 'c', 1, 'looked at it');
CREATE FUNCTION audit_refuses(q text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN EXECUTE q; RETURN false; EXCEPTION WHEN OTHERS THEN RETURN true; END $$;
SELECT audit_refuses('UPDATE ql3.audit_events SET reason = ''other'''),
       audit_refuses('DELETE FROM ql3.audit_events'),
       audit_refuses('TRUNCATE ql3.audit_events');

-- DROP EXTENSION takes its schema along and leaves the users' tables alone.
SELECT FROM ql3_detach_source('install');
DROP EXTENSION ql3;
SELECT count(*) FROM pg_namespace WHERE nspname = 'ql3';
SELECT count(*) FROM t_install.jobs;
SET client_min_messages = warning;
DROP SCHEMA t_install CASCADE;
CREATE EXTENSION ql3;
