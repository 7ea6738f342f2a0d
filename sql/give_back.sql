-- Giving back what was never started: free at once, not counted, and only by its owner.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_give_back;
SET search_path = t_give_back, ql3, public;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
-- A token of this file; only its digest is ever stored.
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('804b5977-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
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
FROM ql3.run_recovery_controls WHERE kind = 'give_back';
-- Waits for the database's own clock to pass a short lease or next claim time.
CREATE FUNCTION pass_time(target text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE until timestamptz;
BEGIN
  SELECT greatest(expires_at, next_claim_at) INTO until
  FROM ql3.run_recovery_controls WHERE kind = 'give_back' AND id = target;
  IF until > clock_timestamp() + interval '10 s' THEN RAISE '% has a long time to go', target; END IF;
  WHILE until >= clock_timestamp() LOOP PERFORM pg_sleep(0.02); END LOOP;
END $$;
\set VERBOSITY sqlstate
SELECT FROM ql3_attach_source('give_back', 'lost');
SELECT FROM list('a', 'b', 'c', 'd');
SELECT id FROM ql3_claim('A', 4, '5 min', tok(1));
SELECT ordinal, kind, id, result FROM ql3_give_back('A', tok(1), '{give_back,give_back,give_back,give_back,give_back}',
  '{c,a,b,nobody,a}', '{1,1,2,1,1}');
SELECT id, state, owner, version, leased, waits, failure_count FROM control ORDER BY id;
-- A repeat says the same word, a settle comes too late, until the next claim and after it.
SELECT id, result FROM ql3_give_back('A', tok(1), '{give_back}', '{a}', '{1}');
SELECT ql3_settle('give_back', 'a', 'A', tok(1), 1, 'resolved'), ql3_renew('give_back', 'a', 'A', tok(1), 1);
SELECT id, version, failure_count FROM ql3_claim('B', 4, '5 min', tok(2));
SELECT id, result FROM ql3_give_back('A', tok(1), '{give_back}', '{a}', '{1}');
-- Every stale mix is fenced.
SELECT o, v, t, result FROM (VALUES ('A', 1, 2), ('A', 2, 2), ('B', 1, 2), ('B', 2, 1), ('b', 2, 2)) AS s (o, v, t),
  ql3_give_back(o, tok(t), '{give_back}', '{a}', ARRAY[v]::bigint[]);
SELECT id, state, owner, version FROM control WHERE id = 'a';
-- What was settled is not given back.
SELECT ql3_settle('give_back', 'a', 'B', tok(2), 2, 'retry', '0');
SELECT id, result FROM ql3_give_back('B', tok(2), '{give_back}', '{a}', '{2}');
-- The failures counted before stay counted.
SELECT id, version, failure_count FROM ql3_claim('B', 1, '5 min', tok(3));
SELECT id, result FROM ql3_give_back('B', tok(3), '{give_back}', '{a}', '{3}');
SELECT id, version, failure_count FROM ql3_claim('B', 1, '1 s', tok(4));
-- An expired claim is no longer one's own to give back.
SELECT FROM pass_time('a');
SELECT id, result FROM ql3_give_back('B', tok(4), '{give_back}', '{a}', '{4}');
-- A give back is no judgement.
SELECT count(*) FROM ql3.judgements WHERE kind = 'give_back';
SELECT FROM ql3_detach_source('give_back');
SET client_min_messages = warning;
DROP SCHEMA t_give_back CASCADE;
