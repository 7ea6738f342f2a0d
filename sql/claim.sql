-- One claim call: what it hands out, in what order, under which lease, and what it refuses.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_claim;
SET search_path = t_claim, ql3, public;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
-- A token of this file; only its digest is ever stored.
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('449002f8-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
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
FROM ql3.run_recovery_controls WHERE kind = 'claim';
-- Waits for the database's own clock to pass a short lease or next claim time.
CREATE FUNCTION pass_time(target text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE until timestamptz;
BEGIN
  SELECT greatest(expires_at, next_claim_at) INTO until
  FROM ql3.run_recovery_controls WHERE kind = 'claim' AND id = target;
  IF until > clock_timestamp() + interval '10 s' THEN RAISE '% has a long time to go', target; END IF;
  WHILE until >= clock_timestamp() LOOP PERFORM pg_sleep(0.02); END LOOP;
END $$;
\set VERBOSITY sqlstate
SELECT FROM ql3_attach_source('claim', 'lost');

-- Nothing listed: an empty page, which writes nothing and is not remembered (promises 4 and 7).
BEGIN;
SELECT FROM ql3_claim('A', 16, '5 min', tok(1));
SELECT pg_current_xact_id_if_assigned();
COMMIT;
SELECT count(*) FROM ql3_claim('A', 16, '5 min', tok(1));

-- What cannot claim is told so, also where there is nothing to claim (promise 10).
BEGIN READ ONLY;
SELECT FROM ql3_claim('A');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT FROM ql3_claim('A');
ROLLBACK;
-- A page is the oldest loss first, with all that the source says.
SELECT FROM list('a', 'b', 'c', 'd', 'e');
UPDATE jobs SET memo = 'about ' || id;
SELECT clock_timestamp() AS before \gset
SELECT kind, id, run_id, status, created_at, lost_at, owner, version, failure_count, source,
       token = tok(2) AS token, observed_at >= :'before' AND observed_at <= clock_timestamp() AS observed,
       expires_at >= :'before'::timestamptz + '5 min' AND expires_at <= clock_timestamp() + '5 min' AS expires,
       lease_left > '0' AND lease_left <= '5 min' AS left
FROM ql3_claim('A', 2, '5 min', tok(2));
SELECT id, state, owner, version, leased, waits, failure_count FROM control ORDER BY id;
-- Only the digest of the token is kept (promise 18).
SELECT token_digest = sha256(uuid_send(tok(2)) || (SELECT uuid_send(i.installation) || oidsend(d.oid) FROM ql3.installation AS i, pg_database AS d WHERE d.datname = current_database())), count(*) FROM ql3.run_recovery_controls
WHERE kind = 'claim' GROUP BY 1;

-- The same token: the same rows and the first expiry, whatever lease the repeat asks for; nothing new.
CREATE TABLE seen AS SELECT id, expires_at FROM ql3.run_recovery_controls WHERE kind = 'claim';
SELECT c.id, c.version, c.expires_at = s.expires_at
FROM ql3_claim('A', 2, '1 s', tok(2)) AS c LEFT JOIN seen AS s USING (id);
-- ... but not for another owner, page size or choice of kinds.
SELECT FROM ql3_claim('B', 2, '5 min', tok(2));
SELECT FROM ql3_claim('A', 3, '5 min', tok(2));
SELECT FROM ql3_claim('A', 2, '5 min', tok(2), '{claim}');
-- What is settled is no longer part of it; when nothing is left the token is used up.
SELECT ql3_settle('claim', 'a', 'A', tok(2), 1, 'manual');
SELECT id FROM ql3_claim('A', 2, '5 min', tok(2));
SELECT ql3_settle('claim', 'b', 'A', tok(2), 1, 'retry', '5 min');
SELECT FROM ql3_claim('A', 2, '5 min', tok(2));
-- So is a page that was given back, and one that ran out.
-- (With one target listed: of several it is the server's to choose, and when the sweep has its turn it chooses another.)
UPDATE jobs SET status = 'done' WHERE id IN ('d', 'e');
SELECT id FROM ql3_claim('A', 1, '5 min', tok(3));
SELECT id, result FROM ql3_give_back('A', tok(3), '{claim}', '{c}', '{1}');
SELECT FROM ql3_claim('A', 1, '5 min', tok(3));
SELECT id, version FROM ql3_claim('A', 1, '1 s', tok(4));
SELECT FROM pass_time('c');
SELECT FROM ql3_claim('A', 1, '1 s', tok(4));

-- After expiry anyone takes it; that counts as a failure and never reuses a version (promise 2).
SELECT id, owner, version, failure_count FROM ql3_claim('B', 1, '5 min', tok(5));
UPDATE jobs SET status = 'running' WHERE id IN ('d', 'e');
-- Held, waiting and manual targets are not handed out; the rest is, each once.
SELECT id FROM ql3_claim('C', 16, '5 min', tok(6));
SELECT count(*) FROM ql3_claim('D', 16, '5 min', tok(7));
SELECT id, state, owner FROM control ORDER BY id;

-- Without a token the database draws one, random, one for the page.
SELECT FROM list('f', 'g', 'h');
CREATE TABLE pages AS SELECT id, token, version, expires_at FROM ql3_claim('E', 2, '5 min');
INSERT INTO pages SELECT id, token, version, expires_at FROM ql3_claim('E', 1, '5 min');
SELECT count(*), count(DISTINCT token), count(DISTINCT expires_at),
       bool_and(token::text ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$')
FROM pages;
SELECT count(DISTINCT expires_at) FROM pages WHERE id IN ('f', 'g');
SELECT id, ql3_settle('claim', id, 'E', token, version, 'retry', '5 min') FROM pages ORDER BY id;

-- A target that left the source is not handed out, though its control says available.
SELECT FROM list('i', 'j');
SELECT count(*) FROM ql3_claim('A', 2, '5 min', tok(8));
SELECT id, result FROM ql3_give_back('A', tok(8), '{claim,claim}', '{i,j}', '{1,1}') ORDER BY id;
UPDATE jobs SET status = 'done' WHERE id = 'i';
SELECT id, version FROM ql3_claim('A', 2, '5 min', tok(9));
-- It comes back as a new incident: the snapshot is the new one, and the count is 0.
UPDATE jobs SET status = 'running', run_id = 'run-i2', lost_at = '2026-02-01' WHERE id = 'i';
SELECT id, run_id, lost_at, version, failure_count FROM ql3_claim('A', 2, '5 min', tok(10));
SELECT run_id, lost_at FROM ql3.run_recovery_controls WHERE kind = 'claim' AND id = 'i';
-- An expired claim of a target that left is nobody's business either, and its count starts anew.
SELECT FROM list('k');
SELECT id FROM ql3_claim('A', 1, '1 s', tok(11));
SELECT FROM pass_time('k');
UPDATE jobs SET status = 'done' WHERE id = 'k';
SELECT count(*) FROM ql3_claim('A', 1, '1 s', tok(12));
UPDATE jobs SET status = 'running' WHERE id = 'k';
SELECT id, failure_count FROM ql3_claim('A', 1, '5 min', tok(13));

-- A claim that could not have been made is not one: beyond 5 minutes the clock must have gone back.
UPDATE ql3.run_recovery_controls SET expires_at = clock_timestamp() + '1 h' WHERE kind = 'claim' AND id = 'k';
SELECT ql3_settle('claim', 'k', 'A', tok(13), 2, 'manual'), ql3_renew('claim', 'k', 'A', tok(13), 2, '5 min');
SELECT id, result FROM ql3_give_back('A', tok(13), '{claim}', '{k}', '{2}');
SELECT held FROM ql3_observe_one('claim', 'k', tok(13));
SELECT id, owner, version FROM ql3_claim('B', 1, '5 min', tok(27));

-- Beyond 8 KiB the further columns are left out, with a warning, and the target is still handed out.
SELECT FROM list('l', 'm');
UPDATE jobs SET memo = repeat('x', 8192 - length('{"memo": ""}')) WHERE id = 'l';
UPDATE jobs SET memo = repeat('x', 8193 - length('{"memo": ""}')) WHERE id = 'm';
SELECT id, octet_length(source::text) FROM ql3_claim('A', 2, '5 min', tok(14)) WHERE id IN ('l', 'm');

-- Isolation and read-only: refused with the reason, never an empty page (promise 10).
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT FROM ql3_claim('A');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT FROM ql3_claim('A');
ROLLBACK;
BEGIN READ ONLY;
SELECT FROM ql3_claim('A');
ROLLBACK;
BEGIN ISOLATION LEVEL READ UNCOMMITTED;
SELECT count(*) FROM ql3_claim('A', 1, '5 min', tok(15));
COMMIT;

-- The claiming transaction cannot judge, also not from a savepoint or a function (promise 9).
SELECT FROM list('n');
BEGIN;
SAVEPOINT outer_one;
SELECT id, version FROM ql3_claim('A', 1, '5 min', tok(16));
RELEASE outer_one;
SAVEPOINT s;
SELECT ql3_settle('claim', 'n', 'A', tok(16), 1, 'resolved');
ROLLBACK TO s;
SELECT ql3_renew('claim', 'n', 'A', tok(16), 1);
ROLLBACK TO s;
SELECT FROM ql3_give_back('A', tok(16), '{claim}', '{n}', '{1}');
ROLLBACK TO s;
SELECT FROM ql3_settle_page('A', tok(16), '{claim}', '{n}', '{1}', '{resolved}');
ROLLBACK TO s;
SELECT FROM ql3_renew_page('A', tok(16), '{claim}', '{n}', '{1}');
ROLLBACK TO s;
SELECT code($$SELECT ql3_settle('claim', 'n', 'A', tok(16), 1, 'resolved')$$);
COMMIT;
SELECT ql3_settle('claim', 'n', 'A', tok(16), 1, 'retry', '5 min');
-- Expiry is seen within one statement: the clock decides, not the statement's time.
SELECT FROM list('loop');
CREATE TABLE looped (id text, version bigint);
DO $$
BEGIN
  INSERT INTO looped SELECT id, version FROM ql3_claim('A', 1, '1 s', tok(28));
  PERFORM pass_time('loop');
  INSERT INTO looped SELECT id, version FROM ql3_claim('A', 1, '5 min', tok(29));
END $$;
TABLE looped;
SELECT FROM list('o');
-- Two statements sent as one are one transaction too; what it claimed is undone with it.
\set SHOW_ALL_RESULTS off
SELECT id FROM ql3_claim('A', 1, '5 min', tok(26)) \; SELECT ql3_settle('claim', 'o', 'A', tok(26), 1, 'resolved');
SELECT count(*) FROM control WHERE id = 'o';
-- A rolled-back claim leaves nothing, and its token is free.
BEGIN;
SELECT id FROM ql3_claim('A', 1, '5 min', tok(17));
ROLLBACK;
SELECT id, version, failure_count FROM ql3_claim('A', 1, '5 min', tok(17));
SELECT FROM list('p');
BEGIN;
SAVEPOINT s;
SELECT id FROM ql3_claim('A', 1, '5 min', tok(18));
ROLLBACK TO s;
SELECT id, version FROM ql3_claim('A', 1, '5 min', tok(18));
COMMIT;

-- A claim bounds the rest of its own transaction and nothing after it; a stricter session stays.
SHOW idle_in_transaction_session_timeout;
BEGIN;
SELECT FROM ql3_claim('A', 1, '5 min', tok(19));
SHOW idle_in_transaction_session_timeout;
COMMIT;
SHOW idle_in_transaction_session_timeout;
SET idle_in_transaction_session_timeout = '1 s';
BEGIN;
SELECT FROM ql3_claim('A', 1, '5 min', tok(19));
SHOW idle_in_transaction_session_timeout;
COMMIT;
SET idle_in_transaction_session_timeout = '1 h';
BEGIN;
SELECT FROM ql3_claim('A', 1, '5 min', tok(19));
SHOW idle_in_transaction_session_timeout;
COMMIT;
SHOW idle_in_transaction_session_timeout;
SET ql3.claim_transaction_timeout = 0;
BEGIN;
SELECT FROM ql3_claim('A', 1, '5 min', tok(19));
SHOW idle_in_transaction_session_timeout;
COMMIT;
SET ql3.claim_transaction_timeout = '2 s';
BEGIN;
SELECT ql3_settle('claim', 'o', 'A', tok(17), 1, 'manual');
SHOW idle_in_transaction_session_timeout;
ROLLBACK;
BEGIN;
SELECT ql3_renew('claim', 'o', 'A', tok(17), 1, '5 min');
SHOW idle_in_transaction_session_timeout;
ROLLBACK;
RESET ql3.claim_transaction_timeout;
RESET idle_in_transaction_session_timeout;

-- Ids are bytes: equal only byte for byte, distinct beyond 63, never trimmed or folded.
SELECT FROM list('X', 'x', ' x', 'x ', 'é', U&'e\0301', repeat('y', 70) || '1', repeat('y', 70) || '2', '%', 'a,b', '"', '\');
SELECT count(*), count(DISTINCT id) FROM ql3_claim('A', 128, '5 min', tok(20));
SELECT ql3_settle('claim', id, 'A', tok(20), 1, 'retry', '5 min') AS word, count(*)
FROM unnest(ARRAY['X', 'x', ' x', 'x ', 'é', U&'e\0301', repeat('y', 70) || '1', repeat('y', 70) || '2',
                  '%', 'a,b', '"', '\', 'y', 'X ']) AS id GROUP BY 1 ORDER BY 1;
SELECT FROM ql3_detach_source('claim');

-- No table or view of the schema shows a token, in no spelling (promise 18).
CREATE FUNCTION shows(token uuid) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE r regclass; n bigint;
BEGIN
  FOR r IN SELECT oid FROM pg_class WHERE relnamespace = 'ql3'::regnamespace AND relkind IN ('r', 'v', 'm') LOOP
    EXECUTE format('SELECT count(*) FROM %s AS t WHERE to_jsonb(t)::text ~* %L', r,
                   token || '|' || replace(token::text, '-', '') || '|' || encode(token::text::bytea, 'hex')) INTO n;
    IF n > 0 THEN RETURN NEXT r::text; END IF;
  END LOOP;
END $$;
SELECT t, shows(tok(t)) FROM generate_series(1, 30) AS t;

-- Kinds share a page, those with nothing to offer aside: a long backlog of one does not hide another, and no room is wasted (promise 6).
CREATE TABLE many (kind text, id text, run_id text, status text, created_at timestamptz, lost_at timestamptz);
CREATE INDEX ON many (kind, lost_at, id);
CREATE INDEX ON many (lost_at, id);
INSERT INTO many SELECT 'one', 'o' || n, 'r', 's', '2026-01-01', '2026-01-01'::timestamptz + n * interval '1 s'
FROM generate_series(1, 100) AS n;
INSERT INTO many SELECT 'two', 't' || n, 'r', 's', '2026-03-01', '2026-03-01'::timestamptz + n * interval '1 s'
FROM generate_series(1, 11) AS n;
CREATE VIEW kind_one AS SELECT * FROM many WHERE kind = 'one';
CREATE VIEW kind_two AS SELECT * FROM many WHERE kind = 'two';
SELECT FROM ql3_attach_source('one', 'kind_one');
SELECT FROM ql3_attach_source('two', 'kind_two');
SELECT kind, count(*) FROM ql3_claim('A', 16, '5 min', tok(21)) GROUP BY 1 ORDER BY 1;
SELECT kind, count(*) FROM ql3_claim('B', 16, '5 min', tok(22)) GROUP BY 1 ORDER BY 1;
SELECT kind, count(*) FROM ql3_claim('C', 16, '5 min', tok(23), '{two}') GROUP BY 1;
SELECT kind, count(*) FROM ql3_claim('D', 16, '5 min', tok(24), '{one}') GROUP BY 1;
SELECT kind, count(*) FROM ql3_claim('D', 128, '5 min', tok(25), '{two,one}') GROUP BY 1;
SELECT FROM ql3_detach_source('one');
SELECT FROM ql3_detach_source('two');
SET client_min_messages = warning;
DROP SCHEMA t_claim CASCADE;
