-- Every limit of the dispatch calls, once accepted and once refused with its SQLSTATE and no change (promise 17).
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_dispatch_limits;
SET search_path = t_dispatch_limits, ql3, public;
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('d15a0002-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION code(q text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text; BEGIN EXECUTE q INTO r; RETURN coalesce(r, 'null');
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
CREATE FUNCTION claim(request text, item text, action text DEFAULT 'act', args text DEFAULT '{}', writer text DEFAULT 'w',
                      token text DEFAULT 'd15a0002-0000-4000-8000-000000000001', after text DEFAULT '5 min')
RETURNS text LANGUAGE sql AS $$ SELECT code(format('SELECT verdict FROM ql3_dispatch_claim(%L, %L, %L, %L, %L, %L, %L)',
                                                   request, item, action, args, writer, token, after)) $$;
-- request uid and item: 1 to 255 bytes, not characters.
SELECT claim('', 'i'), claim('r', ''), claim(NULL, 'i'), claim('r', NULL);
SELECT claim(repeat('r', 255), 'i'), claim(repeat('r', 256), 'i'), claim(repeat('é', 127), 'i'), claim(repeat('é', 128), 'i');
SELECT claim('L', repeat('i', 255)), claim('L', repeat('i', 256));
-- action
SELECT a, claim('L', 'a' || n, a) FROM unnest(ARRAY['a', 'switchover', 'a0_', repeat('a', 63), '', '1a', '_a', 'A', 'a-b', 'a b', 'é', repeat('a', 64), NULL]) WITH ORDINALITY AS x (a, n);
-- arguments: an object of at most 8 KiB as text
SELECT left(a, 12), claim('L', 'o' || n, 'act', a) FROM unnest(ARRAY['{}', '{"a": {"b": [null]}}', '[]', '1', '"a"', 'null', 'true', '', '{', NULL,
  format('{"a": "%s"}', repeat('x', 8192 - 9)), format('{"a": "%s"}', repeat('x', 8192 - 8)), format('{"a": "%s"}', repeat('é', 4091)), '{"a": "\u0000"}']) WITH ORDINALITY AS x (a, n);
-- writer
SELECT left(w, 8), claim('L', 'w' || n, 'act', '{}', w) FROM unnest(ARRAY['A', 'a.b_c:d-9', repeat('w', 128), repeat('w', 129), '', '-a', '.a', 'a b', 'é', E'a\n', NULL]) WITH ORDINALITY AS x (w, n);
-- token and permit: a uuid of version 4 or 7 and of its variant
SELECT t, claim('L', 't' || n, 'act', '{}', 'w', t) FROM unnest(ARRAY['d15a0002-0000-4000-8000-000000000001', 'd15a0002-0000-7000-bfff-000000000001', '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff', 'd15a0002-0000-1000-8000-000000000001', 'd15a0002-0000-5000-8000-000000000001', 'd15a0002-0000-8000-8000-000000000001', 'd15a0002-0000-4000-0000-000000000001',
  'd15a0002-0000-4000-c000-000000000001', 'nothing', '', NULL]) WITH ORDINALITY AS x (t, n);
-- observe_after: 1 s to 24 h
SELECT d, claim('L', 'd' || n, 'act', '{}', 'w', 'd15a0002-0000-4000-8000-000000000001', d) FROM unnest(ARRAY['1 s', '24 h', '1 day', '999 ms', '24:00:00.000001', '1 day 1 us', '0', '-1 s', '1 mon', '1 day -1 h', NULL]) WITH ORDINALITY AS x (d, n);
SELECT d, code(format('SELECT ql3_dispatch_extend(%L, %L, %L, %L, %L)', 'L', 'd1', 'w', tok(1), d)) FROM unnest(ARRAY['1 s', '24 h', '999 ms', '25 h', '1 mon', NULL]) AS x (d);
-- outcome
SELECT o, code(format('SELECT ql3_dispatch_settle(%L, %L, %L, %L, %L)', 'L', 'd2', 'w', tok(1), o)) FROM unnest(ARRAY['', 'Succeeded', 'running', 'released', 'claimed', 'recorded', NULL]) AS x (o);
SELECT o, code(format('SELECT ql3_dispatch_reassert(%L, %L, %L, %L, %L, %L, %L)', 'L', 'd2', 'act', '{}', 'w', tok(1), o)) FROM unnest(ARRAY['not_sent', 'running', NULL]) AS x (o);
SELECT o, code(format('SELECT ql3_dispatch_record(%L, %L, %L, %L, %L, %L)', 'L', 'never', 'act', '{}', o, 'why')) FROM unnest(ARRAY['not_sent', 'running', NULL]) AS x (o);
SELECT o, code(format('SELECT ql3_dispatch_override(%L, %L, %L, %L)', tok(9), s, o, w)) FROM (VALUES ('failed', 'claimed', ''), ('failed', 'claimed', ' '), ('failed', 'claimed', NULL), ('failed', 'open', 'why'),
  ('running', 'claimed', 'why'), (NULL, 'claimed', 'why'), ('failed', NULL, 'why'), ('failed', 'claimed', 'why')) AS x (o, s, w);
SELECT code(format('SELECT ql3_dispatch_override(NULL, %L, %L, %L)', 'claimed', 'failed', 'why'));
SELECT code('SELECT ql3_halt_dispatch('''')'), code('SELECT ql3_halt_dispatch(NULL)'), code(format('SELECT ql3_unhalt_dispatch(%L, %L)', tok(1), '')),
       code('SELECT ql3_unhalt_dispatch(NULL, ''why'')'), code(format('SELECT ql3_unhalt_dispatch(%L, %L)', tok(1), 'why'));
SELECT code(format('SELECT ql3_confirm_promotion(%L, %L, %L, %L)', s, t, m, w)) FROM (VALUES ('1', 1, 'synchronous', 'why'), ('1', 1, 'blind', 'why'), ('1', 1, 'Drained', 'why'), ('1', 1, 'drained', ' '),
  (NULL, 1, 'drained', 'why'), ('1', NULL, 'drained', 'why'), ('1', 1, NULL, 'why'), ('1', 1, 'drained', NULL), ('', 0, 'drained', 'why'), ('1', -1, 'drained', 'why')) AS x (s, t, m, w);
\set VERBOSITY sqlstate
SELECT ql3_dispatch_permit('', 'd1', 'w', tok(1), tok(91));
SELECT ql3_dispatch_permit('L', repeat('i', 256), 'w', tok(1), tok(91));
SELECT ql3_dispatch_permit('L', 'd1', '-', tok(1), tok(91));
SELECT ql3_dispatch_permit('L', 'd1', 'w', '00000000-0000-0000-0000-000000000000', tok(91));
SELECT ql3_dispatch_permit('L', 'd1', 'w', tok(1), '00000000-0000-0000-0000-000000000000');
SELECT ql3_dispatch_permit('L', 'd1', 'w', tok(1), NULL);
SELECT ql3_dispatch_permit('L', 'd1', 'w', NULL, tok(91));
SELECT ql3_dispatch_settle('L', 'd1', 'w', tok(1), 'not_sent', NULL, '00000000-0000-0000-0000-000000000000');
SELECT count(*) FROM ql3_dispatch_observe('L', '');
SELECT count(*) FROM ql3_dispatch_observe('L', 'd1', '00000000-0000-0000-0000-000000000000');
-- Untyped parameters resolve.
PREPARE untyped AS SELECT verdict FROM ql3_dispatch_claim($1, $2, $3, $4, $5, $6, $7);
EXECUTE untyped('L', 'untyped', 'act', '{}', 'w', 'd15a0002-0000-4000-8000-000000000001', '5 min');
-- Free text never costs an outcome: it is cut at a character boundary.
SELECT ql3_dispatch_settle('L', 'd1', 'w', tok(1), 'failed', repeat('é', 1500));
SELECT octet_length(detail), detail = repeat('é', 1024) FROM ql3_dispatch_observe('L', 'd1');
SELECT ql3_dispatch_settle('L', 'd2', 'w', tok(1), 'failed', 'x' || repeat('é', 1500));
SELECT octet_length(detail), detail = 'x' || repeat('é', 1023) FROM ql3_dispatch_observe('L', 'd2');
SELECT ql3_dispatch_settle('L', 'd3', 'w', tok(1), 'failed', '');
SELECT claim('L', 'e1'), ql3_dispatch_settle('L', 'e1', 'w', tok(1), 'failed', '');
SELECT detail FROM ql3_dispatch_observe('L', 'e1');
SELECT ql3_dispatch_record('L', 'rec', 'act', '{}', 'failed', repeat('ü', 4000));
SELECT octet_length(detail) FROM ql3_dispatch_observe('L', 'rec');
-- Errors show no token, also one that came in the wrong place.
\set VERBOSITY default
SELECT ql3_dispatch_settle('L', 'd1', 'w', tok(1), tok(1)::text);
SELECT verdict FROM ql3_dispatch_claim('L', 'd1', tok(1)::text, '{}', 'w', tok(1));
SELECT verdict FROM ql3_dispatch_claim('L', 'd1', 'act', '{}', 'w', '00000000-0000-0000-0000-000000000009');
SELECT verdict FROM ql3_dispatch_claim('L', 'd1', 'act', '{}', 'w', tok(1), '2 days');
SELECT verdict FROM ql3_dispatch_claim('L', 'd1', 'act', '[1]', 'w', tok(1));
SELECT ql3_dispatch_record('L', 'rec', 'other', '{}', 'failed', 'x');
-- Nothing was stored by what was refused.
SELECT count(*) FROM ql3.dispatches WHERE request_uid = '' OR item = '' OR action IS NULL OR item IN ('never', 'untyped2');
