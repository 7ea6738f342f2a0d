-- A target that ends whoever judges it takes at most three owners with it: then it is parked, and the reason is on record.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_poison;
SET search_path = t_poison, ql3, public;
\set VERBOSITY sqlstate
CREATE TABLE jobs (id text PRIMARY KEY, run_id text, status text, created_at timestamptz, lost_at timestamptz);
CREATE INDEX ON jobs (lost_at, id);
INSERT INTO jobs SELECT i, 'run-' || i, 'running', '2026-01-01', timestamptz '2026-01-01'
FROM unnest('{bomb,fine,same,other}'::text[]) AS i;
SELECT FROM ql3_attach_source('poison', 'jobs');
-- Each owner in turn claims everything there is and vanishes, but for what it settles first.
CREATE FUNCTION dies(who text, settles text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE t uuid := gen_random_uuid(); got text;
BEGIN
  SELECT string_agg(c.id, ',' ORDER BY c.id) INTO got FROM ql3.ql3_claim(who, 16, '1 min', t, '{poison}') AS c;
  IF settles IS NOT NULL THEN
    UPDATE ql3.run_recovery_controls SET claim_mark = 0 WHERE kind = 'poison' AND state = 'claimed';
    PERFORM ql3.ql3_settle('poison', settles, who, t, version, 'retry', '0')
    FROM ql3.run_recovery_controls WHERE kind = 'poison' AND id = settles;
  END IF;
  UPDATE ql3.run_recovery_controls SET expires_at = now() - interval '1 s', due_at = now() - interval '1 s'
  WHERE kind = 'poison' AND state = 'claimed';
  RETURN coalesce(got, 'nothing');
END $$;
DELETE FROM jobs WHERE id <> 'bomb';
SELECT dies('A');
SELECT dies('B');
SELECT dies('C');
SELECT dies('D');
SELECT id, reason, failure_count FROM parked WHERE kind = 'poison';
SELECT owner, disposition, result, failure_count FROM history WHERE kind = 'poison' ORDER BY judgement_id;
SELECT left(text, 55) FROM ql3_explain('poison', 'bomb') WHERE topic = 'claim';
-- Released, it starts anew.
SELECT ql3_release('poison', 'bomb', 3, 'the probe is mended');
SELECT dies('E'), dies('F');
SELECT count(*) FROM parked WHERE kind = 'poison';
DELETE FROM jobs;
-- One owner that dies often is one owner; a judgement in between ends the row; so does another incident.
INSERT INTO jobs VALUES ('same', 'run', 'running', '2026-01-01', '2026-01-01');
SELECT dies('A'), dies('A'), dies('A'), dies('A'), dies('A');
SELECT count(*) FROM parked WHERE kind = 'poison';
DELETE FROM jobs;
INSERT INTO jobs VALUES ('fine', 'run', 'running', '2026-01-01', '2026-01-01');
SELECT dies('A'), dies('B'), dies('C', 'fine'), dies('D'), dies('E'), dies('F', 'fine');
SELECT count(*) FROM parked WHERE kind = 'poison';
DELETE FROM jobs;
INSERT INTO jobs VALUES ('other', 'run', 'running', '2026-01-01', '2026-01-01');
SELECT dies('A'), dies('B');
UPDATE jobs SET run_id = 'another run' WHERE id = 'other';
SELECT dies('C'), dies('D'), dies('E');
SELECT count(*) FROM parked WHERE kind = 'poison';
SELECT dies('F');
SELECT id FROM parked WHERE kind = 'poison';
-- The superuser says how many, or that none is too many.
SELECT current_setting('ql3.max_vanished_owners'), context FROM pg_settings WHERE name = 'ql3.max_vanished_owners';
SET ql3.max_vanished_owners = 0;
SELECT ql3_release('poison', 'other', version, 'again') FROM parked WHERE id = 'other';
SELECT dies('A'), dies('B'), dies('C'), dies('D'), dies('E');
SELECT count(*) FROM parked WHERE kind = 'poison';
SET ql3.max_vanished_owners = 1;
SELECT dies('G');
SELECT id FROM parked WHERE kind = 'poison';
SELECT FROM ql3_detach_source('poison');
SET client_min_messages = warning;
DROP SCHEMA t_poison CASCADE;
