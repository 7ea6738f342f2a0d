-- Judge the dead rows of your own table. Run it in a database of your own:
--
--   psql -f examples/own_table.sql
--   ql3 supervise --once --probe job=exec:examples/own_table_probe
--
-- With -v transition=no the source is attached without a transition: then somebody else moves the row,
-- and until that is done the target stays listed and is put off further and further.
\set ON_ERROR_STOP on
\if :{?transition}
\else
  \set transition yes
\endif
CREATE EXTENSION IF NOT EXISTS ql3;

CREATE TABLE jobs (
  id text PRIMARY KEY,
  status text NOT NULL DEFAULT 'running',
  created_at timestamptz NOT NULL DEFAULT now(),
  lease_expires_at timestamptz NOT NULL,
  pid integer NOT NULL
);

CREATE INDEX ON jobs (lease_expires_at, id) WHERE status = 'running';

-- The five columns of a source, and what the probe needs: it finds pid in "source".
CREATE VIEW lost_jobs AS
SELECT id, id AS run_id, status, created_at, lease_expires_at AS lost_at, pid
FROM jobs WHERE status = 'running' AND lease_expires_at <= statement_timestamp();

CREATE FUNCTION job_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql AS
$$ UPDATE public.jobs AS j SET status = 'lost' WHERE j.id = $1 AND j.status = 'running'
   AND j.lease_expires_at <= statement_timestamp() RETURNING true $$;

SELECT :'transition' = 'yes' AS with_transition \gset
\if :with_transition
SELECT ql3.ql3_attach_source('job', 'lost_jobs', 'job_lost(text,text,jsonb)');
\else
SELECT ql3.ql3_attach_source('job', 'lost_jobs');
\endif

-- Three jobs whose worker is gone (no process has such a pid), one that is done, one that is at work.
INSERT INTO jobs (id, status, lease_expires_at, pid)
SELECT 'dead-' || n, 'running', now() - n * interval '1 minute', 2147483000 + n
FROM generate_series(1, 3) AS n;
INSERT INTO jobs (id, status, lease_expires_at, pid) VALUES
  ('done', 'done', now() - interval '1 minute', 2147483004),
  ('alive', 'running', now() + interval '1 hour', 1);

SELECT kind, id, lost_at, source FROM ql3.ql3_observe();
