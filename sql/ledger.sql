-- ql3_ledger: what a worker calls, the two sources, and the fenced move to lost.
\pset format unaligned
\pset tuples_only on
\pset null (null)
\set VERBOSITY default
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
DROP EXTENSION IF EXISTS ql3_ledger;
RESET client_min_messages;

-- A schema that exists is never adopted.
CREATE SCHEMA ql3_ledger;
CREATE EXTENSION ql3_ledger;
DROP SCHEMA ql3_ledger;
CREATE EXTENSION ql3_ledger;
SELECT kind, relation_schema, relation_name, transition_name FROM ql3.recovery_sources
WHERE attached AND kind IN ('attempt', 'run') ORDER BY kind;
-- Dropped and made again it takes its own kinds back.
DROP EXTENSION ql3_ledger;
CREATE EXTENSION ql3_ledger;

-- Everything described, pinned, closed to PUBLIC, dumped; no definer function but those argued for.
SELECT proname FROM pg_proc WHERE pronamespace = 'ql3_ledger'::regnamespace
  AND (obj_description(oid, 'pg_proc') IS NULL
       OR NOT proconfig @> '{"search_path=pg_catalog, pg_temp"}'
       OR has_function_privilege('public', oid, 'EXECUTE'));
SELECT proname FROM pg_proc WHERE pronamespace = 'ql3_ledger'::regnamespace GROUP BY 1 HAVING count(*) > 1;
SELECT proname FROM pg_proc WHERE pronamespace = 'ql3_ledger'::regnamespace AND prosecdef
ORDER BY proname COLLATE "C";
SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = 'ql3_ledger'::regnamespace
  AND c.relkind IN ('r', 'v')
  AND (obj_description(c.oid, 'pg_class') IS NULL
       OR has_table_privilege('public', c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')
       OR c.relkind = 'r' AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid
         AND a.attnum > 0 AND col_description(c.oid, a.attnum) IS NULL));
SELECT has_schema_privilege('public', 'ql3_ledger', 'USAGE');
SELECT unnest(extconfig)::regclass FROM pg_extension WHERE extname = 'ql3_ledger' ORDER BY 1;

\set a1 11111111-1111-4111-8111-111111111111
\set a2 22222222-2222-4222-8222-222222222222
\set a3 33333333-3333-4333-8333-333333333333
\set t1 1ed9e200-0000-4000-8000-000000000001
\set t2 1ed9e200-0000-4000-8000-000000000002
\set t3 1ed9e200-0000-4000-8000-000000000003

-- The life of a run, every call also repeated: a lost reply is never a dilemma.
SELECT ql3_ledger.create_run('r1'), ql3_ledger.create_run('r1');
SELECT ql3_ledger.start_attempt('r1', :'a1', 'w1'), ql3_ledger.start_attempt('r1', :'a1', 'w1');
SELECT ql3_ledger.start_attempt('r1', :'a2', 'w2');
SELECT ql3_ledger.pass_start_barrier(:'a1', 'w2', 'h', 7, 'boot:1');
SELECT ql3_ledger.pass_start_barrier(:'a1', 'w1', 'h', 7, 'boot:1'),
       ql3_ledger.pass_start_barrier(:'a1', 'w1', 'h', 7, 'boot:1');
-- another process under the same name may not start
SELECT ql3_ledger.pass_start_barrier(:'a1', 'w1', 'h', 7, 'boot:2');
SELECT ql3_ledger.heartbeat(:'a1', 'w1'), ql3_ledger.heartbeat(:'a1', 'w2'),
       ql3_ledger.heartbeat(:'a2', 'w1');
-- a renewal never shortens
SELECT lease_expires_at AS before FROM ql3_ledger.run_attempts WHERE attempt_id = :'a1' \gset
SELECT ql3_ledger.heartbeat(:'a1', 'w1', '1 s'),
       (SELECT lease_expires_at = :'before' FROM ql3_ledger.run_attempts WHERE attempt_id = :'a1');
SELECT ql3_ledger.finish_attempt(:'a1', 'w2', 'succeeded');
SELECT ql3_ledger.finish_attempt(:'a1', 'w1', 'succeeded', 'done'),
       ql3_ledger.finish_attempt(:'a1', 'w1', 'succeeded'),
       ql3_ledger.finish_attempt(:'a1', 'w1', 'failed');
SELECT ql3_ledger.start_attempt('r1', :'a1', 'w1'), ql3_ledger.start_attempt('r1', :'a2', 'w2'),
       ql3_ledger.heartbeat(:'a1', 'w1'), ql3_ledger.reopen_run('r1', 'no');
SELECT event_number, event, dedupe_key FROM ql3_ledger.run_events WHERE run_id = 'r1' ORDER BY 1;
SELECT status, ended_at IS NOT NULL, last_event FROM ql3_ledger.runs;

-- What is refused, and with which SQLSTATE.
\set VERBOSITY sqlstate
SELECT ql3_ledger.create_run(NULL);
SELECT ql3_ledger.create_run('');
SELECT ql3_ledger.create_run(repeat('x', 255));
SELECT ql3_ledger.create_run(repeat('x', 256));
SELECT ql3_ledger.start_attempt('nobody', :'a2', 'w1');
SELECT ql3_ledger.start_attempt('r1', NULL, 'w1');
SELECT ql3_ledger.start_attempt('r1', :'a1', 'w9');
SELECT ql3_ledger.start_attempt('r1', :'a2', 'w 1');
SELECT ql3_ledger.start_attempt('r1', :'a2', repeat('w', 129));
SELECT ql3_ledger.heartbeat(:'a1', 'w1', NULL);
SELECT ql3_ledger.heartbeat(:'a1', 'w1', '0.999 s');
SELECT ql3_ledger.heartbeat(:'a1', 'w1', '-1 s');
SELECT ql3_ledger.heartbeat(:'a1', 'w1', '24 h 1 s');
SELECT ql3_ledger.heartbeat(:'a1', 'w1', '1 month -29 days');
SELECT ql3_ledger.heartbeat(:'a1', 'w1', '24 h'), ql3_ledger.heartbeat(:'a1', 'w1', '1 s');
SELECT ql3_ledger.pass_start_barrier(:'a1', 'w1', 'h', 0, 'boot:1');
SELECT ql3_ledger.pass_start_barrier(:'a1', 'w1', 'h', NULL, 'boot:1');
SELECT ql3_ledger.pass_start_barrier(:'a1', 'w1', '', 7, 'boot:1');
SELECT ql3_ledger.pass_start_barrier(:'a1', 'w1', 'h', 7, NULL);
SELECT ql3_ledger.finish_attempt(:'a1', 'w1', 'lost');
SELECT ql3_ledger.finish_attempt(:'a1', 'w1', NULL);
SELECT ql3_ledger.reopen_run('r1', '');
SELECT ql3_ledger.start_attempt(repeat('x', 255), :'a2', 'w1');
SELECT ql3_ledger.finish_attempt(:'a2', 'w1', 'succeeded');
SELECT ql3_ledger.finish_attempt(:'a2', 'w1', 'failed', 'cannot start');
-- broken rows are impossible, an ended attempt stays ended, events stay
INSERT INTO ql3_ledger.run_attempts (attempt_id, run_id, attempt_number, worker, lease_expires_at, pid)
  VALUES (:'a3', 'r1', 2, 'w', now(), 7);
INSERT INTO ql3_ledger.run_attempts (attempt_id, run_id, attempt_number, worker, lease_expires_at)
  VALUES (:'a3', 'r1', 2, 'w', 'infinity');
INSERT INTO ql3_ledger.run_attempts (attempt_id, run_id, attempt_number, status, worker, lease_expires_at)
  VALUES (:'a3', 'r1', 2, 'running', 'w', now());
UPDATE ql3_ledger.runs SET status = 'running' WHERE run_id = 'r1';
UPDATE ql3_ledger.run_attempts SET status = 'starting', ended_at = NULL WHERE attempt_id = :'a1';
UPDATE ql3_ledger.run_events SET event = 'x';
DELETE FROM ql3_ledger.run_events;
\set VERBOSITY default
DELETE FROM ql3_ledger.runs;
SELECT count(*) FROM ql3_ledger.run_events;

-- Judged. The lease is let run out by hand, so nothing here waits.
CREATE FUNCTION pg_temp.expire(run text) RETURNS void LANGUAGE sql AS $$
  UPDATE ql3_ledger.run_attempts SET lease_expires_at = clock_timestamp() - interval '1 s'
  WHERE run_id = run AND ended_at IS NULL $$;
-- The evidence a probe returns: the candidate it was given, under "snapshot".
CREATE FUNCTION pg_temp.evidence(source jsonb) RETURNS jsonb LANGUAGE sql AS $$
  SELECT jsonb_build_object('snapshot', jsonb_build_object('source', source), 'seen', 'no process') $$;
CREATE FUNCTION pg_temp.begin_run(run text, attempt uuid) RETURNS void LANGUAGE sql AS $$
  SELECT ql3_ledger.create_run(run); SELECT ql3_ledger.start_attempt(run, attempt, 'w1') $$;

SELECT pg_temp.begin_run('r1', :'a1');
SELECT ql3_ledger.pass_start_barrier(:'a1', 'w1', 'h', 7, 'boot:1');
SELECT * FROM ql3.ql3_observe(16, '{run,attempt}');
SELECT pg_temp.expire('r1');
SELECT kind, id, run_id, status, state, claimable, source - 'started_at' AS source
FROM ql3.ql3_observe(16, '{run,attempt}') ORDER BY kind;

-- Two judges: one claims the attempt, the other the run.
SELECT version AS va, source AS sa FROM ql3.ql3_claim('A', 16, '30 s', :'t1', '{attempt}') \gset
SELECT version AS vr, source AS sr FROM ql3.ql3_claim('B', 16, '30 s', :'t2', '{run}') \gset
\set VERBOSITY sqlstate
SELECT ql3.ql3_conclude('attempt', :'a1', 'A', :'t1', :va, 'running', pg_temp.evidence(:'sa'));
SELECT ql3.ql3_conclude('attempt', :'a1', 'A', :'t1', :va, 'not_running', NULL);
SELECT ql3.ql3_conclude('attempt', :'a1', 'A', :'t1', :va, 'not_running', '{"snapshot": {"source": {}}}');
SELECT ql3.ql3_conclude('attempt', :'a1', 'A', :'t1', :va, 'not_running', '[]');
\set VERBOSITY default
SELECT status FROM ql3_ledger.runs;
SELECT ql3.ql3_conclude('attempt', :'a1', 'A', :'t1', :va, 'not_running', pg_temp.evidence(:'sa'));
-- a repeat of the same call is the same word, and writes nothing
SELECT ql3.ql3_conclude('attempt', :'a1', 'A', :'t1', :va, 'not_running', pg_temp.evidence(:'sa'));
-- the run is over, but not while somebody judges it
\set VERBOSITY terse
DELETE FROM ql3_ledger.runs WHERE run_id = 'r1';
\set VERBOSITY default
SELECT ql3.ql3_conclude('run', 'r1', 'B', :'t2', :vr, 'not_running', pg_temp.evidence(:'sr'));
SELECT r.status, a.status, a.ended_at = r.ended_at OR a.ended_at < r.ended_at, a.pid, a.process_start,
       a.lease_expires_at < a.ended_at
FROM ql3_ledger.runs AS r JOIN ql3_ledger.run_attempts AS a USING (run_id);
SELECT event_number, event, dedupe_key, facts - '{started_at,lease_expires_at}'::text[] AS facts
FROM ql3_ledger.run_events WHERE event IN ('attempt_lost', 'run_lost') ORDER BY 1;
SELECT count(*) FROM ql3_ledger.run_events AS e JOIN ql3_ledger.run_attempts AS a USING (run_id)
WHERE e.facts -> 'lease_expires_at' = to_jsonb(a.lease_expires_at)
  AND e.facts -> 'started_at' = to_jsonb(a.started_at) AND e.event LIKE '%lost';
SELECT * FROM ql3.ql3_observe(16, '{run,attempt}');
-- never a new attempt, and the worker that comes back is told to stop
SELECT count(*) FROM ql3_ledger.run_attempts;
SELECT ql3_ledger.heartbeat(:'a1', 'w1'), ql3_ledger.finish_attempt(:'a1', 'w1', 'succeeded'),
       ql3_ledger.pass_start_barrier(:'a1', 'w1', 'h', 7, 'boot:1'),
       ql3_ledger.start_attempt('r1', :'a2', 'w1');

-- A heartbeat between probe and conclusion: stale, nothing changed.
SELECT pg_temp.begin_run('r2', :'a2');
SELECT ql3_ledger.pass_start_barrier(:'a2', 'w1', 'h', 8, 'boot:1');
SELECT pg_temp.expire('r2');
SELECT version AS v, source AS s FROM ql3.ql3_claim('A', 16, '30 s', :'t3', '{run}') \gset
SELECT ql3_ledger.heartbeat(:'a2', 'w1');
SELECT ql3.ql3_conclude('run', 'r2', 'A', :'t3', :v, 'not_running', pg_temp.evidence(:'s'));
SELECT status FROM ql3_ledger.run_attempts WHERE run_id = 'r2';
-- also when that lease has run out again: the probe saw an earlier revision
SELECT pg_temp.expire('r2');
SELECT ql3_ledger.run_lost('r2', 'lost', pg_temp.evidence(:'s')),
       ql3_ledger.attempt_lost(:'a2', 'lost', pg_temp.evidence(:'s'));
-- and when only the lease is alive again
SELECT to_jsonb(l) AS s FROM ql3_ledger.lost_runs AS l WHERE id = 'r2' \gset
BEGIN;
ALTER TABLE ql3_ledger.run_attempts DISABLE TRIGGER guard_attempt;
UPDATE ql3_ledger.run_attempts SET lease_expires_at = clock_timestamp() + interval '1 h' WHERE run_id = 'r2';
SELECT ql3_ledger.run_lost('r2', 'lost', pg_temp.evidence(:'s'));
ROLLBACK;
-- a run that ended by somebody's plain UPDATE is not touched, nor is its attempt
BEGIN;
UPDATE ql3_ledger.runs SET status = 'failed', ended_at = now() WHERE run_id = 'r2';
SELECT ql3_ledger.run_lost('r2', 'lost', pg_temp.evidence(:'s')),
       ql3_ledger.attempt_lost(:'a2', 'lost', pg_temp.evidence(:'s'));
ROLLBACK;
-- the snapshot of another attempt moves nothing
SELECT ql3_ledger.attempt_lost(:'a1', 'lost', pg_temp.evidence(:'s')),
       ql3_ledger.run_lost('r1', 'lost', pg_temp.evidence(:'s')),
       ql3_ledger.run_lost('nobody', 'lost', pg_temp.evidence(:'s'));
SELECT ql3_ledger.run_lost('r2', 'lost', pg_temp.evidence(:'s')),
       ql3_ledger.run_lost('r2', 'lost', pg_temp.evidence(:'s'));

-- Before the barrier: judged lost, the barrier is closed for the process that comes late.
SELECT pg_temp.begin_run('r3', :'a3');
SELECT pg_temp.expire('r3');
SELECT to_jsonb(l) AS s FROM ql3_ledger.lost_attempts AS l WHERE run_id = 'r3' \gset
SELECT ql3_ledger.attempt_lost(:'a3', 'not_running', pg_temp.evidence(:'s'));
SELECT ql3_ledger.pass_start_barrier(:'a3', 'w1', 'h', 9, 'boot:1');
-- A further attempt needs somebody's explicit decision.
SELECT ql3_ledger.reopen_run('r3', 'a person said so'), ql3_ledger.reopen_run('r3', 'again');
SELECT ql3_ledger.start_attempt('r3', 'cccccccc-cccc-4ccc-8ccc-cccccccccccc', 'w1');
SELECT event_number, event, facts ->> 'reason' FROM ql3_ledger.run_events
WHERE run_id = 'r3' ORDER BY 1;
-- passing the barrier wins against a judge that looked before
SELECT pg_temp.expire('r3');
SELECT to_jsonb(l) AS s FROM ql3_ledger.lost_attempts AS l WHERE run_id = 'r3' \gset
SELECT ql3_ledger.pass_start_barrier('cccccccc-cccc-4ccc-8ccc-cccccccccccc', 'w1', 'h', 9, 'boot:1');
SELECT pg_temp.expire('r3');
SELECT ql3_ledger.attempt_lost('cccccccc-cccc-4ccc-8ccc-cccccccccccc', 'not_running', pg_temp.evidence(:'s'));

-- What is executing, being judged or parked cannot be removed; what was judged can.
\set VERBOSITY terse
DELETE FROM ql3_ledger.runs WHERE run_id = 'r3';
SELECT ql3.ql3_park('run', 'r2', (SELECT version FROM ql3.ql3_observe_one('run', 'r2')), 'look at it');
DELETE FROM ql3_ledger.runs WHERE run_id = 'r2';
SELECT ql3.ql3_release('run', 'r2', (SELECT version FROM ql3.ql3_observe_one('run', 'r2')), 'seen');
DELETE FROM ql3_ledger.runs WHERE run_id = 'r2';
\set VERBOSITY default

-- A worker calls what a worker calls, and nothing else; a stranger nothing.
CREATE ROLE ql3_ledger_worker;
CREATE ROLE ql3_ledger_stranger;
SELECT ql3_ledger.grant_worker('ql3_ledger_worker');
SELECT p.proname FROM pg_proc AS p WHERE p.pronamespace = 'ql3_ledger'::regnamespace
  AND has_function_privilege('ql3_ledger_worker', p.oid, 'EXECUTE') ORDER BY p.proname COLLATE "C";
SET ROLE ql3_ledger_worker;
SELECT ql3_ledger.create_run('r4'),
       ql3_ledger.start_attempt('r4', 'dddddddd-dddd-4ddd-8ddd-dddddddddddd', 'w1'),
       ql3_ledger.finish_attempt('dddddddd-dddd-4ddd-8ddd-dddddddddddd', 'w1', 'failed');
\set VERBOSITY sqlstate
SELECT ql3_ledger.reopen_run('r4', 'mine');
SELECT ql3_ledger.run_lost('r4', 'lost', '{}');
SELECT ql3_ledger.grant_worker('ql3_ledger_stranger');
SELECT * FROM ql3_ledger.runs;
UPDATE ql3_ledger.run_attempts SET worker = 'me';
SET ROLE ql3_ledger_stranger;
SELECT ql3_ledger.create_run('r5');
RESET ROLE;
\set VERBOSITY default
SELECT ql3_ledger.revoke_worker('ql3_ledger_worker');
SELECT has_schema_privilege('ql3_ledger_worker', 'ql3_ledger', 'USAGE'),
       has_function_privilege('ql3_ledger_worker', 'ql3_ledger.create_run(text)', 'EXECUTE');
DROP ROLE ql3_ledger_worker, ql3_ledger_stranger;

SELECT ql3.ql3_detach_source('attempt');
SELECT ql3.ql3_detach_source('run');
DROP EXTENSION ql3_ledger;

-- A kind that is somebody else's is left alone.
CREATE TABLE ledger_other (id text PRIMARY KEY, run_id text, status text, created_at timestamptz,
                           lost_at timestamptz);
CREATE INDEX ON ledger_other (lost_at, id);
SELECT ql3.ql3_attach_source('run', 'ledger_other');
\set VERBOSITY sqlstate
CREATE EXTENSION ql3_ledger;
\set VERBOSITY default
SELECT kind, relation_name FROM ql3.recovery_sources WHERE attached AND kind IN ('run', 'attempt');
SELECT ql3.ql3_detach_source('run');
DROP TABLE ledger_other;
