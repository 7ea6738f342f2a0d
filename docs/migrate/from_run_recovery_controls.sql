-- 1. The old schema makes room for the extension's; tables, views and functions in it go along. Its supervisors are stopped.
BEGIN;
ALTER SCHEMA ql3 RENAME TO control;
CREATE EXTENSION ql3;

-- 2. What lists a lost run and a lost attempt, and the index that keeps a claim flat.
CREATE INDEX run_attempts_lease_idx ON control.run_attempts (lease_expires_at, attempt_id) WHERE status = 'running';
CREATE INDEX runs_lease_idx ON control.runs (lease_expires_at, run_id) WHERE status = 'running';
CREATE VIEW control.lost_attempts AS
SELECT attempt_id AS id, run_id, status, created_at, lease_expires_at AS lost_at, lease_owner
  FROM control.run_attempts WHERE status = 'running' AND lease_expires_at <= statement_timestamp();
CREATE VIEW control.lost_runs AS
SELECT run_id AS id, run_id, status, created_at, lease_expires_at AS lost_at
  FROM control.runs WHERE status = 'running' AND lease_expires_at <= statement_timestamp();

-- 3. What a conclusion changes, under the fence. Everything is named with its schema.
CREATE FUNCTION control.attempt_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql AS
$$ UPDATE control.run_attempts AS a SET status = 'lost' WHERE a.attempt_id = $1 AND a.status = 'running'
      AND a.lease_expires_at <= statement_timestamp() RETURNING true $$;
CREATE FUNCTION control.run_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql AS
$$ UPDATE control.runs AS r SET status = 'lost' WHERE r.run_id = $1 AND r.status = 'running'
      AND r.lease_expires_at <= statement_timestamp() RETURNING true $$;
SELECT ql3.ql3_attach_source('attempt', 'control.lost_attempts', 'control.attempt_lost(text,text,jsonb)');
SELECT ql3.ql3_attach_source('run', 'control.lost_runs', 'control.run_lost(text,text,jsonb)');

-- 4. Where the targets stood, a page at a time. Versions go on above the old ones.
INSERT INTO ql3.recovery_kinds (kind, version_floor)
  SELECT target_kind, max(version) FROM control.run_recovery_controls GROUP BY target_kind;
SELECT page.target_kind, taken.result, count(*)
  FROM (SELECT numbered.target_kind, array_agg(target_id ORDER BY target_id) AS ids,
               array_agg(state ORDER BY target_id) AS states, array_agg(failure_count ORDER BY target_id) AS counts
          FROM (SELECT c.*, (row_number() OVER (PARTITION BY target_kind ORDER BY target_id) - 1) / 128 AS page
                  FROM control.run_recovery_controls AS c) AS numbered
         GROUP BY target_kind, page) AS page,
       ql3.ql3_import(page.target_kind, page.ids, page.states, page.counts, 'from the schema before ql3') AS taken
 GROUP BY 1, 2 ORDER BY 1, 2;

-- 5. The old table stays as it was for a look back; nobody may write to it by mistake.
ALTER TABLE control.run_recovery_controls RENAME TO run_recovery_controls_before_ql3;
COMMIT;
