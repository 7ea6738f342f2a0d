-- Recovery observes what outlived its writer and gives authority to judge, never to send (promises 3, 13, 14).
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_judge;
SET search_path = t_judge, ql3, public;
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('d15a0003-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION claim(item text, n int) RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(' ', verdict, state) FROM ql3_dispatch_claim('j', item, 'act', '{"candidate": "b"}', 'w', tok(n)) $$;
CREATE FUNCTION settle(item text, n int, outcome text, permit int DEFAULT NULL)
RETURNS text LANGUAGE sql AS $$ SELECT ql3_dispatch_settle('j', item, 'w', tok(n), outcome, NULL, tok(permit)) $$;
CREATE FUNCTION look(item text, n int DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(' ', state, CASE WHEN permitted THEN 'permitted' END, 'outcome=' || outcome, 'writer=' || writer_outcome,
  'judged=' || judged_outcome, 'override=' || override_outcome, CASE WHEN conflict THEN 'CONFLICT' END)
FROM ql3_dispatch_observe('j', item, tok(n)) $$;
CREATE FUNCTION attempt(item text) RETURNS text LANGUAGE sql AS $$ SELECT attempt::text FROM ql3_dispatch_observe('j', item) $$;
-- The time that an attempt may still take is over: what waiting does, without the wait.
CREATE FUNCTION age(item text) RETURNS void LANGUAGE sql AS $$
UPDATE ql3.dispatches AS d SET observe_at = clock_timestamp() - interval '1 s', claimed_at = claimed_at - interval '1 h'
WHERE request_uid = 'j' AND d.item = age.item AND state = 'claimed' $$;
-- What a supervisor may take of the attempts of this file, and its judgement.
CREATE FUNCTION take(n int, pages int DEFAULT 16) RETURNS SETOF text LANGUAGE sql AS $$
SELECT concat_ws(' ', c.run_id, c.source ->> 'item', c.status, c.version,
                 'permitted=' || (c.source ->> 'permitted'), 'own=' || (c.source ->> 'own_lineage'))
FROM ql3_claim('A', pages, '1 min', tok(n), '{dispatch}') AS c $$;
CREATE FUNCTION conclude(item text, n int, version bigint, verdict text, evidence jsonb DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
SELECT ql3_conclude('dispatch', attempt(item), 'A', tok(n), version, verdict, evidence) $$;
CREATE FUNCTION control(item text) RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(' ', state, failure_count) FROM ql3.run_recovery_controls WHERE kind = 'dispatch' AND id = attempt(control.item) $$;
\set VERBOSITY sqlstate
-- Nothing is a candidate before its time.
SELECT claim('young', 1);
SELECT take(100);
SELECT count(*) FROM ql3_observe(16, '{dispatch}') WHERE run_id = 'j';
-- observe_after counts from the latest of claim, permit and extend, and by the database's own clock.
SELECT verdict FROM ql3_dispatch_claim('j', 'clock', 'act', '{}', 'w', tok(2), '1 s');
DO $$ BEGIN WHILE clock_timestamp() < (SELECT claimed_at + interval '1 s' FROM ql3_dispatch_observe('j', 'clock')) LOOP PERFORM pg_sleep(0.05); END LOOP; END $$;
SELECT count(*) FROM ql3_observe(16, '{dispatch}') WHERE run_id = 'j';
SELECT ql3_dispatch_extend('j', 'clock', 'w', tok(2), '1 h');
SELECT count(*) FROM ql3_observe(16, '{dispatch}') WHERE run_id = 'j';
SELECT settle('clock', 2, 'succeeded');

-- The source row that a probe gets.
SELECT claim('plain', 10), age('plain');
SELECT take(101);
SELECT source - 'age', (source ->> 'age')::interval > '0', run_id, status, state, claimable FROM ql3_observe(16, '{dispatch}') WHERE run_id = 'j';
-- Unpermitted and of its own lineage: provably not sent. The item is free, the token is spent.
SELECT conclude('plain', 101, 1, 'not_sent', '{"probe": "none"}');
SELECT conclude('plain', 101, 1, 'not_sent', '{"probe": "none"}');
SELECT look('plain'), (SELECT detail FROM ql3_dispatch_observe('j', 'plain')), control('plain');
SELECT ql3_dispatch_permit('j', 'plain', 'w', tok(10), tok(90));
SELECT claim('plain', 10), claim('plain', 11), look('plain', 10), look('plain', 11);
-- Its writer says not_sent, too: the same. That it had called: the item is closed again, and both show it.
SELECT settle('plain', 10, 'not_sent'), look('plain', 10);
SELECT claim('rogue', 12), age('rogue');
SELECT take(102);
SELECT conclude('rogue', 102, 1, 'not_sent');
SELECT claim('rogue', 13), settle('rogue', 12, 'succeeded'), settle('rogue', 12, 'succeeded');
SELECT look('rogue', 12), look('rogue', 13), claim('rogue', 14);
SELECT ql3_dispatch_permit('j', 'rogue', 'w', tok(13), tok(90));

-- Permitted: never not_sent by judgement.
SELECT claim('sent', 20);
SELECT ql3_dispatch_permit('j', 'sent', 'w', tok(20), tok(91));
SELECT take(103);
SELECT age('sent');
SELECT take(103);
SELECT conclude('sent', 103, 1, 'not_sent'), look('sent'), control('sent');
-- stale ended the claim, as resolved but listed.
SELECT conclude('sent', 103, 1, 'unknown');
UPDATE ql3.run_recovery_controls SET next_claim_at = clock_timestamp(), due_at = clock_timestamp() WHERE kind = 'dispatch' AND id = attempt('sent');
SELECT take(104);
SELECT conclude('sent', 104, 2, 'unknown', '{"seen": "nothing"}'), look('sent'), (SELECT detail FROM ql3_dispatch_observe('j', 'sent'));
-- unknown closes it: nothing makes it sendable, and only its own token or an operator says more.
SELECT claim('sent', 20), claim('sent', 21);
SELECT ql3_dispatch_permit('j', 'sent', 'w', tok(20), tok(91));
SELECT settle('sent', 20, 'not_sent', 91), look('sent'), claim('sent', 21);
-- A definite result of the exact token goes before the judgement, however late.
SELECT claim('late', 22), age('late');
SELECT take(105);
SELECT conclude('late', 105, 1, 'failed'), look('late');
SELECT settle('late', 22, 'succeeded'), look('late'), settle('late', 22, 'succeeded'), settle('late', 22, 'failed');
SELECT claim('late2', 23), age('late2');
SELECT take(106);
SELECT conclude('late2', 106, 1, 'unknown');
SELECT settle('late2', 23, 'failed'), look('late2');
SELECT claim('late3', 24), age('late3');
SELECT take(107);
SELECT conclude('late3', 107, 1, 'succeeded');
SELECT settle('late3', 24, 'unknown'), look('late3'), settle('late3', 24, 'not_sent'), look('late3'), settle('late3', 24, 'not_sent'), claim('late3', 25);

-- stale: extended, permitted or concluded while the probe ran. Nothing changed.
SELECT claim('moved', 30), age('moved');
SELECT take(108);
SELECT ql3_dispatch_extend('j', 'moved', 'w', tok(30), '1 h');
SELECT conclude('moved', 108, 1, 'not_sent'), look('moved'), control('moved');
SELECT claim('moved2', 31), age('moved2');
SELECT take(109);
SELECT ql3_dispatch_permit('j', 'moved2', 'w', tok(31), tok(92));
SELECT conclude('moved2', 109, 1, 'succeeded'), look('moved2');
SELECT claim('moved3', 32), age('moved3');
SELECT take(110);
SELECT settle('moved3', 32, 'failed'), conclude('moved3', 110, 1, 'succeeded'), look('moved3');
SELECT claim('moved4', 33), age('moved4');
SELECT take(111);
SELECT ql3_dispatch_override(attempt('moved4')::uuid, 'claimed', 'failed', 'known'), conclude('moved4', 111, 1, 'succeeded'), look('moved4');
-- The judgement of one attempt never lands on a later one.
SELECT claim('again', 34), age('again');
SELECT take(112);
SELECT attempt('again') AS first \gset
SELECT settle('again', 34, 'not_sent'), claim('again', 35), age('again');
SELECT ql3_conclude('dispatch', :'first', 'A', tok(112), 1, 'succeeded'), look('again');
SELECT settle('again', 35, 'failed');

-- Verdicts are outcomes; anything else is an error without a change. So is a claim that is not one's own.
SELECT claim('words', 40), age('words');
SELECT take(113);
SELECT conclude('words', 113, 1, 'running');
SELECT conclude('words', 113, 1, 'not_running');
SELECT conclude('words', 113, 1, 'Succeeded');
SELECT conclude('words', 113, 1, 'succeeded', to_jsonb(repeat('x', 65537)));
SELECT conclude('words', 114, 1, 'succeeded'), conclude('words', 113, 2, 'succeeded'), look('words'), control('words');
-- Evidence is kept as the detail, cut at a character boundary.
SELECT conclude('words', 113, 1, 'succeeded', to_jsonb(repeat('é', 3000)));
SELECT octet_length(detail), right(detail, 1) FROM ql3_dispatch_observe('j', 'words');
-- A claim of the control can also be settled: it says nothing about the attempt.
SELECT claim('only', 41), age('only');
SELECT take(115);
SELECT ql3_settle('dispatch', attempt('only'), 'A', tok(115), 1, 'retry', '5 min'), look('only'), control('only');
SELECT settle('only', 41, 'succeeded'), settle('moved', 30, 'succeeded'), settle('moved2', 31, 'succeeded'), settle('young', 1, 'failed');
-- In the transaction of the claim: refused, as for every kind.
SELECT claim('tx', 42), age('tx');
BEGIN;
SELECT take(116);
SELECT conclude('tx', 116, 1, 'unknown');
ROLLBACK;
SELECT take(117);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT conclude('tx', 117, 1, 'unknown');
COMMIT;
SELECT look('tx');
-- An attempt of an earlier lineage may have been permitted there: not by judgement, not by its writer is it free.
SELECT claim('old', 50), claim('old2', 51), claim('old3', 52);
INSERT INTO ql3.dispatch_lineage SELECT tok(1), system_identifier, timeline, database, tok(1), seen_at FROM ql3.dispatch_lineage LIMIT 1;
UPDATE ql3.dispatches SET lineage = tok(1) WHERE request_uid = 'j' AND item LIKE 'old%';
SELECT age('old');
SELECT take(118);
SELECT conclude('old', 118, 1, 'not_sent'), look('old');
SELECT ql3_dispatch_permit('j', 'old', 'w', tok(50), tok(93));
SELECT settle('old', 50, 'not_sent'), look('old'), claim('old2', 51), claim('old', 53), claim('new', 54);
SELECT ql3_dispatch_reassert('j', 'old2', 'act', '{"candidate": "b"}', 'w', tok(55), 'succeeded'), look('old2', 51), look('old2', 55);
-- Not the lineage of this server and not confirmed: every step into claimed and every permit halts, none leaves a mark.
SELECT verdict, state, claimed_at FROM ql3_dispatch_claim('j', 'new', 'act', '{}', 'w', tok(54));
SELECT ql3_dispatch_permit('j', 'old3', 'w', tok(52), tok(94));
SELECT look('new'), look('old3');
SET ql3.dispatch_after_promotion = allow;
SELECT ql3_dispatch_permit('j', 'old3', 'w', tok(52), tok(94));
SELECT claim('new', 54);
SELECT ql3_dispatch_permit('j', 'new', 'w', tok(54), tok(95));
RESET ql3.dispatch_after_promotion;
SELECT claim('new2', 56);
SELECT ql3_confirm_promotion(system_identifier, timeline, 'drained', 'nobody is there') FROM ql3_live_lineage();
SELECT claim('new2', 56);
SELECT ql3_dispatch_permit('j', 'old3', 'w', tok(52), tok(94));
SELECT ql3_dispatch_permit('j', 'new2', 'w', tok(56), tok(96));
SELECT settle('old3', 52, 'succeeded'), look('old3'), settle('new', 54, 'failed'), settle('new2', 56, 'failed');
-- All of it in history.
SELECT verdict, result, count(*) FROM ql3.judgements WHERE kind = 'dispatch' AND run_id = 'j' GROUP BY 1, 2 ORDER BY 1, 2;
