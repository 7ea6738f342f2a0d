-- Conclude: the source's own transition and the end of the claim in one transaction, under the fence.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_conclude;
SET search_path = t_conclude, ql3, public;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
-- A token of this file; only its digest is ever stored.
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('9beda706-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
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
FROM ql3.run_recovery_controls WHERE kind = 'conclude';
-- Waits for the database's own clock to pass a short lease or next claim time.
CREATE FUNCTION pass_time(target text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE until timestamptz;
BEGIN
  SELECT greatest(expires_at, next_claim_at) INTO until
  FROM ql3.run_recovery_controls WHERE kind = 'conclude' AND id = target;
  IF until > clock_timestamp() + interval '10 s' THEN RAISE '% has a long time to go', target; END IF;
  WHILE until >= clock_timestamp() LOOP PERFORM pg_sleep(0.02); END LOOP;
END $$;
\set VERBOSITY sqlstate
CREATE TABLE calls (n int GENERATED ALWAYS AS IDENTITY, id text, verdict text, evidence jsonb, caller text);
-- Answers by what the evidence asks for; the update is the user's own row.
CREATE FUNCTION job_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO t_conclude.calls (id, verdict, evidence, caller) VALUES ($1, $2, $3, current_user);
  IF $3 ->> 'answer' = 'null' THEN RETURN NULL; END IF;
  IF $3 ->> 'answer' = 'false' THEN RETURN false; END IF;
  IF $3 ->> 'answer' = 'raise' THEN RAISE EXCEPTION 'not today' USING ERRCODE = 'P0099'; END IF;
  IF $3 ->> 'answer' = 'keep' THEN RETURN true; END IF;
  IF $3 ->> 'answer' = 'renew' THEN PERFORM ql3.ql3_renew('conclude', $1, 'A', t_conclude.tok(20), 1, '60 s'); END IF;
  UPDATE t_conclude.jobs AS j SET status = $2 WHERE j.id = $1 AND j.status = 'running';
  RETURN FOUND;
END $$;
CREATE VIEW called AS SELECT id, verdict, evidence FROM calls ORDER BY n;

-- Without a transition there is nothing to conclude with; nothing changed.
SELECT FROM list('a', 'b', 'c', 'd', 'e', 'f', 'g');
SELECT FROM ql3_attach_source('conclude', 'lost');
SELECT id FROM ql3_claim('A', 1, '5 min', tok(1));
SELECT ql3_conclude('conclude', 'a', 'A', tok(1), 1, 'lost');
SELECT ql3_settle('conclude', 'a', 'A', tok(1), 1, 'retry', '0');
SELECT FROM ql3_detach_source('conclude');
SELECT FROM ql3_attach_source('conclude', 'lost', 'job_lost(text,text,jsonb)');

-- Concluded: the row changed, the claim ended, once; a repeat says so and calls nothing again.
SELECT id, version FROM ql3_claim('A', 7, '5 min', tok(2)) ORDER BY id;
SELECT ql3_conclude('conclude', 'b', 'A', tok(2), 1, 'lost', '{"pid": 7}');
SELECT ql3_conclude('conclude', 'b', 'A', tok(2), 1, 'lost', '{"pid": 7}');
TABLE called;
SELECT status FROM jobs WHERE id = 'b';
SELECT id, state, owner, leased, failure_count FROM control WHERE id = 'b';
SELECT disposition, verdict, evidence, result FROM ql3.judgements WHERE kind = 'conclude' AND id = 'b';
-- Other content than the first time, or another word for the end, is fenced.
SELECT ql3_conclude('conclude', 'b', 'A', tok(2), 1, 'gone', '{"pid": 7}'),
       ql3_conclude('conclude', 'b', 'A', tok(2), 1, 'lost', '{"pid": 8}'),
       ql3_conclude('conclude', 'b', 'A', tok(2), 1, 'lost'),
       ql3_settle('conclude', 'b', 'A', tok(2), 1, 'resolved');

-- Fenced: the transition is not called.
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_conclude('conclude', 'a', 'B', tok(2), 2, 'lost')$q$),
  ($q$SELECT ql3_conclude('conclude', 'a', 'A', tok(1), 2, 'lost')$q$),
  ($q$SELECT ql3_conclude('conclude', 'a', 'A', tok(1), 1, 'lost')$q$),
  ($q$SELECT ql3_conclude('conclude', 'a', 'A', tok(2), 1, 'lost')$q$),
  ($q$SELECT ql3_conclude('conclude', 'a', 'A', tok(2), 3, 'lost')$q$),
  ($q$SELECT ql3_conclude('conclude', 'nobody', 'A', tok(2), 1, 'lost')$q$)
) AS v (q);
SELECT count(*) FROM calls;

-- Stale: false or NULL. Nothing of the source changed; still listed, so it waits as resolved-but-listed does.
SELECT ql3_conclude('conclude', 'c', 'A', tok(2), 1, 'lost', '{"answer": "false"}'),
       ql3_conclude('conclude', 'd', 'A', tok(2), 1, 'lost', '{"answer": "null"}');
SELECT ql3_conclude('conclude', 'c', 'A', tok(2), 1, 'lost', '{"answer": "false"}');
-- What a stale transition wrote is undone with it: nothing changed.
SELECT id FROM called WHERE id IN ('c', 'd');
SELECT id, state, owner, waits, failure_count FROM control WHERE id IN ('c', 'd') ORDER BY id;
SELECT id, result FROM ql3.judgements WHERE kind = 'conclude' AND id IN ('c', 'd') ORDER BY id;
SELECT count(*) FROM ql3_claim('B', 7, '5 min', tok(3));
-- Stale because the facts changed: due at once with a clean count.
UPDATE jobs SET lost_at = lost_at + interval '1 h', run_id = 'run-e2' WHERE id = 'e';
SELECT ql3_conclude('conclude', 'e', 'A', tok(2), 1, 'lost', '{"answer": "false"}');
SELECT id, run_id, version, failure_count FROM ql3_claim('B', 7, '5 min', tok(3));
-- A true transition on a target still listed counts as resolved-but-listed.
SELECT ql3_conclude('conclude', 'f', 'A', tok(2), 1, 'lost', '{"answer": "keep"}');
SELECT id, state, waits, failure_count FROM control WHERE id = 'f';
UPDATE jobs SET status = 'done' WHERE id IN ('c', 'd', 'f');

-- An error in the transition is the caller's to see; the claim is held as before.
SELECT ql3_conclude('conclude', 'g', 'A', tok(2), 1, 'lost', '{"answer": "raise"}');
SELECT id, state, owner, version, leased FROM control WHERE id = 'g';
SELECT count(*) FROM calls WHERE id = 'g';
-- Refused in the transaction that made the claim; a rollback undoes row and claim together.
BEGIN;
SELECT ql3_conclude('conclude', 'g', 'A', tok(2), 1, 'lost');
ROLLBACK;
SELECT id, state FROM control WHERE id = 'g';
SELECT status FROM jobs WHERE id = 'g';
SELECT ql3_conclude('conclude', 'g', 'A', tok(2), 1, 'lost');
SELECT verdict, evidence FROM called WHERE id = 'g';
SELECT FROM list('h');
BEGIN;
SELECT id FROM ql3_claim('A', 1, '5 min', tok(4));
SAVEPOINT s;
SELECT ql3_conclude('conclude', 'h', 'A', tok(4), 1, 'lost');
ROLLBACK TO s;
COMMIT;
SELECT ql3_conclude('conclude', 'h', 'A', tok(4), 1, 'lost');

-- An expired claim concludes nothing.
SELECT FROM list('i');
SELECT id FROM ql3_claim('A', 1, '1 s', tok(5));
SELECT FROM pass_time('i');
SELECT ql3_conclude('conclude', 'i', 'A', tok(5), 1, 'lost');
SELECT status FROM jobs WHERE id = 'i';

-- The verdict is a word, the evidence whole up to 64 KiB; history keeps what fits 2 KiB, or a cut text.
SELECT id, version FROM ql3_claim('A', 1, '5 min', tok(6));
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_conclude('conclude', 'i', 'A', tok(6), 2, NULL)$q$),
  ($q$SELECT ql3_conclude('conclude', 'i', 'A', tok(6), 2, '')$q$),
  ($q$SELECT ql3_conclude('conclude', 'i', 'A', tok(6), 2, 'Lost')$q$),
  ($q$SELECT ql3_conclude('conclude', 'i', 'A', tok(6), 2, 'not running')$q$),
  ($q$SELECT ql3_conclude('conclude', 'i', 'A', tok(6), 2, repeat('v', 64))$q$),
  ($q$SELECT ql3_conclude('conclude', 'i', 'A', tok(6), 2, 'lost', to_jsonb(repeat('x', 65535)))$q$),
  ($q$SELECT ql3_conclude('conclude', 'i', 'A', tok(6), 2, repeat('v', 63), to_jsonb(repeat('x', 65534)))$q$)
) AS v (q);
SELECT length(verdict), octet_length(evidence::text) FROM called WHERE id = 'i';
SELECT evidence = jsonb_build_object('cut', '"' || repeat('x', 2047)) FROM ql3.judgements
WHERE kind = 'conclude' AND id = 'i' AND version = 2;

-- Deferred constraints of the user's tables do not stop a transition.
CREATE TABLE notes (job text REFERENCES jobs DEFERRABLE INITIALLY DEFERRED);
CREATE OR REPLACE FUNCTION job_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql AS $$
INSERT INTO t_conclude.notes VALUES ($1);
UPDATE t_conclude.jobs AS j SET status = $2 WHERE j.id = $1 RETURNING true $$;
SELECT FROM list('j');
SELECT id FROM ql3_claim('A', 1, '5 min', tok(7));
SELECT ql3_conclude('conclude', 'j', 'A', tok(7), 1, 'lost');
TABLE notes;
-- The transition is gone: an error that says so, and the claim is kept.
SELECT FROM list('k');
SELECT id FROM ql3_claim('A', 1, '5 min', tok(8));
DROP FUNCTION job_lost;
SELECT code($$SELECT ql3_conclude('conclude', 'k', 'A', tok(8), 1, 'lost')$$) IN ('42883', '55000');
SELECT id, state, owner FROM control WHERE id = 'k';
-- The same signature again is found again by its name.
CREATE FUNCTION job_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql
AS $$ UPDATE t_conclude.jobs AS j SET status = $2 WHERE j.id = $1 RETURNING true $$;
SELECT ql3_conclude('conclude', 'k', 'A', tok(8), 1, 'lost');

-- A caller's own transition, under require_fence.
SELECT FROM list('l', 'm');
SELECT id FROM ql3_claim('A', 2, '5 min', tok(9));
BEGIN;
SELECT FROM ql3_require_fence('conclude', 'l', 'A', tok(9), 1);
UPDATE jobs SET status = 'lost' WHERE id = 'l';
SELECT ql3_settle('conclude', 'l', 'A', tok(9), 1, 'resolved');
COMMIT;
SELECT id, state, failure_count FROM control WHERE id = 'l';
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_require_fence('conclude', 'l', 'A', tok(9), 1)$q$),
  ($q$SELECT ql3_require_fence('conclude', 'm', 'B', tok(9), 1)$q$),
  ($q$SELECT ql3_require_fence('conclude', 'm', 'A', tok(8), 1)$q$),
  ($q$SELECT ql3_require_fence('conclude', 'm', 'A', tok(9), 2)$q$),
  ($q$SELECT ql3_require_fence('conclude', 'nobody', 'A', tok(9), 1)$q$),
  ($q$SELECT ql3_require_fence(NULL, 'm', 'A', tok(9), 1)$q$),
  ($q$SELECT ql3_require_fence('conclude', NULL, 'A', tok(9), 1)$q$),
  ($q$SELECT ql3_require_fence('conclude', 'm', NULL, tok(9), 1)$q$),
  ($q$SELECT ql3_require_fence('conclude', 'm', 'A', NULL, 1)$q$),
  ($q$SELECT ql3_require_fence('conclude', 'm', 'A', tok(9), NULL)$q$)
) AS v (q);
-- A transition that renews the claim it is called under: the claim ends as renewed.
SELECT list('renewing');
SELECT count(*) FROM ql3_claim('A', 128, '30 s', tok(20), '{conclude}') WHERE id = 'renewing';
SELECT ql3_conclude('conclude', 'renewing', 'A', tok(20), 1, 'lost', '{"answer": "renew"}');
SELECT id, state, leased FROM control WHERE id = 'renewing';
SELECT FROM ql3_detach_source('conclude');
SET client_min_messages = warning;
DROP SCHEMA t_conclude CASCADE;
