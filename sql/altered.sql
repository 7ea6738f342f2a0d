-- What others add to our tables, and take away again: columns, constraints, indexes, triggers, a new heap. Every call goes on
-- and answers as before, and every index tells of every row.
\pset format unaligned
\pset tuples_only on
\pset null (null)
\set home :DBNAME
CREATE DATABASE t_altered;
\c t_altered
SET client_min_messages = warning;
CREATE EXTENSION ql3;
CREATE EXTENSION amcheck;
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('a17e0000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE TABLE jobs (id text PRIMARY KEY, status text NOT NULL, lost_at timestamptz NOT NULL);
CREATE INDEX ON jobs (lost_at, id);
CREATE VIEW lost AS SELECT id, id AS run_id, status, lost_at AS created_at, lost_at FROM jobs WHERE status = 'running';
CREATE FUNCTION job_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql AS
$$ UPDATE public.jobs AS j SET status = 'lost' WHERE j.id = $1 AND j.status = 'running' RETURNING true $$;
SELECT FROM ql3.ql3_attach_source('job', 'lost', 'job_lost(text,text,jsonb)');
CREATE TABLE ours AS SELECT oid::regclass AS name FROM pg_class WHERE relnamespace = 'ql3'::regnamespace
AND relname IN ('run_recovery_controls', 'judgements', 'dispatches', 'dispatch_tombstones');
CREATE FUNCTION each(command text) RETURNS void LANGUAGE plpgsql AS
$$ DECLARE t regclass; BEGIN FOR t IN SELECT name FROM ours ORDER BY name::text LOOP EXECUTE format(command, t); END LOOP; END $$;
-- One of every way to write; :n tells the rounds apart.
\set targets 'INSERT INTO jobs SELECT format(''%s-%s'', :n, i), ''running'', ''2026-01-01'' FROM generate_series(1, 3) AS i; SELECT id, version FROM ql3.ql3_claim(''A'', 3, ''5 min'', tok(:n), ''{job}''); SELECT ql3.ql3_renew(''job'', :n || ''-1'', ''A'', tok(:n), 1, ''4 min''), ql3.ql3_conclude(''job'', :n || ''-1'', ''A'', tok(:n), 1, ''gone'', jsonb_build_object(''why'', repeat(''long '', 4000))); SELECT id, result FROM ql3.ql3_settle_page(''A'', tok(:n), ''{job,job}'', ARRAY[:n || ''-2'', :n || ''-3''], ''{1,1}'', ''{manual,retry}'', ''{NULL,5 min}'', ARRAY[repeat(''note '', 400), NULL]); SELECT id, state, owner, version, claimable FROM ql3.ql3_observe() WHERE id LIKE :n || ''-%''; SELECT id, disposition, verdict, octet_length(note), result FROM ql3.judgements WHERE id LIKE :n || ''-%'' ORDER BY id; DELETE FROM jobs;'
\set dispatches 'SELECT verdict, state FROM ql3.ql3_dispatch_claim(''r'', :n || ''i'', ''act'', jsonb_build_object(''long'', (SELECT string_agg(md5(i::text), '''') FROM generate_series(1, 200) AS i)), ''w'', tok(:n)); SELECT ql3.ql3_dispatch_permit(''r'', :n || ''i'', ''w'', tok(:n), tok(90000 + :n)); SELECT ql3.ql3_dispatch_extend(''r'', :n || ''i'', ''w'', tok(:n), ''2 h''), ql3.ql3_dispatch_settle(''r'', :n || ''i'', ''w'', tok(:n), ''failed'', ''it said no''); SELECT state, writer_outcome, octet_length(arguments::text), detail FROM ql3.ql3_dispatch_observe(''r'', :n || ''i''); UPDATE ql3.dispatches SET concluded_at = ''2000-01-01'' WHERE item = :n || ''i''; SELECT ql3.ql3_prune(''9000 d''); SELECT verdict, state FROM ql3.ql3_dispatch_claim(''r'', :n || ''i'', ''act'', ''{}'', ''w'', tok(:n)); SELECT ql3.ql3_dispatch_settle(''r'', :n || ''i'', ''w'', tok(:n), ''succeeded''); SELECT count(*) FROM ql3.ql3_verify();'
\set sound 'SELECT count(bt_index_check(c.oid, true)) > 8 FROM pg_index AS x JOIN pg_class AS c ON c.oid = indexrelid JOIN ours ON name = indrelid WHERE relam = (SELECT oid FROM pg_am WHERE amname = ''btree'');'
\set n 1
:targets
:dispatches
:sound

-- Columns that came and went, more than a row of ours is wide.
SELECT each('DO $do$ BEGIN FOR n IN 1..45 LOOP EXECUTE ''ALTER TABLE %1$s ADD COLUMN more text NOT NULL DEFAULT ''''x'''', ADD COLUMN again int''; EXECUTE ''ALTER TABLE %1$s DROP COLUMN more, DROP COLUMN again''; END LOOP; END $do$');
SELECT min(relnatts) > 90 FROM pg_class JOIN ours ON oid = name;
\set n 2
:targets
:dispatches
:sound
-- What went is nowhere in the rows, so that they are not even wider.
SELECT count(*) FROM ql3.run_recovery_controls AS c WHERE id LIKE '2-%' AND pg_column_size(c) > 300;

-- Constraints and generated columns beyond what is kept ready.
SELECT each('DO $do$ BEGIN FOR n IN 1..30 LOOP EXECUTE ''ALTER TABLE %1$s ADD CONSTRAINT extra_'' || n || '' CHECK (tableoid IS NOT NULL)''; END LOOP; END $do$');
\set n 3
:targets
:dispatches
:sound

ALTER TABLE ql3.run_recovery_controls ADD CONSTRAINT zz_the_last CHECK (owner <> 'Nobody');
INSERT INTO jobs VALUES ('checked', 'running', '2026-01-01');
\set VERBOSITY sqlstate
SELECT id FROM ql3.ql3_claim('Nobody', 1, '1 min', tok(99), '{job}');
\set VERBOSITY default
DELETE FROM jobs;
ALTER TABLE ql3.run_recovery_controls DROP CONSTRAINT zz_the_last;
SELECT each('DO $do$ BEGIN FOR n IN 1..30 LOOP EXECUTE ''ALTER TABLE %1$s DROP CONSTRAINT extra_'' || n; END LOOP; END $do$');

-- Columns that stay.
SELECT each('ALTER TABLE %s ADD COLUMN mark text NOT NULL DEFAULT ''here'', ADD COLUMN upper_mark text GENERATED ALWAYS AS (upper(mark)) STORED, ADD COLUMN none jsonb');
\set n 4
:targets
:dispatches
:sound
SELECT each('DO $do$ BEGIN ASSERT (SELECT coalesce(bool_and(mark = ''here'' AND upper_mark = ''HERE'' AND none IS NULL), true) FROM %s); END $do$');
SELECT each('ALTER TABLE %s DROP COLUMN upper_mark, DROP COLUMN mark, DROP COLUMN none');

-- Indexes on expressions, partial, of other kinds.
CREATE FUNCTION shout(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN upper($1) || '!'; END $$;
CREATE INDEX ON ql3.run_recovery_controls (public.shout(owner), state) WHERE state <> 'resolved';
CREATE INDEX ON ql3.run_recovery_controls (version) INCLUDE (failure_count, status);
CREATE UNIQUE INDEX ON ql3.dispatches (md5(item)) WHERE state = 'failed';
CREATE INDEX ON ql3.judgements (left(note, 10)) WHERE note IS NOT NULL;
CREATE INDEX ON ql3.dispatch_tombstones (writer_outcome);
\set n 5
:targets
:dispatches
:sound
CREATE INDEX ON ql3.run_recovery_controls USING hash (owner);
CREATE INDEX ON ql3.dispatches USING gin (arguments);
CREATE INDEX ON ql3.judgements USING brin (judged_at);
\set n 6
:targets
:dispatches
:sound
INSERT INTO jobs VALUES ('held', 'running', '2026-01-01');
SELECT id FROM ql3.ql3_claim('Hashed', 1, '1 min', tok(100), '{job}');
SELECT verdict FROM ql3.ql3_dispatch_claim('r', 'gin', 'act', '{"in": "gin"}', 'w', tok(101));
SET enable_seqscan = off;
SELECT count(*) FROM ql3.judgements WHERE judged_at > '2026-01-01' AND id LIKE '6-%';
SELECT item FROM ql3.dispatches WHERE arguments @> '{"in": "gin"}';
SELECT id FROM ql3.run_recovery_controls WHERE owner = 'Hashed';
RESET enable_seqscan;
DROP INDEX ql3.run_recovery_controls_owner_idx, ql3.dispatches_arguments_idx, ql3.judgements_judged_at_idx;

-- Another heap.
VACUUM FULL ql3.run_recovery_controls;
VACUUM FULL ql3.dispatches;
CLUSTER ql3.judgements USING judgements_pkey;
CLUSTER ql3.dispatch_tombstones USING dispatch_tombstones_pkey;
\set n 7
:targets
:dispatches
:sound

-- Triggers of every kind, and row security.
CREATE TABLE heard (of text, what text);
CREATE FUNCTION hear() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
$$ BEGIN INSERT INTO public.heard VALUES (TG_TABLE_NAME, concat_ws(' ', TG_WHEN, TG_LEVEL, TG_OP)); RETURN coalesce(NEW, OLD); END $$;
SELECT each('CREATE TRIGGER a BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION public.hear()');
SELECT each('CREATE CONSTRAINT TRIGGER b AFTER INSERT OR UPDATE OR DELETE ON %s DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.hear()');
SELECT each('CREATE TRIGGER c AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH STATEMENT EXECUTE FUNCTION public.hear()');
SELECT each('ALTER TABLE %s ENABLE ROW LEVEL SECURITY');
\set n 8
:targets
TRUNCATE heard;
:dispatches
:sound
SELECT of, what, count(*) FROM heard WHERE of <> 'judgements' GROUP BY 1, 2 ORDER BY 1, 2;
SELECT each('DROP TRIGGER a ON %1$s; DROP TRIGGER b ON %1$s; DROP TRIGGER c ON %1$s; ALTER TABLE %1$s DISABLE ROW LEVEL SECURITY');

-- A row that replicas could not find is not changed.
SET client_min_messages = error;
CREATE PUBLICATION all_of_it FOR ALL TABLES;
SET client_min_messages = warning;
\set n 9
:targets
ALTER TABLE ql3.run_recovery_controls REPLICA IDENTITY NOTHING;
INSERT INTO jobs VALUES ('late', 'running', '2026-01-01');
SELECT id FROM ql3.ql3_claim('A', 1, '1 min', tok(102), '{job}');
\set VERBOSITY sqlstate
SELECT ql3.ql3_renew('job', 'late', 'A', tok(102), 1, '5 min');
\set VERBOSITY default
ALTER TABLE ql3.run_recovery_controls REPLICA IDENTITY FULL;
SELECT ql3.ql3_renew('job', 'late', 'A', tok(102), 1, '5 min');
DROP PUBLICATION all_of_it;

-- What a crash would empty gives no permission.
SELECT verdict FROM ql3.ql3_dispatch_claim('r', 'unlogged', 'act', '{}', 'w', tok(103));
ALTER TABLE ql3.dispatches SET UNLOGGED;
SELECT ql3.ql3_dispatch_permit('r', 'unlogged', 'w', tok(103), tok(104));
ALTER TABLE ql3.dispatches SET LOGGED;
SELECT ql3.ql3_dispatch_permit('r', 'unlogged', 'w', tok(103), tok(104));

-- A column of ours that is gone, or has another name, ends every call, and ready says so.
ALTER TABLE ql3.dispatches RENAME detail TO remark;
SELECT * FROM ql3.ql3_dispatch_observe('r', '9i');
SELECT check_name FROM ql3.ql3_ready() WHERE NOT ok AND detail LIKE '%missing: column ql3.dispatches.detail%';
\c :home
DROP DATABASE t_altered;
