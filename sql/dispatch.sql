-- At-most-once dispatch: claim, permit, outcome. What each call answers, in its precedence (promises 11, 13, 14).
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_dispatch;
SET search_path = t_dispatch, ql3, public;
-- Tokens and permit ids of this file; only their digests are ever stored.
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('d15a0000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
-- A claim by writer w of action "act": its verdict, state and whether it has a detail.
CREATE FUNCTION claim(item text, n int, args jsonb DEFAULT '{"source": "a"}', writer text DEFAULT 'w', action text DEFAULT 'act')
RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(' ', verdict, state, CASE WHEN claimed_at IS NULL THEN 'no-time' END, CASE WHEN detail IS NULL THEN 'no-detail' END)
FROM ql3_dispatch_claim('r', claim.item, action, args, claim.writer, tok(n)) $$;
CREATE FUNCTION settle(item text, n int, outcome text, permit int DEFAULT NULL, writer text DEFAULT 'w', detail text DEFAULT NULL)
RETURNS text LANGUAGE sql AS $$ SELECT ql3_dispatch_settle('r', item, writer, tok(n), outcome, detail, tok(permit)) $$;
CREATE FUNCTION reassert(item text, n int, outcome text, args jsonb DEFAULT '{"source": "a"}', writer text DEFAULT 'w', action text DEFAULT 'act')
RETURNS text LANGUAGE sql AS $$ SELECT ql3_dispatch_reassert('r', item, action, args, writer, tok(n), outcome) $$;
-- An attempt: state, permitted, then the facts of writer, recovery and operator.
CREATE FUNCTION look(item text, n int DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(' ', state, CASE WHEN permitted THEN 'permitted' END, CASE WHEN held THEN 'held' END,
  'outcome=' || outcome, 'writer=' || writer_outcome, 'judged=' || judged_outcome, 'override=' || override_outcome,
  CASE WHEN conflict THEN 'CONFLICT' END)
FROM ql3_dispatch_observe('r', item, tok(n)) $$;
\set VERBOSITY sqlstate

-- The way it goes: claim, permit once, call, settle.
SELECT claim('way', 1);
SELECT claim('way', 1);
SELECT look('way'), look('way', 1);
SELECT ql3_dispatch_permit('r', 'way', 'w', tok(1), tok(91));
SELECT look('way', 1);
SELECT claim('way', 1);
-- Once, ever: also for the id it was given under.
SELECT ql3_dispatch_permit('r', 'way', 'w', tok(1), tok(91));
SELECT ql3_dispatch_permit('r', 'way', 'w', tok(1), tok(92));
SELECT ql3_dispatch_extend('r', 'way', 'w', tok(1), '1 h');
SELECT settle('way', 1, 'succeeded', NULL, 'w', 'HTTP 204');
SELECT settle('way', 1, 'succeeded', NULL, 'w', 'HTTP 204');
SELECT look('way'), (SELECT detail FROM ql3_dispatch_observe('r', 'way'));
SELECT ql3_dispatch_permit('r', 'way', 'w', tok(1), tok(93));
SELECT claim('way', 1), claim('way', 2);
SELECT ql3_dispatch_extend('r', 'way', 'w', tok(1), '1 h');

-- Verdicts of a claim, first that holds: released, identity_conflict, concluded, recorded, foreign, halted.
SELECT claim('free', 10), settle('free', 10, 'not_sent');
SELECT claim('free', 10, '{"source": "other"}'), claim('free', 10), claim('free', 10, '{"source": "a"}', 'x');
-- Of the first attempt that has an identity, also when it was released.
SELECT claim('free', 11, '{"source": "other"}'), claim('free', 11, '{"source": "a"}', 'w', 'other');
SELECT claim('free', 11);
SELECT claim('free', 11, '{"source": "b"}');
SELECT claim('free', 12, '{"source": "b"}');
SELECT claim('free', 12), claim('free', 11, '{"source": "a"}', 'x');
SELECT settle('free', 11, 'failed');
SELECT claim('free', 12, '{"source": "b"}'), claim('free', 12), claim('free', 11);
-- The detail of a conflict names the first differing key; null is not absent; numbers are equal as jsonb has them.
SELECT claim('key', 13, '{"source": "a", "candidate": null, "n": 1.0}');
SELECT detail FROM ql3_dispatch_claim('r', 'key', 'act', '{"source": "a", "n": 1}', 'w', tok(14));
SELECT detail FROM ql3_dispatch_claim('r', 'key', 'act', '{"source": "a", "n": 1, "candidate": null, "also": 1}', 'w', tok(14));
SELECT detail FROM ql3_dispatch_claim('r', 'key', 'other', '{}', 'w', tok(14));
SELECT verdict FROM ql3_dispatch_claim('r', 'key', 'act', '{"n": 1, "candidate": null, "source": "a"}', 'w', tok(14));
-- Another spelling is another item; another request is another item.
SELECT claim('KEY', 14), claim('key ', 14), claim(U&'k\0435y', 14);
SELECT verdict FROM ql3_dispatch_claim('r2', 'key', 'act', '{}', 'w', tok(13));
-- Beyond 63 bytes, too.
SELECT claim(repeat('i', 254) || 'a', 15), claim(repeat('i', 254) || 'b', 16);

-- A permit needs the exact token and writer, and a claim.
SELECT claim('exact', 20);
SELECT ql3_dispatch_permit('r', 'exact', 'w', tok(21), tok(91));
SELECT ql3_dispatch_permit('r', 'exact', 'x', tok(20), tok(91));
SELECT ql3_dispatch_permit('r', 'exactly', 'w', tok(20), tok(91));
SELECT ql3_dispatch_permit('s', 'exact', 'w', tok(20), tok(91));
SELECT ql3_dispatch_permit('r', 'none', 'w', tok(20), tok(91));
SELECT look('exact');

-- Foreign tokens and writers change nothing.
SELECT settle('exact', 21, 'succeeded'), settle('exact', 20, 'succeeded', NULL, 'x'), settle('exact', 21, 'not_sent'),
       ql3_dispatch_extend('r', 'exact', 'w', tok(21), '1 h'), ql3_dispatch_extend('r', 'exact', 'x', tok(20), '1 h'),
       reassert('exact', 20, 'succeeded', '{"source": "a"}', 'x');
SELECT settle('nothing', 20, 'succeeded'), settle('nothing', 20, 'unknown'), ql3_dispatch_extend('r', 'nothing', 'w', tok(20), '1 h');
SELECT look('exact'), look('nothing'), look('exact', 21);

-- not_sent, case (a): no permit was given.
SELECT settle('exact', 20, 'not_sent'), look('exact', 20);
SELECT settle('exact', 20, 'not_sent'), ql3_dispatch_extend('r', 'exact', 'w', tok(20), '1 h');
SELECT ql3_dispatch_permit('r', 'exact', 'w', tok(20), tok(91));
SELECT claim('exact', 20), claim('exact', 22), look('exact'), look('exact', 20);
-- A released token's second, different fact changes nothing.
SELECT settle('exact', 20, 'succeeded'), settle('exact', 20, 'unknown'), look('exact', 20), look('exact');
-- The id of a permit that never arrived does no harm, and the permit that comes later gives nothing.
SELECT settle('exact', 22, 'not_sent', 92), look('exact', 22);
SELECT ql3_dispatch_permit('r', 'exact', 'w', tok(22), tok(92));

-- Case (b): the permit's holder gives it back.
SELECT claim('back', 30);
SELECT ql3_dispatch_permit('r', 'back', 'w', tok(30), tok(93));
SELECT settle('back', 30, 'not_sent', 93), look('back', 30), settle('back', 30, 'not_sent', 93);
SELECT claim('back', 31);
-- Neither: it closes the attempt without freeing the item, and so it stays.
SELECT ql3_dispatch_permit('r', 'back', 'w', tok(31), tok(94));
SELECT settle('back', 31, 'not_sent', 93), look('back', 31);
SELECT settle('back', 31, 'not_sent', 94), settle('back', 31, 'not_sent'), look('back', 31);
SELECT claim('back', 32), claim('back', 31), claim('back', 30);
SELECT claim('bare', 33);
SELECT ql3_dispatch_permit('r', 'bare', 'w', tok(33), tok(95));
SELECT settle('bare', 33, 'not_sent'), look('bare'), claim('bare', 34);

-- not_sent before its claim: the token is burnt, the claim that comes later is void, the item is free.
SELECT settle('burnt', 40, 'not_sent'), look('burnt', 40);
SELECT claim('burnt', 40), claim('burnt', 41, '{"any": 1}');
SELECT ql3_dispatch_permit('r', 'burnt', 'w', tok(40), tok(96));
SELECT reassert('burnt', 40, 'succeeded', '{"any": 1}'), look('burnt');

-- unknown closes and fills no place: a later definite fact takes it. Definite ones are once.
SELECT claim('late', 50);
SELECT settle('late', 50, 'unknown'), look('late'), settle('late', 50, 'unknown'), claim('late', 51);
SELECT ql3_dispatch_permit('r', 'late', 'w', tok(50), tok(97));
SELECT settle('late', 50, 'failed'), look('late'), settle('late', 50, 'unknown'), settle('late', 50, 'succeeded'), look('late');
SELECT claim('late2', 52);
SELECT settle('late2', 52, 'unknown'), settle('late2', 52, 'not_sent'), settle('late2', 52, 'not_sent'), look('late2'), claim('late2', 53);

-- extend: "still calling"; never earlier than it was.
CREATE FUNCTION due_in(item text) RETURNS interval LANGUAGE sql AS $$
SELECT date_trunc('minute', observe_at - clock_timestamp() + interval '30 s') FROM ql3.dispatches d WHERE request_uid = 'r' AND d.item = due_in.item $$;
SELECT claim('long', 60), due_in('long');
SELECT ql3_dispatch_extend('r', 'long', 'w', tok(60), '2 h'), due_in('long');
SELECT ql3_dispatch_extend('r', 'long', 'w', tok(60), '1 s'), due_in('long');
SELECT ql3_dispatch_permit('r', 'long', 'w', tok(60), tok(98));
SELECT due_in('long');
SELECT settle('long', 60, 'succeeded'), ql3_dispatch_extend('r', 'long', 'w', tok(60), '2 h');

-- reassert: the row is gone.
SELECT reassert('gone', 70, 'succeeded'), look('gone'), reassert('gone', 70, 'succeeded'), reassert('gone', 70, 'failed');
SELECT claim('gone', 70), claim('gone', 71), look('gone', 70);
SELECT reassert('gone2', 72, 'unknown'), look('gone2'), reassert('gone2', 72, 'failed'), look('gone2');
-- An unpermitted attempt of the item is released in the same step.
SELECT claim('taken', 73), reassert('taken', 74, 'succeeded');
SELECT look('taken', 73), look('taken', 74), claim('taken', 73), claim('taken', 75);
SELECT ql3_dispatch_permit('r', 'taken', 'w', tok(73), tok(99));
-- A permitted one stays, and both show the conflict.
SELECT claim('both', 76);
SELECT ql3_dispatch_permit('r', 'both', 'w', tok(76), tok(89));
SELECT reassert('both', 77, 'failed');
SELECT look('both', 76), look('both', 77), claim('both', 78), settle('both', 76, 'succeeded');
SELECT look('both', 76), look('both', 77);
-- A concluded one stays, too.
SELECT claim('done', 79), settle('done', 79, 'failed'), reassert('done', 88, 'succeeded'), look('done', 79), look('done', 88);
-- A changed identity changes nothing, own token or not.
SELECT reassert('taken', 74, 'succeeded', '{"source": "b"}'), reassert('taken', 80, 'succeeded', '{"source": "b"}'),
       reassert('taken', 80, 'succeeded', '{"source": "a"}', 'w', 'other'), look('taken', 80);
SELECT claim('own', 81), reassert('own', 81, 'succeeded', '{"source": "b"}'), look('own'), reassert('own', 81, 'succeeded'), look('own');

-- In a block: claim, settle, extend and reassert work and end with it; the writer's own rows are not durable yet.
BEGIN;
SELECT claim('block', 82);
SAVEPOINT s;
SELECT claim('block2', 83);
ROLLBACK TO s;
SELECT claim('block2', 84);
COMMIT;
SELECT look('block', 82), look('block2', 83), look('block2', 84);
BEGIN;
SELECT claim('block3', 85);
ROLLBACK;
SELECT look('block3'), claim('block3', 86);
-- No token in any table, neither as text nor as bytes.
SELECT count(*) FROM (SELECT d::text AS line FROM ql3.dispatches d UNION ALL SELECT j::text FROM ql3.judgements j
                      UNION ALL SELECT a::text FROM ql3.audit_events a UNION ALL SELECT c::text FROM ql3.run_recovery_controls c) AS all_rows
WHERE line ~ 'd15a0000|d15a-?0000-?0000-?4000';
