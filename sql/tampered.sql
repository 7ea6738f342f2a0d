-- A trigger that keeps our rows from being written costs the call, and never makes it answer what is not there; an index
-- that others made is kept right.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_tampered;
SET search_path = t_tampered, ql3, public;
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('d15a0013-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION keep_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
SELECT verdict FROM ql3_dispatch_claim('t', 'one', 'act', '{}', 'w', tok(1));
SELECT verdict FROM ql3_dispatch_claim('t', 'two', 'act', '{}', 'w', tok(2));
-- No permission that no row tells of.
CREATE TRIGGER keep_out BEFORE UPDATE ON ql3.dispatches FOR EACH ROW EXECUTE FUNCTION keep_out();
SELECT ql3_dispatch_permit('t', 'one', 'w', tok(1), tok(91));
SELECT ql3_dispatch_settle('t', 'one', 'w', tok(1), 'succeeded');
DROP TRIGGER keep_out ON ql3.dispatches;
CREATE TRIGGER keep_out BEFORE INSERT ON ql3.dispatches FOR EACH ROW EXECUTE FUNCTION keep_out();
SELECT verdict FROM ql3_dispatch_claim('t', 'three', 'act', '{}', 'w', tok(3));
SELECT ql3_dispatch_record('t', 'three', 'act', '{}', 'succeeded', 'seen outside');
DROP TRIGGER keep_out ON ql3.dispatches;
SELECT ql3_dispatch_permit('t', 'one', 'w', tok(1), tok(91));
-- A partial index: what comes into it is tested, though its key did not change.
CREATE UNIQUE INDEX one_success ON ql3.dispatches (request_uid) WHERE state = 'succeeded' AND request_uid = 't';
SELECT ql3_dispatch_settle('t', 'one', 'w', tok(1), 'succeeded');
\set VERBOSITY sqlstate
SELECT ql3_dispatch_settle('t', 'two', 'w', tok(2), 'succeeded');
\set VERBOSITY default
DROP INDEX ql3.one_success;
-- Nothing is pruned that leaves no tombstone.
UPDATE ql3.dispatches SET concluded_at = '2000-01-01' WHERE request_uid = 't' AND item = 'one';
CREATE TRIGGER keep_out BEFORE INSERT ON ql3.dispatch_tombstones FOR EACH ROW EXECUTE FUNCTION keep_out();
SELECT ql3_prune('9000 d');
DROP TRIGGER keep_out ON ql3.dispatch_tombstones;
SELECT verdict, state FROM ql3_dispatch_claim('t', 'one', 'act', '{}', 'w', tok(4));
-- No halt that does not stand.
CREATE TRIGGER keep_out BEFORE INSERT ON ql3.dispatch_halts FOR EACH ROW EXECUTE FUNCTION keep_out();
SELECT ql3_halt_dispatch('stop') IS NULL;
DROP TRIGGER keep_out ON ql3.dispatch_halts;
-- Nor one that an index which is not valid would not show.
BEGIN;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ql3.dispatch_halts_standing_idx'::regclass;
SELECT verdict FROM ql3_dispatch_claim('t', 'four', 'act', '{}', 'w', tok(5));
ROLLBACK;
\set VERBOSITY terse
SET client_min_messages = warning;
DELETE FROM ql3.dispatches WHERE request_uid = 't';
DROP SCHEMA t_tampered CASCADE;
