\echo Use "CREATE EXTENSION ql3_ledger CASCADE" to load this file. \quit

-- Lock order everywhere: the run, then its attempt. A heartbeat locks the attempt alone. Every event of
-- a run is numbered under the lock of the run, so the order of the numbers is the order of the commits.
SET LOCAL search_path = pg_catalog, pg_temp;

CREATE SCHEMA ql3_ledger;

-- tables

CREATE TABLE ql3_ledger.runs (
  run_id text COLLATE "C" PRIMARY KEY
    CONSTRAINT runs_run_id_length CHECK (octet_length(run_id) BETWEEN 1 AND 255),
  status text NOT NULL DEFAULT 'pending'
    CONSTRAINT runs_status_word
      CHECK (status IN ('pending', 'running', 'succeeded', 'failed', 'lost')),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz,
  last_event bigint NOT NULL DEFAULT 0 CONSTRAINT runs_last_event_sign CHECK (last_event >= 0),
  CONSTRAINT runs_ended CHECK ((ended_at IS NOT NULL) = (status IN ('succeeded', 'failed', 'lost')))
);

CREATE TABLE ql3_ledger.run_attempts (
  attempt_id uuid PRIMARY KEY,
  run_id text COLLATE "C" NOT NULL REFERENCES ql3_ledger.runs ON DELETE CASCADE,
  attempt_number integer NOT NULL
    CONSTRAINT run_attempts_number_sign CHECK (attempt_number >= 1),
  status text NOT NULL DEFAULT 'starting'
    CONSTRAINT run_attempts_status_word
      CHECK (status IN ('starting', 'running', 'succeeded', 'failed', 'lost')),
  worker text NOT NULL
    CONSTRAINT run_attempts_worker_name CHECK (worker ~ '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$'),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  lease_expires_at timestamptz NOT NULL
    CONSTRAINT run_attempts_lease_finite CHECK (isfinite(lease_expires_at)),
  started_at timestamptz,
  host text CONSTRAINT run_attempts_host_length CHECK (octet_length(host) BETWEEN 1 AND 255),
  pid integer CONSTRAINT run_attempts_pid_sign CHECK (pid > 0),
  process_start text
    CONSTRAINT run_attempts_process_start_length CHECK (octet_length(process_start) BETWEEN 1 AND 255),
  ended_at timestamptz,
  revision bigint NOT NULL DEFAULT 1 CONSTRAINT run_attempts_revision_sign CHECK (revision >= 1),
  CONSTRAINT run_attempts_number_key UNIQUE (run_id, attempt_number),
  -- a process identity is whole or absent, and present exactly from the start barrier on
  CONSTRAINT run_attempts_identity
    CHECK (num_nulls(started_at, host, pid, process_start) IN (0, 4)),
  CONSTRAINT run_attempts_barrier CHECK (CASE status
    WHEN 'starting' THEN started_at IS NULL
    WHEN 'running' THEN started_at IS NOT NULL
    WHEN 'succeeded' THEN started_at IS NOT NULL
    ELSE true END),
  CONSTRAINT run_attempts_ended CHECK ((ended_at IS NULL) = (status IN ('starting', 'running')))
);

CREATE UNIQUE INDEX run_attempts_one_open ON ql3_ledger.run_attempts (run_id)
  WHERE status IN ('starting', 'running');
-- one per source: each leads with lost_at and goes on with the id of its kind
CREATE INDEX run_attempts_lost_attempts ON ql3_ledger.run_attempts (lease_expires_at, attempt_id)
  WHERE status IN ('starting', 'running');
CREATE INDEX run_attempts_lost_runs ON ql3_ledger.run_attempts (lease_expires_at, run_id)
  WHERE status IN ('starting', 'running');

CREATE TABLE ql3_ledger.run_events (
  run_id text COLLATE "C" NOT NULL REFERENCES ql3_ledger.runs ON DELETE CASCADE,
  event_number bigint NOT NULL CONSTRAINT run_events_number_sign CHECK (event_number >= 1),
  event text NOT NULL
    CONSTRAINT run_events_event_word CHECK (event ~ '^[a-z][a-z0-9_]{0,62}$'),
  attempt_id uuid,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  dedupe_key text COLLATE "C" NOT NULL
    CONSTRAINT run_events_dedupe_key_length CHECK (octet_length(dedupe_key) BETWEEN 1 AND 255),
  facts jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT run_events_facts_object CHECK (jsonb_typeof(facts) = 'object'),
  PRIMARY KEY (run_id, event_number),
  CONSTRAINT run_events_dedupe_key UNIQUE (run_id, dedupe_key)
);

SELECT pg_extension_config_dump('ql3_ledger.runs', '');
SELECT pg_extension_config_dump('ql3_ledger.run_attempts', '');
SELECT pg_extension_config_dump('ql3_ledger.run_events', '');

COMMENT ON SCHEMA ql3_ledger IS 'runs, attempts and events of ql3_ledger';
COMMENT ON TABLE ql3_ledger.runs IS 'one row per run';
COMMENT ON COLUMN ql3_ledger.runs.run_id IS 'name of the run, 1 to 255 bytes, chosen by the caller';
COMMENT ON COLUMN ql3_ledger.runs.status IS
  'pending (no attempt open), running (one attempt open), succeeded, failed, lost';
COMMENT ON COLUMN ql3_ledger.runs.created_at IS 'when create_run made the row';
COMMENT ON COLUMN ql3_ledger.runs.ended_at IS 'when the run ended; NULL while pending or running';
COMMENT ON COLUMN ql3_ledger.runs.last_event IS 'number of the latest event of the run';
COMMENT ON TABLE ql3_ledger.run_attempts IS
  'one row per attempt: who executes, since when, and how long without being heard of';
COMMENT ON COLUMN ql3_ledger.run_attempts.attempt_id IS 'random uuid made by the worker';
COMMENT ON COLUMN ql3_ledger.run_attempts.run_id IS 'the run this attempt executes';
COMMENT ON COLUMN ql3_ledger.run_attempts.attempt_number IS '1 for the first attempt of the run';
COMMENT ON COLUMN ql3_ledger.run_attempts.status IS
  'starting (start barrier not passed, nothing may run), running, succeeded, failed, lost';
COMMENT ON COLUMN ql3_ledger.run_attempts.worker IS 'name of the worker that holds the lease';
COMMENT ON COLUMN ql3_ledger.run_attempts.created_at IS 'when start_attempt made the row';
COMMENT ON COLUMN ql3_ledger.run_attempts.lease_expires_at IS
  'end of the execution lease; kept as evidence when the attempt ends';
COMMENT ON COLUMN ql3_ledger.run_attempts.started_at IS 'when the start barrier was passed';
COMMENT ON COLUMN ql3_ledger.run_attempts.host IS 'host (and PID namespace) that pid belongs to';
COMMENT ON COLUMN ql3_ledger.run_attempts.pid IS 'process id of the worker on that host';
COMMENT ON COLUMN ql3_ledger.run_attempts.process_start IS
  'text that tells this process from a later one with the same pid';
COMMENT ON COLUMN ql3_ledger.run_attempts.ended_at IS 'when the attempt ended; NULL while open';
COMMENT ON COLUMN ql3_ledger.run_attempts.revision IS
  'grows with every change of the row; a judgement of an earlier revision is stale';
COMMENT ON INDEX ql3_ledger.run_attempts_one_open IS 'a run has at most one open attempt';
COMMENT ON INDEX ql3_ledger.run_attempts_lost_attempts IS 'pages of lost_attempts';
COMMENT ON INDEX ql3_ledger.run_attempts_lost_runs IS 'pages of lost_runs';
COMMENT ON TABLE ql3_ledger.run_events IS 'what happened to a run, in order; append-only';
COMMENT ON COLUMN ql3_ledger.run_events.run_id IS 'the run';
COMMENT ON COLUMN ql3_ledger.run_events.event_number IS '1, 2, 3 and so on without gaps within a run';
COMMENT ON COLUMN ql3_ledger.run_events.event IS 'what happened, for example run_lost';
COMMENT ON COLUMN ql3_ledger.run_events.attempt_id IS 'the attempt it happened to, if one';
COMMENT ON COLUMN ql3_ledger.run_events.at IS 'when it was written, by the clock of the server';
COMMENT ON COLUMN ql3_ledger.run_events.dedupe_key IS
  'the same for every try to write the same event; unique within the run';
COMMENT ON COLUMN ql3_ledger.run_events.facts IS 'what was known at that moment';

-- checks of arguments

CREATE FUNCTION ql3_ledger.check_name(what text, value text, pattern text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF value IS NULL THEN
    RAISE EXCEPTION '% must not be null', what USING ERRCODE = '22004';
  ELSIF octet_length(value) NOT BETWEEN 1 AND 255 THEN
    RAISE EXCEPTION '% must have 1 to 255 bytes, not %', what, octet_length(value)
      USING ERRCODE = '22023';
  ELSIF value !~ pattern THEN
    RAISE EXCEPTION '% "%" does not match %', what, value, pattern USING ERRCODE = '22023';
  END IF;
END $$;
COMMENT ON FUNCTION ql3_ledger.check_name(text, text, text) IS
  'raise 22004 for a null and 22023 for a bad name';

CREATE FUNCTION ql3_ledger.check_lease(lease interval)
RETURNS void LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF lease IS NULL THEN
    RAISE EXCEPTION 'lease must not be null' USING ERRCODE = '22004';
  ELSIF extract(year FROM lease) <> 0 OR extract(month FROM lease) <> 0
     OR extract(epoch FROM lease) NOT BETWEEN 1 AND 86400 THEN
    RAISE EXCEPTION 'lease % is not between 1 second and 24 hours', lease
      USING ERRCODE = '22023', HINT = 'Months are refused; a day means 24 hours.';
  END IF;
END $$;
COMMENT ON FUNCTION ql3_ledger.check_lease(interval) IS
  'raise 22004 for a null and 22023 for an execution lease outside 1 s to 24 h';

CREATE FUNCTION ql3_ledger.check_worker(worker text)
RETURNS void LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT ql3_ledger.check_name('worker', worker, '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$')
$$;
COMMENT ON FUNCTION ql3_ledger.check_worker(text) IS
  'raise 22004 for a null and 22023 for a bad worker name';

-- REQUIRES: the caller holds the lock of the run, so the number it takes is the next one.
CREATE FUNCTION ql3_ledger.add_event(run_id text, event text, attempt_id uuid, dedupe_key text,
                                     facts jsonb)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  next bigint;
BEGIN
  PERFORM FROM ql3_ledger.run_events AS e
    WHERE e.run_id = add_event.run_id AND e.dedupe_key = add_event.dedupe_key;
  IF FOUND THEN
    RETURN;
  END IF;
  UPDATE ql3_ledger.runs AS r SET last_event = r.last_event + 1
    WHERE r.run_id = add_event.run_id RETURNING r.last_event INTO STRICT next;
  INSERT INTO ql3_ledger.run_events (run_id, event_number, event, attempt_id, dedupe_key, facts)
    VALUES (add_event.run_id, next, add_event.event, add_event.attempt_id, add_event.dedupe_key,
            add_event.facts);
END $$;
COMMENT ON FUNCTION ql3_ledger.add_event(text, text, uuid, text, jsonb) IS
  'append one event under the lock of its run; a dedupe key that is there already writes nothing';

-- what a worker calls

CREATE FUNCTION ql3_ledger.create_run(run_id text)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM ql3_ledger.check_name('run_id', create_run.run_id);
  INSERT INTO ql3_ledger.runs (run_id) VALUES (create_run.run_id)
    ON CONFLICT ON CONSTRAINT runs_pkey DO NOTHING;
  IF NOT FOUND THEN
    RETURN 'exists';
  END IF;
  PERFORM ql3_ledger.add_event(create_run.run_id, 'run_created', NULL, 'run-created', '{}');
  RETURN 'created';
END $$;
COMMENT ON FUNCTION ql3_ledger.create_run(text) IS
  'make a pending run: created | exists. Errors: 22004, 22023';

CREATE FUNCTION ql3_ledger.start_attempt(run_id text, attempt_id uuid, worker text,
                                         lease interval DEFAULT '30 s')
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  run ql3_ledger.runs;
  attempt ql3_ledger.run_attempts;
  number integer;
  expires timestamptz;
BEGIN
  PERFORM ql3_ledger.check_name('run_id', start_attempt.run_id),
          ql3_ledger.check_name('attempt_id', start_attempt.attempt_id::text),
          ql3_ledger.check_worker(start_attempt.worker),
          ql3_ledger.check_lease(start_attempt.lease);
  SELECT * INTO run FROM ql3_ledger.runs AS r
    WHERE r.run_id = start_attempt.run_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'unknown run "%"', start_attempt.run_id
      USING ERRCODE = 'P0002', HINT = 'Call ql3_ledger.create_run first.';
  END IF;
  SELECT * INTO attempt FROM ql3_ledger.run_attempts AS a
    WHERE a.attempt_id = start_attempt.attempt_id;
  IF FOUND THEN
    IF (attempt.run_id, attempt.worker) <> (start_attempt.run_id, start_attempt.worker) THEN
      RAISE EXCEPTION 'attempt % belongs to another run or worker', start_attempt.attempt_id
        USING ERRCODE = '22023', HINT = 'Make a random uuid for every attempt.';
    END IF;
    RETURN CASE WHEN attempt.ended_at IS NULL THEN 'started' ELSE 'ended' END;
  END IF;
  IF run.status <> 'pending' THEN
    RETURN CASE WHEN run.status = 'running' THEN 'busy' ELSE 'ended' END;
  END IF;
  SELECT coalesce(max(a.attempt_number), 0) + 1 INTO number FROM ql3_ledger.run_attempts AS a
    WHERE a.run_id = start_attempt.run_id;
  expires := clock_timestamp() + start_attempt.lease;
  INSERT INTO ql3_ledger.run_attempts (attempt_id, run_id, attempt_number, worker, lease_expires_at)
    VALUES (start_attempt.attempt_id, start_attempt.run_id, number, start_attempt.worker, expires);
  UPDATE ql3_ledger.runs AS r SET status = 'running' WHERE r.run_id = start_attempt.run_id;
  PERFORM ql3_ledger.add_event(start_attempt.run_id, 'attempt_started', start_attempt.attempt_id,
    'attempt-started:' || start_attempt.attempt_id,
    jsonb_build_object('attempt_number', number, 'worker', start_attempt.worker,
                       'lease_expires_at', expires));
  RETURN 'started';
END $$;
COMMENT ON FUNCTION ql3_ledger.start_attempt(text, uuid, text, interval) IS
  'open the next attempt of a pending run: started (also on a repeat) | busy | ended. Nothing may be '
  'executed before pass_start_barrier has answered passed. Errors: 22004, 22023, P0002';

-- The run of an attempt never changes, so it may be read before the lock of the run is taken.
CREATE FUNCTION ql3_ledger.lock_attempt(attempt_id uuid, worker text)
RETURNS ql3_ledger.run_attempts LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  attempt ql3_ledger.run_attempts;
BEGIN
  PERFORM FROM ql3_ledger.runs AS r
    WHERE r.run_id = (SELECT a.run_id FROM ql3_ledger.run_attempts AS a
                      WHERE a.attempt_id = lock_attempt.attempt_id) FOR NO KEY UPDATE;
  SELECT * INTO attempt FROM ql3_ledger.run_attempts AS a
    WHERE a.attempt_id = lock_attempt.attempt_id AND a.worker = lock_attempt.worker
    FOR NO KEY UPDATE;
  RETURN attempt;
END $$;
COMMENT ON FUNCTION ql3_ledger.lock_attempt(uuid, text) IS
  'lock the run, then the attempt, and return it; a null row when this worker has no such attempt';

CREATE FUNCTION ql3_ledger.pass_start_barrier(attempt_id uuid, worker text, host text, pid integer,
                                              process_start text, lease interval DEFAULT '30 s')
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  attempt ql3_ledger.run_attempts;
  expires timestamptz;
BEGIN
  PERFORM ql3_ledger.check_name('attempt_id', pass_start_barrier.attempt_id::text),
          ql3_ledger.check_worker(pass_start_barrier.worker),
          ql3_ledger.check_name('host', pass_start_barrier.host),
          ql3_ledger.check_name('pid', pass_start_barrier.pid::text, '^[1-9]'),
          ql3_ledger.check_name('process_start', pass_start_barrier.process_start),
          ql3_ledger.check_lease(pass_start_barrier.lease);
  attempt := ql3_ledger.lock_attempt(pass_start_barrier.attempt_id, pass_start_barrier.worker);
  IF attempt.status = 'running'
     AND (attempt.host, attempt.pid, attempt.process_start)
       = (pass_start_barrier.host, pass_start_barrier.pid, pass_start_barrier.process_start) THEN
    RETURN 'passed';
  ELSIF attempt.status IS DISTINCT FROM 'starting' THEN
    RETURN 'refused';
  END IF;
  expires := greatest(attempt.lease_expires_at, clock_timestamp() + pass_start_barrier.lease);
  UPDATE ql3_ledger.run_attempts AS a
    SET status = 'running', started_at = clock_timestamp(), lease_expires_at = expires,
        host = pass_start_barrier.host, pid = pass_start_barrier.pid,
        process_start = pass_start_barrier.process_start
    WHERE a.attempt_id = pass_start_barrier.attempt_id;
  PERFORM ql3_ledger.add_event(attempt.run_id, 'start_barrier_passed', attempt.attempt_id,
    'start-barrier-passed:' || attempt.attempt_id,
    jsonb_build_object('host', pass_start_barrier.host, 'pid', pass_start_barrier.pid,
                       'process_start', pass_start_barrier.process_start,
                       'lease_expires_at', expires));
  RETURN 'passed';
END $$;
COMMENT ON FUNCTION ql3_ledger.pass_start_barrier(uuid, text, text, integer, text, interval) IS
  'report the process that is about to execute and renew: passed (also on a repeat by the same '
  'process; it may now execute) | refused (it must not). Errors: 22004, 22023';

CREATE FUNCTION ql3_ledger.heartbeat(attempt_id uuid, worker text, lease interval DEFAULT '30 s')
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM ql3_ledger.check_name('attempt_id', heartbeat.attempt_id::text),
          ql3_ledger.check_worker(heartbeat.worker),
          ql3_ledger.check_lease(heartbeat.lease);
  PERFORM FROM ql3_ledger.run_attempts AS a
    WHERE a.attempt_id = heartbeat.attempt_id FOR NO KEY UPDATE;
  UPDATE ql3_ledger.run_attempts AS a
    SET lease_expires_at = greatest(a.lease_expires_at, clock_timestamp() + heartbeat.lease)
    WHERE a.attempt_id = heartbeat.attempt_id AND a.worker = heartbeat.worker
      AND a.status IN ('starting', 'running');
  RETURN CASE WHEN FOUND THEN 'renewed' ELSE 'refused' END;
END $$;
COMMENT ON FUNCTION ql3_ledger.heartbeat(uuid, text, interval) IS
  'renew the execution lease, also after it ran out as long as nobody judged the attempt; never '
  'shortens it: renewed | refused (not or no longer this worker''s: stop). Errors: 22004, 22023';

CREATE FUNCTION ql3_ledger.finish_attempt(attempt_id uuid, worker text, outcome text,
                                          detail text DEFAULT NULL)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  attempt ql3_ledger.run_attempts;
  facts jsonb;
BEGIN
  PERFORM ql3_ledger.check_name('attempt_id', finish_attempt.attempt_id::text),
          ql3_ledger.check_worker(finish_attempt.worker),
          ql3_ledger.check_name('outcome', finish_attempt.outcome, '^(succeeded|failed)$');
  attempt := ql3_ledger.lock_attempt(finish_attempt.attempt_id, finish_attempt.worker);
  IF attempt.status = finish_attempt.outcome THEN
    RETURN 'finished';
  ELSIF attempt.status IS NULL OR attempt.ended_at IS NOT NULL THEN
    RETURN 'refused';
  ELSIF attempt.status = 'starting' AND finish_attempt.outcome = 'succeeded' THEN
    RAISE EXCEPTION 'attempt % has not passed its start barrier and cannot have succeeded',
      finish_attempt.attempt_id USING ERRCODE = '55000';
  END IF;
  UPDATE ql3_ledger.run_attempts AS a
    SET status = finish_attempt.outcome, ended_at = clock_timestamp()
    WHERE a.attempt_id = finish_attempt.attempt_id;
  UPDATE ql3_ledger.runs AS r SET status = finish_attempt.outcome, ended_at = clock_timestamp()
    WHERE r.run_id = attempt.run_id;
  facts := jsonb_strip_nulls(jsonb_build_object('worker', attempt.worker,
                                                'detail', left(finish_attempt.detail, 512)));
  PERFORM ql3_ledger.add_event(attempt.run_id, 'attempt_' || finish_attempt.outcome,
    attempt.attempt_id, 'attempt-ended:' || attempt.attempt_id, facts);
  PERFORM ql3_ledger.add_event(attempt.run_id, 'run_' || finish_attempt.outcome,
    attempt.attempt_id, 'run-ended:' || attempt.attempt_id, facts);
  RETURN 'finished';
END $$;
COMMENT ON FUNCTION ql3_ledger.finish_attempt(uuid, text, text, text) IS
  'end the attempt and its run as succeeded or failed: finished (also on a repeat) | refused (it '
  'ended otherwise). detail keeps its first 512 characters. Errors: 22004, 22023, 55000';

CREATE FUNCTION ql3_ledger.reopen_run(run_id text, reason text)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  run ql3_ledger.runs;
BEGIN
  PERFORM ql3_ledger.check_name('run_id', reopen_run.run_id),
          ql3_ledger.check_name('reason', left(reopen_run.reason, 63));
  SELECT * INTO run FROM ql3_ledger.runs AS r
    WHERE r.run_id = reopen_run.run_id FOR NO KEY UPDATE;
  IF run.status = 'pending' THEN
    RETURN 'reopened';
  ELSIF run.status IS NULL OR run.status NOT IN ('failed', 'lost') THEN
    RETURN 'refused';
  END IF;
  UPDATE ql3_ledger.runs AS r SET status = 'pending', ended_at = NULL
    WHERE r.run_id = reopen_run.run_id;
  PERFORM ql3_ledger.add_event(reopen_run.run_id, 'run_reopened', NULL,
    'run-reopened:' || run.last_event,
    jsonb_build_object('was', run.status, 'reason', left(reopen_run.reason, 512),
                       'by', session_user));
  RETURN 'reopened';
END $$;
COMMENT ON FUNCTION ql3_ledger.reopen_run(text, text) IS
  'let a failed or lost run have a further attempt, by an explicit decision of the caller: reopened '
  '(also when it is pending already) | refused. Nothing else ever does. reason keeps its first 512 '
  'characters. Errors: 22004, 22023';

-- sources: only the attempts are read by range, so one index walk serves a page under any statistics

CREATE VIEW ql3_ledger.lost_attempts AS
  SELECT a.attempt_id AS id, a.run_id, a.status, a.created_at, a.lease_expires_at AS lost_at,
         a.attempt_id, a.attempt_number, a.status AS attempt_status, a.revision, a.worker, a.host,
         a.pid, a.process_start, a.started_at
  FROM ql3_ledger.run_attempts AS a
  WHERE a.status IN ('starting', 'running') AND a.lease_expires_at <= statement_timestamp();

CREATE VIEW ql3_ledger.lost_runs AS
  SELECT a.run_id AS id, a.run_id,
         (SELECT r.status FROM ql3_ledger.runs AS r WHERE r.run_id = a.run_id) AS status,
         (SELECT r.created_at FROM ql3_ledger.runs AS r WHERE r.run_id = a.run_id) AS created_at,
         a.lease_expires_at AS lost_at,
         a.attempt_id, a.attempt_number, a.status AS attempt_status, a.revision, a.worker, a.host,
         a.pid, a.process_start, a.started_at
  FROM ql3_ledger.run_attempts AS a
  WHERE a.status IN ('starting', 'running') AND a.lease_expires_at <= statement_timestamp();

COMMENT ON VIEW ql3_ledger.lost_attempts IS
  'open attempts whose execution lease ran out: the source of kind attempt';
COMMENT ON VIEW ql3_ledger.lost_runs IS
  'running runs whose open attempt let its execution lease run out: the source of kind run';

-- the fenced transition

-- Two judges may hold the run and its attempt at the same time. The lock of the run makes them one after
-- the other, and the second finds the run lost and answers false.
CREATE FUNCTION ql3_ledger.mark_lost(kind text, id text, verdict text, evidence jsonb)
RETURNS boolean LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  seen jsonb := evidence -> 'snapshot' -> 'source';
  target_run text := id;
  run ql3_ledger.runs;
  attempt ql3_ledger.run_attempts;
  facts jsonb;
BEGIN
  IF verdict IS NULL THEN
    RAISE EXCEPTION 'verdict must not be null' USING ERRCODE = '22004';
  ELSIF verdict NOT IN ('not_running', 'lost') THEN
    RAISE EXCEPTION 'verdict "%" does not move a % to lost', verdict, kind
      USING ERRCODE = '22023', HINT = 'Only not_running and lost do.';
  ELSIF coalesce(jsonb_typeof(seen -> 'attempt_id') <> 'string'
                 OR jsonb_typeof(seen -> 'revision') <> 'number', true) THEN
    RAISE EXCEPTION 'evidence has no snapshot of the % that was judged', kind
      USING ERRCODE = '22023',
            HINT = 'The probe returns the candidate it was given as "snapshot" in its evidence; '
                   'source.attempt_id and source.revision are compared.';
  END IF;
  IF kind = 'attempt' THEN
    IF seen ->> 'attempt_id' <> id THEN
      RETURN false;
    END IF;
    -- the run of an attempt never changes, so the look-up needs no lock
    SELECT a.run_id INTO target_run FROM ql3_ledger.run_attempts AS a
      WHERE a.attempt_id = mark_lost.id::uuid;
  END IF;
  SELECT * INTO run FROM ql3_ledger.runs AS r WHERE r.run_id = target_run FOR NO KEY UPDATE;
  IF run.status IS DISTINCT FROM 'running' THEN
    RETURN false;
  END IF;
  SELECT * INTO attempt FROM ql3_ledger.run_attempts AS a
    WHERE a.run_id = target_run AND a.status IN ('starting', 'running') FOR NO KEY UPDATE;
  IF attempt.attempt_id::text IS DISTINCT FROM seen ->> 'attempt_id'
     OR to_jsonb(attempt.revision) IS DISTINCT FROM seen -> 'revision'
     OR attempt.lease_expires_at > clock_timestamp() THEN
    RETURN false;
  END IF;
  facts := jsonb_build_object(
    'judged', kind, 'verdict', verdict, 'attempt_number', attempt.attempt_number,
    'attempt_status', attempt.status, 'revision', attempt.revision, 'worker', attempt.worker,
    'lease_expires_at', attempt.lease_expires_at, 'started_at', attempt.started_at,
    'host', attempt.host, 'pid', attempt.pid, 'process_start', attempt.process_start);
  UPDATE ql3_ledger.run_attempts AS a SET status = 'lost', ended_at = clock_timestamp()
    WHERE a.attempt_id = attempt.attempt_id;
  UPDATE ql3_ledger.runs AS r SET status = 'lost', ended_at = clock_timestamp()
    WHERE r.run_id = target_run;
  PERFORM ql3_ledger.add_event(target_run, 'attempt_lost', attempt.attempt_id,
    'attempt-lost:' || attempt.attempt_id,
    facts || jsonb_build_object('evidence', evidence - 'snapshot'));
  PERFORM ql3_ledger.add_event(target_run, 'run_lost', attempt.attempt_id,
    'run-lost:' || attempt.attempt_id, facts);
  RETURN true;
END $$;
COMMENT ON FUNCTION ql3_ledger.mark_lost(text, text, text, jsonb) IS
  'move a run and its open attempt to lost, with two events, if they still are what was judged';

CREATE FUNCTION ql3_ledger.run_lost(id text, verdict text, evidence jsonb)
RETURNS boolean LANGUAGE sql
SET search_path = pg_catalog, pg_temp AS $$
  SELECT ql3_ledger.mark_lost('run', id, verdict, evidence)
$$;
COMMENT ON FUNCTION ql3_ledger.run_lost(text, text, jsonb) IS
  'transition of kind run: true when this call moved run and attempt to lost, false when stale. '
  'Errors: 22004, 22023';

CREATE FUNCTION ql3_ledger.attempt_lost(id text, verdict text, evidence jsonb)
RETURNS boolean LANGUAGE sql
SET search_path = pg_catalog, pg_temp AS $$
  SELECT ql3_ledger.mark_lost('attempt', id, verdict, evidence)
$$;
COMMENT ON FUNCTION ql3_ledger.attempt_lost(text, text, jsonb) IS
  'transition of kind attempt: true when this call moved run and attempt to lost, false when stale. '
  'Errors: 22004, 22023';

-- integrity that constraints cannot say

CREATE FUNCTION ql3_ledger.guard_attempt()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF (NEW.attempt_id, NEW.run_id) <> (OLD.attempt_id, OLD.run_id) THEN
    RAISE EXCEPTION 'attempt % cannot change its id or its run', OLD.attempt_id
      USING ERRCODE = '55000';
  ELSIF OLD.ended_at IS NOT NULL AND NEW.status <> OLD.status THEN
    RAISE EXCEPTION 'attempt % ended as % and cannot become %', OLD.attempt_id, OLD.status,
      NEW.status USING ERRCODE = '55000', HINT = 'A further try is a new attempt.';
  END IF;
  NEW.revision := OLD.revision + 1;
  RETURN NEW;
END $$;
COMMENT ON FUNCTION ql3_ledger.guard_attempt() IS
  'count the revision of an attempt, also for plain UPDATE, and keep an ended attempt ended';
CREATE TRIGGER guard_attempt BEFORE UPDATE ON ql3_ledger.run_attempts
  FOR EACH ROW EXECUTE FUNCTION ql3_ledger.guard_attempt();

CREATE FUNCTION ql3_ledger.guard_event()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- the cascade from a removed run comes after the run is gone
  IF TG_OP = 'DELETE' THEN
    PERFORM FROM ql3_ledger.runs AS r WHERE r.run_id = OLD.run_id;
    IF NOT FOUND THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION 'events of run "%" are append-only', OLD.run_id USING ERRCODE = '55000';
END $$;
COMMENT ON FUNCTION ql3_ledger.guard_event() IS
  'events are never changed, and removed only with their run';
CREATE TRIGGER guard_event BEFORE UPDATE OR DELETE ON ql3_ledger.run_events
  FOR EACH ROW EXECUTE FUNCTION ql3_ledger.guard_event();

-- The foreign key from ql3.run_recovery_controls, kept on the side of the ledger: a trigger on the
-- control table would run in every claim of every kind. SECURITY DEFINER because who may delete a run
-- need not be able to read the control table.
CREATE FUNCTION ql3_ledger.guard_judged()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  target_kind text := TG_ARGV[0];
  target_id text := to_jsonb(OLD) ->> TG_ARGV[1];
  control_state text;
BEGIN
  IF OLD.status IN ('starting', 'running') THEN
    RAISE EXCEPTION '% "%" is % and cannot be removed', target_kind, target_id, OLD.status
      USING ERRCODE = '55006';
  END IF;
  SELECT c.state INTO control_state FROM ql3.run_recovery_controls AS c
    WHERE c.kind = target_kind AND c.id = target_id
      AND (c.state = 'manual' OR c.state = 'claimed' AND c.expires_at > clock_timestamp());
  IF FOUND THEN
    RAISE EXCEPTION '% "%" is % in ql3.run_recovery_controls and cannot be removed', target_kind,
      target_id, control_state USING ERRCODE = '23503',
      HINT = CASE control_state WHEN 'manual' THEN 'Release it with ql3.ql3_release first.'
             ELSE 'Try again when it has been judged.' END;
  END IF;
  RETURN OLD;
END $$;
COMMENT ON FUNCTION ql3_ledger.guard_judged() IS
  'refuse to remove what is executing, being judged, or waiting for a person';
CREATE TRIGGER guard_judged BEFORE DELETE ON ql3_ledger.runs
  FOR EACH ROW EXECUTE FUNCTION ql3_ledger.guard_judged('run', 'run_id');
CREATE TRIGGER guard_judged BEFORE DELETE ON ql3_ledger.run_attempts
  FOR EACH ROW EXECUTE FUNCTION ql3_ledger.guard_judged('attempt', 'attempt_id');

-- rights

CREATE FUNCTION ql3_ledger.grant_worker(role regrole)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA ql3_ledger TO %s', role);
  EXECUTE format('GRANT EXECUTE ON FUNCTION ql3_ledger.create_run(text), '
    'ql3_ledger.start_attempt(text, uuid, text, interval), '
    'ql3_ledger.pass_start_barrier(uuid, text, text, integer, text, interval), '
    'ql3_ledger.heartbeat(uuid, text, interval), '
    'ql3_ledger.finish_attempt(uuid, text, text, text) TO %s', role);
END $$;
COMMENT ON FUNCTION ql3_ledger.grant_worker(regrole) IS
  'let a role call what a worker calls, and nothing else; owner of the extension only';

CREATE FUNCTION ql3_ledger.revoke_worker(role regrole)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ql3_ledger FROM %s', role);
  EXECUTE format('REVOKE ALL ON SCHEMA ql3_ledger FROM %s', role);
END $$;
COMMENT ON FUNCTION ql3_ledger.revoke_worker(regrole) IS
  'take away what grant_worker gave; owner of the extension only';

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ql3_ledger FROM PUBLIC;

-- DROP EXTENSION ql3_ledger leaves the kinds attached to views that are gone; only those are replaced.
DO $$
DECLARE
  left_over text;
BEGIN
  FOR left_over IN SELECT s.kind FROM ql3.recovery_sources AS s
    WHERE s.attached AND s.relation_schema = 'ql3_ledger'
      AND s.relation_name IN ('lost_attempts', 'lost_runs')
  LOOP
    PERFORM ql3.ql3_detach_source(left_over);
  END LOOP;
END $$;
SELECT ql3.ql3_attach_source('attempt', 'ql3_ledger.lost_attempts',
                             'ql3_ledger.attempt_lost(text,text,jsonb)');
SELECT ql3.ql3_attach_source('run', 'ql3_ledger.lost_runs',
                             'ql3_ledger.run_lost(text,text,jsonb)');
