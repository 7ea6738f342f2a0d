-- The permit is a statement of its own, on a writable primary, under READ COMMITTED (promises 11, 12, 16).
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_permit;
SET search_path = t_permit, ql3, public;
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('d15a0001-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
SELECT verdict FROM ql3_dispatch_claim('p', 'one', 'act', '{}', 'w', tok(1));
CREATE VIEW marks AS SELECT count(*) FILTER (WHERE permit_digest IS NOT NULL) AS permits, count(*) AS attempts
FROM ql3.dispatches WHERE request_uid = 'p';
\set p 'ql3_dispatch_permit(''p'', ''one'', ''w'', tok(1), tok(91))'
\set VERBOSITY terse
-- The hint says what to do.
BEGIN;
\set VERBOSITY default
SELECT :p;
\set VERBOSITY sqlstate
ROLLBACK;
\set VERBOSITY default
SELECT :p, 1;
\set VERBOSITY sqlstate
-- A block, also one that a driver began or that has a savepoint.
BEGIN;
SAVEPOINT s;
SELECT :p;
ROLLBACK;
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT * FROM :p;
ROLLBACK;
-- More than one statement in one message, in any place.
\set SHOW_ALL_RESULTS off
SELECT :p\; SELECT 1;
SELECT 1\; SELECT :p;
SELECT 1\; COMMIT\; SELECT :p;
-- Functions of any language, procedures, DO, triggers; with a query, a loop, a cursor, dynamic SQL, a prepared statement.
CREATE FUNCTION by_sql() RETURNS boolean LANGUAGE sql AS $$ SELECT ql3.ql3_dispatch_permit('p', 'one', 'w', t_permit.tok(1), t_permit.tok(91)) $$;
CREATE FUNCTION by_sql_set() RETURNS SETOF boolean LANGUAGE sql AS $$ SELECT ql3.ql3_dispatch_permit('p', 'one', 'w', t_permit.tok(1), t_permit.tok(91)) $$;
CREATE FUNCTION by_sql_kept(OUT a boolean, OUT b int) LANGUAGE sql AS $$ SELECT ql3.ql3_dispatch_permit('p', 'one', 'w', t_permit.tok(1), t_permit.tok(91)), 1 $$;
CREATE FUNCTION by_plpgsql() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN ql3.ql3_dispatch_permit('p', 'one', 'w', t_permit.tok(1), t_permit.tok(91)); END $$;
CREATE PROCEDURE by_procedure() LANGUAGE plpgsql AS $$ BEGIN COMMIT; PERFORM ql3.ql3_dispatch_permit('p', 'one', 'w', t_permit.tok(1), t_permit.tok(91)); END $$;
CREATE PROCEDURE by_sql_procedure() LANGUAGE sql AS $$ SELECT ql3.ql3_dispatch_permit('p', 'one', 'w', t_permit.tok(1), t_permit.tok(91)) $$;
SELECT by_sql();
SELECT * FROM by_sql();
SELECT by_sql_set();
SELECT * FROM by_sql_set();
SELECT * FROM by_sql_kept();
SELECT by_plpgsql();
CALL by_procedure();
CALL by_sql_procedure();
DO $$ BEGIN PERFORM ql3.ql3_dispatch_permit('p', 'one', 'w', t_permit.tok(1), t_permit.tok(91)); END $$;
DO $$ DECLARE r boolean; BEGIN FOR r IN SELECT ql3.ql3_dispatch_permit('p', 'one', 'w', t_permit.tok(1), t_permit.tok(91)) LOOP RAISE NOTICE '%', r; END LOOP; END $$;
DO $$ DECLARE r boolean; c refcursor; BEGIN OPEN c FOR SELECT ql3.ql3_dispatch_permit('p', 'one', 'w', t_permit.tok(1), t_permit.tok(91)); FETCH c INTO r; RAISE NOTICE '%', r; END $$;
DO $$ DECLARE r boolean; BEGIN EXECUTE 'SELECT ql3.ql3_dispatch_permit($1, $2, $3, $4, $5)' INTO r USING 'p', 'one', 'w', t_permit.tok(1), t_permit.tok(91); RAISE NOTICE '%', r; END $$;
PREPARE kept AS SELECT :p;
DO $$ BEGIN EXECUTE 'EXECUTE kept'; RAISE NOTICE 'executed'; END $$;
DO $$ BEGIN PERFORM ql3.ql3_dispatch_permit('p', 'one', 'w', t_permit.tok(1), t_permit.tok(91)); EXCEPTION WHEN division_by_zero THEN NULL; END $$;
CREATE TABLE asks (n int);
CREATE FUNCTION by_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM t_permit.by_plpgsql(); RETURN NEW; END $$;
CREATE TRIGGER ask BEFORE INSERT ON asks FOR EACH ROW EXECUTE FUNCTION by_trigger();
INSERT INTO asks VALUES (1);
-- Part of a larger query, so that something else could run before the commit.
SELECT p, pg_sleep(0) FROM :p AS p;
SELECT 1 FROM :p;
SELECT * FROM :p AS p WHERE p;
SELECT :p::text;
SELECT NOT :p;
SELECT :p LIMIT 1;
SELECT :p ORDER BY 1;
SELECT :p UNION ALL SELECT false;
SELECT :p FROM generate_series(1, 2);
SELECT (SELECT :p);
SELECT CASE WHEN :p THEN 1 END;
SELECT count(*) FROM :p;
SELECT * FROM :p AS p, generate_series(1, 2);
SELECT * FROM ROWS FROM (:p, generate_series(1, 2));
WITH w AS MATERIALIZED (SELECT :p) SELECT * FROM w;
WITH w AS (INSERT INTO asks SELECT 1 WHERE false RETURNING 1) SELECT :p;
VALUES (:p);
INSERT INTO asks SELECT 1 FROM :p AS p WHERE p;
CREATE TABLE answers AS SELECT :p;
COPY (SELECT :p) TO STDOUT;
EXPLAIN ANALYZE SELECT :p;
-- Cursors, whose answer can be read twice or before the commit.
DECLARE c CURSOR WITH HOLD FOR SELECT :p;
DECLARE c CURSOR FOR SELECT :p;
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT :p;
FETCH 1 FROM c;
ROLLBACK;
-- FETCH_COUNT of psql, as it was up to 16.
BEGIN;
DECLARE _psql_cursor NO SCROLL CURSOR FOR SELECT :p;
FETCH FORWARD 1 FROM _psql_cursor;
ROLLBACK;
-- An old snapshot, read only.
SET default_transaction_isolation = 'repeatable read';
SELECT :p;
SET default_transaction_isolation = 'serializable';
SELECT :p;
RESET default_transaction_isolation;
SET default_transaction_read_only = on;
SELECT :p;
RESET default_transaction_read_only;
-- Not one of them left a mark.
SELECT * FROM marks;
-- Prepared statements work, by name and by the protocol; so does the other spelling.
SELECT verdict FROM ql3_dispatch_claim('p', 'two', 'act', '{}', 'w', tok(2));
SELECT verdict FROM ql3_dispatch_claim('p', 'three', 'act', '{}', 'w', tok(3));
SELECT verdict FROM ql3_dispatch_claim('p', 'four', 'act', '{}', 'w', tok(4));
EXECUTE kept;
SELECT * FROM "ql3"."ql3_dispatch_permit"('p', 'two', 'w', tok(2), tok(92)) AS allowed(yes);
SELECT QL3 . QL3_Dispatch_Permit (request_uid => 'p', item => 'three', writer => 'w', token => tok(3), permit => tok(93)) AS allowed;
SET default_transaction_isolation = 'read uncommitted';
SELECT ql3.ql3_dispatch_permit('p', 'four', 'w', 'd15a0001-0000-4000-8000-000000000004', 'd15a0001-0000-4000-8000-000000000094');
RESET default_transaction_isolation;
SELECT * FROM marks;

-- Isolation and read-only of the others: claim and reassert need READ COMMITTED, settle and extend take any.
SELECT verdict FROM ql3_dispatch_claim('p', 'five', 'act', '{}', 'w', tok(5));
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT verdict FROM ql3_dispatch_claim('p', 'six', 'act', '{}', 'w', tok(6));
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT ql3_dispatch_reassert('p', 'six', 'act', '{}', 'w', tok(6), 'succeeded');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT ql3_dispatch_extend('p', 'five', 'w', tok(5), '1 h'), ql3_dispatch_settle('p', 'five', 'w', tok(5), 'succeeded'),
       (SELECT state FROM ql3_dispatch_observe('p', 'five'));
COMMIT;
BEGIN READ ONLY;
SELECT state FROM ql3_dispatch_observe('p', 'five');
SAVEPOINT s;
SELECT verdict FROM ql3_dispatch_claim('p', 'six', 'act', '{}', 'w', tok(6));
ROLLBACK TO s;
SELECT ql3_dispatch_settle('p', 'five', 'w', tok(5), 'succeeded');
ROLLBACK TO s;
SELECT ql3_dispatch_extend('p', 'five', 'w', tok(5), '1 h');
ROLLBACK TO s;
SELECT ql3_halt_dispatch('no');
ROLLBACK;
-- The local bound of the transaction: a safeguard, as for claims.
BEGIN;
SELECT verdict FROM ql3_dispatch_claim('p', 'six', 'act', '{}', 'w', tok(6));
SHOW idle_in_transaction_session_timeout;
COMMIT;
SHOW idle_in_transaction_session_timeout;
-- A synchronous commit whatever the session says: seen here by nobody, so only that it leaves no trace.
SET synchronous_commit = off;
SELECT ql3_dispatch_settle('p', 'six', 'w', tok(6), 'succeeded');
SHOW synchronous_commit;
