-- Any number of parked, held and waiting targets in front never hide a claimable one (promise 6).
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_starvation;
SET search_path = t_starvation, ql3, public;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
CREATE TABLE items (id text PRIMARY KEY, run_id text, status text, created_at timestamptz, lost_at timestamptz);
CREATE INDEX ON items (lost_at, id);
CREATE FUNCTION list(prefix text, n int, day timestamptz) RETURNS void LANGUAGE sql AS $$
INSERT INTO items SELECT prefix || i, 'r', 's', day, day + i * interval '1 s' FROM generate_series(1, n) AS i $$;
SELECT FROM ql3_attach_source('starvation', 'items');
CREATE FUNCTION settle_all(mine uuid, disposition text, delay interval) RETURNS text LANGUAGE sql VOLATILE AS $$
SELECT string_agg(DISTINCT result, ' ') FROM (SELECT array_agg(id) AS ids, array_agg(version) AS versions
  FROM ql3.run_recovery_controls WHERE kind = 'starvation' AND state = 'claimed' AND token_digest = sha256(uuid_send(mine) || (SELECT uuid_send(i.installation) || oidsend(d.oid) FROM ql3.installation AS i, pg_database AS d WHERE d.datname = current_database()))) AS p,
  ql3_settle_page('A', mine, array_fill('starvation'::text, ARRAY[cardinality(ids)]), ids, versions,
                  array_fill(disposition, ARRAY[cardinality(ids)]), array_fill(delay, ARRAY[cardinality(ids)])) $$;
\set t1 '''00000000-0000-4000-8000-00000057a101'''
\set t2 '''00000000-0000-4000-8000-00000057a102'''
\set t3 '''00000000-0000-4000-8000-00000057a103'''
\set t4 '''00000000-0000-4000-8000-00000057a104'''
SELECT FROM list('parked', 128, '2026-01-01');
SELECT count(*) FROM ql3_claim('A', 128, '5 min', :t1);
SELECT settle_all(:t1, 'manual', NULL);
SELECT FROM list('waiting', 128, '2026-01-02');
SELECT count(*) FROM ql3_claim('A', 128, '5 min', :t2);
SELECT settle_all(:t2, 'retry', '5 min');
SELECT FROM list('resolved', 128, '2026-01-03');
SELECT count(*) FROM ql3_claim('A', 128, '5 min', :t3);
-- Nine failures make the wait of what is resolved but listed as long as it gets.
UPDATE ql3.run_recovery_controls SET failure_count = 9 WHERE kind = 'starvation' AND state = 'claimed';
SELECT settle_all(:t3, 'resolved', NULL);
SELECT FROM list('held', 128, '2026-01-04');
SELECT count(*) FILTER (WHERE id LIKE 'held%') FROM ql3_claim('A', 128, '5 min', :t4);
-- 512 in front of 16 claimable ones: the first claim gets them.
SELECT FROM list('young', 16, '2026-02-01');
SELECT count(*), count(*) FILTER (WHERE id LIKE 'young%') FROM ql3_claim('B', 16, '5 min');
-- Listed late and out of order, older than all of it: offered within the passes that docs/selection.md
-- states, ceil(rows listed / max(64, 4 * page size)) + 1 of them.
SELECT FROM list('old', 16, '2025-12-31');
CREATE FUNCTION passes_for(wanted int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE got int := 0; more int; passes int := 0;
BEGIN
  WHILE got < wanted AND passes < 100 LOOP
    SELECT count(*) INTO more FROM ql3_claim('B', 16, '5 min');
    got := got + more;
    passes := passes + 1;
  END LOOP;
  RETURN passes;
END $$;
SELECT passes_for(16) <= ceil((SELECT count(*) FROM items) / 64.0) + 1;
SELECT FROM ql3_detach_source('starvation');
SET client_min_messages = warning;
DROP SCHEMA t_starvation CASCADE;
