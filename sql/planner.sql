-- Exactly the page asked for under any statistics and planner setting (promise 1).
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_planner;
SET search_path = t_planner, ql3, public;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
CREATE TABLE items (id bigint, run_id text, status text, created_at timestamptz, lost_at timestamptz);
CREATE INDEX ON items (lost_at, id);
INSERT INTO items VALUES (0, 'r', 's', '2026-01-01', '2026-01-01');
SELECT FROM ql3_attach_source('planner', 'items');
-- One row known, then 5,000 unknown to the statistics.
SELECT count(*) FROM ql3_claim('A', 16, '5 min');
ANALYZE items;
ANALYZE ql3.run_recovery_controls;
ALTER TABLE items SET (autovacuum_enabled = off);
INSERT INTO items SELECT n, 'r', 's', '2026-01-01', '2026-01-01'::timestamptz + n * interval '1 s'
FROM generate_series(1, 5000) AS n;
CREATE TABLE pages (setting text, wanted int, got int, kept int);
CREATE TABLE handed (id text PRIMARY KEY);
-- Every setting claims 1, 2, 16 and 32; an id handed out twice breaks the primary key.
CREATE FUNCTION claim_under(setting text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE wanted int; mine uuid; ids text[];
BEGIN
  FOREACH wanted IN ARRAY '{1,2,16,32}'::int[] LOOP
    mine := gen_random_uuid();
    SELECT array_agg(id) INTO ids FROM ql3_claim('A', wanted, '5 min', mine);
    INSERT INTO handed SELECT unnest(ids);
    INSERT INTO pages SELECT setting, wanted, cardinality(ids), count(*)
    FROM ql3.run_recovery_controls WHERE token_digest = sha256(uuid_send(mine) || (SELECT uuid_send(i.installation) || oidsend(d.oid) FROM ql3.installation AS i, pg_database AS d WHERE d.datname = current_database()));
  END LOOP;
END $$;
CREATE FUNCTION claim_with(settings text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config(s, v, true) FROM unnest(settings) AS one (s), LATERAL (SELECT
    CASE s WHEN 'plan_cache_mode' THEN 'force_generic_plan' WHEN 'jit' THEN 'on'
           WHEN 'jit_above_cost' THEN '0' WHEN 'parallel_setup_cost' THEN '0' ELSE 'off' END) AS two (v);
  PERFORM t_planner.claim_under(array_to_string(settings, ' '));
END $$;
SELECT FROM claim_with('{}');
SELECT FROM claim_with('{enable_indexscan}');
SELECT FROM claim_with('{enable_indexscan,enable_bitmapscan,enable_indexonlyscan}');
SELECT FROM claim_with('{enable_seqscan}');
SELECT FROM claim_with('{enable_seqscan,enable_sort}');
SELECT FROM claim_with('{enable_hashjoin}');
SELECT FROM claim_with('{enable_hashjoin,enable_mergejoin}');
SELECT FROM claim_with('{enable_nestloop}');
SELECT FROM claim_with('{enable_nestloop,enable_hashjoin}');
SELECT FROM claim_with('{enable_hashagg,enable_material}');
SELECT FROM claim_with('{enable_hashjoin,enable_mergejoin,enable_hashagg,enable_material,enable_indexscan}');
SELECT FROM claim_with('{plan_cache_mode}');
SELECT FROM claim_with('{plan_cache_mode,enable_indexscan,enable_hashjoin}');
SELECT FROM claim_with('{jit,jit_above_cost}');
SELECT FROM claim_with('{parallel_setup_cost}');
-- Statistics of an empty table, and none at all.
DELETE FROM pg_statistic WHERE starelid = 'items'::regclass;
UPDATE pg_class SET reltuples = 0, relpages = 0
WHERE oid IN ('items'::regclass, 'ql3.run_recovery_controls'::regclass);
SELECT FROM claim_with('{}');
SELECT FROM claim_with('{enable_indexscan,enable_hashjoin}');
UPDATE pg_class SET reltuples = -1 WHERE oid IN ('items'::regclass, 'ql3.run_recovery_controls'::regclass);
SELECT FROM claim_with('{}');
SELECT count(*), sum(got) FROM pages;
SELECT * FROM pages WHERE got <> wanted OR kept <> wanted;
-- The same session, its plans kept, after the statistics came.
ANALYZE items;
ANALYZE ql3.run_recovery_controls;
SELECT FROM claim_with('{plan_cache_mode}');
SELECT count(*), sum(got) FROM pages WHERE got = wanted AND kept = wanted;
SELECT count(*) FROM handed;
SELECT FROM ql3_detach_source('planner');
SET client_min_messages = warning;
DROP SCHEMA t_planner CASCADE;
