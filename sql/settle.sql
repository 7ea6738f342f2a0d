-- Ending a claim: the three dispositions, the fence, repeats, and what counts as a failure.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_settle;
SET search_path = t_settle, ql3, public;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
-- A token of this file; only its digest is ever stored.
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('6218d07f-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
-- The first column of what a statement answers, or its SQLSTATE.
CREATE FUNCTION code(q text) RETURNS text LANGUAGE plpgsql
AS $$ DECLARE r text; BEGIN EXECUTE q INTO r; RETURN coalesce(r, 'ok');
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
CREATE TABLE jobs (id text PRIMARY KEY, run_id text NOT NULL, status text NOT NULL,
                   lost_at timestamptz NOT NULL, memo text);
CREATE INDEX ON jobs (lost_at, id) WHERE status = 'running';
CREATE VIEW lost AS
SELECT id, run_id, status, lost_at - interval '1 h' AS created_at, lost_at, memo
FROM jobs WHERE status = 'running' AND lost_at <= statement_timestamp();
-- Lists targets, each lost a minute after the one before.
CREATE FUNCTION list(VARIADIC ids text[]) RETURNS void LANGUAGE sql AS $$
INSERT INTO jobs
SELECT i, 'run-' || left(i, 99), 'running',
       timestamptz '2026-01-01' + ((SELECT count(*) FROM jobs) + n) * interval '1 min'
FROM unnest(ids) WITH ORDINALITY AS u (i, n) $$;
CREATE VIEW control AS
SELECT id, state, owner, version, expires_at IS NOT NULL AS leased,
       next_claim_at IS NOT NULL AS waits, failure_count
FROM ql3.run_recovery_controls WHERE kind = 'settle';
-- Waits for the database's own clock to pass a short lease or next claim time.
CREATE FUNCTION pass_time(target text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE until timestamptz;
BEGIN
  SELECT greatest(expires_at, next_claim_at) INTO until
  FROM ql3.run_recovery_controls WHERE kind = 'settle' AND id = target;
  IF until > clock_timestamp() + interval '10 s' THEN RAISE '% has a long time to go', target; END IF;
  WHILE until >= clock_timestamp() LOOP PERFORM pg_sleep(0.02); END LOOP;
END $$;
\set VERBOSITY sqlstate
SELECT FROM ql3_attach_source('settle', 'lost');

-- resolved: claimable again if and only if the source lists the target again (promise 5).
SELECT FROM list('a', 'b', 'c');
SELECT id, version FROM ql3_claim('A', 3, '5 min', tok(1));
UPDATE jobs SET status = 'lost' WHERE id = 'a';
SELECT ql3_settle('settle', 'a', 'A', tok(1), 1, 'resolved');
SELECT count(*) FROM ql3_claim('B', 3, '5 min', tok(2));
UPDATE jobs SET status = 'running', run_id = 'run-a2', lost_at = lost_at + interval '1 d' WHERE id = 'a';
SELECT id, run_id, version, failure_count FROM ql3_claim('B', 3, '5 min', tok(2));
-- retry waits for its time and counts; manual waits for an operator.
SELECT clock_timestamp() AS before \gset
SELECT ql3_settle('settle', 'b', 'A', tok(1), 1, 'retry', '5 min', 'provider away');
SELECT next_claim_at >= :'before'::timestamptz + '5 min' AND next_claim_at <= clock_timestamp() + '5 min'
FROM ql3.run_recovery_controls WHERE kind = 'settle' AND id = 'b';
SELECT ql3_settle('settle', 'c', 'A', tok(1), 1, 'manual', NULL, 'nobody knows');
SELECT id, state, owner, version, leased, waits, failure_count FROM control ORDER BY id;
SELECT count(*) FROM ql3_claim('C', 3, '5 min', tok(3));
-- A retry after 0 is due at once.
SELECT ql3_settle('settle', 'a', 'B', tok(2), 2, 'retry', '0');
SELECT id, version, failure_count FROM ql3_claim('C', 3, '5 min', tok(3));

-- The whole fence or nothing: every single wrong part is fenced and leaves the row as it was.
CREATE TABLE untouched AS SELECT * FROM ql3.run_recovery_controls WHERE kind = 'settle';
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_settle('settle', 'a', 'B', tok(3), 3, 'resolved')$q$),
  ($q$SELECT ql3_settle('settle', 'a', 'c', tok(3), 3, 'manual')$q$),
  ($q$SELECT ql3_settle('settle', 'a', 'C', tok(2), 3, 'retry')$q$),
  ($q$SELECT ql3_settle('settle', 'a', 'C', tok(99), 3, 'resolved')$q$),
  ($q$SELECT ql3_settle('settle', 'a', 'C', tok(3), 2, 'manual')$q$),
  ($q$SELECT ql3_settle('settle', 'a', 'C', tok(3), 4, 'retry')$q$),
  ($q$SELECT ql3_settle('settle', 'a', 'C', tok(3), 9223372036854775807, 'retry')$q$),
  ($q$SELECT ql3_settle('settle', 'A', 'C', tok(3), 3, 'resolved')$q$),
  ($q$SELECT ql3_settle('settle', 'a ', 'C', tok(3), 3, 'resolved')$q$),
  ($q$SELECT ql3_settle('settle', 'nobody', 'C', tok(3), 3, 'resolved')$q$),
  ($q$SELECT ql3_settle('settle', 'a', 'B', tok(2), 2, 'resolved')$q$),
  ($q$SELECT ql3_settle('settle', 'a', 'A', tok(1), 1, 'resolved')$q$)
) AS v (q);
SELECT count(*) FROM (TABLE untouched EXCEPT SELECT * FROM ql3.run_recovery_controls WHERE kind = 'settle') AS changed;

-- A lost reply: the same fence and content gives the same word, other content is fenced (promise 4).
SELECT ql3_settle('settle', 'a', 'C', tok(3), 3, 'retry', '0', 'once');
SELECT ql3_settle('settle', 'a', 'C', tok(3), 3, 'retry', '0', 'once');
SELECT ql3_settle('settle', 'a', 'C', tok(3), 3, 'manual');
SELECT ql3_settle('settle', 'a', 'C', tok(3), 3, 'retry', '1 s', 'once');
SELECT ql3_settle('settle', 'a', 'C', tok(3), 3, 'retry', '0', 'twice');
SELECT id, failure_count FROM control WHERE id = 'a';
SELECT count(*) FROM ql3.judgements WHERE kind = 'settle' AND id = 'a' AND version = 3;
-- ... until the next claim of the target.
SELECT id, version FROM ql3_claim('D', 1, '5 min', tok(4));
SELECT ql3_settle('settle', 'a', 'C', tok(3), 3, 'retry', '0', 'once');

-- An expired claim is fenced although nobody took it over.
SELECT FROM list('d');
SELECT id, version FROM ql3_claim('A', 1, '1 s', tok(5));
SELECT FROM pass_time('d');
SELECT ql3_settle('settle', 'd', 'A', tok(5), 1, 'resolved');
SELECT id, state, owner FROM control WHERE id = 'd';

-- resolved while still listed is a failure and waits the default backoff: nothing loops hot.
SELECT id, version, failure_count FROM ql3_claim('A', 1, '5 min', tok(6));
SELECT clock_timestamp() AS before \gset
SELECT ql3_settle('settle', 'd', 'A', tok(6), 2, 'resolved');
SELECT count(*) FROM ql3_claim('A', 1, '5 min', tok(7));
SELECT state, next_claim_at - :'before' BETWEEN '1.6 s' AND '5 s' FROM ql3.run_recovery_controls
WHERE kind = 'settle' AND id = 'd';
SELECT FROM pass_time('d');
SELECT id, version, failure_count FROM ql3_claim('A', 1, '5 min', tok(7));
SELECT ql3_settle('settle', 'd', 'A', tok(7), 3, 'manual');

-- retry and manual speak about one incident: the facts changed under the claim (promise 3).
SELECT FROM list('e', 'f', 'g', 'h');
SELECT id FROM ql3_claim('A', 4, '5 min', tok(8));
UPDATE jobs SET run_id = 'run-e2' WHERE id = 'e';
UPDATE jobs SET lost_at = lost_at + interval '1 us' WHERE id = 'f';
UPDATE jobs SET status = 'running', memo = 'no fact' WHERE id = 'g';
SELECT ql3_settle('settle', 'e', 'A', tok(8), 1, 'retry', '5 min'),
       ql3_settle('settle', 'f', 'A', tok(8), 1, 'manual'),
       ql3_settle('settle', 'g', 'A', tok(8), 1, 'retry', '5 min');
SELECT id, run_id, version, failure_count FROM ql3_claim('B', 4, '5 min', tok(9)) ORDER BY id;
SELECT id, disposition, result FROM ql3.judgements
WHERE kind = 'settle' AND id IN ('e', 'f', 'g') ORDER BY id;
-- A status that is part of the listing and changes.
CREATE OR REPLACE VIEW lost AS
SELECT id, run_id, status, lost_at - interval '1 h' AS created_at, lost_at, memo
FROM jobs WHERE status IN ('running', 'starting') AND lost_at <= statement_timestamp();
UPDATE jobs SET status = 'starting' WHERE id = 'h';
SELECT ql3_settle('settle', 'h', 'A', tok(8), 1, 'manual');
SELECT id, status, failure_count FROM ql3_claim('B', 4, '5 min', tok(10));

-- A retry that saw it run is no failure.
SELECT FROM list('r');
SELECT id FROM ql3_claim('A', 1, '5 min', tok(11));
SELECT ql3_settle('settle', 'r', 'A', tok(11), 1, 'retry', '0', 'running');
SELECT id, version, failure_count FROM ql3_claim('A', 1, '5 min', tok(12));
SELECT ql3_settle('settle', 'r', 'A', tok(12), 2, 'retry', '0', 'running: pid 7 answers');
SELECT id, version, failure_count FROM ql3_claim('A', 1, '5 min', tok(13));
SELECT ql3_settle('settle', 'r', 'A', tok(13), 3, 'retry', '0', 'runningly');
SELECT id, version, failure_count FROM ql3_claim('A', 1, '5 min', tok(14));
-- The count stops at a million instead of failing the page (one saturated row beside a sound one).
SELECT FROM list('s');
UPDATE ql3.run_recovery_controls SET failure_count = 1000000 WHERE kind = 'settle' AND id = 'r';
SELECT ql3_settle('settle', 'r', 'A', tok(14), 4, 'retry', '0');
SELECT id, failure_count FROM ql3_claim('A', 2, '5 min', tok(15)) ORDER BY id;
SELECT ql3_settle('settle', 'r', 'A', tok(15), 5, 'retry');
-- The default delay doubles with the count and ends at 5 minutes, whatever the jitter.
SELECT next_claim_at - clock_timestamp() BETWEEN '3 min' AND '5 min' FROM ql3.run_recovery_controls
WHERE kind = 'settle' AND id = 'r';
UPDATE ql3.run_recovery_controls SET failure_count = 5 WHERE kind = 'settle' AND id = 's';
SELECT clock_timestamp() AS before \gset
SELECT ql3_settle('settle', 's', 'A', tok(15), 1, 'retry');
SELECT next_claim_at - :'before' BETWEEN '25.6 s' AND '90 s' FROM ql3.run_recovery_controls
WHERE kind = 'settle' AND id = 's';

-- A page of settles: one answer per position, in input order, the good ones stored beside the bad.
SELECT FROM list('p1', 'p2', 'p3', 'p4');
SELECT id FROM ql3_claim('A', 4, '5 min', tok(16));
SELECT ordinal, kind, id, result FROM ql3_settle_page('A', tok(16),
  '{settle,settle,settle,settle,settle,settle}', '{p4,p2,nobody,p1,p2,p4}', '{1,1,1,2,1,1}',
  '{manual,retry,resolved,resolved,retry,resolved}', '{NULL,5 min,NULL,NULL,5 min,NULL}', '{a,b,c,d,b,f}');
SELECT id, state, failure_count FROM control WHERE id LIKE 'p_' ORDER BY id;
SELECT id, disposition, note FROM ql3.judgements WHERE kind = 'settle' AND id LIKE 'p_' ORDER BY id;
-- Without delays and notes, and with an array that does not start at 1.
SELECT ordinal, id, result FROM ql3_settle_page('A', tok(16), '[0:1]={settle,settle}', '{p3,p1}', '{1,1}', '{manual,manual}');
SELECT ordinal, id, result FROM ql3_settle_page('A', tok(16), '{settle,settle}', '{p3,p1}', '{1,1}', '{manual,manual}');

-- Notes are kept to 2 KiB, cut at a character boundary, and never cost the outcome.
SELECT FROM list('n1', 'n2', 'n3');
SELECT count(*) FROM ql3_claim('A', 3, '5 min', tok(17));
SELECT ql3_settle('settle', 'n1', 'A', tok(17), 1, 'manual', note => repeat('x', 2048)),
       ql3_settle('settle', 'n2', 'A', tok(17), 1, 'manual', note => repeat('x', 2047) || 'é'),
       ql3_settle('settle', 'n3', 'A', tok(17), 1, 'manual', note => repeat('€', 100000));
SELECT id, octet_length(note) FROM ql3.judgements WHERE kind = 'settle' AND id LIKE 'n_' ORDER BY id;
-- A repeat with the long note is still the same content.
SELECT ql3_settle('settle', 'n3', 'A', tok(17), 1, 'manual', note => repeat('€', 100000));
SELECT FROM ql3_detach_source('settle');

-- max_failures: retries, expiries and resolved-but-listed count; the last one parks.
CREATE TABLE few (kind text, id text, run_id text, status text, created_at timestamptz, lost_at timestamptz);
CREATE INDEX ON few (lost_at, id);
INSERT INTO few SELECT 'few', i, i, 's', '2026-01-01', '2026-01-01' FROM unnest('{w,x,y}'::text[]) AS i;
INSERT INTO few VALUES ('vanish', 'z', 'z', 's', '2026-01-01', '2026-01-01');
CREATE VIEW few_few AS SELECT * FROM few WHERE kind = 'few';
CREATE VIEW few_vanish AS SELECT * FROM few WHERE kind = 'vanish';
SELECT FROM ql3_attach_source('few', 'few_few', max_failures => 2);
SELECT FROM ql3_attach_source('vanish', 'few_vanish', max_failures => 2);
CREATE FUNCTION pass_few() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  WHILE EXISTS (SELECT FROM ql3.run_recovery_controls WHERE kind IN ('few', 'vanish')
                AND now() + interval '10 s' > clock_timestamp()
                AND coalesce(next_claim_at, CASE WHEN kind = 'vanish' THEN expires_at END) > clock_timestamp()) LOOP
    PERFORM pg_sleep(0.02);
  END LOOP;
END $$;
SELECT id, failure_count FROM ql3_claim('A', 3, '5 min', tok(18), '{few}') ORDER BY id;
SELECT ordinal, id, result FROM ql3_settle_page('A', tok(18), '{few,few,few}', '{w,x,y}', '{1,1,1}',
  '{retry,resolved,retry}', '{0,NULL,0}', '{NULL,NULL,running}');
SELECT id, failure_count FROM ql3_claim('A', 1, '1 s', tok(19), '{vanish}');
SELECT FROM pass_few();
SELECT id, failure_count FROM ql3_claim('A', 1, '1 s', tok(20), '{vanish}');
-- One failure each, none for the running one.
SELECT id, version, failure_count FROM ql3_claim('A', 4, '5 min', tok(21), '{few}') ORDER BY id;
SELECT ordinal, id, result FROM ql3_settle_page('A', tok(21), '{few,few,few}', '{w,x,y}', '{2,2,2}',
  '{retry,resolved,retry}', '{0,NULL,0}', '{NULL,NULL,running}');
SELECT FROM pass_few();
-- The second failure parks, within the next claim: the running one alone is handed out.
SELECT id, version, failure_count FROM ql3_claim('B', 4, '5 min', tok(22), '{few,vanish}');
SELECT id, state, failure_count FROM ql3.run_recovery_controls WHERE kind IN ('few', 'vanish') ORDER BY id;
-- The owner that vanished is on record each time, and once with the park.
SELECT owner, result FROM ql3.judgements WHERE kind = 'vanish' ORDER BY judgement_id;
-- An operator's release starts the count anew, else it would park again at once.
SELECT ql3_release('vanish', 'z', (SELECT version FROM ql3_observe_one('vanish', 'z')), 'fixed');
SELECT id, failure_count FROM ql3_claim('B', 4, '5 min', tok(23));
SELECT FROM ql3_detach_source('few');
SELECT FROM ql3_detach_source('vanish');
SET client_min_messages = warning;
DROP SCHEMA t_settle CASCADE;
