CREATE EXTENSION ql3;
CREATE TABLE jobs (id text PRIMARY KEY, status text NOT NULL DEFAULT 'running',
  created_at timestamptz NOT NULL DEFAULT '2026-01-01 08:00', lease_expires_at timestamptz NOT NULL, pid int);
CREATE INDEX ON jobs (lease_expires_at, id) WHERE status = 'running';
CREATE VIEW lost_jobs AS SELECT id, id AS run_id, status, created_at, lease_expires_at AS lost_at, pid
  FROM public.jobs WHERE status = 'running' AND lease_expires_at <= statement_timestamp();
CREATE FUNCTION job_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql AS
$$ UPDATE public.jobs AS j SET status = 'lost' WHERE j.id = $1 AND j.status = 'running'
      AND j.lease_expires_at <= statement_timestamp() RETURNING true $$;
INSERT INTO jobs (id, lease_expires_at, pid) SELECT 'job-' || n, '2026-01-01 09:00'::timestamptz + n * '1 min'::interval, 4700 + n
  FROM generate_series(1, 6) AS n;
CREATE ROLE docs_sql_supervisor LOGIN;
CREATE TABLE nights (id text PRIMARY KEY, lost_at timestamptz NOT NULL);
CREATE INDEX ON nights (lost_at, id);
CREATE VIEW lost_nights AS SELECT id, id AS run_id, 'running'::text AS status, lost_at AS created_at, lost_at FROM public.nights;
INSERT INTO nights SELECT 'n-' || n, '2026-01-01 10:00'::timestamptz + n * '1 min'::interval FROM generate_series(1, 6) AS n;
SELECT ql3.ql3_attach_source('night', 'lost_nights');
