-- Renewing: only the live owner, never shorter, never beyond the source's max_hold.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_renew;
SET search_path = t_renew, ql3, public;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
-- A token of this file; only its digest is ever stored.
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('a546cabc-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
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
FROM ql3.run_recovery_controls WHERE kind = 'renew';
-- Waits for the database's own clock to pass a short lease or next claim time.
CREATE FUNCTION pass_time(target text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE until timestamptz;
BEGIN
  SELECT greatest(expires_at, next_claim_at) INTO until
  FROM ql3.run_recovery_controls WHERE kind = 'renew' AND id = target;
  IF until > clock_timestamp() + interval '10 s' THEN RAISE '% has a long time to go', target; END IF;
  WHILE until >= clock_timestamp() LOOP PERFORM pg_sleep(0.02); END LOOP;
END $$;
\set VERBOSITY sqlstate
SELECT FROM ql3_attach_source('renew', 'lost');
SELECT FROM list('a', 'b', 'c');
CREATE FUNCTION expiry(target text) RETURNS timestamptz LANGUAGE sql VOLATILE
AS $$ SELECT expires_at FROM ql3.run_recovery_controls WHERE kind = 'renew' AND id = target $$;

SELECT id, version FROM ql3_claim('A', 1, '30 s', tok(1));
SELECT expiry('a') AS first, clock_timestamp() AS before \gset
SELECT ql3_renew('renew', 'a', 'A', tok(1), 1, '1 min');
SELECT expiry('a') BETWEEN :'before'::timestamptz + '1 min' AND clock_timestamp() + '1 min';
-- A renewal never shortens (promise 3), and the default is 30 s.
SELECT expiry('a') AS long \gset
SELECT ql3_renew('renew', 'a', 'A', tok(1), 1, '1 s'), ql3_renew('renew', 'a', 'A', tok(1), 1);
SELECT expiry('a') = :'long';
SELECT id, state, owner, version, failure_count FROM control;
-- The claim's own repeat shows the renewed lease.
SELECT id, expires_at = :'long' FROM ql3_claim('A', 1, '30 s', tok(1));

-- Every stale mix is fenced and leaves the lease as it was, to the microsecond.
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_renew('renew', 'a', 'B', tok(1), 1, '5 min')$q$),
  ($q$SELECT ql3_renew('renew', 'a', 'a', tok(1), 1, '5 min')$q$),
  ($q$SELECT ql3_renew('renew', 'a', 'A', tok(2), 1, '5 min')$q$),
  ($q$SELECT ql3_renew('renew', 'a', 'A', tok(1), 2, '5 min')$q$),
  ($q$SELECT ql3_renew('renew', 'a', 'A', tok(1), 0, '5 min')$q$),
  ($q$SELECT ql3_renew('renew', 'b', 'A', tok(1), 1, '5 min')$q$),
  ($q$SELECT ql3_renew('renew', 'nobody', 'A', tok(1), 1, '5 min')$q$)
) AS v (q);
SELECT expiry('a') = :'long';

-- After expiry nobody renews, though nobody took over; after a takeover neither.
SELECT id FROM ql3_claim('A', 1, '1 s', tok(3));
SELECT FROM pass_time('b');
SELECT expiry('b') AS gone \gset
SELECT ql3_renew('renew', 'b', 'A', tok(3), 1, '5 min');
SELECT expiry('b') = :'gone';
SELECT id, version FROM ql3_claim('A', 1, '5 min', tok(4));
SELECT expiry('b') AS held \gset
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_renew('renew', 'b', 'A', tok(3), 1, '5 min')$q$),
  ($q$SELECT ql3_renew('renew', 'b', 'A', tok(3), 2, '5 min')$q$),
  ($q$SELECT ql3_renew('renew', 'b', 'A', tok(4), 1, '5 min')$q$)
) AS v (q);
SELECT expiry('b') = :'held';
-- Nor after the claim ended.
SELECT ql3_settle('renew', 'b', 'A', tok(4), 2, 'retry', '5 min'), ql3_renew('renew', 'b', 'A', tok(4), 2);

-- A page of renewals: one answer per position, one expiry for the page.
SELECT id FROM ql3_claim('A', 1, '30 s', tok(5));
SELECT FROM list('d', 'e');
SELECT count(*) FROM ql3_claim('A', 2, '30 s', tok(6));
SELECT ordinal, kind, id, result FROM ql3_renew_page('A', tok(6), '{renew,renew,renew,renew,renew}',
  '{e,c,d,nobody,e}', '{1,1,1,1,2}', '5 min');
SELECT count(DISTINCT expires_at), min(expires_at) > clock_timestamp() + '4 min' FROM ql3.run_recovery_controls
WHERE kind = 'renew' AND id IN ('d', 'e');
SELECT ordinal, result FROM ql3_renew_page('A', tok(6), '{renew,renew}', '{d,d}', '{1,1}');
-- Renew and settle in one later transaction: only the claiming one is refused (promise 9).
SELECT FROM list('f');
SELECT id FROM ql3_claim('A', 1, '1 min', tok(9));
BEGIN;
SELECT ql3_renew('renew', 'f', 'A', tok(9), 1, '2 min');
SAVEPOINT s;
SELECT ql3_renew('renew', 'f', 'A', tok(9), 1, '3 min');
RELEASE s;
SELECT ql3_settle('renew', 'f', 'A', tok(9), 1, 'manual');
COMMIT;
SELECT FROM ql3_detach_source('renew');

-- All renewals of one claim end at max_hold; one that gains nothing is fenced, the claim stays good.
SELECT FROM ql3_attach_source('short', 'lost', max_hold => '2 min');
SELECT id, version FROM ql3_claim('A', 2, '1 min', tok(7), '{short}') ORDER BY lost_at;
SELECT ql3_renew('short', 'a', 'A', tok(7), 1, '5 min');
SELECT expires_at - claimed_at FROM ql3.run_recovery_controls WHERE kind = 'short' AND id = 'a';
SELECT ql3_renew('short', 'a', 'A', tok(7), 1, '5 min'), ql3_renew('short', 'b', 'A', tok(7), 1, '5 min');
SELECT expires_at - claimed_at FROM ql3.run_recovery_controls WHERE kind = 'short' AND id = 'a';
SELECT ql3_settle('short', 'a', 'A', tok(7), 1, 'retry', '5 min');
SELECT result FROM ql3_renew_page('A', tok(7), '{short,short}', '{b,a}', '{1,1}', '5 min') ORDER BY ordinal;
SELECT FROM ql3_detach_source('short');
-- NULL: no such end.
SELECT FROM ql3_attach_source('open', 'lost', max_hold => NULL);
SELECT id FROM ql3_claim('A', 1, '1 s', tok(8), '{open}');
SELECT ql3_renew('open', 'a', 'A', tok(8), 1, '5 min');
SELECT FROM ql3_detach_source('open');
SET client_min_messages = warning;
DROP SCHEMA t_renew CASCADE;
