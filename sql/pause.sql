-- Pause: nothing new is handed out and nothing is concluded, of one kind or of all; what is held can be ended.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_pause;
SET search_path = t_pause, ql3, public;
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('5e1f0a10-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION code(q text) RETURNS text LANGUAGE plpgsql
AS $$ DECLARE r text; BEGIN EXECUTE q INTO r; RETURN coalesce(r, 'ok');
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
CREATE TABLE jobs (id text PRIMARY KEY, run_id text NOT NULL, status text NOT NULL, lost_at timestamptz NOT NULL);
CREATE INDEX ON jobs (lost_at, id) WHERE status = 'running';
CREATE VIEW lost AS SELECT id, run_id, status, lost_at AS created_at, lost_at FROM jobs
WHERE status = 'running' AND lost_at <= statement_timestamp();
CREATE VIEW other AS SELECT * FROM lost;
CREATE FUNCTION job_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql AS
$$ UPDATE t_pause.jobs AS j SET status = 'lost' WHERE j.id = $1 AND j.status = 'running' RETURNING true $$;
INSERT INTO jobs SELECT i, i, 'running', '2026-01-01' FROM unnest('{a,b,c,d,e,f}'::text[]) AS i;
SELECT FROM ql3_attach_source('pause', 'lost', 'job_lost(text,text,jsonb)');
SELECT count(*) FROM ql3_claim('A', 4, '5 min', tok(1));

-- Paused: a new claim and a conclusion are refused by name, and nothing changed.
SELECT ql3_pause('pause', 'look at the probes');
SELECT FROM ql3_claim('A', 1);
SELECT FROM ql3_claim('A', 1, '5 min', tok(2), '{pause}');
SELECT ql3_conclude('pause', 'a', 'A', tok(1), 1, 'lost');
SELECT state, version FROM ql3_observe_one('pause', 'a', tok(1));
SELECT status FROM jobs WHERE id = 'a';
-- What is held can be renewed, settled and given back, and a lost reply asked for again.
SELECT count(*) FROM ql3_claim('A', 4, '5 min', tok(1));
SELECT ql3_renew('pause', 'a', 'A', tok(1), 1), ql3_settle('pause', 'b', 'A', tok(1), 1, 'retry', '0');
SELECT result FROM ql3_give_back('A', tok(1), '{pause}', '{c}', '{1}');
SELECT FROM ql3_require_fence('pause', 'a', 'A', tok(1), 1);
-- Observe goes on and says why nobody gets them.
SELECT id, state, claimable, detail FROM ql3_observe() ORDER BY id;
-- A second pause changes nothing; the first one's reason stays.
SELECT ql3_pause('pause', 'again');
SELECT detail FROM ql3_observe(1);
-- It survives detach and attach.
SELECT FROM ql3_detach_source('pause');
SELECT FROM ql3_attach_source('pause', 'lost', 'job_lost(text,text,jsonb)');
SELECT code('SELECT ql3_claim(''A'')');
-- Another kind goes on, with a warning for the one that is left out.
SELECT FROM ql3_attach_source('pause_other', 'other');
SELECT count(*) FROM ql3_claim('A', 1, '5 min', tok(3));
SELECT count(*) FROM ql3_claim('A', 1, '5 min', tok(4), '{pause,pause_other}');
SELECT count(*) FROM ql3_claim('A', 1, '5 min', tok(5), '{pause_other}');
SELECT kind, id, claimable FROM ql3_observe() WHERE id = 'f' ORDER BY kind;

SELECT ql3_resume('pause', 'probes are well');
SELECT ql3_resume('pause', 'again');
SELECT ql3_conclude('pause', 'a', 'A', tok(1), 1, 'lost');
-- The repeat of what was concluded before a pause keeps its answer.
SELECT FROM ql3_pause('pause', 'once more');
SELECT ql3_conclude('pause', 'a', 'A', tok(1), 1, 'lost');
-- All: every attached kind, the built-in one too; one of them can be resumed alone.
SELECT ql3_pause(NULL, 'everything stops');
SELECT ql3_pause(NULL, 'again');
SELECT kind, paused_reason, paused_by = session_user FROM ql3.recovery_kinds WHERE paused_at IS NOT NULL ORDER BY kind;
SELECT code(q) FROM (VALUES ('SELECT ql3_claim(''A'')'), ('SELECT ql3_claim(''A'', kinds => ''{dispatch}'')'),
  ('SELECT ql3_claim(''A'', kinds => ''{pause,dispatch}'')')) AS v (q);
-- All of them are named, while they are few.
SELECT FROM ql3_claim('A', 1);
SELECT FROM ql3_claim('A', 1, '5 min', tok(6), '{pause,pause_other}');
DO $$ BEGIN FOR n IN 1..4 LOOP PERFORM ql3.ql3_attach_source('many_' || n, 'other'), ql3.ql3_pause('many_' || n, 'r'); END LOOP; END $$;
SELECT FROM ql3_claim('A', 1);
-- The built-in kind is not what there is to claim: it is not named where it is not paused.
SELECT FROM ql3_resume('dispatch', 'that one goes on');
SELECT FROM ql3_claim('A', 1);
SELECT FROM ql3_pause('dispatch', 'it does not');
DO $$ BEGIN FOR n IN 1..4 LOOP PERFORM ql3.ql3_resume('many_' || n, 'r'), ql3.ql3_detach_source('many_' || n); END LOOP; END $$;
SELECT FROM ql3_resume('pause_other', 'one at a time');
SELECT count(*) FROM ql3_claim('A', 1, '5 min', tok(6), '{pause_other}');
SELECT ql3_resume(NULL, 'all is well');
SELECT ql3_resume(NULL, 'again');
SELECT kind FROM ql3.recovery_kinds WHERE paused_at IS NOT NULL;
SELECT count(*) > 0 FROM ql3_claim('A', 16, '5 min', tok(7), '{pause}');

-- What changed something is on record.
SELECT kind, action, reason, actor = session_user, before, after FROM ql3.audit_events
WHERE action IN ('pause', 'resume') AND (kind LIKE 'pause%' OR kind = 'dispatch') ORDER BY event_id;
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_pause('nobody', 'r')$q$), ($q$SELECT ql3_pause('No', 'r')$q$), ($q$SELECT ql3_pause('', 'r')$q$),
  ($q$SELECT ql3_pause('pause', NULL)$q$), ($q$SELECT ql3_pause('pause', ' ')$q$), ($q$SELECT ql3_pause(NULL, NULL)$q$),
  ($q$SELECT ql3_resume('nobody', 'r')$q$), ($q$SELECT ql3_resume('pause', '')$q$)
) AS v (q);
BEGIN READ ONLY;
SELECT FROM ql3_pause('pause', 'r');
ROLLBACK;
SELECT FROM ql3_detach_source('pause_other');
SELECT FROM ql3_detach_source('pause');
SET client_min_messages = warning;
DROP SCHEMA t_pause CASCADE;
