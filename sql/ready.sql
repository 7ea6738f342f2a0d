-- ql3_ready: a sound installation, and every single change of catalog, rights, settings or state caught and named.
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
CREATE EXTENSION IF NOT EXISTS ql3_ledger;
RESET client_min_messages;
CREATE SCHEMA t_ready;
SET search_path = t_ready, ql3, public;
CREATE ROLE regress_ql3_ready_runtime;
CREATE ROLE regress_ql3_ready_other;
SELECT FROM ql3_grant('regress_ql3_ready_runtime', 'runtime');

-- As installed: nothing is wrong with what this file looks at. Every row has its words.
SELECT check_name, level, needed_for FROM ql3_ready() WHERE check_name NOT IN ('fsync', 'event_triggers') ORDER BY 1, 2;
SELECT check_name, detail FROM ql3_ready()
WHERE NOT ok AND check_name NOT IN ('fsync', 'full_page_writes', 'source', 'owner', 'dispatch_halt', 'synchronous_standbys', 'server_version');
-- A server newer than those that the suites run on is said to be so.
SELECT ok = (current_setting('server_version_num')::int < 190000) FROM ql3_ready() WHERE check_name = 'server_version';
SELECT bool_and(level IN ('error', 'warning') AND detail <> '' AND ok = (remedy IS NULL)) FROM ql3_ready();
SELECT count(*) FROM ql3_catalog_form() WHERE object IS NULL OR form IS NULL OR form ~ '[\n\t]';

-- One change, what ql3_ready says of it, and everything undone. Rows that were not ok before do not count.
CREATE TEMP TABLE before AS SELECT check_name, needed_for, detail FROM ql3_ready() WHERE NOT ok;
CREATE FUNCTION caught(change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE said text;
BEGIN
  EXECUTE change;
  SELECT string_agg(DISTINCT r.check_name || ': ' || r.detail, ' | ') INTO said FROM ql3.ql3_ready() AS r
   WHERE NOT r.ok AND NOT EXISTS (SELECT FROM pg_temp.before AS b
                                   WHERE (b.check_name, b.detail) = (r.check_name, r.detail));
  RAISE EXCEPTION USING ERRCODE = 'QL301', MESSAGE = coalesce(said, 'nothing');
EXCEPTION WHEN SQLSTATE 'QL301' THEN RETURN SQLERRM;
  WHEN OTHERS THEN RETURN 'failed: ' || SQLERRM;
END $$;
CREATE TABLE changes (n int GENERATED ALWAYS AS IDENTITY, wanted text, change text);
INSERT INTO changes (wanted, change) VALUES
  -- columns
  ('catalog: %missing: column ql3.recovery_pages.over_seen_at%', 'ALTER TABLE ql3.recovery_pages DROP COLUMN over_seen_at'),
  ('catalog: missing: column ql3.dispatches.detail; not ours: column ql3.dispatches.details%', 'ALTER TABLE ql3.dispatches RENAME detail TO details'),
  ('catalog: not ours: column ql3.dispatches.mine', 'ALTER TABLE ql3.dispatches ADD COLUMN mine int'),
  ('catalog: changed: column ql3.judgements.kind %here: text collate C after judgement_id)', 'ALTER TABLE ql3.judgements ALTER kind DROP NOT NULL'),
  ('catalog: changed: column ql3.recovery_sources.protocol %default 2 %', 'ALTER TABLE ql3.recovery_sources ALTER protocol SET DEFAULT 2'),
  ('catalog: changed: column ql3.recovery_pages.page_size %bigint%', 'ALTER TABLE ql3.recovery_pages ALTER page_size TYPE bigint'),
  ('catalog: changed: column ql3.granted_profiles.role_name %collate C not null)%', 'ALTER TABLE ql3.granted_profiles ALTER role_name TYPE text COLLATE "C"'),
  ('catalog: changed: column ql3.judgements.judgement_id %identity always)', 'ALTER TABLE ql3.judgements ALTER judgement_id SET GENERATED ALWAYS'),
  -- constraints and indexes
  ('catalog: missing: constraint ql3.run_recovery_controls.run_recovery_controls_state', 'ALTER TABLE ql3.run_recovery_controls DROP CONSTRAINT run_recovery_controls_state'),
  ('catalog: changed: constraint ql3.dispatches.dispatches_permit %', 'ALTER TABLE ql3.dispatches DROP CONSTRAINT dispatches_permit, ADD CONSTRAINT dispatches_permit CHECK (permit_digest IS NULL OR permitted_at IS NOT NULL)'),
  ('catalog: changed: constraint ql3.dispatches.dispatches_permit %not valid)', 'ALTER TABLE ql3.dispatches DROP CONSTRAINT dispatches_permit, ADD CONSTRAINT dispatches_permit CHECK ((permit_digest IS NULL) = (permitted_at IS NULL)) NOT VALID'),
  ('catalog: missing: constraint ql3.dispatches.dispatches_token_key%missing: index ql3.dispatches_token_key', 'ALTER TABLE ql3.dispatches DROP CONSTRAINT dispatches_token_key'),
  ('catalog: not ours: constraint public.child.child_kind_id_fkey', 'CREATE TABLE public.child (kind text COLLATE "C", id text COLLATE "C", FOREIGN KEY (kind, id) REFERENCES ql3.run_recovery_controls)'),
  ('catalog: missing: index ql3.run_recovery_controls_due_idx', 'DROP INDEX ql3.run_recovery_controls_due_idx'),
  ('catalog: changed: index ql3.dispatch_halts_standing_idx %', 'DROP INDEX ql3.dispatch_halts_standing_idx; CREATE INDEX dispatch_halts_standing_idx ON ql3.dispatch_halts (halt)'),
  ('catalog: not ours: index ql3.mine_idx', 'CREATE INDEX mine_idx ON ql3.dispatches (writer)'),
  ('catalog: changed: index ql3.dispatches_observe_idx %invalid)', 'UPDATE pg_index SET indisvalid = false WHERE indexrelid = ''ql3.dispatches_observe_idx''::regclass'),
  -- functions
  ('catalog: missing: function ql3.ql3_park(text,text,bigint,text)', 'ALTER EXTENSION ql3 DROP FUNCTION ql3.ql3_park(text, text, bigint, text); DROP FUNCTION ql3.ql3_park(text, text, bigint, text)'),
  ('catalog: changed: function ql3.ql3_park(text,text,bigint,text) %not a member)', 'ALTER EXTENSION ql3 DROP FUNCTION ql3.ql3_park(text, text, bigint, text)'),
  ('catalog: changed: function ql3.ql3_claim%security invoker%', 'ALTER FUNCTION ql3.ql3_claim SECURITY INVOKER'),
  ('catalog: changed: function ql3.ql3_settle(%public%', 'ALTER FUNCTION ql3.ql3_settle SET search_path = public'),
  ('catalog: changed: function ql3.ql3_settle(%', 'ALTER FUNCTION ql3.ql3_settle RESET search_path'),
  ('catalog: changed: function ql3.ql3_claim%stable%', 'ALTER FUNCTION ql3.ql3_claim STABLE'),
  ('catalog: changed: function ql3.ql3_renew(%strict%', 'ALTER FUNCTION ql3.ql3_renew STRICT'),
  ('catalog: changed: function ql3.ql3_dispatch_permit%', 'UPDATE pg_proc SET prosupport = 0 WHERE proname = ''ql3_dispatch_permit'''),
  ('catalog: changed: function ql3.ql3_observe(%cost 1 %', 'ALTER FUNCTION ql3.ql3_observe COST 1'),
  ('catalog: changed: function ql3.ql3_renew(%', 'CREATE OR REPLACE FUNCTION ql3.ql3_renew(kind text, id text, owner text, token uuid, version bigint, lease interval DEFAULT ''1 min'') RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 100 SET search_path = pg_catalog, pg_temp AS ''$libdir/ql3'', ''ql3_renew'''),
  ('catalog: changed: function ql3.ql3_give_back%:ql3_renew_page%', 'UPDATE pg_proc SET prosrc = ''ql3_renew_page'' WHERE proname = ''ql3_give_back'''),
  ('catalog: changed: function ql3.ql3_observe(%owner regress_ql3_ready_other%', 'ALTER FUNCTION ql3.ql3_observe OWNER TO regress_ql3_ready_other'),
  ('catalog: not ours: function ql3.mine()%', 'CREATE FUNCTION ql3.mine() RETURNS int LANGUAGE sql AS ''SELECT 1'''),
  -- triggers, rules, policies, what inherits
  ('catalog: changed: trigger ql3.audit_events.append_only %enabled D)', 'ALTER TABLE ql3.audit_events DISABLE TRIGGER append_only'),
  ('catalog: missing: trigger ql3.dispatch_confirmations.append_only', 'DROP TRIGGER append_only ON ql3.dispatch_confirmations'),
  ('catalog: not ours: trigger ql3.dispatches.mine', 'CREATE TRIGGER mine BEFORE UPDATE ON ql3.dispatches FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()'),
  ('catalog: not ours: trigger ql3.dispatches.mine', 'CREATE TRIGGER mine BEFORE UPDATE ON ql3.dispatches FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION suppress_redundant_updates_trigger()'),
  ('catalog: not ours: rule ql3.dispatches.mine', 'CREATE RULE mine AS ON UPDATE TO ql3.dispatches DO INSTEAD NOTHING'),
  ('catalog: not ours: policy ql3.dispatches.mine; changed: table ql3.dispatches %row security%', 'ALTER TABLE ql3.dispatches ENABLE ROW LEVEL SECURITY; CREATE POLICY mine ON ql3.dispatches USING (false)'),
  ('catalog: changed: table ql3.dispatches %forced%', 'ALTER TABLE ql3.dispatches FORCE ROW LEVEL SECURITY'),
  ('catalog: not ours: child public.child of ql3.dispatches', 'CREATE TABLE public.child () INHERITS (ql3.dispatches)'),
  -- tables, sequences, views, types, schema, dump
  ('catalog: %changed: table ql3.recovery_pages %unlogged%', 'ALTER TABLE ql3.recovery_pages SET UNLOGGED'),
  ('catalog: %changed: table ql3.judgements %owner regress_ql3_ready_other%', 'ALTER TABLE ql3.judgements OWNER TO regress_ql3_ready_other'),
  ('catalog: not ours: table ql3.mine', 'CREATE TABLE ql3.mine ()'),
  ('catalog: changed: table ql3.dispatches %', 'UPDATE pg_extension SET extconfig = array_remove(extconfig, ''ql3.dispatches''::regclass::oid), extcondition = extcondition[2:] WHERE extname = ''ql3'''),
  ('catalog: changed: sequence ql3.judgements_judgement_id_seq %step 2%', 'ALTER SEQUENCE ql3.judgements_judgement_id_seq INCREMENT 2'),
  ('catalog: changed: view ql3.dispatch_candidates %', 'CREATE OR REPLACE VIEW ql3.dispatch_candidates AS SELECT d.attempt AS id, d.request_uid AS run_id, d.state AS status, d.claimed_at AS created_at, d.observe_at AS lost_at, d.request_uid, d.item, d.action, d.arguments, d.writer, d.permit_digest IS NOT NULL AS permitted, true AS own_lineage, statement_timestamp() - d.observe_at AS age FROM ql3.dispatches AS d WHERE d.state = ''claimed'''),
  ('catalog: not ours: column ql3.target_result.mine', 'ALTER TYPE ql3.target_result ADD ATTRIBUTE mine int'),
  ('catalog: changed: type ql3.lineage %not a member)', 'ALTER EXTENSION ql3 DROP TYPE ql3.lineage'),
  ('catalog: not ours: object operator ql3.===(integer,integer)%', 'CREATE OPERATOR ql3.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq)'),
  ('catalog: changed: schema ql3 %owner regress_ql3_ready_other%', 'ALTER SCHEMA ql3 OWNER TO regress_ql3_ready_other'),
  ('version: library %, SQL 0.9', 'UPDATE pg_extension SET extversion = ''0.9'' WHERE extname = ''ql3'''),
  -- capabilities and installation
  ('capabilities: %control-core 7', 'UPDATE ql3.schema_capabilities SET version = 6 WHERE contract = ''control-core'''),
  ('capabilities: %control-core 7', 'UPDATE ql3.schema_capabilities SET capabilities = ''{}'' WHERE contract = ''control-core'''),
  ('capabilities: %ql3 1', 'DELETE FROM ql3.schema_capabilities WHERE contract = ''ql3'''),
  ('capabilities: %control-core 7', 'UPDATE ql3.schema_capabilities SET capabilities = capabilities || ''{"exactly_once": 1}'' WHERE contract = ''control-core'''),
  ('capabilities: %(not ours: control-plane 1)', 'INSERT INTO ql3.schema_capabilities VALUES (''control-plane'', 1, ''{}'')'),
  ('installation: %', 'DELETE FROM ql3.installation'),
  -- rights
  ('rights: PUBLIC has EXECUTE on function ql3.ql3_claim(%', 'GRANT EXECUTE ON FUNCTION ql3.ql3_claim TO PUBLIC'),
  ('rights: PUBLIC has USAGE on schema ql3', 'GRANT USAGE ON SCHEMA ql3 TO PUBLIC'),
  ('rights: regress_ql3_ready_other has CREATE on schema ql3', 'GRANT CREATE ON SCHEMA ql3 TO regress_ql3_ready_other'),
  ('rights: regress_ql3_ready_other has SELECT on ql3.dispatches', 'GRANT SELECT ON ql3.dispatches TO regress_ql3_ready_other'),
  ('rights: regress_ql3_ready_other has UPDATE on column ql3.dispatches.state', 'GRANT UPDATE (state) ON ql3.dispatches TO regress_ql3_ready_other'),
  ('rights: regress_ql3_ready_other has USAGE on ql3.judgements_judgement_id_seq', 'GRANT USAGE ON SEQUENCE ql3.judgements_judgement_id_seq TO regress_ql3_ready_other'),
  ('rights: PUBLIC has USAGE on type ql3.lineage', 'GRANT USAGE ON TYPE ql3.lineage TO PUBLIC'),
  ('rights: regress_ql3_ready_runtime has EXECUTE on function ql3.ql3_park(%', 'GRANT EXECUTE ON FUNCTION ql3.ql3_park TO regress_ql3_ready_runtime'),
  ('rights: regress_ql3_ready_runtime has EXECUTE on function ql3.ql3_claim(% and may grant it', 'GRANT EXECUTE ON FUNCTION ql3.ql3_claim TO regress_ql3_ready_runtime WITH GRANT OPTION'),
  ('grants: regress_ql3_ready_runtime (runtime) lacks EXECUTE on ql3_claim(%', 'REVOKE EXECUTE ON FUNCTION ql3.ql3_claim FROM regress_ql3_ready_runtime'),
  ('grants: regress_ql3_ready_runtime (runtime) lacks USAGE on ql3', 'REVOKE USAGE ON SCHEMA ql3 FROM regress_ql3_ready_runtime'),
  ('grants: regress_ql3_ready_other (observer) lacks EXECUTE%', 'INSERT INTO ql3.granted_profiles VALUES (''regress_ql3_ready_other'', ''observer'', now())'),
  ('grants: role regress_ql3_gone does not exist%', 'INSERT INTO ql3.granted_profiles VALUES (''regress_ql3_gone'', ''observer'', now())'),
  ('rights: regress_ql3_ready_runtime has EXECUTE%', 'DELETE FROM ql3.granted_profiles WHERE role_name = ''regress_ql3_ready_runtime'''),
  ('grants: the owner lacks SELECT on ql3.dispatches', 'REVOKE SELECT ON ql3.dispatches FROM current_user'),
  ('owner: regress_ql3_ready_other can act as p%', format('GRANT %s TO regress_ql3_ready_other', (SELECT rolname FROM pg_roles WHERE rolname IN ('pg_read_all_data') UNION ALL SELECT current_user LIMIT 1))),
  -- settings
  ('synchronous_commit: %', 'SET LOCAL synchronous_commit = off'),
  ('zero_damaged_pages: %', 'SET LOCAL zero_damaged_pages = on'),
  ('ignore_checksum_failure: %', 'SET LOCAL ignore_checksum_failure = on'),
  ('session_replication_role: %', 'SET LOCAL session_replication_role = replica'),
  ('default_transaction_isolation: %', 'SET LOCAL default_transaction_isolation = serializable'),
  ('default_transaction_read_only: %', 'SET LOCAL default_transaction_read_only = on'),
  ('claim_transaction_timeout: %', 'SET LOCAL ql3.claim_transaction_timeout = 0'),
  ('dispatch_after_promotion: %', 'SET LOCAL ql3.dispatch_after_promotion = allow'),
  ('track_counts: %', 'SET LOCAL track_counts = off'),
  -- state
  ('dispatch_halt: dispatch is halted by an operator', 'SELECT ql3.ql3_halt_dispatch(''because'')'),
  ('dispatch_halt: dispatch is halted: this database was promoted or restored', 'INSERT INTO ql3.dispatch_lineage SELECT gen_random_uuid(), ''1'', timeline, database, installation, seen_at FROM ql3.dispatch_lineage LIMIT 1'),
  ('event_triggers: mine of % on ddl_command_start', 'CREATE FUNCTION mine() RETURNS event_trigger LANGUAGE plpgsql AS ''BEGIN END''; CREATE EVENT TRIGGER mine ON ddl_command_start EXECUTE FUNCTION mine()'),
  ('source: kind ready_blind: blind: %42P01%', 'CREATE TABLE t_ready.s (id text, run_id text, status text, created_at timestamptz, lost_at timestamptz); CREATE INDEX ON t_ready.s (lost_at, id); SELECT ql3.ql3_attach_source(''ready_blind'', ''t_ready.s''); DROP TABLE t_ready.s'),
  ('source: kind ready_slow: slow: %', 'CREATE TABLE t_ready.s (id text, run_id text, status text, created_at timestamptz, lost_at timestamptz); SELECT ql3.ql3_attach_source(''ready_slow'', ''t_ready.s'', allow_slow => true)');
SELECT n, wanted, said FROM changes, LATERAL (SELECT caught(change) OFFSET 0) AS c (said)
WHERE ' | ' || said || ' | ' NOT LIKE '% | ' || wanted || ' | %' ORDER BY n;
SELECT count(*) >= 80 FROM changes;

-- The same of ql3_ledger, where it is installed.
SELECT count(*) > 100, count(*) FILTER (WHERE object IS NULL OR form IS NULL OR form ~ '[\n\t]') FROM ql3_catalog_form('ql3_ledger');
\set VERBOSITY sqlstate
SELECT FROM ql3_catalog_form(NULL);
SELECT FROM ql3_catalog_form('plpgsql');
\set VERBOSITY default
CREATE TABLE ledger_changes (n int GENERATED ALWAYS AS IDENTITY, wanted text, change text);
INSERT INTO ledger_changes (wanted, change) VALUES
  ('missing: column ql3_ledger.runs.last_event%', 'ALTER TABLE ql3_ledger.runs DROP COLUMN last_event'),
  ('changed: column ql3_ledger.run_attempts.host %not null%', 'ALTER TABLE ql3_ledger.run_attempts ALTER host SET NOT NULL'),
  ('changed: column ql3_ledger.run_attempts.revision %default 7 %', 'ALTER TABLE ql3_ledger.run_attempts ALTER revision SET DEFAULT 7'),
  ('missing: constraint ql3_ledger.run_attempts.run_attempts_barrier', 'ALTER TABLE ql3_ledger.run_attempts DROP CONSTRAINT run_attempts_barrier'),
  ('changed: constraint ql3_ledger.runs.runs_ended %not valid)', 'ALTER TABLE ql3_ledger.runs DROP CONSTRAINT runs_ended, ADD CONSTRAINT runs_ended CHECK ((ended_at IS NOT NULL) = (status IN (''succeeded'', ''failed'', ''lost''))) NOT VALID'),
  ('missing: constraint ql3_ledger.run_events.run_events_run_id_fkey', 'ALTER TABLE ql3_ledger.run_events DROP CONSTRAINT run_events_run_id_fkey'),
  ('missing: index ql3_ledger.run_attempts_one_open', 'DROP INDEX ql3_ledger.run_attempts_one_open'),
  ('changed: index ql3_ledger.run_attempts_lost_runs %', 'DROP INDEX ql3_ledger.run_attempts_lost_runs; CREATE INDEX run_attempts_lost_runs ON ql3_ledger.run_attempts (lease_expires_at)'),
  ('changed: function ql3_ledger.mark_lost(text,text,text,jsonb) %', 'CREATE OR REPLACE FUNCTION ql3_ledger.mark_lost(kind text, id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS ''BEGIN RETURN true; END'''),
  ('changed: function ql3_ledger.heartbeat(uuid,text,interval) %security invoker%', 'ALTER FUNCTION ql3_ledger.heartbeat SECURITY INVOKER'),
  ('changed: function ql3_ledger.start_attempt(%search_path=public%', 'ALTER FUNCTION ql3_ledger.start_attempt SET search_path = public'),
  ('changed: function ql3_ledger.guard_event() %owner regress_ql3_ready_other%', 'ALTER FUNCTION ql3_ledger.guard_event OWNER TO regress_ql3_ready_other'),
  ('missing: function ql3_ledger.attempt_lost(text,text,jsonb)%', 'ALTER EXTENSION ql3_ledger DROP FUNCTION ql3_ledger.attempt_lost; DROP FUNCTION ql3_ledger.attempt_lost'),
  ('not ours: function ql3_ledger.mine(); PUBLIC has EXECUTE%', 'CREATE FUNCTION ql3_ledger.mine() RETURNS int LANGUAGE sql AS ''SELECT 1'''),
  ('changed: trigger ql3_ledger.run_events.guard_event %enabled D)', 'ALTER TABLE ql3_ledger.run_events DISABLE TRIGGER guard_event'),
  ('missing: trigger ql3_ledger.runs.guard_judged', 'DROP TRIGGER guard_judged ON ql3_ledger.runs'),
  ('changed: trigger ql3_ledger.run_attempts.guard_judged %', 'DROP TRIGGER guard_judged ON ql3_ledger.run_attempts; CREATE TRIGGER guard_judged BEFORE DELETE ON ql3_ledger.run_attempts FOR EACH ROW EXECUTE FUNCTION ql3_ledger.guard_judged(''run'', ''attempt_id'')'),
  ('not ours: rule ql3_ledger.runs.mine', 'CREATE RULE mine AS ON DELETE TO ql3_ledger.runs DO INSTEAD NOTHING'),
  ('changed: table ql3_ledger.runs %row security%', 'ALTER TABLE ql3_ledger.runs ENABLE ROW LEVEL SECURITY'),
  ('changed: table ql3_ledger.run_events %', 'UPDATE pg_extension SET extconfig = array_remove(extconfig, ''ql3_ledger.run_events''::regclass::oid), extcondition = extcondition[2:] WHERE extname = ''ql3_ledger'''),
  ('changed: view ql3_ledger.lost_attempts %', 'CREATE OR REPLACE VIEW ql3_ledger.lost_attempts AS SELECT a.attempt_id AS id, a.run_id, a.status, a.created_at, a.lease_expires_at AS lost_at, a.attempt_id, a.attempt_number, a.status AS attempt_status, a.revision, a.worker, a.host, a.pid, a.process_start, a.started_at FROM ql3_ledger.run_attempts AS a WHERE a.lease_expires_at <= statement_timestamp()'),
  ('not ours: child public.child of ql3_ledger.runs', 'CREATE TABLE public.child () INHERITS (ql3_ledger.runs)'),
  ('changed: extension ql3_ledger %', 'UPDATE pg_extension SET extversion = ''0.9'' WHERE extname = ''ql3_ledger'''),
  ('PUBLIC has EXECUTE on function ql3_ledger.heartbeat(uuid,text,interval)', 'GRANT EXECUTE ON FUNCTION ql3_ledger.heartbeat TO PUBLIC'),
  ('PUBLIC has SELECT on ql3_ledger.runs', 'GRANT SELECT ON ql3_ledger.runs TO PUBLIC'),
  ('regress_ql3_ready_other has UPDATE on ql3_ledger.run_attempts', 'GRANT UPDATE ON ql3_ledger.run_attempts TO regress_ql3_ready_other'),
  ('regress_ql3_ready_other has UPDATE on column ql3_ledger.run_attempts.lease_expires_at', 'GRANT UPDATE (lease_expires_at) ON ql3_ledger.run_attempts TO regress_ql3_ready_other'),
  ('regress_ql3_ready_other has CREATE on schema ql3_ledger', 'GRANT CREATE ON SCHEMA ql3_ledger TO regress_ql3_ready_other'),
  ('regress_ql3_ready_other has EXECUTE on function ql3_ledger.reopen_run(text,text) and may grant it', 'GRANT EXECUTE ON FUNCTION ql3_ledger.reopen_run TO regress_ql3_ready_other WITH GRANT OPTION'),
  ('nothing', 'SELECT ql3_ledger.grant_worker(''regress_ql3_ready_other''); GRANT SELECT ON ql3_ledger.runs TO regress_ql3_ready_other; GRANT EXECUTE ON FUNCTION ql3_ledger.reopen_run TO regress_ql3_ready_other'),
  ('nothing', 'ALTER TABLE ql3_ledger.run_attempts SET (fillfactor = 50)');
SELECT n, wanted, said FROM ledger_changes, LATERAL (SELECT caught(change) OFFSET 0) AS c (said)
WHERE said NOT LIKE CASE wanted WHEN 'nothing' THEN wanted ELSE 'ledger: ' || wanted END ORDER BY n;
-- The contract of ql3 does not mind it, and without it there is nothing to compare.
SELECT check_name, detail FROM ql3_ready() WHERE check_name IN ('catalog', 'rights') AND NOT ok;
SELECT FROM unnest('{run,attempt}'::text[]) AS k WHERE ql3_detach_source(k) IS NULL;
DROP EXTENSION ql3_ledger;
SELECT ok, detail FROM ql3_ready() WHERE check_name = 'ledger';

-- Tuning is nobody's business but the owner's.
SELECT change, caught(change) FROM (VALUES
  ('ALTER TABLE ql3.dispatches SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01)'),
  ('ALTER TABLE ql3.run_recovery_controls ALTER id SET STATISTICS 1000'),
  ('ALTER TABLE ql3.judgements ALTER evidence SET STORAGE EXTERNAL'),
  ('CLUSTER ql3.judgements USING judgements_pkey'),
  ('COMMENT ON TABLE ql3.dispatches IS ''ours'''),
  ('SET LOCAL IntervalStyle = ''iso_8601'''),
  ('SET LOCAL DateStyle = ''german'''),
  ('SET LOCAL TimeZone = ''Asia/Kathmandu'''),
  ('SET LOCAL quote_all_identifiers = on'),
  ('SET LOCAL search_path = ql3, pg_temp')) AS v (change);

-- Nothing that it finds is an error of the call: not even tables that are gone.
SELECT caught('ALTER EXTENSION ql3 DROP TABLE ql3.schema_capabilities; DROP TABLE ql3.schema_capabilities')
  LIKE 'capabilities: could not be checked: % (SQLSTATE 42P01) | catalog: missing: column ql3.schema_capabilities.capabilities;%';
SELECT caught('ALTER EXTENSION ql3 DROP TABLE ql3.granted_profiles; DROP TABLE ql3.granted_profiles') LIKE '%grants: could not be checked%';
SELECT caught('ALTER TABLE ql3.recovery_sources RENAME TO others') LIKE '%source: could not be checked%';
-- A transaction that may only read, and a role with any profile.
BEGIN TRANSACTION READ ONLY ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) > 20 FROM ql3_ready();
COMMIT;
SET ROLE regress_ql3_ready_runtime;
SELECT count(*) > 20 FROM ql3.ql3_ready();
SELECT count(*) FROM ql3.ql3_catalog_form();
RESET ROLE;
SET ROLE regress_ql3_ready_other;
SELECT count(*) FROM ql3.ql3_ready();
RESET ROLE;

-- Other versions: every call says so, ql3_ready says it too, and nothing else is judged by the wrong contract.
BEGIN;
UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'ql3';
ALTER FUNCTION ql3.ql3_claim COST 1001;
SAVEPOINT here;
SELECT FROM ql3_claim('A');
ROLLBACK TO here;
SELECT ql3_halt_dispatch('because');
ROLLBACK TO here;
SELECT check_name, detail FROM ql3_ready() WHERE NOT ok AND check_name IN ('version', 'catalog');
ROLLBACK;
SELECT FROM ql3_claim('A', kinds => '{nothing}');

SELECT FROM ql3_revoke('regress_ql3_ready_runtime', 'runtime');
SET client_min_messages = warning;
DROP OWNED BY regress_ql3_ready_runtime, regress_ql3_ready_other;
DROP ROLE regress_ql3_ready_runtime, regress_ql3_ready_other;
DROP SCHEMA t_ready CASCADE;
