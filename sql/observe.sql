-- Observe: what is listed, in which state, without writing anything.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_observe;
SET search_path = t_observe, ql3, public;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
-- A token of this file; only its digest is ever stored.
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('1b65e84b-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
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
FROM ql3.run_recovery_controls WHERE kind = 'observe';
-- Waits for the database's own clock to pass a short lease or next claim time.
CREATE FUNCTION pass_time(target text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE until timestamptz;
BEGIN
  SELECT greatest(expires_at, next_claim_at) INTO until
  FROM ql3.run_recovery_controls WHERE kind = 'observe' AND id = target;
  IF until > clock_timestamp() + interval '10 s' THEN RAISE '% has a long time to go', target; END IF;
  WHILE until >= clock_timestamp() LOOP PERFORM pg_sleep(0.02); END LOOP;
END $$;
\set VERBOSITY sqlstate
SELECT FROM ql3_attach_source('observe', 'lost');
-- Zero rows: every attached source was read and is empty.
SELECT count(*) FROM ql3_observe();
SELECT FROM list('a', 'b', 'c', 'd', 'e', 'f');
UPDATE jobs SET memo = 'm-' || id WHERE id <= 'b';
-- A listed target nobody claimed yet.
SELECT clock_timestamp() AS before \gset
SELECT kind, id, run_id, status, created_at, lost_at, state, owner, version, expires_at, next_claim_at,
       failure_count, source, claimable, has_more, detail, observed_at BETWEEN :'before' AND clock_timestamp()
FROM ql3_observe(2);
SELECT id, has_more FROM ql3_observe(6);
SELECT count(*), bool_and(has_more) FROM ql3_observe(5);
SELECT count(*) FROM ql3.run_recovery_controls WHERE kind = 'observe';
-- Every state, and whether a claim would take it now.
SELECT count(*) FROM ql3_claim('A', 5, '5 min', tok(1));
SELECT ql3_settle('observe', 'b', 'A', tok(1), 1, 'retry', '5 min'),
       ql3_settle('observe', 'c', 'A', tok(1), 1, 'manual'),
       ql3_settle('observe', 'd', 'A', tok(1), 1, 'resolved');
SELECT id, result FROM ql3_give_back('A', tok(1), '{observe}', '{e}', '{1}');
SELECT id, state, owner, version, expires_at IS NOT NULL AS expires, next_claim_at IS NOT NULL AS next,
       failure_count, claimable FROM ql3_observe();
SELECT state, owner, version, expires_at IS NOT NULL, next_claim_at IS NOT NULL, failure_count, listed, held
FROM unnest('{a,b,c,d,e,f}'::text[]) AS t, ql3_observe_one('observe', t, tok(1));
-- Another token holds nothing; no token asks nothing.
SELECT held FROM ql3_observe_one('observe', 'a', tok(2));
SELECT held IS TRUE FROM ql3_observe_one('observe', 'a');
-- Neither listed nor known: no row. Left the source: known, not listed.
SELECT count(*) FROM ql3_observe_one('observe', 'nobody');
UPDATE jobs SET status = 'done' WHERE id IN ('a', 'c', 'f');
SELECT state, listed, held FROM ql3_observe_one('observe', 'a', tok(1));
SELECT count(*) FROM ql3_observe_one('observe', 'f');
SELECT id FROM ql3_observe();
-- A manual target that comes back stays manual and shows it; a resolved one comes back claimable.
UPDATE jobs SET status = 'running', lost_at = lost_at + interval '1 d' WHERE id IN ('c', 'd');
SELECT id, state, claimable FROM ql3_observe() WHERE id IN ('c', 'd') ORDER BY id;
SELECT id FROM ql3_claim('A', 16, '5 min', tok(3)) ORDER BY id;
-- An expired claim is claimable.
SELECT FROM list('g');
SELECT id FROM ql3_claim('A', 1, '1 s', tok(4));
SELECT FROM pass_time('g');
SELECT id, state, owner, claimable FROM ql3_observe() WHERE id = 'g';
SELECT held FROM ql3_observe_one('observe', 'g', tok(4));

-- Read-only: in any isolation, in a read-only transaction, without an xid.
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;
SELECT count(*) > 0 FROM ql3_observe();
SELECT count(*) FROM ql3_observe_one('observe', 'a');
SELECT pg_current_xact_id_if_assigned();
COMMIT;

-- Several kinds: oldest loss first over all, or only the kinds asked for.
CREATE TABLE other (id bigint, run_id text, status text, created_at timestamptz, lost_at timestamptz);
CREATE INDEX ON other (lost_at);
INSERT INTO other VALUES (7, 'r', 's', '2025-01-01', '2025-01-01'), (8, 'r', 's', '2026-01-01', '2026-01-02');
SELECT FROM ql3_attach_source('other', 'other');
SELECT kind, id, has_more FROM ql3_observe(2);
SELECT kind, id, has_more FROM ql3_observe(16, '{other}');
SELECT FROM ql3_observe(16, '{other,unknown}');

SELECT FROM ql3_observe_one('unknown', 'a');
-- A source that cannot be read is one blind row, first, beside a page of what the others list.
CREATE FUNCTION fails() RETURNS timestamptz LANGUAGE plpgsql AS 'BEGIN RETURN timestamptz ''2026-01-01'' + 1 / 0 * interval ''1 s''; END';
CREATE OR REPLACE VIEW lost AS
SELECT id, run_id, status, fails() AS created_at, lost_at, memo FROM jobs WHERE status = 'running';
SELECT kind, state, detail ~ '^22012', id IS NULL, claimable FROM ql3_observe(2);
SELECT kind, state FROM ql3_observe(16, '{other}');
SELECT FROM ql3_detach_source('other');
SELECT FROM ql3_detach_source('observe');
SET client_min_messages = warning;
DROP SCHEMA t_observe CASCADE;
