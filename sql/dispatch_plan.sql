-- The validation plan of the incident report (seed 000), line by line, on the server. The processes behind it are in
-- test/t/dispatch_faults, dispatch_cli and demo_switchover.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_dispatch_plan;
SET search_path = t_dispatch_plan, ql3, public;
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('d15b0000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION claim(request text, n int, writer text, args jsonb DEFAULT '{"source": "a"}') RETURNS text LANGUAGE sql
AS $$ SELECT concat_ws(' ', verdict, state) FROM ql3_dispatch_claim(request, 'db', 'switchover', args, writer, tok(n)) $$;
CREATE FUNCTION look(request text) RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(' ', state, 'by ' || writer, CASE WHEN permitted THEN 'permitted' END, 'outcome=' || outcome,
  arguments::text) FROM ql3_dispatch_observe(request, 'db') $$;
\set VERBOSITY sqlstate

-- missing prerequisite, empty request uid: no row, nothing to call on
SELECT claim('', 1, 'w1');
BEGIN READ ONLY;
SELECT claim('plan-1', 1, 'w1');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT claim('plan-1', 1, 'w1');
ROLLBACK;
SELECT ql3_dispatch_permit('plan-1', 'db', 'w1', tok(1), tok(101));
SELECT count(*) FROM ql3.dispatches WHERE request_uid IN ('', 'plan-1');

-- two stale writers with ambiguous answers: only the token that is committed may call
BEGIN;
SELECT claim('plan-2', 1, 'w1');
ROLLBACK; -- w1 believes that it has the item
SELECT claim('plan-2', 2, 'w2'); -- the answer is lost: w2 does not know
SELECT ql3_dispatch_permit('plan-2', 'db', 'w1', tok(1), tok(101));
SELECT ql3_dispatch_permit('plan-2', 'db', 'w2', tok(2), tok(102));
SELECT ql3_dispatch_permit('plan-2', 'db', 'w2', tok(2), tok(102));
SELECT look('plan-2');

-- known success and a conflict: the retry stores the success
BEGIN;
SELECT ql3_dispatch_settle('plan-2', 'db', 'w2', tok(2), 'succeeded');
ROLLBACK;
SELECT look('plan-2');
SELECT ql3_dispatch_settle('plan-2', 'db', 'w2', tok(2), 'succeeded');
SELECT look('plan-2');

-- known failure and a transient error: the retry stores the original failure, and nothing else replaces it
SELECT claim('plan-3', 3, 'w1');
SELECT ql3_dispatch_permit('plan-3', 'db', 'w1', tok(3), tok(103));
BEGIN;
SELECT ql3_dispatch_settle('plan-3', 'db', 'w1', tok(3), 'failed', 'refused');
SELECT 1 / 0;
ROLLBACK;
SELECT ql3_dispatch_settle('plan-3', 'db', 'w1', tok(3), 'failed', 'refused');
SELECT ql3_dispatch_settle('plan-3', 'db', 'w1', tok(3), 'succeeded');
SELECT look('plan-3');

-- committed outcome with a lost answer: recognised, no second permission
SELECT ql3_dispatch_settle('plan-3', 'db', 'w1', tok(3), 'failed', 'refused');
SELECT ql3_dispatch_permit('plan-3', 'db', 'w1', tok(3), tok(103));

-- foreign token, changed identity: nothing is overwritten, nothing may be called
SELECT claim('plan-4', 4, 'w1');
SELECT claim('plan-4', 5, 'w2'), claim('plan-4', 5, 'w2', '{"source": "b"}'), claim('plan-4', 4, 'w2');
SELECT ql3_dispatch_settle('plan-4', 'db', 'w2', tok(5), 'succeeded'), ql3_dispatch_settle('plan-4', 'db', 'w2', tok(4), 'failed');
SELECT ql3_dispatch_permit('plan-4', 'db', 'w2', tok(5), tok(105));
SELECT look('plan-4');

-- restart with a surviving claim: observed or unknown, never sent again
SELECT ql3_dispatch_permit('plan-4', 'db', 'w1', tok(4), tok(104)); -- and the process dies
SELECT claim('plan-4', 6, 'w1');
SELECT ql3_dispatch_permit('plan-4', 'db', 'w1', tok(6), tok(106));
SELECT ql3_dispatch_override(attempt, 'claimed', 'unknown', 'no candidate was named') FROM ql3_dispatch_observe('plan-4', 'db');
SELECT claim('plan-4', 7, 'w1');
SELECT ql3_dispatch_permit('plan-4', 'db', 'w1', tok(7), tok(107));
SELECT look('plan-4');

-- readers before writers: a row of a later protocol is refused by this reader, not misread
BEGIN;
UPDATE ql3.dispatches SET protocol = 2 WHERE request_uid = 'plan-4';
SELECT claim('plan-4', 8, 'w1');
ROLLBACK;
BEGIN;
UPDATE ql3.dispatches SET protocol = 2 WHERE request_uid = 'plan-4';
SELECT ql3_dispatch_settle('plan-4', 'db', 'w1', tok(4), 'succeeded');
ROLLBACK;
SELECT look('plan-4');

SET client_min_messages = warning;
DROP SCHEMA t_dispatch_plan CASCADE;
