-- What each error and warning says: lower case, the value named, a hint where the user can act, no token.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_errors;
SET search_path = t_errors, ql3, public;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
-- A token of this file; only its digest is ever stored.
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('07213a01-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
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
FROM ql3.run_recovery_controls WHERE kind = 'errors';
-- Waits for the database's own clock to pass a lease or a next claim time.
CREATE FUNCTION pass_time(target text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  WHILE EXISTS (SELECT FROM ql3.run_recovery_controls WHERE kind = 'errors' AND id = target
                AND greatest(expires_at, next_claim_at) > clock_timestamp()) LOOP
    PERFORM pg_sleep(0.02);
  END LOOP;
END $$;
CREATE FUNCTION job_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql AS 'SELECT true';
-- No source.
SELECT FROM ql3_claim('A');
SELECT FROM ql3_observe();
-- Attach.
CREATE TABLE bare (id text, run_id text, status text, created_at timestamptz, lost_at timestamptz);
CREATE VIEW computed AS
SELECT id, run_id, status, lost_at AS created_at, lost_at + interval '1 min' AS lost_at FROM jobs;
CREATE VIEW no_status AS SELECT id, run_id, lost_at AS created_at, lost_at FROM jobs;
CREATE VIEW date_lost AS SELECT id, run_id, status, lost_at AS created_at, lost_at::date AS lost_at FROM jobs;
CREATE FUNCTION two(id text, verdict text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE FUNCTION says_text(id text, verdict text, evidence jsonb) RETURNS text LANGUAGE sql AS 'SELECT ''''';
SELECT FROM ql3_attach_source('No Kind', 'lost');
SELECT FROM ql3_attach_source('dispatch', 'lost');
SELECT FROM ql3_attach_source('errors', 'no_status');
SELECT FROM ql3_attach_source('errors', 'date_lost');
SELECT FROM ql3_attach_source('errors', 'bare');
SELECT FROM ql3_attach_source('errors', 'computed');
SELECT FROM ql3_attach_source('errors', 'lost', 'two(text,text)');
SELECT FROM ql3_attach_source('errors', 'lost', 'says_text(text,text,jsonb)');
SELECT FROM ql3_attach_source('errors', 'lost', max_failures => 0);
SELECT FROM ql3_attach_source('errors', 'lost', max_hold => '-1 s');
SELECT FROM ql3_attach_source(NULL, 'lost');
SELECT FROM ql3_attach_source('errors', 'lost');
SELECT FROM ql3_attach_source('errors', 'lost');
SELECT FROM ql3_detach_source('unknown');
CREATE ROLE regress_ql3_stranger;
GRANT USAGE ON SCHEMA t_errors, ql3 TO regress_ql3_stranger;
GRANT EXECUTE ON FUNCTION ql3_attach_source TO regress_ql3_stranger;
SET ROLE regress_ql3_stranger;
SELECT FROM ql3_attach_source('errors', 'lost');
RESET ROLE;
-- Claim.
SELECT FROM ql3_claim(NULL);
SELECT FROM ql3_claim('A B');
SELECT FROM ql3_claim('A', 0);
SELECT FROM ql3_claim('A', 129);
SELECT FROM ql3_claim('A', 1, '1 us');
SELECT FROM ql3_claim('A', 1, '1 h');
SELECT FROM ql3_claim('A', 1, '1 month');
SELECT FROM ql3_claim('A', 1, '1 s', '6fa459ea-ee8a-1ca4-894e-db77e160355e');
SELECT FROM ql3_claim('A', 1, '1 s', NULL, '{}');
SELECT FROM ql3_claim('A', 1, '1 s', NULL, '{{errors}}');
SELECT FROM ql3_claim('A', 1, '1 s', NULL, '{errors,NULL}');
SELECT FROM ql3_claim('A', 1, '1 s', NULL, '{unknown}');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT FROM ql3_claim('A');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT FROM ql3_claim('A');
ROLLBACK;
BEGIN READ ONLY;
SELECT FROM ql3_claim('A');
ROLLBACK;
SELECT FROM list('a', 'b', 'c');
SELECT id FROM ql3_claim('A', 2, '5 min', tok(1));
SELECT FROM ql3_claim('B', 2, '5 min', tok(1));
SELECT ql3_settle('errors', 'a', 'A', tok(1), 1, 'manual'), ql3_settle('errors', 'b', 'A', tok(1), 1, 'manual');
SELECT FROM ql3_claim('A', 2, '5 min', tok(1));
BEGIN;
SELECT id FROM ql3_claim('A', 1, '5 min', tok(2));
SAVEPOINT s;
SELECT ql3_settle('errors', 'c', 'A', tok(2), 1, 'manual');
ROLLBACK TO s;
PREPARE TRANSACTION 'claimed';
SELECT id FROM ql3_claim('A', 1, '5 min', tok(2));
-- Settle, renew, conclude, the pages.
SELECT ql3_settle('errors', 'c', 'A', tok(2), 1, 'done');
SELECT ql3_settle('errors', 'c', 'A', tok(2), 1, 'manual', '1 s');
SELECT ql3_settle('errors', 'c', 'A', tok(2), 1, 'retry', '6 min');
SELECT ql3_settle('errors', '', 'A', tok(2), 1, 'retry');
SELECT ql3_settle('errors', repeat('i', 256), 'A', tok(2), 1, 'retry');
SELECT ql3_settle('unknown', 'c', 'A', tok(2), 1, 'retry');
SELECT ql3_renew('errors', 'c', 'A', tok(2), 1, '0');
SELECT ql3_renew('errors', 'c', 'A', NULL, 1);
SELECT FROM ql3_settle_page('A', tok(2), '{errors}', '{c,d}', '{1,1}', '{retry,retry}');
SELECT FROM ql3_settle_page('A', tok(2), '{errors}', '{NULL}', '{1}', '{retry}');
SELECT FROM ql3_settle_page('A', tok(2), '{}', '{}', '{}', '{}');
SELECT ql3_conclude('errors', 'c', 'A', tok(2), 1, 'Not A Word');
SELECT ql3_conclude('errors', 'c', 'A', tok(2), 1, 'lost', to_jsonb(repeat('x', 70000)));
SELECT ql3_conclude('errors', 'c', 'A', tok(2), 1, 'lost');
SELECT FROM ql3_require_fence('errors', 'c', 'B', tok(2), 1);
-- Operators.
SELECT ql3_park('errors', 'c', 1, '');
SELECT FROM ql3_grant('regress_ql3_stranger', 'king');
SELECT FROM ql3_detach_source('errors');
-- A source that cannot be read is named in a warning.
CREATE VIEW broken AS SELECT id, run_id, (1 / (length(id) - 1))::text AS status, created_at, lost_at FROM bare;
INSERT INTO bare VALUES ('x', 'r', 's', '2026-01-01', '2026-01-01');
SELECT FROM ql3_attach_source('broken', 'broken', allow_slow => true);
SELECT FROM ql3_claim('A', 1, '5 min', tok(3));
DROP VIEW broken;
SELECT FROM ql3_claim('A', 1, '5 min', tok(3));
SELECT FROM ql3_detach_source('broken');
CREATE VIEW doubled AS SELECT b.* FROM bare AS b, generate_series(1, 2);
SELECT FROM ql3_attach_source('doubled', 'doubled', allow_slow => true);
SELECT FROM ql3_claim('A', 1, '5 min', tok(3));
SELECT FROM ql3_detach_source('doubled');
DROP OWNED BY regress_ql3_stranger;
DROP ROLE regress_ql3_stranger;
SET client_min_messages = warning;
DROP SCHEMA t_errors CASCADE;
