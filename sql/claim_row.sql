-- A claim is whole or absent: no hand can write a row that is half of each, and no call matches one (promise 1).
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_claim_row;
SET search_path = t_claim_row, ql3, public;
CREATE TABLE jobs (id text PRIMARY KEY, lost_at timestamptz NOT NULL);
CREATE INDEX ON jobs (lost_at, id);
CREATE VIEW lost AS
SELECT id, 'run' AS run_id, 'running' AS status, lost_at AS created_at, lost_at FROM jobs;
SELECT FROM ql3_attach_source('claim_row', 'lost');
INSERT INTO jobs SELECT s, '2026-01-01' FROM unnest('{claimed,available,manual,retry,resolved}'::text[]) AS s;
-- One row in each state, named after it.
SELECT count(*) FROM ql3_claim('A', 8, '5 min', '5c1a1d07-0000-4000-8000-000000000001', '{claim_row}');
SELECT ql3_settle('claim_row', id, 'A', '5c1a1d07-0000-4000-8000-000000000001', version, id)
FROM ql3.run_recovery_controls WHERE kind = 'claim_row' AND id IN ('manual', 'retry', 'resolved');
SELECT result FROM ql3.run_recovery_controls AS c, ql3_give_back('A', '5c1a1d07-0000-4000-8000-000000000001', '{claim_row}',
  '{available}', ARRAY[c.version]) WHERE c.kind = 'claim_row' AND c.id = 'available';
SELECT id, state FROM ql3.run_recovery_controls WHERE kind = 'claim_row' ORDER BY id;

-- What is refused of each state, by which SQLSTATE; what is left out of a list was taken.
CREATE FUNCTION refused(target text, VARIADIC changes text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE change text; codes text[] := '{}';
BEGIN
  FOREACH change IN ARRAY changes LOOP
    BEGIN
      EXECUTE format('UPDATE ql3.run_recovery_controls SET %s WHERE kind = ''claim_row'' AND id = %L', change, target);
      RAISE SQLSTATE '00001';
    EXCEPTION
      WHEN SQLSTATE '00001' THEN NULL;
      WHEN OTHERS THEN codes := codes || (SQLSTATE || ' ' || change);
    END;
  END LOOP;
  RETURN target || E':\n  ' || array_to_string(codes, E'\n  ');
END $$;
SELECT refused('claimed', 'owner = NULL', 'token_digest = NULL', 'expires_at = NULL', 'version = NULL', 'version = 0',
  'version = -1', 'claimed_at = NULL', 'claim_mark = NULL', $q$expires_at = 'infinity'$q$, $q$expires_at = '-infinity'$q$,
  $q$token_digest = ''$q$, $q$token_digest = 'short'$q$, 'owner = NULL, token_digest = NULL',
  'next_claim_at = now()', 'due_at = NULL', $q$due_at = 'infinity'$q$, $q$state = 'running'$q$, 'state = NULL');
SELECT refused(s, $q$owner = 'B'$q$, $q$token_digest = sha256('t')$q$, $q$expires_at = now()$q$, 'claimed_at = now()',
  'claim_mark = 1', $q$owner = 'B', token_digest = sha256('t'), expires_at = now() + interval '1 h'$q$,
  $q$state = 'claimed'$q$)
FROM unnest('{available,manual,retry,resolved}'::text[]) AS s;
SELECT refused('retry', 'next_claim_at = NULL', $q$next_claim_at = '-infinity'$q$, $q$state = 'available'$q$);
SELECT refused('manual', 'due_at = now()', 'next_claim_at = now()');

-- Nor is there a fence that an unowned row matches.
SELECT id, ql3_settle('claim_row', id, 'B', '5c1a1d07-0000-4000-8000-000000000001', version, 'manual') AS settle,
  ql3_renew('claim_row', id, 'A', '5c1a1d07-0000-4000-8000-000000000001', version, '1 s') AS renew
FROM ql3.run_recovery_controls WHERE kind = 'claim_row' AND id <> 'claimed' ORDER BY id;

SELECT FROM ql3_detach_source('claim_row');
DELETE FROM ql3.run_recovery_controls WHERE kind = 'claim_row';
DELETE FROM ql3.judgements WHERE kind = 'claim_row';
SET client_min_messages = warning;
DROP SCHEMA t_claim_row CASCADE;
