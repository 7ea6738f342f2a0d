-- What people on call see and mend in bulk: the views, ql3_release_page, and the audit chain that shows tampering.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_see;
SET search_path = t_see, ql3, public;
\set VERBOSITY sqlstate
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('5ee00000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION code(q text) RETURNS text LANGUAGE plpgsql
AS $$ DECLARE r text; BEGIN EXECUTE q INTO r; RETURN coalesce(r, 'ok');
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
CREATE TABLE jobs (id text PRIMARY KEY, run_id text, status text, created_at timestamptz, lost_at timestamptz);
CREATE INDEX ON jobs (lost_at, id);
INSERT INTO jobs SELECT i, 'run-' || i, 'running', '2026-01-01', timestamptz '2026-01-01' + n * interval '1 h'
FROM unnest('{a,b,c,d,e,f}'::text[]) WITH ORDINALITY AS u (i, n);
SELECT FROM ql3_attach_source('see', 'jobs', max_failures => 7, max_hold => '2 h');
CREATE VIEW seen AS SELECT state, targets, oldest_lost_at = (SELECT lost_at FROM jobs WHERE id = CASE state
  WHEN 'claimed' THEN 'a' WHEN 'retry' THEN 'b' WHEN 'manual' THEN 'c' WHEN 'resolved' THEN 'd' WHEN 'expired' THEN 'a'
  ELSE 'e' END) AS oldest, oldest_age > '1 day' AS old, most_failures AS failures, more
FROM backlog WHERE kind = 'see';
CREATE FUNCTION chain_is_sound() RETURNS boolean LANGUAGE sql AS 'SELECT bool_and(sound) AND count(*) > 0 FROM ql3.audit';

-- Every state is counted once, with its oldest; what no claim has met yet is not in a table.
SELECT count(*) FROM seen;
SELECT count(*) FROM ql3_claim('A', 5, '5 min', tok(1), '{see}');
SELECT ql3_settle('see', 'b', 'A', tok(1), 1, 'retry', '5 min', 'no answer'),
       ql3_settle('see', 'c', 'A', tok(1), 1, 'manual', NULL, 'two answers'),
       ql3_settle('see', 'd', 'A', tok(1), 1, 'resolved');
SELECT result FROM ql3_give_back('A', tok(1), '{see}', '{e}', '{1}');
SELECT * FROM seen ORDER BY state;
SELECT id, owner, version, run_id, status, lease_left BETWEEN interval '4 min' AND '5 min', held_for < '1 min', failure_count
FROM claims WHERE kind = 'see';
SELECT id, version, failure_count, reason, parked_at = (SELECT max(judged_at) FROM history WHERE kind = 'see' AND id = 'c')
FROM parked WHERE kind = 'see';
SELECT id, state, failure_count, max_failures, max_hold, next_claim_at IS NOT NULL, detail FROM failing WHERE kind = 'see' ORDER BY id;
SELECT id, version, owner, run_id, disposition, note, result FROM history WHERE kind = 'see' ORDER BY judgement_id;
-- An owner that vanished: what it held counts as expired, and is no claim any more once 5 minutes have passed.
UPDATE ql3.run_recovery_controls SET expires_at = expires_at - interval '10 min', due_at = due_at - interval '10 min'
WHERE kind = 'see' AND state = 'claimed';
SELECT * FROM seen WHERE state IN ('claimed', 'expired');
SELECT count(*) FROM claims WHERE kind = 'see';
-- A lease that no clock of now can have given is none.
UPDATE ql3.run_recovery_controls SET expires_at = expires_at + interval '1 day' WHERE kind = 'see' AND state = 'claimed';
SELECT state FROM seen WHERE state IN ('claimed', 'expired');

-- In bulk: one word for each position, in input order; what is not as it was seen is stale and the others go on.
SELECT result FROM ql3_release_page('{see,see,see,see,see,see}', '{d,c,b,a,nobody,c}', '{1,1,9,1,1,1}', 'all mended');
SELECT * FROM seen ORDER BY state;
SELECT id, reason, before ->> 'state', after ->> 'state', actor = session_user, role_set = current_user
FROM audit WHERE kind = 'see' AND action = 'release' ORDER BY event_id;
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_release_page(NULL, '{a}', '{1}', 'r')$q$), ($q$SELECT ql3_release_page('{see}', NULL, '{1}', 'r')$q$),
  ($q$SELECT ql3_release_page('{see}', '{a}', NULL, 'r')$q$), ($q$SELECT ql3_release_page('{see}', '{a}', '{1}', NULL)$q$),
  ($q$SELECT ql3_release_page('{see}', '{a}', '{1}', ' ')$q$), ($q$SELECT ql3_release_page('{see}', '{a,b}', '{1,1}', 'r')$q$),
  ($q$SELECT ql3_release_page('{}', '{}', '{}', 'r')$q$), ($q$SELECT ql3_release_page('{none}', '{a}', '{1}', 'r')$q$),
  ($q$SELECT ql3_release_page('{see,see}', '{a,NULL}', '{1,1}', 'r')$q$),
  ($q$SELECT ql3_release_page(array_fill('see'::text, '{129}'), array_fill('a'::text, '{129}'), array_fill(1::bigint, '{129}'), 'r')$q$)
) AS v (q);

-- The chain: an event that was edited, removed, added or reordered shows, whoever did it.
SELECT chain_is_sound();
SELECT max(event_id) AS last FROM audit \gset
CREATE FUNCTION tampered(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE shown text;
BEGIN
  SET LOCAL session_replication_role = replica;
  EXECUTE q;
  SELECT string_agg((event_id - (SELECT max(event_id) FROM ql3.audit_events))::text, ',' ORDER BY event_id) INTO shown
  FROM ql3.audit WHERE NOT sound;
  RAISE EXCEPTION USING ERRCODE = 'QL300', MESSAGE = coalesce(shown, 'nothing');
EXCEPTION WHEN SQLSTATE 'QL300' THEN RETURN SQLERRM;
END $$;
SELECT tampered(format(q, :last - 1)), q FROM (VALUES
  ('SELECT'),
  ('UPDATE ql3.audit_events SET reason = ''another'' WHERE event_id = %s'),
  ('UPDATE ql3.audit_events SET actor = ''somebody'' WHERE event_id = %s'),
  ('UPDATE ql3.audit_events SET role_set = ''somebody'' WHERE event_id = %s'),
  ('UPDATE ql3.audit_events SET at = at + interval ''1 us'' WHERE event_id = %s'),
  ('UPDATE ql3.audit_events SET action = ''park'' WHERE event_id = %s'),
  ('UPDATE ql3.audit_events SET id = id || '' '' WHERE event_id = %s'),
  ('UPDATE ql3.audit_events SET kind = NULL WHERE event_id = %s'),
  ('UPDATE ql3.audit_events SET before = after WHERE event_id = %s'),
  ('UPDATE ql3.audit_events SET after = after || ''{"state": "retry"}'' WHERE event_id = %s'),
  ('UPDATE ql3.audit_events SET digest = sha256(digest) WHERE event_id = %s'),
  ('DELETE FROM ql3.audit_events WHERE event_id = %s'),
  ('DELETE FROM ql3.audit_events WHERE event_id <= %s'),
  ('UPDATE ql3.audit_events SET event_id = event_id + 9 WHERE event_id > %s')
) AS v (q);
SELECT chain_is_sound();

-- Dispatch: claimed, in flight, overdue, unknown, conflict; what is decided or released is not open.
CREATE FUNCTION act(name text, n int, permitted boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM ql3.ql3_dispatch_claim('see', name, 'act', '{}', 'w', t_see.tok(n));
  IF permitted THEN
    UPDATE ql3.dispatches SET permit_digest = sha256('x'), permitted_at = clock_timestamp() WHERE request_uid = 'see' AND item = name;
  END IF;
  RETURN name;
END $$;
SELECT act('claimed', 10, false), act('in flight', 11, true), act('overdue', 12, true), act('unknown', 13, true), act('conflict', 14, true),
       act('done', 15, true), act('released', 16, false), act('late', 17, true);
UPDATE ql3.dispatches SET observe_at = observe_at - interval '10 min' WHERE request_uid = 'see' AND item = 'overdue';
SELECT ql3_dispatch_settle('see', 'unknown', 'w', tok(13), 'unknown'), ql3_dispatch_settle('see', 'done', 'w', tok(15), 'succeeded'),
       ql3_dispatch_settle('see', 'released', 'w', tok(16), 'not_sent'), ql3_dispatch_settle('see', 'conflict', 'w', tok(14), 'failed'),
       ql3_dispatch_settle('see', 'late', 'w', tok(17), 'unknown');
SELECT ql3_dispatch_override(attempt, state, CASE item WHEN 'conflict' THEN 'succeeded' ELSE 'failed' END, 'seen outside')
FROM ql3.dispatches WHERE request_uid = 'see' AND item IN ('conflict', 'late');
-- Two attempts that both stand for one item.
SELECT act('twice', 18, true);
SELECT ql3_dispatch_reassert('see', 'twice', 'act', '{}', 'w2', tok(19), 'succeeded');
SELECT item, attempt_no, standing, state, permitted, conflict, writer_outcome, override_outcome, halted
FROM dispatches_open WHERE request_uid = 'see' ORDER BY item, attempt_no;
SELECT count(*) FROM dispatch_halted;
SELECT ql3_halt_dispatch('look first') AS halt \gset
SELECT bool_and(halted) FROM dispatches_open WHERE request_uid = 'see';
SELECT cause, reason, actor = session_user, halt = :'halt' FROM dispatch_halted;
SELECT ql3_unhalt_dispatch(:'halt', 'looked');
-- A lineage that is not ours halts until confirmed, or not at all where the superuser says so.
INSERT INTO ql3.dispatch_lineage VALUES ('5ee00000-0000-4000-8000-0000000000ff', 'another', 7, 1, '5ee00000-0000-4000-8000-0000000000fe', now());
SELECT cause, reason FROM dispatch_halted;
SET ql3.dispatch_after_promotion = allow;
SELECT count(*) FROM dispatch_halted;
RESET ql3.dispatch_after_promotion;
SELECT ql3_confirm_promotion(system_identifier, timeline, 'drained', 'a test') FROM ql3_live_lineage();
SELECT count(*) FROM dispatch_halted;
-- No view has a column of a token, a permit or a digest of one, nor a value of these.
SELECT c.relname, a.attname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE c.relnamespace = 'ql3'::regnamespace AND c.relkind = 'v' AND a.attnum > 0 AND a.atttypid = 'bytea'::regtype;
SELECT count(*) FROM (SELECT b::text FROM backlog b UNION ALL SELECT c::text FROM claims c UNION ALL SELECT p::text FROM parked p
  UNION ALL SELECT f::text FROM failing f UNION ALL SELECT d::text FROM dispatches_open d UNION ALL SELECT h::text FROM history h
  UNION ALL SELECT a::text FROM audit a) AS v (line) WHERE line LIKE '%5ee00000-0000-4000-8000-00000000001%';
SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = 'ql3'::regnamespace AND c.relkind = 'v' AND obj_description(c.oid) IS NULL;

-- Who keeps dead rows: nobody, or a session with its age.
SELECT count(*) FILTER (WHERE transactions < 0) FROM ql3_horizon();

-- The leader of a parallel plan that writes may ask too.
CREATE TABLE many AS SELECT generate_series(1, 20000) AS n;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TABLE told AS SELECT timeline, h.cause, o.holder FROM many LEFT JOIN dispatch_halted AS h ON true LEFT JOIN ql3_horizon() AS o ON false, ql3_live_lineage()
WHERE n = 1;
SELECT timeline > 0, cause FROM told;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

DELETE FROM ql3.dispatches WHERE request_uid = 'see';
DELETE FROM ql3.dispatch_lineage WHERE system_identifier = 'another';
SELECT FROM ql3_detach_source('see');
SET client_min_messages = warning;
DROP SCHEMA t_see CASCADE;
