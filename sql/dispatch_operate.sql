-- What operators may say of a dispatch, how they stop it, who may do what, and what is written down.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_operate;
SET search_path = t_operate, ql3, public;
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('d15a0004-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION claim(item text, n int) RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(' ', verdict, state) FROM ql3_dispatch_claim('o', item, 'act', '{"a": 1}', 'w', tok(n)) $$;
CREATE FUNCTION settle(item text, n int, outcome text, permit int DEFAULT NULL)
RETURNS text LANGUAGE sql AS $$ SELECT ql3_dispatch_settle('o', item, 'w', tok(n), outcome, NULL, tok(permit)) $$;
CREATE FUNCTION look(item text, n int DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(' ', state, CASE WHEN permitted THEN 'permitted' END, 'outcome=' || outcome, 'writer=' || writer_outcome,
  'judged=' || judged_outcome, 'override=' || override_outcome, CASE WHEN conflict THEN 'CONFLICT' END)
FROM ql3_dispatch_observe('o', item, tok(n)) $$;
CREATE FUNCTION over(item text, expected text, outcome text) RETURNS text LANGUAGE sql AS $$
SELECT ql3_dispatch_override((SELECT attempt FROM ql3_dispatch_observe('o', item)), expected, outcome, 'because') $$;
CREATE FUNCTION record(item text, outcome text, args jsonb DEFAULT '{"a": 1}') RETURNS text LANGUAGE sql AS $$
SELECT ql3_dispatch_record('o', item, 'act', args, outcome, 'found it') $$;
CREATE TABLE seen AS SELECT coalesce(max(event_id), 0) AS event_id FROM ql3.audit_events;
\set VERBOSITY sqlstate
-- Override: compare and set on the state; it goes before every other fact; it never frees.
SELECT claim('a', 1), over('a', 'failed', 'succeeded'), over('a', 'claimed', 'not_sent'), look('a');
SELECT claim('a', 1), claim('a', 2);
SELECT ql3_dispatch_permit('o', 'a', 'w', tok(1), tok(91));
SELECT settle('a', 1, 'not_sent'), settle('a', 1, 'succeeded'), look('a');
SELECT claim('b', 3), over('b', 'claimed', 'unknown'), look('b'), claim('b', 4);
SELECT over('b', 'unknown', 'failed'), over('b', 'failed', 'succeeded'), look('b');
SELECT settle('b', 3, 'succeeded'), look('b'), settle('b', 3, 'succeeded');
SELECT claim('c', 5);
SELECT ql3_dispatch_permit('o', 'c', 'w', tok(5), tok(92));
SELECT over('c', 'claimed', 'failed'), settle('c', 5, 'not_sent', 92), look('c'), claim('c', 6);
SELECT claim('d', 7), settle('d', 7, 'unknown'), over('d', 'unknown', 'succeeded'), look('d');
-- unknown by an operator gives place to the writer's definite result.
SELECT claim('e', 8), over('e', 'claimed', 'unknown'), settle('e', 8, 'succeeded'), look('e');
-- A released attempt is over: nothing to override. An attempt nobody knows is stale.
SELECT claim('f', 9), settle('f', 9, 'not_sent'), over('f', 'released', 'failed'), over('f', 'claimed', 'failed'), look('f');
SELECT ql3_dispatch_override(tok(1), 'claimed', 'failed', 'because');
-- Record: an action found outside that no row tells of.
SELECT record('found', 'succeeded'), look('found'), record('found', 'succeeded'), record('found', 'failed');
SELECT claim('found', 10), (SELECT writer FROM ql3_dispatch_observe('o', 'found'));
SELECT record('f', 'failed', '{"a": 2}');
SELECT record('f', 'failed'), look('f'), claim('f', 11), look('f', 9);
SELECT claim('g', 12), record('g', 'failed'), settle('g', 12, 'not_sent'), record('g', 'unknown'), look('g'), claim('g', 13);
-- Halt by hand: every step into claimed and every permit; what is known is still stored.
SELECT claim('h', 20), claim('h2', 21), settle('h2', 21, 'not_sent'), claim('h3', 22), claim('h4', 23);
SELECT ql3_dispatch_permit('o', 'h4', 'w', tok(23), tok(93));
SELECT ql3_halt_dispatch('snapshot rollback') AS halt \gset
SELECT ql3_halt_dispatch('and another') AS halt2 \gset
SELECT claim('h', 20), claim('h2', 24), claim('new', 25), claim('h2', 21), claim('a', 2), claim('h', 26);
SELECT ql3_dispatch_permit('o', 'h', 'w', tok(20), tok(94));
SELECT settle('h3', 22, 'not_sent'), settle('h4', 23, 'succeeded'), ql3_dispatch_extend('o', 'h', 'w', tok(20), '1 h'),
       ql3_dispatch_reassert('o', 'new', 'act', '{"a": 1}', 'w', tok(27), 'unknown'), record('new2', 'failed'), over('new', 'unknown', 'failed');
SET ql3.dispatch_after_promotion = allow;
SELECT claim('new3', 28);
RESET ql3.dispatch_after_promotion;
-- It survives a confirmation, and ends by its own unhalt only.
SELECT ql3_confirm_promotion(system_identifier, timeline, 'synchronous', 'for the test') FROM ql3_live_lineage();
SELECT claim('new3', 28), ql3_unhalt_dispatch(tok(1), 'no such'), ql3_unhalt_dispatch(:'halt', 'done'), ql3_unhalt_dispatch(:'halt', 'done');
SELECT claim('new3', 28);
SELECT ql3_unhalt_dispatch(:'halt2', 'done');
SELECT claim('new3', 28);
SELECT ql3_dispatch_permit('o', 'h', 'w', tok(20), tok(94));
-- Confirm: compare and set on the live system and timeline.
SELECT ql3_confirm_promotion(system_identifier, timeline + 1, 'drained', 'x'), ql3_confirm_promotion(system_identifier || '1', timeline, 'drained', 'x'),
       ql3_confirm_promotion(ltrim(system_identifier, '123456789'), timeline, 'drained', 'x') FROM ql3_live_lineage();
-- Every act is in the audit, with who it was; what changed nothing is not.
SELECT action, count(*), bool_and(actor = session_user AND role_set = current_user), bool_and(reason <> '') FROM ql3.audit_events
WHERE event_id > (SELECT event_id FROM seen) GROUP BY 1 ORDER BY 1;
SELECT e.kind, e.reason, e.before, e.after FROM ql3.audit_events AS e, ql3_dispatch_observe('o', 'c') AS c WHERE e.action = 'override' AND e.id = c.attempt::text;

SELECT action, id = (SELECT attempt::text FROM ql3_dispatch_observe('o', 'found')) AS of_it FROM ql3.audit_events WHERE action = 'record' AND after ->> 'state' = 'succeeded';
SELECT count(*) FROM ql3.audit_events AS e JOIN ql3.dispatch_halts AS h ON e.id = h.halt::text WHERE event_id > (SELECT event_id FROM seen);
SELECT after - 'system_identifier' - 'timeline', after ->> 'timeline' = timeline::text FROM ql3.audit_events, ql3_live_lineage() WHERE action = 'confirm_promotion' AND reason = 'for the test';
-- A confirmation is append-only.
UPDATE ql3.dispatch_confirmations SET method = 'drained';
DELETE FROM ql3.dispatch_confirmations;
TRUNCATE ql3.dispatch_confirmations;

-- Rights: the runtime dispatches, the observer looks, the operator decides; nobody else calls anything.
CREATE ROLE t_operate_runtime; CREATE ROLE t_operate_observer; CREATE ROLE t_operate_operator; CREATE ROLE t_operate_nobody;
SELECT FROM ql3_grant('t_operate_runtime', 'runtime');
SELECT FROM ql3_grant('t_operate_observer', 'observer');
SELECT FROM ql3_grant('t_operate_operator', 'operator');
GRANT USAGE ON SCHEMA t_operate TO PUBLIC;
CREATE FUNCTION calls() RETURNS TABLE (call text) LANGUAGE sql AS $$ VALUES
  ('SELECT ql3.ql3_dispatch_claim(''o'', ''rights'', ''act'', ''{}'', ''w'', t_operate.tok(50))'),
  ('SELECT ql3.ql3_dispatch_permit(''o'', ''rights'', ''w'', t_operate.tok(50), t_operate.tok(51))'),
  ('SELECT ql3.ql3_dispatch_extend(''o'', ''rights'', ''w'', t_operate.tok(50), ''1 h'')'),
  ('SELECT ql3.ql3_dispatch_settle(''o'', ''rights'', ''w'', t_operate.tok(50), ''failed'')'),
  ('SELECT ql3.ql3_dispatch_reassert(''o'', ''rights'', ''act'', ''{}'', ''w'', t_operate.tok(50), ''failed'')'),
  ('SELECT FROM ql3.ql3_dispatch_observe(''o'', ''rights'')'),
  ('SELECT ql3.ql3_dispatch_override(t_operate.tok(50), ''claimed'', ''failed'', ''x'')'),
  ('SELECT ql3.ql3_dispatch_record(''o'', ''rights'', ''act'', ''{}'', ''failed'', ''x'')'),
  ('SELECT ql3.ql3_confirm_promotion(''1'', 1, ''drained'', ''x'')'),
  ('SELECT ql3.ql3_unhalt_dispatch(t_operate.tok(50), ''x'')'),
  ('SELECT ql3.ql3_halt_dispatch(''x'')'),
  ('SELECT count(*) FROM ql3.dispatches'), ('SELECT count(*) FROM ql3.dispatch_lineage'), ('UPDATE ql3.dispatches SET state = state'),
  ('DELETE FROM ql3.dispatch_halts'), ('INSERT INTO ql3.dispatch_confirmations DEFAULT VALUES') $$;
CREATE FUNCTION may(role text) RETURNS TABLE (may text, may_not text) LANGUAGE plpgsql AS $$
DECLARE c text; yes text[]; no text[];
BEGIN
  FOR c IN SELECT call FROM calls() LOOP
    BEGIN
      EXECUTE 'SET LOCAL ROLE ' || role;
      EXECUTE c;
      RAISE EXCEPTION USING ERRCODE = '25001';
    EXCEPTION WHEN insufficient_privilege THEN no := no || substring(c, '(?:ql3\.ql3_|ql3\.)(\w+)');
      WHEN OTHERS THEN yes := yes || substring(c, '(?:ql3\.ql3_|ql3\.)(\w+)') || CASE SQLSTATE WHEN '25001' THEN '' ELSE ' ' || SQLSTATE END;
    END;
  END LOOP;
  RETURN QUERY SELECT array_to_string(yes, ' '), array_to_string(no, ' ');
END $$;
SELECT role, may.* FROM unnest(ARRAY['runtime', 'observer', 'operator', 'nobody']) WITH ORDINALITY AS r (role, n), may('t_operate_' || role) ORDER BY n;
-- Superuser-set: a runtime cannot allow itself.
SET ROLE t_operate_runtime;
SET ql3.dispatch_after_promotion = allow;
RESET ROLE;
-- Who did it, also through SET ROLE.
SET ROLE t_operate_operator;
SELECT ql3.ql3_dispatch_record('o', 'by operator', 'act', '{}', 'failed', 'x');
RESET ROLE;
SELECT actor = session_user, role_set FROM ql3.audit_events ORDER BY event_id DESC LIMIT 1;
SELECT FROM ql3_revoke('t_operate_runtime', 'runtime');
SELECT FROM ql3_revoke('t_operate_observer', 'observer');
SELECT FROM ql3_revoke('t_operate_operator', 'operator');
DROP ROLE t_operate_runtime, t_operate_observer, t_operate_operator, t_operate_nobody;
