-- ql3_verify: sound rows are silent, and every rule names the row that breaks it. Each breach is planted by a superuser
-- with constraints and triggers out of the way, in a transaction that is rolled back.
\pset format unaligned
\pset tuples_only on
\pset null (null)
-- A database of its own: other topics write rows by hand that no promise allows.
\set regression :DBNAME
CREATE DATABASE ql3_verify;
\c ql3_verify
CREATE EXTENSION ql3;
CREATE SCHEMA t_verify;
SET search_path = t_verify, ql3, public;
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('7e21f1ed-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;

CREATE TABLE jobs (id text PRIMARY KEY, run_id text NOT NULL, status text NOT NULL, created_at timestamptz, lost_at timestamptz NOT NULL);
CREATE INDEX ON jobs (lost_at, id);
INSERT INTO jobs SELECT i, 'run', 'running', '2026-01-01', timestamptz '2026-01-01' + n * interval '1 s'
FROM unnest(ARRAY['available', 'claimed', 'manual', 'pruned', 'resolved', 'retry']) WITH ORDINALITY AS u(i, n);
SELECT FROM ql3_attach_source('verify', 'jobs');

CREATE FUNCTION started(item text, n int) RETURNS text LANGUAGE sql AS $$
  SELECT verdict FROM ql3.ql3_dispatch_claim('verify', item, 'act', '{}', 'w', tok(n)) $$;
-- A page whose targets are all settled to be claimed again at once.
CREATE FUNCTION once(n int) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT s.result FROM (SELECT array_agg(id ORDER BY id) AS ids, count(*)::int AS c FROM jobs) AS j
   CROSS JOIN LATERAL ql3.ql3_settle_page('A', tok(n), array_fill('verify'::text, ARRAY[c]), ids, array_fill(n::bigint, ARRAY[c]),
     array_fill('retry'::text, ARRAY[c]), array_fill(interval '0', ARRAY[c])) AS s $$;

-- A target that is pruned, and a dispatch that leaves a tombstone.
SELECT count(*) FROM ql3_claim('A', 6, '1 min', tok(1), '{verify}');
SELECT once(1);
DELETE FROM jobs WHERE id = 'pruned';
SELECT count(*) FROM ql3_claim('A', 6, '1 min', tok(2), '{verify}');
SELECT once(2);
SELECT started('buried', 10);
SELECT ql3_dispatch_permit('verify', 'buried', 'w', tok(10), tok(110));
SELECT ql3_dispatch_settle('verify', 'buried', 'w', tok(10), 'succeeded');
SELECT pg_sleep(0.01);
SELECT ql3_prune('1 ms') > 0;
-- One target in every state, with a history of two judgements.
SELECT count(*) FROM ql3_claim('A', 6, '1 min', tok(3), '{verify}');
SELECT once(3);
SELECT count(*) FROM ql3_claim('A', 6, '1 min', tok(4), '{verify}');
SELECT result FROM ql3_settle_page('A', tok(4), array_fill('verify'::text, '{4}'),
  '{available,manual,resolved,retry}', '{4,4,4,4}', '{retry,manual,resolved,retry}', ARRAY[interval '0', NULL, NULL, '5 min']);
SELECT ql3_release('verify', 'available', 4, 'test');
SELECT id, state, version FROM ql3.run_recovery_controls WHERE kind = 'verify' ORDER BY id;
-- Dispatches: claimed, settled, judged, released in both ways.
SELECT started(i, n::int) FROM unnest(ARRAY['claimed', 'succeeded', 'unsent', 'given back', 'unknown']) WITH ORDINALITY AS u(i, n);
SELECT ql3_dispatch_permit('verify', 'succeeded', 'w', tok(2), tok(102));
SELECT ql3_dispatch_settle('verify', 'succeeded', 'w', tok(2), 'succeeded');
SELECT ql3_dispatch_settle('verify', 'unsent', 'w', tok(3), 'not_sent');
SELECT ql3_dispatch_permit('verify', 'given back', 'w', tok(4), tok(104));
SELECT ql3_dispatch_settle('verify', 'given back', 'w', tok(4), 'not_sent', NULL, tok(104));
SELECT ql3_dispatch_settle('verify', 'unknown', 'w', tok(5), 'unknown');
SELECT item, state, permit_digest IS NOT NULL FROM ql3.dispatches WHERE request_uid = 'verify' ORDER BY item;
-- Judged by recovery: an attempt that is overdue.
SELECT verdict FROM ql3_dispatch_claim('verify', 'judged', 'act', '{}', 'w', tok(6), '1 s');
UPDATE ql3.dispatches SET observe_at = clock_timestamp() WHERE request_uid = 'verify' AND item = 'judged';
SELECT id AS judged, version FROM ql3_claim('A', 1, '1 min', tok(5), '{dispatch}') \gset
SELECT ql3_conclude('dispatch', :'judged', 'A', tok(5), :version, 'failed');

-- Sound.
SELECT * FROM ql3_verify();

-- plant(what, how): the rules that see it, one line each.
CREATE PROCEDURE constraints_off() LANGUAGE plpgsql AS $$
DECLARE c record;
BEGIN
  FOR c IN SELECT r.conrelid::regclass AS t, r.conname FROM pg_constraint AS r
            WHERE r.connamespace = 'ql3'::regnamespace AND r.contype IN ('c', 'u', 'p')
            ORDER BY r.contype = 'p' LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I CASCADE', c.t, c.conname);
  END LOOP;
  SET LOCAL session_replication_role = replica;
END $$;
CREATE FUNCTION plant(how text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE found text[];
BEGIN
  BEGIN
    CALL t_verify.constraints_off();
    EXECUTE how;
    SELECT array_agg(format('%s | %s | %s', v.rule, v.kind, CASE WHEN v.kind = 'dispatch' THEN coalesce(d.item, t.item, 'gone') ELSE v.id END)
                     ORDER BY v.rule, v.id) INTO found
      FROM ql3.ql3_verify() AS v
      LEFT JOIN ql3.dispatches AS d ON v.kind = 'dispatch' AND d.attempt::text = v.id
      LEFT JOIN (SELECT attempt::text AS id, 'tombstone' AS item FROM ql3.dispatch_tombstones) AS t ON v.kind = 'dispatch' AND t.id = v.id;
    RAISE 'undo' USING ERRCODE = 'XX999';
  EXCEPTION WHEN SQLSTATE 'XX999' THEN NULL;
  END;
  RETURN QUERY SELECT unnest(coalesce(found, '{nothing}'));
END $$;

CREATE FUNCTION control(id text, change text) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT t_verify.plant(format('UPDATE ql3.run_recovery_controls SET %s WHERE kind = %L AND id = %L', change, 'verify', id)) $$;
CREATE FUNCTION attempt(item text, change text) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT t_verify.plant(format('UPDATE ql3.dispatches SET %s WHERE request_uid = %L AND item = %L', change, 'verify', item)) $$;

\echo -- recovery
SELECT control('available', $$ owner = 'thief' $$);
SELECT control('claimed', $$ token_digest = NULL $$);
SELECT control('manual', $$ due_at = clock_timestamp() $$);
SELECT control('retry', $$ next_claim_at = 'infinity' $$);
SELECT control('resolved', $$ state = 'done' $$);
SELECT control('claimed', $$ claimed_at = expires_at + interval '1 s' $$);
SELECT control('claimed', $$ due_at = expires_at + interval '1 s' $$);
SELECT control('retry', $$ due_at = next_claim_at + interval '1 h' $$);
SELECT control('manual', $$ failure_count = -1 $$);
SELECT plant($$ INSERT INTO ql3.run_recovery_controls SELECT * FROM ql3.run_recovery_controls WHERE kind = 'verify' AND id = 'manual' $$);
SELECT plant($$ DELETE FROM ql3.recovery_pages WHERE 'claimed' = ANY (target_ids) $$);
SELECT plant($$ UPDATE ql3.recovery_pages SET target_ids = array_replace(target_ids, 'claimed', 'other') $$);
SELECT control('claimed', $$ owner = 'thief' $$);
SELECT plant($$ INSERT INTO ql3.recovery_pages SELECT * FROM ql3.recovery_pages WHERE 'claimed' = ANY (target_ids) LIMIT 1 $$);
SELECT plant($$ UPDATE ql3.recovery_pages SET page_size = 4 WHERE 'verify' = ANY (target_kinds) AND cardinality(target_ids) = 5 $$);
SELECT plant($$ INSERT INTO ql3.judgements (kind, id, version, owner, run_id, lost_at, disposition, result, failure_count, judged_at)
  SELECT kind, id, version, owner, run_id, lost_at, disposition, result, failure_count, judged_at
    FROM ql3.judgements WHERE kind = 'verify' AND id = 'retry' ORDER BY judgement_id DESC LIMIT 1 $$);
SELECT plant($$ UPDATE ql3.judgements SET version = 1 WHERE kind = 'verify' AND id = 'retry' AND version = 4 $$);
SELECT control('retry', $$ version = 3 $$);
SELECT control('claimed', $$ version = 3 $$);
SELECT plant($$ WITH floor AS (UPDATE ql3.recovery_kinds SET version_floor = 0 WHERE kind = 'verify')
  INSERT INTO ql3.judgements (kind, id, version, owner, run_id, lost_at, disposition, result, failure_count, judged_at)
  VALUES ('verify', 'pruned', 1, 'A', 'run', now(), 'retry', 'settled', 1, now()) $$);
\echo -- dispatch
SELECT attempt('succeeded', $$ state = 'failed' $$);
SELECT attempt('unknown', $$ state = 'claimed' $$);
SELECT attempt('claimed', $$ concluded_at = clock_timestamp() $$);
SELECT attempt('claimed', $$ item = 'succeeded' $$);
SELECT attempt('succeeded', $$ permitted_at = NULL $$);
SELECT attempt('succeeded', $$ action = NULL, arguments = NULL $$);
SELECT attempt('given back', $$ writer_outcome = 'succeeded' $$);
SELECT attempt('unsent', $$ writer_outcome = NULL $$);
SELECT attempt('succeeded', $$ judged_outcome = 'not_sent' $$);
SELECT attempt('unsent', $$ contradicted = true $$);
SELECT attempt('judged', $$ judged_outcome = 'unknown', state = 'unknown' $$);
SELECT attempt('claimed', $$ lineage = gen_random_uuid() $$);
SELECT plant($$ INSERT INTO ql3.dispatch_confirmations (lineage, covered, method, reason, actor, confirmed_at)
  VALUES (gen_random_uuid(), '{}', 'drained', 'x', 'x', now()) $$) ~ '^lineage_missing';
SELECT plant($$ UPDATE ql3.dispatch_tombstones SET state = 'released' WHERE attempt IN (SELECT attempt FROM ql3.dispatch_tombstones ORDER BY pruned_at DESC LIMIT 1) $$);
SELECT plant($$ INSERT INTO ql3.dispatch_tombstones (request_digest, item_digest, token_digest, attempt, attempt_no, state, writer, permitted,
    writer_outcome, contradicted, claimed_at, concluded_at, pruned_at)
  SELECT request_digest, item_digest, token_digest, attempt, attempt_no, state, writer, permitted, writer_outcome, contradicted, claimed_at,
    concluded_at, pruned_at FROM ql3.dispatch_tombstones ORDER BY pruned_at DESC LIMIT 1 $$);
SELECT plant($$ UPDATE ql3.dispatch_tombstones SET judged_outcome = 'failed' $$);
SELECT plant($$ UPDATE ql3.dispatch_tombstones SET judged_outcome = 'failed', request_uid = 'verify', item = 'buried' $$);
SELECT plant($$ UPDATE ql3.dispatch_tombstones SET judged_outcome = 'failed', request_uid = 'verify', item = 'other' $$);
SELECT attempt('claimed', $$ item = 'buried', attempt_no = 2 $$);
SELECT plant($$ UPDATE ql3.dispatch_tombstones SET attempt = (SELECT attempt FROM ql3.dispatches WHERE request_uid = 'verify' AND item = 'claimed')
  WHERE pruned_at = (SELECT max(pruned_at) FROM ql3.dispatch_tombstones) $$);
\echo -- everywhere
SELECT plant($$ UPDATE ql3.audit_events SET reason = 'another' WHERE kind = 'verify' AND action = 'release' $$);
SELECT plant($$ DELETE FROM ql3.audit_events WHERE kind = 'verify' AND action = 'attach' $$) ~ '^audit_chain';
SELECT plant($$ UPDATE ql3.dispatches SET protocol = 2 WHERE request_uid = 'verify' AND item = 'claimed' $$);
-- Nothing stayed planted, and no token shows.
SELECT * FROM ql3_verify();
SELECT count(*) FROM pg_proc WHERE proname = 'ql3_verify' AND provolatile = 's' AND prosecdef;

\c :regression
DROP DATABASE ql3_verify;
