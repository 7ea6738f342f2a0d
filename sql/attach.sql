-- Attaching a source: what is checked, by whom, and what a claim says when there is none.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_attach;
SET search_path = t_attach, ql3, public;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
-- A token of this file; only its digest is ever stored.
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('915e375d-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
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
FROM ql3.run_recovery_controls WHERE kind = 'attach';
-- Waits for the database's own clock to pass a short lease or next claim time.
CREATE FUNCTION pass_time(target text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE until timestamptz;
BEGIN
  SELECT greatest(expires_at, next_claim_at) INTO until
  FROM ql3.run_recovery_controls WHERE kind = 'attach' AND id = target;
  IF until > clock_timestamp() + interval '10 s' THEN RAISE '% has a long time to go', target; END IF;
  WHILE until >= clock_timestamp() LOOP PERFORM pg_sleep(0.02); END LOOP;
END $$;
CREATE FUNCTION job_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql
AS $$ UPDATE t_attach.jobs AS j SET status = verdict WHERE j.id = $1 RETURNING true $$;
\set VERBOSITY sqlstate

-- No source at all is an error, never an empty page (promise 10).
SELECT FROM ql3_claim('A');
SELECT FROM ql3_observe();

-- The arguments.
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_attach_source(NULL, 'lost')$q$),
  ($q$SELECT ql3_attach_source('attach', NULL)$q$),
  ($q$SELECT ql3_attach_source('attach', 'lost', allow_slow => NULL)$q$),
  ($q$SELECT ql3_attach_source('', 'lost')$q$),
  ($q$SELECT ql3_attach_source('Attach', 'lost')$q$),
  ($q$SELECT ql3_attach_source('1st', 'lost')$q$),
  ($q$SELECT ql3_attach_source('a-b', 'lost')$q$),
  ($q$SELECT ql3_attach_source(' attach', 'lost')$q$),
  ($q$SELECT ql3_attach_source('attach ', 'lost')$q$),
  ($q$SELECT ql3_attach_source(E'attach\n', 'lost')$q$),
  ($q$SELECT ql3_attach_source('ä', 'lost')$q$),
  ($q$SELECT ql3_attach_source(repeat('k', 64), 'lost')$q$),
  ($q$SELECT ql3_attach_source('dispatch', 'lost')$q$),
  ($q$SELECT ql3_attach_source('attach', 'lost', max_failures => 0)$q$),
  ($q$SELECT ql3_attach_source('attach', 'lost', max_failures => -1)$q$),
  ($q$SELECT ql3_attach_source('attach', 'lost', max_failures => 1000001)$q$),
  ($q$SELECT ql3_attach_source('attach', 'lost', max_hold => '0')$q$),
  ($q$SELECT ql3_attach_source('attach', 'lost', max_hold => '999 ms')$q$),
  ($q$SELECT ql3_attach_source('attach', 'lost', max_hold => '3650 d 1 us')$q$),
  ($q$SELECT ql3_attach_source('attach', 'lost', max_hold => '-1 s')$q$),
  ($q$SELECT ql3_attach_source('attach', 'lost', max_hold => '1 month')$q$),
  ($q$SELECT ql3_attach_source('attach', 'lost', max_hold => '1 year -360 days')$q$),
  ($q$SELECT ql3_attach_source('attach', 'nowhere')$q$),
  ($q$SELECT ql3_attach_source('attach', 'lost', 'nobody(text,text,jsonb)')$q$),
  ($q$SELECT ql3_detach_source(NULL)$q$),
  ($q$SELECT ql3_detach_source('No kind')$q$),
  ($q$SELECT ql3_detach_source('attach')$q$)
) AS v (q);
-- Nothing of that was stored.
SELECT FROM ql3_claim('A');

-- The columns and their types. Each view is right but for one thing.
CREATE VIEW no_id AS SELECT run_id, status, lost_at AS created_at, lost_at FROM jobs;
CREATE VIEW no_run AS SELECT id, status, lost_at AS created_at, lost_at FROM jobs;
CREATE VIEW no_status AS SELECT id, run_id, lost_at AS created_at, lost_at FROM jobs;
CREATE VIEW no_created AS SELECT id, run_id, status, lost_at FROM jobs;
CREATE VIEW no_lost AS SELECT id, run_id, status, lost_at AS created_at FROM jobs;
CREATE VIEW json_id AS SELECT to_jsonb(id) AS id, run_id, status, lost_at AS created_at, lost_at FROM jobs;
CREATE VIEW json_run AS SELECT id, to_jsonb(id) AS run_id, status, lost_at AS created_at, lost_at FROM jobs;
CREATE VIEW date_created AS SELECT id, run_id, status, lost_at::date AS created_at, lost_at FROM jobs;
CREATE VIEW local_lost AS SELECT id, run_id, status, lost_at AS created_at, lost_at::timestamp AS lost_at FROM jobs;
CREATE VIEW computed AS
SELECT id, run_id, status, lost_at AS created_at, lost_at + interval '1 min' AS lost_at FROM jobs;
CREATE TABLE bare (id text, run_id text, status text, created_at timestamptz, lost_at timestamptz);
CREATE TABLE second (id text, run_id text, status text, created_at timestamptz, lost_at timestamptz);
CREATE INDEX ON second (id, lost_at);
CREATE FUNCTION two(id text, verdict text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE FUNCTION swapped(id text, evidence jsonb, verdict text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE FUNCTION says_text(id text, verdict text, evidence jsonb) RETURNS text LANGUAGE sql AS 'SELECT ''true''';
CREATE FUNCTION says_many(id text, verdict text, evidence jsonb) RETURNS SETOF boolean LANGUAGE sql AS 'SELECT true';
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_attach_source('attach', 'no_id')$q$),
  ($q$SELECT ql3_attach_source('attach', 'no_run')$q$),
  ($q$SELECT ql3_attach_source('attach', 'no_status')$q$),
  ($q$SELECT ql3_attach_source('attach', 'no_created')$q$),
  ($q$SELECT ql3_attach_source('attach', 'no_lost')$q$),
  ($q$SELECT ql3_attach_source('attach', 'json_id')$q$),
  ($q$SELECT ql3_attach_source('attach', 'json_run')$q$),
  ($q$SELECT ql3_attach_source('attach', 'date_created')$q$),
  ($q$SELECT ql3_attach_source('attach', 'local_lost')$q$),
  ($q$SELECT ql3_attach_source('attach', 'computed')$q$),
  ($q$SELECT ql3_attach_source('attach', 'bare')$q$),
  ($q$SELECT ql3_attach_source('attach', 'second')$q$),
  ($q$SELECT ql3_attach_source('attach', 'lost', 'two(text,text)')$q$),
  ($q$SELECT ql3_attach_source('attach', 'lost', 'swapped(text,jsonb,text)')$q$),
  ($q$SELECT ql3_attach_source('attach', 'lost', 'says_text(text,text,jsonb)')$q$),
  ($q$SELECT ql3_attach_source('attach', 'lost', 'says_many(text,text,jsonb)')$q$)
) AS v (q);
SELECT FROM ql3_claim('A');
-- A slow source may be had by saying so, and claims like any other.
INSERT INTO bare VALUES ('slow', 'r', 'running', '2026-01-01', '2026-01-01');
SELECT FROM ql3_attach_source('attach', 'bare', allow_slow => true);
SELECT id FROM ql3_claim('A', token => tok(1));
SELECT FROM ql3_detach_source('attach');
SELECT FROM ql3_attach_source('attach', 'computed', allow_slow => true);
SELECT FROM ql3_detach_source('attach');

-- Attached once, found by claim and observe, gone after detach.
SELECT FROM list('a', 'b');
SELECT FROM ql3_attach_source('attach', 'lost', 'job_lost(text,text,jsonb)', 5, '1 h', false);
SELECT FROM ql3_attach_source('attach', 'lost');
SELECT id FROM ql3_observe();
SELECT id, version FROM ql3_claim('A', 1, '5 min', tok(2), '{attach}');
SELECT FROM ql3_claim('A', 1, '5 min', tok(3), '{attach,unknown}');
SELECT FROM ql3_detach_source('attach');
SELECT FROM ql3_claim('A', 1, '5 min', tok(3));
SELECT FROM ql3_detach_source('attach');
-- Detach and attach free nothing and never give a version twice (promise 2).
SELECT FROM ql3_attach_source('attach', 'lost');
SELECT id FROM ql3_claim('B', 16, '5 min', tok(4));
SELECT ql3_settle('attach', 'a', 'A', tok(2), 1, 'retry', '0');
SELECT id, version > 1 FROM ql3_claim('B', 16, '5 min', tok(5));
-- The floor of a kind stands for controls that are gone, through detach and attach.
INSERT INTO ql3.recovery_kinds (kind, version_floor) VALUES ('attach', 1000);
SELECT FROM ql3_detach_source('attach');
SELECT FROM ql3_attach_source('attach', 'lost');
SELECT FROM list('c');
SELECT id, version FROM ql3_claim('C', 1, '5 min', tok(6));
SELECT FROM ql3_detach_source('attach');

-- Every id type; what the claim answers is text.
CREATE TABLE typed (t text, v varchar(20), u uuid, s smallint, i integer, b bigint, lost_at timestamptz);
CREATE INDEX ON typed (lost_at);
INSERT INTO typed VALUES ('x', 'y', '0C0C0C0C-0000-4000-8000-00000000000A', -3, 42, 9007199254740993, '2026-01-01');
CREATE VIEW typed_text AS SELECT t AS id, v AS run_id, 'lost' AS status, lost_at AS created_at, lost_at FROM typed;
CREATE VIEW typed_varchar AS SELECT v AS id, t AS run_id, 'lost'::varchar AS status, lost_at AS created_at, lost_at FROM typed;
CREATE VIEW typed_uuid AS SELECT u AS id, s AS run_id, 'lost' AS status, lost_at AS created_at, lost_at FROM typed;
CREATE VIEW typed_smallint AS SELECT s AS id, i AS run_id, 'lost' AS status, lost_at AS created_at, lost_at FROM typed;
CREATE VIEW typed_integer AS SELECT i AS id, b AS run_id, 'lost' AS status, lost_at AS created_at, lost_at FROM typed;
CREATE VIEW typed_bigint AS SELECT b AS id, u AS run_id, 'lost' AS status, lost_at AS created_at, lost_at FROM typed;
SELECT count(*) FROM unnest('{text,varchar,uuid,smallint,integer,bigint}'::text[]) AS t,
  ql3_attach_source('typed_' || t, ('typed_' || t)::regclass);
SELECT kind, id, run_id FROM ql3_claim('A', 16, '5 min', tok(7)) ORDER BY kind;
-- The text that was handed out is the id; another spelling of the same number is another id.
SELECT ql3_settle('typed_integer', '042', 'A', tok(7), 1, 'manual'),
       ql3_settle('typed_integer', '42 ', 'A', tok(7), 1, 'manual'),
       ql3_settle('typed_uuid', '0C0C0C0C-0000-4000-8000-00000000000A', 'A', tok(7), 1, 'manual'),
       ql3_settle('typed_bigint', 'no number', 'A', tok(7), 1, 'manual');
SELECT kind, ql3_settle(kind, id, 'A', tok(7), version, 'retry', '0')
FROM ql3.run_recovery_controls WHERE kind LIKE 'typed%' ORDER BY kind;
SELECT count(*) FROM ql3_claim('A', 16, '5 min', tok(8));
SELECT count(*) FROM unnest('{text,varchar,uuid,smallint,integer,bigint}'::text[]) AS t,
  ql3_detach_source('typed_' || t);

-- A status of a type of the user's own.
CREATE TYPE phase AS ENUM ('queued', 'running');
CREATE TABLE enumed (id text, run_id text, status phase, created_at timestamptz, lost_at timestamptz);
CREATE INDEX ON enumed (lost_at);
INSERT INTO enumed VALUES ('e', 'r', 'running', '2026-01-01', '2026-01-01');
SELECT FROM ql3_attach_source('enumed', 'enumed', max_failures => 1000000, max_hold => '3650 d');
SELECT id, status FROM ql3_claim('A', 16, '5 min', tok(11));
SELECT FROM ql3_detach_source('enumed');

-- Names that need quotes.
CREATE SCHEMA "t_attach ""Odd""";
CREATE VIEW "t_attach ""Odd"""."Lost; jobs" AS
SELECT t AS id, v AS run_id, 'lost' AS status, lost_at AS created_at, lost_at FROM typed;
CREATE FUNCTION "t_attach ""Odd"""."job's end"(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql
AS $$ DELETE FROM t_attach.typed WHERE t = $1 RETURNING true $$;
SELECT FROM ql3_attach_source('odd', '"t_attach ""Odd"""."Lost; jobs"',
                              '"t_attach ""Odd"""."job''s end"(text,text,jsonb)');
SELECT id, version FROM ql3_claim('A', 16, '5 min', tok(12));
SELECT ql3_conclude('odd', 'x', 'A', tok(12), 1, 'lost');
SELECT FROM ql3_detach_source('odd');
SET client_min_messages = warning;
DROP SCHEMA "t_attach ""Odd""" CASCADE;
RESET client_min_messages;
-- A table and a partitioned table are sources too.
CREATE TABLE parted (LIKE bare) PARTITION BY RANGE (lost_at);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE INDEX ON parted (lost_at, id);
INSERT INTO parted VALUES ('p2', 'r', 's', '2026-01-01', '2026-02-02'), ('p1', 'r', 's', '2026-01-01', '2026-01-02');
SELECT FROM ql3_attach_source('parted', 'parted');
SELECT id FROM ql3_claim('A', 16, '5 min', tok(9));
SELECT FROM ql3_detach_source('parted');

-- 64 sources, and not one more; 63 bytes of kind.
SELECT count(*) FROM generate_series(1, 63) AS n, ql3_attach_source('many_' || n, 'lost');
SELECT FROM ql3_attach_source(repeat('k', 63), 'lost');
SELECT FROM ql3_attach_source('one_more', 'lost');
-- Each row of a page is of some kind that lists it, none twice.
SELECT count(*), count(DISTINCT (kind, id)) FROM ql3_claim('A', 128, '5 min', tok(10));
SELECT count(*) FROM generate_series(1, 63) AS n, ql3_detach_source('many_' || n);
SELECT FROM ql3_attach_source('one_more', 'lost');
SELECT FROM ql3_detach_source('one_more');
SELECT FROM ql3_detach_source(repeat('k', 63));
SET client_min_messages = warning;
DROP SCHEMA t_attach CASCADE;
