-- Import: where targets stood in another table is taken over once, and nothing that is known here is touched.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_import;
SET search_path = t_import, ql3, public;
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('1a7e0f55-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION code(q text) RETURNS text LANGUAGE plpgsql
AS $$ DECLARE r text; BEGIN EXECUTE q INTO r; RETURN coalesce(r, 'ok');
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
CREATE TABLE jobs (id text PRIMARY KEY, run_id text NOT NULL, status text NOT NULL, lost_at timestamptz NOT NULL);
CREATE INDEX ON jobs (lost_at, id) WHERE status = 'running';
CREATE VIEW lost AS SELECT id, run_id, status, lost_at AS created_at, lost_at FROM jobs
WHERE status = 'running' AND lost_at <= statement_timestamp();
INSERT INTO jobs SELECT i, 'run ' || i, 'running', '2026-01-01' FROM unnest('{a,c,m,r,s,k}'::text[]) AS i;
SELECT FROM ql3_attach_source('import', 'lost', NULL, 5);
SELECT id FROM ql3_claim('A', 1, '5 min', tok(1));
SELECT ordinal, kind, id, result FROM ql3_import('import', '{c,m,r,s,k,gone,gone m,a,c}',
  '{claimed,manual,retry,resolved,available,retry,manual,manual,manual}', '{0,2,4,1,0,3,1000000,0,0}', 'from our own table');
SELECT id, state, version, failure_count, run_id, owner, due_at IS NULL AS idle,
       next_claim_at - clock_timestamp() BETWEEN interval '4 min' AND interval '5 min' AS waits, detail
FROM ql3.run_recovery_controls WHERE kind = 'import' ORDER BY id;
-- Offered as imported: what was available, waiting or resolved; not what was held there or parked.
SELECT id, version, failure_count FROM ql3_claim('B', 16, '5 min', tok(2)) ORDER BY id;
-- A count goes on from there.
SELECT ql3_settle('import', 'r', 'B', tok(2), 1, 'retry', '0');
SELECT id, state, failure_count FROM ql3.run_recovery_controls WHERE kind = 'import' AND id = 'r';
-- A parked one stays parked when it is listed again, until it is released.
INSERT INTO jobs VALUES ('gone m', 'g', 'running', '2026-01-01');
SELECT count(*) FROM ql3_claim('B', 16, '5 min', tok(3));
SELECT ql3_release('import', 'gone m', 0, 'r'), ql3_release('import', 'm', 0, 'r');
SELECT id FROM ql3_claim('B', 16, '5 min', tok(4)) ORDER BY id;
-- Again: all known, and no second record.
SELECT DISTINCT result FROM ql3_import('import', '{c,m,r,s,k}', '{manual,manual,manual,manual,manual}', '{0,0,0,0,0}', 'again');
SELECT actor = session_user, kind, id, reason, after FROM ql3.audit_events WHERE action = 'import' AND kind = 'import';
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_import(NULL, '{a}', '{manual}', '{0}', 'r')$q$),
  ($q$SELECT ql3_import('import', NULL, '{manual}', '{0}', 'r')$q$),
  ($q$SELECT ql3_import('import', '{a}', NULL, '{0}', 'r')$q$),
  ($q$SELECT ql3_import('import', '{a}', '{manual}', NULL, 'r')$q$),
  ($q$SELECT ql3_import('import', '{a}', '{manual}', '{0}', NULL)$q$),
  ($q$SELECT ql3_import('import', '{a}', '{manual}', '{0}', '')$q$),
  ($q$SELECT ql3_import('import', '{}', '{}', '{}', 'r')$q$),
  ($q$SELECT ql3_import('import', '{a,NULL}', '{manual,manual}', '{0,0}', 'r')$q$),
  ($q$SELECT ql3_import('import', '{a,""}', '{manual,manual}', '{0,0}', 'r')$q$),
  ($q$SELECT ql3_import('import', '{a,b}', '{manual,parked}', '{0,0}', 'r')$q$),
  ($q$SELECT ql3_import('import', '{a,b}', '{manual}', '{0,0}', 'r')$q$),
  ($q$SELECT ql3_import('import', '{a,b}', '{manual,manual}', '{0}', 'r')$q$),
  ($q$SELECT ql3_import('import', '{n}', '{manual}', '{-1}', 'r')$q$),
  ($q$SELECT ql3_import('import', '{n}', '{manual}', '{1000001}', 'r')$q$),
  ($q$SELECT ql3_import('import', '{n}', '{manual}', '{NULL}', 'r')$q$),
  ($q$SELECT ql3_import('import', array_fill('n'::text, '{129}'), array_fill('manual'::text, '{129}'), array_fill(0, '{129}'), 'r')$q$),
  ($q$SELECT ql3_import('dispatch', '{n}', '{manual}', '{0}', 'r')$q$),
  ($q$SELECT ql3_import('unknown', '{n}', '{manual}', '{0}', 'r')$q$)
) AS v (q);
SELECT count(*) FROM ql3.run_recovery_controls WHERE kind = 'import' AND id = 'n';
-- A source that cannot be read: what is listed is not known, so nothing is taken over.
ALTER VIEW lost RENAME TO hidden;
SELECT code($q$SELECT ql3_import('import', '{n}', '{manual}', '{0}', 'r')$q$);
ALTER VIEW hidden RENAME TO lost;
SELECT FROM ql3_detach_source('import');
SELECT code($q$SELECT ql3_import('import', '{n}', '{manual}', '{0}', 'r')$q$);
SET client_min_messages = warning;
DROP SCHEMA t_import CASCADE;
