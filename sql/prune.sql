-- Prune removes what is over, by bounded steps, and nothing that a promise stands on; forget removes tombstones only.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_prune;
SET search_path = t_prune, ql3, public;
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('77a1b2c3-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION code(q text) RETURNS text LANGUAGE plpgsql
AS $$ DECLARE r text; BEGIN EXECUTE q INTO r; RETURN coalesce(r, 'ok');
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
-- Everything that is prunable, prunes itself in steps; how many steps found something.
CREATE FUNCTION prune_all(older_than interval, batch int DEFAULT 1000, OUT steps int, OUT removed bigint)
LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  steps := 0; removed := 0;
  LOOP
    n := ql3.ql3_prune(older_than, batch);
    EXIT WHEN n = 0;
    IF n > batch THEN RAISE 'removed % with batch %', n, batch; END IF;
    steps := steps + 1; removed := removed + n;
  END LOOP;
END $$;
SELECT removed >= 0 FROM prune_all('1 us');
CREATE TABLE jobs (id text PRIMARY KEY, run_id text NOT NULL, status text NOT NULL, lost_at timestamptz NOT NULL);
CREATE INDEX ON jobs (lost_at, id) WHERE status = 'running';
CREATE VIEW lost AS SELECT id, run_id, status, lost_at AS created_at, lost_at FROM jobs
WHERE status = 'running' AND lost_at <= statement_timestamp();
INSERT INTO jobs SELECT i, i, 'running', '2026-01-01' FROM unnest('{a,b,c,d,e,f,g}'::text[]) AS i;
SELECT FROM ql3_attach_source('prune', 'lost');
SELECT count(*) FROM ql3_claim('A', 6, '5 min', tok(1));
UPDATE jobs SET status = 'done' WHERE id IN ('a', 'b', 'c');
SELECT ql3_settle('prune', 'a', 'A', tok(1), 1, 'resolved'), ql3_settle('prune', 'b', 'A', tok(1), 1, 'resolved'),
       ql3_settle('prune', 'c', 'A', tok(1), 1, 'manual'), ql3_settle('prune', 'd', 'A', tok(1), 1, 'manual'),
       ql3_settle('prune', 'e', 'A', tok(1), 1, 'retry', '5 min');
UPDATE ql3.run_recovery_controls SET version = 41 WHERE kind = 'prune' AND id = 'a';
-- b comes back, so it is not over; c left its source before it was parked, so nothing is parked.
UPDATE jobs SET status = 'running' WHERE id = 'b';
SELECT id, state, due_at IS NULL AS idle FROM ql3.run_recovery_controls WHERE kind = 'prune' ORDER BY id;
-- Younger than asked: nothing.
SELECT ql3_prune('1 day');
-- A step at a time. What is listed, held, waiting or parked keeps its row.
SELECT steps, removed FROM prune_all('1 us', 1);
SELECT id, state FROM ql3.run_recovery_controls WHERE kind = 'prune' ORDER BY id;
SELECT count(*) FROM ql3.judgements WHERE kind = 'prune';
-- The floor stands for what is gone: a comes back with a version that nobody had.
UPDATE jobs SET status = 'running', run_id = 'a2' WHERE id = 'a';
SELECT id, version, failure_count FROM ql3_claim('B', 16, '5 min', tok(2), '{prune}') ORDER BY id;
SELECT ql3_settle('prune', 'a', 'A', tok(1), 41, 'resolved'), ql3_settle('prune', 'f', 'A', tok(1), 1, 'resolved');
-- It survives detach, and a kind that is not attached is pruned as well.
UPDATE jobs SET status = 'done' WHERE id IN ('a', 'f');
SELECT ql3_settle('prune', 'a', 'B', tok(2), 42, 'resolved');
SELECT FROM ql3_detach_source('prune');
SELECT ql3_prune('1 us') > 0;
SELECT id, state FROM ql3.run_recovery_controls WHERE kind = 'prune' ORDER BY id;
SELECT version_floor, pruned_to FROM ql3.recovery_kinds WHERE kind = 'prune';
-- A blind source says nothing about its targets.
SELECT FROM ql3_attach_source('prune', 'lost');
UPDATE jobs SET status = 'running' WHERE id = 'a';
SELECT id, version FROM ql3_claim('B', 16, '5 min', tok(3), '{prune}') WHERE id = 'a';
UPDATE jobs SET status = 'done' WHERE id = 'a';
SELECT ql3_settle('prune', 'a', 'B', tok(3), 43, 'resolved');
ALTER VIEW lost RENAME TO hidden;
SELECT FROM prune_all('1 us');
SELECT id FROM ql3.run_recovery_controls WHERE kind = 'prune' AND id = 'a';
ALTER VIEW hidden RENAME TO lost;
SELECT removed FROM prune_all('1 us');
-- Pages that are over are forgotten after their own ten minutes, whatever was asked.
UPDATE ql3.recovery_pages SET claimed_at = claimed_at - interval '1 h', forget_after = forget_after - interval '1 h',
  over_seen_at = claimed_at - interval '30 min' WHERE 'prune' = ANY (target_kinds);
UPDATE ql3.run_recovery_controls SET expires_at = expires_at - interval '1 h' WHERE kind = 'prune' AND state = 'claimed';
SELECT removed > 0 FROM prune_all('1000 days');
SELECT count(*) FROM ql3.recovery_pages WHERE 'prune' = ANY (target_kinds);
-- Every step that removed something is on record, with what.
SELECT actor = session_user, reason, after->>'older_than_us', (after->>'judgements')::int + (after->>'controls')::int > 0
FROM ql3.audit_events WHERE action = 'prune' AND after->>'pages' = '0' ORDER BY event_id DESC LIMIT 1;
SELECT FROM ql3_detach_source('prune');

-- Dispatches: what is decided leaves a tombstone.
CREATE FUNCTION dc(item text, token int, arguments text DEFAULT '{}', action text DEFAULT 'act') RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT verdict FROM ql3.ql3_dispatch_claim('prune', item, action, arguments::jsonb, 'w', t_prune.tok(token)) $$;
CREATE FUNCTION st(item text, token int, outcome text, permit int DEFAULT NULL) RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT ql3.ql3_dispatch_settle('prune', item, 'w', t_prune.tok(token), outcome, 'd', t_prune.tok(permit)) $$;
CREATE FUNCTION ob(item text, token int DEFAULT NULL) RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT concat_ws(' ', state, outcome, writer_outcome, judged_outcome, override_outcome, permitted, conflict, detail)
   FROM ql3.ql3_dispatch_observe('prune', item, t_prune.tok(token)) $$;
SELECT item, dc(item, n) FROM (VALUES ('done', 11), ('failed', 12), ('unknown', 13), ('claimed', 14), ('permitted', 15),
  ('free', 16), ('closed', 17), ('conflict', 18), ('retried', 19), ('judged', 20), ('freed', 24), ('retaken', 25)) AS v (item, n);
SELECT ql3_dispatch_permit('prune', 'done', 'w', tok(11), tok(111));
SELECT ql3_dispatch_permit('prune', 'permitted', 'w', tok(15), tok(115));
SELECT ql3_dispatch_permit('prune', 'closed', 'w', tok(17), tok(117));
SELECT ql3_dispatch_permit('prune', 'conflict', 'w', tok(18), tok(118));
SELECT st('done', 11, 'succeeded'), st('failed', 12, 'failed'), st('unknown', 13, 'unknown'), st('free', 16, 'not_sent'),
       st('closed', 17, 'not_sent'), st('conflict', 18, 'succeeded'), st('retried', 19, 'not_sent'), st('judged', 20, 'unknown');
SELECT ql3_dispatch_override(attempt, 'succeeded', 'failed', 'r') FROM ql3_dispatch_observe('prune', 'conflict');
SELECT ql3_dispatch_override(attempt, 'unknown', 'failed', 'r') FROM ql3_dispatch_observe('prune', 'judged');
-- As recovery frees one that was never permitted.
UPDATE ql3.dispatches SET state = 'released', judged_outcome = 'not_sent', concluded_at = clock_timestamp() WHERE item IN ('freed', 'retaken');
SELECT dc('retried', 21, '{}');
SELECT st('burnt', 22, 'not_sent');
SELECT code('SELECT ql3_forget(''prune'', ''r'')');
SELECT removed FROM prune_all('1 us', 3);
SELECT item, state FROM ql3.dispatches WHERE request_uid = 'prune' ORDER BY item, attempt_no;
SELECT count(*) FROM ql3.dispatch_tombstones;
-- No name, no content, no token.
SELECT count(*) FROM ql3.dispatch_tombstones AS t, jsonb_each_text(to_jsonb(t)) AS c WHERE c.value ~ 'prune|done|77a1b2c3';
-- Nothing became sendable: an item is what it was, to its own token and to any other; a released token stays released.
SELECT dc('done', 11), dc('done', 31), dc('failed', 12), dc('failed', 31), dc('closed', 17), dc('closed', 31), dc('judged', 31);
SELECT dc('free', 16), dc('retried', 19), dc('retried', 31), dc('retried', 21), dc('burnt', 22);
SELECT dc('unknown', 31), dc('claimed', 31), dc('permitted', 31), dc('conflict', 31);
SELECT ql3_dispatch_permit('prune', 'done', 'w', tok(11), tok(111));
SELECT ql3_dispatch_permit('prune', 'free', 'w', tok(16), tok(116));
SELECT ql3_dispatch_extend('prune', 'done', 'w', tok(11), '1 min'), ql3_dispatch_extend('prune', 'done', 'w', tok(31), '1 min');
-- What an item is stays known too, by jsonb's own equality; a free item can be taken again by its own kind of action.
SELECT dc('done', 31, '{"a": 1}'), dc('done', 31, '{}', 'other'), dc('free', 32, '{"a": 1}'), dc('free', 32);
SELECT ql3_dispatch_record('prune', 'done', 'act', '{}', 'failed', 'r');
-- Observe shows what is left; settle and reassert answer as before.
SELECT item, ob(item, n) FROM (VALUES ('done', 11), ('failed', 12), ('closed', 17), ('judged', 20), ('free', 16)) AS v (item, n);
SELECT ob('done'), ob('done', 99), ob('nothing');
SELECT st('done', 11, 'succeeded'), st('done', 11, 'failed'), st('done', 31, 'succeeded'),
       ql3_dispatch_settle('prune', 'done', 'other', tok(11), 'succeeded'), st('closed', 17, 'not_sent');
SELECT ql3_dispatch_reassert('prune', 'done', 'act', '{}', 'w', tok(11), 'succeeded'),
       ql3_dispatch_reassert('prune', 'done', 'act', '{"b": 1}', 'w', tok(11), 'succeeded');
-- A definite result of the exact token is stored, however late; what disagrees shows, and nothing is sendable.
SELECT st('judged', 20, 'succeeded'), ob('judged', 20);
SELECT st('burnt', 22, 'succeeded'), ob('burnt', 22), dc('burnt', 22), dc('burnt', 33);
SELECT st('freed', 24, 'succeeded'), ob('freed', 24), dc('freed', 34), st('freed', 24, 'failed');
SELECT attempt_no, state FROM ql3.dispatches WHERE request_uid = 'prune' AND item = 'free';
-- Such a one names its item again, and is open for people until they have looked.
CREATE FUNCTION open_conflicts() RETURNS SETOF text LANGUAGE sql AS
$$ SELECT concat_ws(' ', item, attempt_no, standing, state, permitted, writer_outcome, judged_outcome, override_outcome, conflict, detail)
   FROM ql3.dispatches_open WHERE request_uid = 'prune' AND standing = 'conflict' ORDER BY item, attempt_no $$;
SELECT open_conflicts();
SELECT count(*), count(request_uid), count(*) FILTER (WHERE disagrees) FROM ql3.dispatch_tombstones;
SELECT topic, text ~ '^attempt 1 of item freed of request prune .pruned.: closed, succeeded' AS closed, text ~ 'its writer said later that it had called' AS conflict,
       command ~ 'ql3_dispatch_override' AS override
FROM ql3_dispatch_observe('prune', 'freed') AS o, ql3_explain('dispatch', o.attempt::text) WHERE topic IN ('dispatch', 'conflict', 'override');
-- A person says which fact counts; it stays on record, and nothing becomes sendable.
SELECT ql3_dispatch_override(attempt, 'succeeded', 'failed', 'seen outside'), ql3_dispatch_override(attempt, 'succeeded', 'failed', 'again')
FROM ql3_dispatch_observe('prune', 'freed');
SELECT ob('freed'), dc('freed', 35);
SELECT ql3_dispatch_override(attempt, 'succeeded', 'failed', 'its facts agree') FROM ql3_dispatch_observe('prune', 'done');
-- A second attempt beside a pruned one: by a writer whose row another primary lost, and by one that was released too early.
SELECT ql3_dispatch_reassert('prune', 'done', 'act', '{}', 'w', tok(36), 'succeeded'), dc('retaken', 37), st('retaken', 25, 'succeeded');
SELECT open_conflicts();
-- Nothing is buried while it is so.
SELECT removed FROM prune_all('1 us');
SELECT item, attempt_no FROM ql3.dispatches WHERE request_uid = 'prune' AND item IN ('done', 'retaken') ORDER BY 1, 2;
SELECT rule, count(*) FROM ql3_verify() WHERE rule LIKE 'tombstone%' GROUP BY 1;

-- Forget: tombstones of a whole request, and only when nothing else is left of it.
SELECT code('SELECT ql3_forget(''prune'', ''r'')');
SELECT ql3_forget('never heard of', 'r');
SELECT verdict FROM ql3_dispatch_claim('prune 2', 'x', 'act', '{}', 'w', tok(41));
SELECT ql3_dispatch_settle('prune 2', 'x', 'w', tok(41), 'failed');
SELECT removed FROM prune_all('1 us');
SELECT verdict FROM ql3_dispatch_claim('prune 2', 'x', 'act', '{}', 'w', tok(42));
SELECT ql3_forget('prune 2', 'asked for by its owner'), ql3_forget('prune 2', 'again');
SELECT action, kind, id, reason, after FROM ql3.audit_events WHERE action = 'forget';
SELECT verdict FROM ql3_dispatch_claim('prune 2', 'x', 'other', '{}', 'w', tok(43));

-- What stays of an item is the same on every machine and major: digests of bytes that can be written down.
SELECT verdict FROM ql3_dispatch_claim('prune 3', 'x', 'act', '{"b": [1.50, null, true, "\u00e4", "5", 5], "a": {"x": "1"}}', 'w', tok(44));
SELECT ql3_dispatch_settle('prune 3', 'x', 'w', tok(44), 'failed');
SELECT removed FROM prune_all('1 us');
CREATE FUNCTION field(content bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT int8send(octet_length(content)) || content $$;
SELECT identity_digest = sha256(field('act') || field(convert_to(E'{1:a{1:x1:1}1:b[1.5;nt2:\u00e41:55;]}', 'UTF8'))) AS identity,
       item_digest = sha256(field('prune 3') || field('x')) AS item
FROM ql3.dispatch_tombstones WHERE request_digest = sha256(field('prune 3'));
SELECT arguments, (SELECT verdict FROM ql3_dispatch_claim('prune 3', 'x', 'act', arguments::jsonb, 'w', tok(45)))
FROM (VALUES ('{"a": {"x": "1"}, "b": [15e-1, null, true, "\u00e4", "5", 5.0]}'),
  ('{"a": {"x": 1}, "b": [1.5, null, true, "\u00e4", "5", 5]}'), ('{"a": {"x": "1"}, "b": [1.5, null, true, "\u00e4", "55"]}'),
  ('{"a": {"x": "1", "b": [1.5, null, true, "\u00e4", "5", 5]}}')) AS v (arguments);

SELECT code(q), q FROM (VALUES
  ('SELECT ql3_prune(NULL)'), ('SELECT ql3_prune(''0'')'), ('SELECT ql3_prune(''-1 s'')'), ('SELECT ql3_prune(''1 month'')'),
  ('SELECT ql3_prune(''1 day'', NULL)'), ('SELECT ql3_prune(''1 day'', 0)'), ('SELECT ql3_prune(''1 day'', 100001)'),
  ('SELECT ql3_prune(''200 years'')'), ('SELECT ql3_prune(''40000 days'')'),
  ('SELECT ql3_forget(NULL, ''r'')'), ('SELECT ql3_forget('''', ''r'')'), ('SELECT ql3_forget(''x'', NULL)'),
  ('SELECT ql3_forget(''x'', '' '')'), ('SELECT ql3_forget(repeat(''x'', 256), ''r'')')
) AS v (q);
DELETE FROM ql3.dispatches WHERE request_uid LIKE 'prune%';
DELETE FROM ql3.dispatch_tombstones;
SET client_min_messages = warning;
DROP SCHEMA t_prune CASCADE;
