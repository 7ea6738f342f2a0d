-- The operator's two acts on a target: park takes it out of the rotation, release puts it back.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_release_park;
SET search_path = t_release_park, ql3, public;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
-- A token of this file; only its digest is ever stored.
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('0cba4f34-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
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
FROM ql3.run_recovery_controls WHERE kind = 'release_park';
-- Waits for the database's own clock to pass a short lease or next claim time.
CREATE FUNCTION pass_time(target text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE until timestamptz;
BEGIN
  SELECT greatest(expires_at, next_claim_at) INTO until
  FROM ql3.run_recovery_controls WHERE kind = 'release_park' AND id = target;
  IF until > clock_timestamp() + interval '10 s' THEN RAISE '% has a long time to go', target; END IF;
  WHILE until >= clock_timestamp() LOOP PERFORM pg_sleep(0.02); END LOOP;
END $$;
\set VERBOSITY sqlstate
SELECT FROM ql3_attach_source('release_park', 'lost');
SELECT FROM list('a', 'b', 'c', 'd', 'e');
SELECT count(*) FROM ql3_claim('A', 4, '5 min', tok(1));
SELECT ql3_settle('release_park', 'b', 'A', tok(1), 1, 'retry', '5 min'),
       ql3_settle('release_park', 'c', 'A', tok(1), 1, 'manual'),
       ql3_settle('release_park', 'd', 'A', tok(1), 1, 'resolved');
CREATE FUNCTION v(target text) RETURNS bigint LANGUAGE sql VOLATILE
AS $$ SELECT version FROM ql3.ql3_observe_one('release_park', target) $$;

-- What the operator did not see is not acted on: any other version is stale, as is what is not there.
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_park('release_park', 'a', v('a') + 1, 'r')$q$),
  ($q$SELECT ql3_park('release_park', 'a', v('a') - 1, 'r')$q$),
  ($q$SELECT ql3_park('release_park', 'nobody', 1, 'r')$q$),
  ($q$SELECT ql3_release('release_park', 'c', v('c') + 1, 'r')$q$),
  ($q$SELECT ql3_release('release_park', 'nobody', 1, 'r')$q$),
  ($q$SELECT ql3_release('release_park', 'a', v('a'), 'r')$q$),
  ($q$SELECT ql3_release('release_park', 'e', v('e'), 'r')$q$)
) AS v (q);
SELECT id, state, owner, version FROM control ORDER BY id;

-- Park takes a live claim away: its owner has lost every right to it.
SELECT ql3_park('release_park', 'a', v('a'), 'do not touch');
SELECT id, state, owner, leased, waits FROM control WHERE id = 'a';
SELECT ql3_settle('release_park', 'a', 'A', tok(1), 1, 'retry', '0'), ql3_renew('release_park', 'a', 'A', tok(1), 1);
SELECT id, result FROM ql3_give_back('A', tok(1), '{release_park}', '{a}', '{1}');
-- A claim that repeats its token finds the page over.
SELECT FROM ql3_claim('A', 4, '5 min', tok(1));
-- Waiting, resolved and never-claimed targets can be parked too.
SELECT ql3_park('release_park', 'b', v('b'), 'r'), ql3_park('release_park', 'd', v('d'), 'r'),
       ql3_park('release_park', 'e', v('e'), 'r');
SELECT count(*) FROM ql3_claim('B', 16, '5 min', tok(2));
SELECT id, state, claimable FROM ql3_observe();
-- It stays so when the incident changes, until it is released; then anyone may have it.
UPDATE jobs SET lost_at = lost_at + interval '1 d' WHERE id = 'b';
SELECT count(*) FROM ql3_claim('B', 16, '5 min', tok(2));
SELECT ql3_release('release_park', 'a', v('a'), 'go on'), ql3_release('release_park', 'b', v('b'), 'go on'),
       ql3_release('release_park', 'e', v('e'), 'go on');
-- Nothing is left to release, and a second act is not on record.
SELECT ql3_release('release_park', 'a', v('a'), 'again');
-- Released, it carries a higher version than any claim before: the old owner stays fenced.
SELECT id, version > 1 OR id = 'e' AS grew, failure_count FROM ql3_claim('B', 16, '5 min', tok(2)) ORDER BY id;
SELECT ql3_settle('release_park', 'a', 'A', tok(1), 1, 'retry', '0');
-- A parked target that left the source is released all the same, and offered when it comes back.
UPDATE jobs SET status = 'done' WHERE id = 'c';
SELECT ql3_release('release_park', 'c', v('c'), 'gone anyway');
SELECT count(*) FROM ql3_claim('B', 16, '5 min', tok(3));
UPDATE jobs SET status = 'running' WHERE id = 'c';
SELECT id FROM ql3_claim('B', 16, '5 min', tok(3));

-- Every act that changed something is on record, with who and why; the stale ones changed nothing.
SELECT kind, id, action ~ 'park|release', reason, actor = session_user, role_set IS NOT NULL
FROM ql3.audit_events WHERE kind = 'release_park' AND id IS NOT NULL ORDER BY event_id;
-- Chained: each row carries the digest of the one before, and no token.
SELECT count(*) FROM (SELECT previous_digest IS DISTINCT FROM lag(digest) OVER (ORDER BY event_id) AS broken,
                             row_number() OVER (ORDER BY event_id) AS n FROM ql3.audit_events) AS chain
WHERE broken AND n > 1;
SELECT count(*) FROM ql3.audit_events AS e WHERE to_jsonb(e)::text LIKE '%' || tok(1) || '%';
-- A reason is required and kept to 2 KiB.
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_park(NULL, 'd', 1, 'r')$q$),
  ($q$SELECT ql3_park('release_park', NULL, 1, 'r')$q$),
  ($q$SELECT ql3_park('release_park', 'd', NULL, 'r')$q$),
  ($q$SELECT ql3_park('release_park', 'd', 1, NULL)$q$),
  ($q$SELECT ql3_park('release_park', 'd', 1, '')$q$),
  ($q$SELECT ql3_park('release_park', '', 1, 'r')$q$),
  ($q$SELECT ql3_park('Release', 'd', 1, 'r')$q$),
  ($q$SELECT ql3_park('unknown', 'd', 1, 'r')$q$),
  ($q$SELECT ql3_release('unknown', 'd', 1, 'r')$q$),
  ($q$SELECT ql3_release(NULL, 'd', 1, 'r')$q$),
  ($q$SELECT ql3_release('release_park', NULL, 1, 'r')$q$),
  ($q$SELECT ql3_release('release_park', 'd', NULL, 'r')$q$),
  ($q$SELECT ql3_release('release_park', 'd', 1, NULL)$q$),
  ($q$SELECT ql3_release('release_park', 'd', 1, '')$q$),
  ($q$SELECT ql3_release('release_park', repeat('i', 256), 1, 'r')$q$),
  ($q$SELECT ql3_release('release_park', 'd', v('d'), repeat('x', 2047) || 'é')$q$)
) AS v (q);
SELECT octet_length(reason) FROM ql3.audit_events ORDER BY event_id DESC LIMIT 1;
SELECT FROM ql3_detach_source('release_park');
SET client_min_messages = warning;
DROP SCHEMA t_release_park CASCADE;
