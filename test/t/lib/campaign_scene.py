"""The jobs that are lost in the campaigns, the probe that is asked about them, and the action of a dispatch, which
writes to the ledger of calls."""

SETUP = """
CREATE TABLE jobs (id text PRIMARY KEY, run_id text NOT NULL, status text NOT NULL, lost_at timestamptz NOT NULL);
CREATE INDEX ON jobs (lost_at, id) WHERE status = 'running';
CREATE VIEW lost AS SELECT id, run_id, status, lost_at AS created_at, lost_at FROM jobs WHERE status = 'running';
CREATE TABLE moves (id text NOT NULL, run_id text NOT NULL, how text NOT NULL);
CREATE SEQUENCE incidents;
CREATE FUNCTION move(text, text) RETURNS boolean LANGUAGE sql AS $$
WITH moved AS (UPDATE public.jobs SET status = 'done' WHERE id = $1 AND status = 'running' RETURNING id, run_id)
INSERT INTO public.moves SELECT id, run_id, $2 FROM moved RETURNING true $$;
CREATE FUNCTION job_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql AS
$$ SELECT public.move($1, 'transition') $$;
SELECT ql3.ql3_attach_source('job', 'lost', 'job_lost(text,text,jsonb)');
"""
LOSE = """INSERT INTO jobs SELECT 'job-' || n, n::text, 'running', '2026-01-01'::timestamptz + n * interval '1 s'
FROM (SELECT nextval('incidents') AS n FROM generate_series(1, %s)) AS new"""
REOPEN = """WITH chosen AS (SELECT id FROM jobs WHERE status = %s ORDER BY random() LIMIT %s)
UPDATE jobs SET (run_id, status, lost_at) = (SELECT n::text, 'running', '2026-01-01'::timestamptz + n * interval '1 s'
FROM (SELECT nextval('incidents') AS n WHERE jobs.id <> '') AS new) FROM chosen WHERE chosen.id = jobs.id"""
PROBE = r"""#!/bin/sh
read -r candidate
field() { printf '%s' "$candidate" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
run=$(field run_id)
by="by=$QL3_PROBE_BY"
case $candidate in
*'"kind":"dispatch"'*)
  if grep -qF "[\"$run\"," "$QL3_PROBE_CALLS"; then
    echo "{\"verdict\":\"succeeded\",\"reason\":\"$by\",\"evidence\":{\"by\":\"$QL3_PROBE_BY\"}}"
  elif [ -e "$QL3_PROBE_DEAD" ]; then
    echo "{\"verdict\":\"failed\",\"reason\":\"$by\",\"evidence\":{\"by\":\"$QL3_PROBE_BY\"}}"
  else
    echo '{"verdict":"unknown","reason":"identity_unverifiable"}'
  fi ;;
*) case $run in
  *7) echo "{\"verdict\":\"running\",\"reason\":\"$by\"}" ;;
  *8) sleep 0.4; echo '{"verdict":"unknown","reason":"provider_unavailable"}' ;;
  *) echo "{\"verdict\":\"not_running\",\"reason\":\"$by\",\"evidence\":{\"by\":\"$QL3_PROBE_BY\"}}" ;;
  esac ;;
esac
"""
ACTION = r"""#!/bin/sh
printf '{"call": ["%s", "%s"], "by": "program %s"}\n' "$QL3_REQUEST_UID" "$QL3_ITEM" "$$" >>"$CALLS"
case $$ in *[02468]) sleep 0.3 ;; esac
case $QL3_REQUEST_UID in *1) exit 1 ;; esac
"""
