-- Misbehaving sources: each is blind and nothing else; the other kinds claim on (promises 6 and 10).
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_sources;
SET search_path = t_sources, ql3, public;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
-- A token of this file; only its digest is ever stored.
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('f2ab5fb2-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
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
FROM ql3.run_recovery_controls WHERE kind = 'sources';
-- Waits for the database's own clock to pass a short lease or next claim time.
CREATE FUNCTION pass_time(target text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE until timestamptz;
BEGIN
  SELECT greatest(expires_at, next_claim_at) INTO until
  FROM ql3.run_recovery_controls WHERE kind = 'sources' AND id = target;
  IF until > clock_timestamp() + interval '10 s' THEN RAISE '% has a long time to go', target; END IF;
  WHILE until >= clock_timestamp() LOOP PERFORM pg_sleep(0.02); END LOOP;
END $$;
-- The texts of the warnings are the topic of errors.
SET client_min_messages = error;
\set VERBOSITY sqlstate
SELECT FROM ql3_attach_source('sources', 'lost');
SELECT FROM list('a');
CREATE TABLE bad (id text, run_id text, status text, created_at timestamptz, lost_at timestamptz);
CREATE INDEX ON bad (lost_at, id);
CREATE VIEW bad_view AS SELECT * FROM bad;
SELECT FROM ql3_attach_source('bad', 'bad_view');
INSERT INTO bad VALUES ('x', 'r', 's', '2026-01-01', '2026-01-01');
-- Claims 2 of all kinds and gives them back, then asks observe: what was handed out, who is blind and why.
CREATE SEQUENCE turn;
CREATE FUNCTION look() RETURNS TABLE (handed text, blind text) LANGUAGE plpgsql AS $$
DECLARE mine uuid := tok(nextval('turn')::int);
BEGIN
  SELECT string_agg(kind || ' ' || id, ', ' ORDER BY kind, id) INTO handed
  FROM ql3_claim('A', 16, '5 min', mine);
  SELECT string_agg(kind || ' ' || left(detail, 5), ', ') INTO blind FROM ql3_observe(16) WHERE state = 'blind';
  RETURN NEXT;
END $$;
CREATE FUNCTION give_all_back() RETURNS bigint LANGUAGE sql VOLATILE AS $$
SELECT count(*) FROM ql3.run_recovery_controls AS c, ql3.ql3_give_back(c.owner, t_sources.tok((SELECT last_value FROM t_sources.turn)::int),
  ARRAY[c.kind], ARRAY[c.id], ARRAY[c.version]) AS g WHERE c.state = 'claimed' AND g.result = 'released' $$;
SELECT handed, blind FROM look();
SELECT give_all_back();

-- A row that cannot be a target is passed over, aloud, and hides no other. An id listed twice makes the source blind:
-- which of the two rows is the target, nobody knows.
CREATE FUNCTION with_row(id text, run_id text, status text, created_at timestamptz, lost_at timestamptz)
RETURNS TABLE (handed text, blind boolean) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO bad VALUES ($1, $2, $3, $4, $5);
  SELECT l.handed, l.blind LIKE 'bad %' INTO handed, blind FROM look() AS l;
  RETURN NEXT;
END $$;
\set ON_ERROR_ROLLBACK on
BEGIN; SELECT * FROM with_row(NULL, 'r', 's', '2026-01-01', '2026-01-01'); ROLLBACK;
BEGIN; SELECT * FROM with_row('', 'r', 's', '2026-01-01', '2026-01-01'); ROLLBACK;
BEGIN; SELECT * FROM with_row(repeat('i', 256), 'r', 's', '2026-01-01', '2026-01-01'); ROLLBACK;
BEGIN; SELECT * FROM with_row(repeat('é', 128), 'r', 's', '2026-01-01', '2026-01-01'); ROLLBACK;
BEGIN; SELECT * FROM with_row('y', NULL, 's', '2026-01-01', '2026-01-01'); ROLLBACK;
BEGIN; SELECT * FROM with_row('y', repeat('r', 256), 's', '2026-01-01', '2026-01-01'); ROLLBACK;
BEGIN; SELECT * FROM with_row('y', 'r', 's', '2026-01-01', NULL); ROLLBACK;
BEGIN; SELECT * FROM with_row('x', 'r', 's', '2026-01-01', '2026-01-01'); ROLLBACK;
BEGIN; SELECT * FROM with_row('x', 'other', 's', '2026-01-01', '2026-01-02'); ROLLBACK;
-- (and the longest that is one)
BEGIN; SELECT length(handed), blind FROM with_row(repeat('i', 255), repeat('r', 255), 's', '2026-01-01', '2026-01-01'); ROLLBACK;
\set ON_ERROR_ROLLBACK off
-- More such rows than a page holds, older than everything else, behind which the walk goes on; and a target whose row
-- broke after it was claimed.
INSERT INTO bad SELECT CASE WHEN n % 2 = 0 THEN repeat('i', 256) || n END, 'r', 's', '2026-01-01',
  '2025-01-01'::timestamptz + n * '1 s'::interval FROM generate_series(1, 700) AS n;
\set VERBOSITY terse
SET client_min_messages = warning;
SELECT * FROM look();
SET client_min_messages = error;
\set VERBOSITY sqlstate
SELECT give_all_back();
UPDATE bad SET run_id = NULL WHERE id = 'x';
SELECT * FROM look();
SELECT * FROM ql3_explain('bad', 'x') LIMIT 1;
SELECT level, ok, detail, remedy FROM ql3_ready() WHERE check_name = 'source' AND detail LIKE '%kind bad:%';
SELECT give_all_back();
DELETE FROM bad WHERE id IS DISTINCT FROM 'x';
UPDATE bad SET run_id = 'r';

-- A source that raises, now at read and now at a later row.
CREATE FUNCTION fails(id text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN IF id = 'x' THEN RAISE EXCEPTION 'boom' USING ERRCODE = 'P0042'; END IF; RETURN id; END $$;
CREATE OR REPLACE VIEW bad_view AS SELECT id, fails(run_id) AS run_id, status, created_at, lost_at FROM bad;
UPDATE bad SET run_id = 'x';
SELECT handed, blind FROM look();
SELECT give_all_back();
-- Sound again: it is read again, without any call of ours.
UPDATE bad SET run_id = 'r';
SELECT handed, blind FROM look();
SELECT give_all_back();

-- A source cannot write, lock, notify or move a sequence; all of it is refused or undone.
CREATE TABLE traces (what text);
CREATE SEQUENCE trace;
CREATE FUNCTION meddles(id text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN EXECUTE (SELECT q FROM t_sources.orders); RETURN id; END $$;
CREATE TABLE orders (q text);
INSERT INTO orders VALUES ('SELECT 1');
CREATE OR REPLACE VIEW bad_view AS SELECT id, meddles(run_id) AS run_id, status, created_at, lost_at FROM bad;
SELECT handed, blind FROM look();
SELECT give_all_back();
CREATE FUNCTION with_order(q text) RETURNS TABLE (handed text, blind text) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE orders AS o SET q = $1;
  SELECT l.handed, l.blind INTO handed, blind FROM look() AS l;
  RETURN NEXT;
END $$;
SELECT * FROM with_order('INSERT INTO t_sources.traces VALUES (1)');
SELECT give_all_back();
SELECT * FROM with_order('SELECT nextval(''t_sources.trace'')');
SELECT give_all_back();
SELECT * FROM with_order('SELECT 1 FROM t_sources.jobs FOR UPDATE');
SELECT give_all_back();
SELECT * FROM with_order('LOCK TABLE t_sources.jobs IN EXCLUSIVE MODE');
SELECT give_all_back();
SELECT * FROM with_order('NOTIFY anybody');
SELECT give_all_back();
SELECT * FROM with_order('SET ROLE pg_monitor');
SELECT give_all_back();
SELECT * FROM with_order('CREATE TEMP TABLE trap (x int)');
SELECT give_all_back();
SELECT * FROM with_order('SET transaction_read_only = off');
SELECT give_all_back();
-- It raises the SQLSTATE of a cancel or of a shutdown: its own error, not one of the session.
SELECT * FROM with_order('DO $d$ BEGIN RAISE query_canceled; END $d$');
SELECT give_all_back();
SELECT * FROM with_order('DO $d$ BEGIN RAISE admin_shutdown; END $d$');
SELECT give_all_back();
-- It catches the cancel of the time limit: blind all the same.
SET ql3.source_timeout = '50ms';
SELECT * FROM with_order('DO $d$ BEGIN PERFORM pg_sleep(1); EXCEPTION WHEN query_canceled THEN NULL; END $d$');
RESET ql3.source_timeout;
SELECT give_all_back();
-- Settings it changes are put back.
SELECT * FROM with_order('SELECT set_config(''work_mem'', ''64kB'', false)');
SHOW work_mem;
SELECT give_all_back();
SELECT count(*) FROM traces;
-- It calls ours: a claim within a source's read claims nothing.
SELECT handed FROM with_order('SELECT count(*) FROM ql3.ql3_claim(''Z'', 1)');
SELECT give_all_back();
SELECT count(*) FROM ql3.run_recovery_controls WHERE owner = 'Z';
-- No lock of a read outlives it, not even one the source took on purpose.
UPDATE orders SET q = 'LOCK TABLE t_sources.jobs IN EXCLUSIVE MODE';
BEGIN;
SELECT count(*) FROM ql3_claim('A', 16, '5 min', tok(1000));
SELECT count(*) FROM pg_locks AS l WHERE pid = pg_backend_pid() AND relation IN ('bad'::regclass, 'jobs'::regclass, 'lost'::regclass, 'bad_view'::regclass);
ROLLBACK;
UPDATE orders SET q = 'SELECT 1';

-- Dropped, re-created as something else, re-created right: remembered by name, never by what it was.
DROP VIEW bad_view;
SELECT handed, blind FROM look();
SELECT give_all_back();
CREATE VIEW bad_view AS SELECT id, run_id, status, created_at FROM bad;
SELECT handed, blind FROM look();
SELECT give_all_back();
DROP VIEW bad_view;
CREATE VIEW bad_view AS SELECT to_jsonb(id) AS id, run_id, status, created_at, lost_at FROM bad;
SELECT handed, blind FROM look();
SELECT give_all_back();
DROP VIEW bad_view;
CREATE VIEW bad_view AS SELECT lost_at, created_at, 5 AS extra, status, run_id, id FROM bad;
SELECT handed, blind FROM look();
SELECT give_all_back();
-- Another owner fails closed, also when he could read it all.
CREATE ROLE regress_ql3_other;
GRANT ALL ON SCHEMA t_sources TO regress_ql3_other;
GRANT SELECT ON bad TO regress_ql3_other;
ALTER VIEW bad_view OWNER TO regress_ql3_other;
SELECT handed, blind ~ '^bad' AS blind FROM look();
SELECT give_all_back();
ALTER VIEW bad_view OWNER TO CURRENT_USER;
SELECT handed, blind FROM look();
SELECT give_all_back();

-- All that was asked for is blind: still no error, and no row to mistake for work.
UPDATE orders SET q = 'SELECT 1 / 0';
CREATE OR REPLACE VIEW bad_view AS SELECT lost_at, created_at, 5 AS extra, status, meddles(run_id) AS run_id, id FROM bad;
SELECT count(*) FROM ql3_claim('A', 16, '5 min', tok(1001), '{bad}');
SELECT kind, state, left(detail, 5) FROM ql3_observe(16, '{bad}');
-- A held target of a blind source can still be ended.
UPDATE orders SET q = 'SELECT 1';
SELECT id FROM ql3_claim('A', 16, '5 min', tok(1002), '{bad}');
UPDATE orders SET q = 'SELECT 1 / 0';
SELECT ql3_settle('bad', 'x', 'A', tok(1002), (SELECT version FROM ql3.run_recovery_controls WHERE kind = 'bad'), 'retry', '5 min', 'n');
SELECT ql3_settle('bad', 'x', 'A', tok(1002), (SELECT version FROM ql3.run_recovery_controls WHERE kind = 'bad'), 'retry', '5 min', 'n');
SELECT FROM ql3_detach_source('bad');

-- A further column that cannot be JSON hides nobody: the targets come without further columns.
CREATE TABLE odd (id text PRIMARY KEY, run_id text, status text, created_at timestamptz, lost_at timestamptz, payload json);
CREATE INDEX ON odd (lost_at, id);
INSERT INTO odd SELECT n, 'r', 's', '2026-01-01', timestamptz '2026-01-01' + n * interval '1 s',
                       CASE n WHEN 2 THEN '{"a": "\u0000"}' ELSE '{"a": 1}' END::json FROM generate_series(1, 3) AS n;
SELECT FROM ql3_attach_source('odd', 'odd');
SELECT id, state, source FROM ql3_observe(16, '{odd}');
SET client_min_messages = error;
SELECT id, source FROM ql3_claim('A', 16, '5 min', tok(1003), '{odd}');
RESET client_min_messages;
SELECT id, result FROM ql3_give_back('A', tok(1003), '{odd,odd,odd}', '{1,2,3}',
  ARRAY(SELECT version FROM ql3.run_recovery_controls WHERE kind = 'odd' ORDER BY id));
DELETE FROM odd WHERE id = '2';
SELECT id, source FROM ql3_claim('A', 16, '5 min', tok(1004), '{odd}');
SELECT FROM ql3_detach_source('odd');
SELECT FROM ql3_detach_source('sources');
DROP OWNED BY regress_ql3_other;
DROP ROLE regress_ql3_other;
SET client_min_messages = warning;
DROP SCHEMA t_sources CASCADE;
