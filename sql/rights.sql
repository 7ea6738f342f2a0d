-- Least privilege: what each profile may, that nobody else may anything, and whose rights are used (promise 19).
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_rights;
SET search_path = t_rights, ql3, public;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
-- A token of this file; only its digest is ever stored.
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('27b37152-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
-- The first column of what a statement answers, or its SQLSTATE.
CREATE FUNCTION code(q text) RETURNS text LANGUAGE plpgsql
AS $$ DECLARE r text; BEGIN EXECUTE q INTO r; RETURN coalesce(r, 'ok');
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
CREATE TABLE jobs (id text PRIMARY KEY, run_id text NOT NULL, status text NOT NULL,
                   lost_at timestamptz NOT NULL, memo text);
CREATE INDEX ON jobs (lost_at, id) WHERE status = 'running';
CREATE VIEW lost AS
SELECT id, run_id, status, lost_at - interval '1 h' AS created_at, lost_at, memo
FROM jobs WHERE status = 'running' AND lost_at <= statement_timestamp();
-- Lists targets, each lost a minute after the one before.
CREATE FUNCTION list(VARIADIC ids text[]) RETURNS void LANGUAGE sql AS $$
INSERT INTO jobs
SELECT i, 'run-' || left(i, 99), 'running',
       timestamptz '2026-01-01' + ((SELECT count(*) FROM jobs) + n) * interval '1 min'
FROM unnest(ids) WITH ORDINALITY AS u (i, n) $$;
CREATE VIEW control AS
SELECT id, state, owner, version, expires_at IS NOT NULL AS leased,
       next_claim_at IS NOT NULL AS waits, failure_count
FROM ql3.run_recovery_controls WHERE kind = 'rights';
-- Waits for the database's own clock to pass a short lease or next claim time.
CREATE FUNCTION pass_time(target text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE until timestamptz;
BEGIN
  SELECT greatest(expires_at, next_claim_at) INTO until
  FROM ql3.run_recovery_controls WHERE kind = 'rights' AND id = target;
  IF until > clock_timestamp() + interval '10 s' THEN RAISE '% has a long time to go', target; END IF;
  WHILE until >= clock_timestamp() LOOP PERFORM pg_sleep(0.02); END LOOP;
END $$;
\set VERBOSITY sqlstate
CREATE ROLE regress_ql3_nobody;
CREATE ROLE regress_ql3_runtime;
CREATE ROLE regress_ql3_observer;
CREATE ROLE regress_ql3_operator;
CREATE ROLE regress_ql3_user;
GRANT USAGE ON SCHEMA t_rights TO PUBLIC;
-- Which of the calls a role may make: each is refused for its argument, never run.
CREATE TABLE calls (n int GENERATED ALWAYS AS IDENTITY, name text, q text);
INSERT INTO calls (name, q) VALUES
  ('claim', 'SELECT ql3.ql3_claim(NULL)'),
  ('renew', 'SELECT ql3.ql3_renew(NULL, NULL, NULL, NULL, NULL)'),
  ('renew_page', 'SELECT ql3.ql3_renew_page(NULL, NULL, NULL, NULL, NULL)'),
  ('settle', 'SELECT ql3.ql3_settle(NULL, NULL, NULL, NULL, NULL, NULL)'),
  ('settle_page', 'SELECT ql3.ql3_settle_page(NULL, NULL, NULL, NULL, NULL, NULL)'),
  ('give_back', 'SELECT ql3.ql3_give_back(NULL, NULL, NULL, NULL, NULL)'),
  ('conclude', 'SELECT ql3.ql3_conclude(NULL, NULL, NULL, NULL, NULL, NULL)'),
  ('require_fence', 'SELECT ql3.ql3_require_fence(NULL, NULL, NULL, NULL, NULL)'),
  ('observe', 'SELECT ql3.ql3_observe(NULL)'),
  ('observe_one', 'SELECT ql3.ql3_observe_one(NULL, NULL)'),
  ('release', 'SELECT ql3.ql3_release(NULL, NULL, NULL, NULL)'),
  ('park', 'SELECT ql3.ql3_park(NULL, NULL, NULL, NULL)'),
  ('pause', 'SELECT ql3.ql3_pause(NULL, NULL)'),
  ('resume', 'SELECT ql3.ql3_resume(NULL, NULL)'),
  ('import', 'SELECT ql3.ql3_import(NULL, NULL, NULL, NULL, NULL)'),
  ('prune', 'SELECT ql3.ql3_prune(NULL)'),
  ('forget', 'SELECT ql3.ql3_forget(NULL, NULL)'),
  ('attach', 'SELECT ql3.ql3_attach_source(NULL, NULL)'),
  ('detach', 'SELECT ql3.ql3_detach_source(NULL)'),
  ('grant', 'SELECT ql3.ql3_grant(NULL, NULL)'),
  ('revoke', 'SELECT ql3.ql3_revoke(NULL, NULL)'),
  ('release_page', 'SELECT ql3.ql3_release_page(NULL, NULL, NULL, NULL)'),
  ('live_lineage', 'SELECT ql3.ql3_live_lineage()'),
  ('explain', 'SELECT ql3.ql3_explain(NULL, NULL)'),
  ('horizon', 'SELECT ql3.ql3_horizon()'),
  ('select backlog', 'SELECT FROM ql3.backlog'),
  ('select claims', 'SELECT FROM ql3.claims'),
  ('select parked', 'SELECT FROM ql3.parked'),
  ('select failing', 'SELECT FROM ql3.failing'),
  ('select dispatch_halted', 'SELECT FROM ql3.dispatch_halted'),
  ('select dispatches_open', 'SELECT FROM ql3.dispatches_open'),
  ('select history', 'SELECT FROM ql3.history'),
  ('select audit view', 'SELECT FROM ql3.audit'),
  ('select candidates', 'SELECT FROM ql3.dispatch_candidates'),
  ('select controls', 'SELECT FROM ql3.run_recovery_controls'),
  ('select sources', 'SELECT FROM ql3.recovery_sources'),
  ('select judgements', 'SELECT FROM ql3.judgements'),
  ('select audit', 'SELECT FROM ql3.audit_events'),
  ('insert controls', 'INSERT INTO ql3.run_recovery_controls DEFAULT VALUES'),
  ('insert sources', 'INSERT INTO ql3.recovery_sources DEFAULT VALUES'),
  ('delete controls', 'DELETE FROM ql3.run_recovery_controls'),
  ('update sources', 'UPDATE ql3.recovery_sources SET kind = NULL'),
  ('delete audit', 'DELETE FROM ql3.audit_events'),
  ('create in schema', 'CREATE TABLE ql3.mine (x int)');
GRANT SELECT ON calls TO PUBLIC;
CREATE FUNCTION may(who regrole) RETURNS text LANGUAGE plpgsql AS $$
DECLARE allowed text; c record; r text;
BEGIN
  FOR c IN SELECT * FROM t_rights.calls ORDER BY n LOOP
    EXECUTE format('SET LOCAL ROLE %s', who);
    r := t_rights.code(c.q);
    RESET ROLE;
    IF r <> '42501' THEN allowed := concat_ws(', ', allowed, c.name); END IF;
  END LOOP;
  RETURN coalesce(allowed, 'nothing');
END $$;
SELECT may('regress_ql3_nobody');
-- A role with administrative rights elsewhere has none here, nor does USAGE alone give any.
GRANT pg_read_all_settings, pg_monitor, pg_signal_backend TO regress_ql3_nobody;
ALTER ROLE regress_ql3_nobody CREATEROLE CREATEDB REPLICATION BYPASSRLS;
GRANT USAGE ON SCHEMA ql3 TO regress_ql3_nobody;
SELECT may('regress_ql3_nobody');
REVOKE USAGE ON SCHEMA ql3 FROM regress_ql3_nobody;

-- The profiles.
SELECT FROM ql3_grant('regress_ql3_runtime', 'runtime');
SELECT FROM ql3_grant('regress_ql3_observer', 'observer');
SELECT FROM ql3_grant('regress_ql3_operator', 'operator');
SELECT may('regress_ql3_runtime');
SELECT may('regress_ql3_observer');
SELECT may('regress_ql3_operator');
SELECT may('regress_ql3_user');
-- Twice is once; revoke takes all of it; one profile does not take another's.
SELECT FROM ql3_grant('regress_ql3_user', 'observer');
SELECT FROM ql3_grant('regress_ql3_user', 'observer');
SELECT FROM ql3_grant('regress_ql3_user', 'runtime');
SELECT FROM ql3_revoke('regress_ql3_user', 'runtime');
SELECT may('regress_ql3_user');
SELECT FROM ql3_revoke('regress_ql3_user', 'observer');
SELECT may('regress_ql3_user');
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_grant(NULL, 'runtime')$q$),
  ($q$SELECT ql3_grant('regress_ql3_user', NULL)$q$),
  ($q$SELECT ql3_grant('regress_ql3_user', 'admin')$q$),
  ($q$SELECT ql3_grant('regress_ql3_user', '')$q$),
  ($q$SELECT ql3_grant('regress_ql3_user', 'Runtime')$q$),
  ($q$SELECT ql3_grant('regress_ql3_missing', 'runtime')$q$),
  ($q$SELECT ql3_revoke(NULL, 'runtime')$q$),
  ($q$SELECT ql3_revoke('regress_ql3_user', NULL)$q$),
  ($q$SELECT ql3_revoke('regress_ql3_user', 'admin')$q$)
) AS v (q);
SELECT may('regress_ql3_user');

-- The timeout of the claiming transaction is not the caller's to set, not even before the library is loaded.
SELECT FROM ql3_attach_source('rights', 'lost');
\c -
SET search_path = t_rights, ql3, public;
SET ROLE regress_ql3_runtime;
SET ql3.claim_transaction_timeout = '1 h';
BEGIN;
SELECT count(*) FROM ql3_claim('A', 1, '1 min');
SHOW ql3.claim_transaction_timeout;
SHOW idle_in_transaction_session_timeout;
COMMIT;
SET ql3.claim_transaction_timeout = '1 h';
RESET ROLE;

-- A runtime role needs no right on the source: it is read as its owner, and no more than its owner may.
REVOKE ALL ON jobs, lost FROM PUBLIC;
SELECT FROM list('a', 'b');
CREATE ROLE regress_ql3_owner;
GRANT USAGE, CREATE ON SCHEMA t_rights TO regress_ql3_owner;
GRANT ALL ON jobs TO regress_ql3_owner;
CREATE FUNCTION job_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql
AS $$ UPDATE t_rights.jobs AS j SET status = $2, memo = current_user::text WHERE j.id = $1 RETURNING true $$;
CREATE OR REPLACE VIEW lost AS
SELECT id, run_id, status, lost_at - interval '1 h' AS created_at, lost_at, current_user::text COLLATE "default" AS memo
FROM jobs WHERE status = 'running' AND lost_at <= statement_timestamp();
ALTER VIEW lost OWNER TO regress_ql3_owner;
ALTER FUNCTION job_lost OWNER TO regress_ql3_owner;
SELECT FROM ql3_detach_source('rights');
-- Attach is the operator's, and only for what he owns.
SET ROLE regress_ql3_operator;
SELECT FROM ql3_attach_source('rights', 'lost', 'job_lost(text,text,jsonb)');
RESET ROLE;
GRANT regress_ql3_owner TO regress_ql3_operator;
SET ROLE regress_ql3_operator;
SELECT FROM ql3_attach_source('rights', 'lost', 'job_lost(text,text,jsonb)');
RESET ROLE;
SET ROLE regress_ql3_runtime;
SELECT id, source FROM ql3_claim('A', 1, '5 min', '00000000-0000-4000-8000-00000000a001');
SELECT ql3_conclude('rights', 'a', 'A', '00000000-0000-4000-8000-00000000a001', 1, 'lost');
RESET ROLE;
SELECT status, memo FROM jobs WHERE id = 'a';
-- What its owner may not read, the source does not show: blind, and the transition fails.
REVOKE ALL ON jobs FROM regress_ql3_owner;
SET client_min_messages = error;
SET ROLE regress_ql3_runtime;
SELECT count(*) FROM ql3_claim('A', 1, '5 min', '00000000-0000-4000-8000-00000000a002');
SELECT state, left(detail, 5) FROM ql3_observe();
RESET ROLE;
RESET client_min_messages;
GRANT SELECT ON jobs TO regress_ql3_owner;
SET ROLE regress_ql3_runtime;
SELECT id FROM ql3_claim('A', 1, '5 min', '00000000-0000-4000-8000-00000000a003');
SELECT ql3_conclude('rights', 'b', 'A', '00000000-0000-4000-8000-00000000a003', 1, 'lost');
RESET ROLE;
SELECT status FROM jobs WHERE id = 'b';
-- Row security of the user's table holds for the source's owner.
ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY none_but_c ON jobs TO regress_ql3_owner USING (id = 'c');
SELECT FROM list('c', 'd');
SET ROLE regress_ql3_runtime;
SELECT id FROM ql3_claim('A', 16, '5 min', '00000000-0000-4000-8000-00000000a004');
RESET ROLE;
ALTER TABLE jobs DISABLE ROW LEVEL SECURITY;

-- A caller's own path, temporary tables and look-alikes are never met.
SET ROLE regress_ql3_runtime;
CREATE TEMP TABLE run_recovery_controls (LIKE pg_class);
CREATE TEMP TABLE recovery_sources (kind text);
CREATE TEMP TABLE pg_class (oid oid);
CREATE FUNCTION pg_temp.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT 'infinity'::timestamptz $$;
CREATE FUNCTION pg_temp.statement_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT '-infinity'::timestamptz $$;
SET search_path = pg_temp, t_rights, ql3, pg_catalog;
SELECT id FROM ql3.ql3_claim('A', 16, '5 min', '00000000-0000-4000-8000-00000000a005');
SELECT ql3.ql3_settle('rights', 'd', 'A', '00000000-0000-4000-8000-00000000a005', 1, 'retry', '0');
SELECT id, state FROM ql3.ql3_observe() WHERE id = 'd';
RESET ROLE;
SET search_path = t_rights, ql3, public;

-- An operator acts; session user and the role set are on record.
SET ROLE regress_ql3_operator;
SELECT ql3_park('rights', 'd', 1, 'the operator says so');
RESET ROLE;
SELECT actor = session_user, role_set, reason FROM ql3.audit_events WHERE kind = 'rights' AND id = 'd';
SELECT FROM ql3_detach_source('rights');
SELECT FROM ql3_revoke('regress_ql3_runtime', 'runtime');
SELECT FROM ql3_revoke('regress_ql3_observer', 'observer');
SELECT FROM ql3_revoke('regress_ql3_operator', 'operator');
SELECT may('regress_ql3_runtime'), may('regress_ql3_observer'), may('regress_ql3_operator');
SET client_min_messages = warning;
DROP OWNED BY regress_ql3_owner, regress_ql3_nobody, regress_ql3_runtime, regress_ql3_observer,
  regress_ql3_operator, regress_ql3_user CASCADE;
DROP ROLE regress_ql3_owner, regress_ql3_nobody, regress_ql3_runtime, regress_ql3_observer,
  regress_ql3_operator, regress_ql3_user;
SET client_min_messages = warning;
DROP SCHEMA t_rights CASCADE;
