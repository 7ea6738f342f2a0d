-- 1. The old reaper (the statement that put expired jobs back into the queue) is stopped; the workers go on.
BEGIN;
CREATE EXTENSION IF NOT EXISTS ql3;

-- 2. A job whose worker let its lock run out is a candidate; so is one that was given up, so that it can be looked at.
CREATE INDEX jobs_locked_until_idx ON public.jobs (locked_until, id) WHERE status IN ('running', 'dead');
CREATE VIEW public.lost_jobs AS
SELECT id, id AS run_id, status, created_at, locked_until AS lost_at, locked_by, payload
  FROM public.jobs WHERE status IN ('running', 'dead') AND locked_until <= statement_timestamp();

-- 3. What the old reaper did blindly is done only when a probe has said that the worker is gone.
CREATE FUNCTION public.job_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql AS
$$ UPDATE public.jobs AS j SET status = 'lost', locked_by = NULL WHERE j.id = $1::bigint
      AND j.status IN ('running', 'dead') AND j.locked_until <= statement_timestamp() RETURNING true $$;
SELECT ql3.ql3_attach_source('job', 'public.lost_jobs', 'public.job_lost(text,text,jsonb)', max_failures => 5);

-- 4. What was given up stays given up until somebody releases it; what was tried goes on counting from there.
SELECT taken.result, count(*)
  FROM (SELECT array_agg(id::text ORDER BY id) AS ids,
               array_agg(CASE status WHEN 'dead' THEN 'manual' ELSE 'available' END ORDER BY id) AS states,
               array_agg(least(tries, 1000000) ORDER BY id) AS counts
          FROM (SELECT j.*, (row_number() OVER (ORDER BY id) - 1) / 128 AS page
                  FROM public.jobs AS j WHERE status IN ('running', 'dead')) AS numbered
         GROUP BY page) AS page,
       ql3.ql3_import('job', page.ids, page.states, page.counts, 'from our SKIP LOCKED queue') AS taken
 GROUP BY 1 ORDER BY 1;
COMMIT;
