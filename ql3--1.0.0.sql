\echo Use "CREATE EXTENSION ql3" to load this file. \quit

-- Everything below is qualified; nothing of the installing session's path is used. CREATE, never CREATE OR REPLACE:
-- an object planted before the install is refused, not adopted.
SET LOCAL search_path = pg_catalog, pg_temp;

CREATE SCHEMA ql3;
COMMENT ON SCHEMA ql3 IS 'recovery claims and at-most-once dispatch';

-- Tables ----------------------------------------------------------------------------------------------------------

CREATE TABLE ql3.schema_capabilities (
  contract text COLLATE "C" NOT NULL,
  version integer NOT NULL CHECK (version > 0),
  capabilities jsonb NOT NULL CHECK (jsonb_typeof(capabilities) = 'object'),
  CONSTRAINT schema_capabilities_pkey PRIMARY KEY (contract)
);
COMMENT ON TABLE ql3.schema_capabilities IS 'what this schema can do, by contract; written by the install and upgrade scripts only';
INSERT INTO ql3.schema_capabilities VALUES
  ('control-core', 7, '{"cluster_recovery_claim": 1}'),
  ('ql3', 1, '{"at_most_once_dispatch": 1, "protocol": 1, "recovery_claims": 1}');

CREATE TABLE ql3.recovery_sources (
  kind text COLLATE "C" NOT NULL CHECK (kind ~ '^[a-z][a-z0-9_]{0,62}$'),
  attached boolean NOT NULL,
  generation bigint NOT NULL CHECK (generation > 0),
  relation_schema text NOT NULL,
  relation_name text NOT NULL,
  relation_owner text NOT NULL,
  transition_schema text,
  transition_name text,
  max_failures integer CHECK (max_failures > 0),
  max_hold bigint CHECK (max_hold > 0),
  attached_at timestamptz NOT NULL,
  of_extension boolean NOT NULL DEFAULT false,
  protocol smallint NOT NULL DEFAULT 1,
  CONSTRAINT recovery_sources_pkey PRIMARY KEY (kind),
  CONSTRAINT recovery_sources_transition CHECK ((transition_schema IS NULL) = (transition_name IS NULL))
);
COMMENT ON TABLE ql3.recovery_sources IS 'one row per kind ever attached; the row survives detach';
COMMENT ON COLUMN ql3.recovery_sources.generation IS 'another one with each attach; hints of an earlier generation are void';
COMMENT ON COLUMN ql3.recovery_sources.max_hold IS 'microseconds; NULL = no bound';
COMMENT ON COLUMN ql3.recovery_sources.of_extension IS 'attached by the script of an extension, which attaches it again at restore';

-- What must survive detach, restore and the end of an extension that attached the kind: of every kind, ours too.
CREATE TABLE ql3.recovery_kinds (
  kind text COLLATE "C" NOT NULL CHECK (kind ~ '^[a-z][a-z0-9_]{0,62}$'),
  version_floor bigint NOT NULL DEFAULT 0 CHECK (version_floor >= 0),
  pruned_to text COLLATE "C",
  paused_at timestamptz,
  paused_by text,
  paused_reason text,
  protocol smallint NOT NULL DEFAULT 1,
  CONSTRAINT recovery_kinds_pkey PRIMARY KEY (kind),
  CONSTRAINT recovery_kinds_paused CHECK ((paused_at IS NULL) = (paused_by IS NULL) AND (paused_at IS NULL) = (paused_reason IS NULL))
);
COMMENT ON TABLE ql3.recovery_kinds IS 'one row per kind that was ever paused or pruned';
COMMENT ON COLUMN ql3.recovery_kinds.version_floor IS 'no version of this kind is handed out at or below it';
COMMENT ON COLUMN ql3.recovery_kinds.pruned_to IS 'the id at which the next ql3_prune goes on; NULL = at the start';

CREATE TABLE ql3.run_recovery_controls (
  kind text COLLATE "C" NOT NULL CHECK (kind ~ '^[a-z][a-z0-9_]{0,62}$'),
  id text COLLATE "C" NOT NULL CHECK (octet_length(id) BETWEEN 1 AND 255),
  state text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL CHECK (octet_length(run_id) BETWEEN 1 AND 255),
  status text COLLATE "C",
  created_at timestamptz,
  lost_at timestamptz NOT NULL,
  observed_at timestamptz NOT NULL,
  owner text COLLATE "C",
  token_digest bytea,
  version bigint NOT NULL CHECK (version >= 0),
  claimed_at timestamptz,
  expires_at timestamptz,
  next_claim_at timestamptz,
  due_at timestamptz,
  failure_count integer NOT NULL CHECK (failure_count BETWEEN 0 AND 1000000),
  claim_mark bigint,
  ended_digest bytea,
  ended_result text COLLATE "C",
  detail text,
  protocol smallint NOT NULL DEFAULT 1,
  CONSTRAINT run_recovery_controls_pkey PRIMARY KEY (kind, id),
  CONSTRAINT run_recovery_controls_state CHECK (CASE state
    WHEN 'claimed' THEN owner IS NOT NULL AND token_digest IS NOT NULL AND octet_length(token_digest) = 32
      AND version > 0 AND claimed_at IS NOT NULL AND expires_at IS NOT NULL AND isfinite(expires_at)
      AND claim_mark IS NOT NULL AND next_claim_at IS NULL AND due_at IS NOT NULL
    WHEN 'available' THEN owner IS NULL AND token_digest IS NULL AND expires_at IS NULL AND claimed_at IS NULL
      AND claim_mark IS NULL AND next_claim_at IS NULL AND due_at IS NOT NULL
    WHEN 'manual' THEN owner IS NULL AND token_digest IS NULL AND expires_at IS NULL AND claimed_at IS NULL
      AND claim_mark IS NULL AND next_claim_at IS NULL AND due_at IS NULL
    WHEN 'retry' THEN owner IS NULL AND token_digest IS NULL AND expires_at IS NULL AND claimed_at IS NULL
      AND claim_mark IS NULL AND next_claim_at IS NOT NULL AND isfinite(next_claim_at) AND due_at IS NOT NULL
    WHEN 'resolved' THEN owner IS NULL AND token_digest IS NULL AND expires_at IS NULL AND claimed_at IS NULL
      AND claim_mark IS NULL AND next_claim_at IS NOT NULL AND isfinite(next_claim_at)
    ELSE false END),
  CONSTRAINT run_recovery_controls_due CHECK (due_at IS NULL OR isfinite(due_at)),
  CONSTRAINT run_recovery_controls_ended CHECK ((ended_digest IS NULL) = (ended_result IS NULL)
    AND (ended_digest IS NULL OR octet_length(ended_digest) = 32))
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE ql3.run_recovery_controls IS 'one row per target ever claimed: snapshot, state, claim, failure count';
COMMENT ON COLUMN ql3.run_recovery_controls.due_at IS 'when a claim looks at the row by itself; NULL = only when its source lists it again';
COMMENT ON COLUMN ql3.run_recovery_controls.claim_mark IS 'digest of the claiming transaction, to refuse its own settle';
COMMENT ON COLUMN ql3.run_recovery_controls.ended_digest IS 'digest of the call that ended the last claim, to recognise its repeat';

-- The one index that selection needs: claimable states by due time, and expiry of claims.
CREATE INDEX run_recovery_controls_due_idx ON ql3.run_recovery_controls (kind, due_at) WHERE due_at IS NOT NULL;
-- For people: what is parked. Written when a target is parked or released, and at no other time.
CREATE INDEX run_recovery_controls_parked_idx ON ql3.run_recovery_controls (kind, id) WHERE state = 'manual';

CREATE TABLE ql3.recovery_pages (
  token_digest bytea NOT NULL CHECK (octet_length(token_digest) = 32),
  owner text COLLATE "C" NOT NULL,
  page_size integer NOT NULL CHECK (page_size BETWEEN 1 AND 128),
  kinds text[],
  claimed_at timestamptz NOT NULL,
  forget_after timestamptz NOT NULL,
  over_seen_at timestamptz,
  target_kinds text[] NOT NULL,
  target_ids text[] NOT NULL,
  cursor_kinds text[] NOT NULL,
  cursor_lost_at timestamptz[] NOT NULL,
  cursor_ids text[] NOT NULL,
  protocol smallint NOT NULL DEFAULT 1,
  CONSTRAINT recovery_pages_pkey PRIMARY KEY (token_digest)
) WITH (autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE ql3.recovery_pages IS 'one row per page handed out, until 10 minutes after its last expiry: a token claims once';
COMMENT ON COLUMN ql3.recovery_pages.cursor_kinds IS 'where discovery stood, to start from after a restart; a hint';
CREATE INDEX recovery_pages_claimed_at_idx ON ql3.recovery_pages (claimed_at);
CREATE INDEX recovery_pages_forget_after_idx ON ql3.recovery_pages (forget_after);

CREATE TABLE ql3.judgements (
  judgement_id bigint GENERATED BY DEFAULT AS IDENTITY,
  kind text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  owner text COLLATE "C",
  run_id text COLLATE "C" NOT NULL,
  status text COLLATE "C",
  lost_at timestamptz NOT NULL,
  disposition text COLLATE "C" NOT NULL,
  verdict text COLLATE "C",
  note text,
  evidence jsonb,
  result text COLLATE "C" NOT NULL,
  failure_count integer NOT NULL,
  judged_at timestamptz NOT NULL,
  protocol smallint NOT NULL DEFAULT 1,
  CONSTRAINT judgements_pkey PRIMARY KEY (judgement_id)
);
COMMENT ON TABLE ql3.judgements IS 'how claims ended; prunable';
-- The id first: it tells apart sooner than the kind, which all rows of a page share.
CREATE INDEX judgements_target_idx ON ql3.judgements (id, kind, judgement_id);

CREATE TABLE ql3.audit_events (
  event_id bigint NOT NULL,
  at timestamptz NOT NULL,
  actor text NOT NULL,
  role_set text NOT NULL,
  action text COLLATE "C" NOT NULL,
  kind text COLLATE "C",
  id text COLLATE "C",
  reason text,
  before jsonb,
  after jsonb,
  previous_digest bytea NOT NULL CHECK (octet_length(previous_digest) = 32),
  digest bytea NOT NULL CHECK (octet_length(digest) = 32),
  protocol smallint NOT NULL DEFAULT 1,
  CONSTRAINT audit_events_pkey PRIMARY KEY (event_id)
);
COMMENT ON TABLE ql3.audit_events IS 'acts of operators: append-only, each chained to the one before by digest';
CREATE INDEX audit_events_target_idx ON ql3.audit_events (kind, id, event_id);

CREATE FUNCTION ql3.ql3_refuse_change()
  RETURNS trigger LANGUAGE c VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
  AS 'MODULE_PATHNAME', 'ql3_refuse_change';
COMMENT ON FUNCTION ql3.ql3_refuse_change() IS 'trigger: the table is append-only';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ql3.audit_events
  FOR EACH STATEMENT EXECUTE FUNCTION ql3.ql3_refuse_change();

CREATE TABLE ql3.granted_profiles (
  role_name text NOT NULL,
  profile text COLLATE "C" NOT NULL CHECK (profile IN ('runtime', 'observer', 'operator')),
  granted_at timestamptz NOT NULL,
  CONSTRAINT granted_profiles_pkey PRIMARY KEY (role_name, profile)
);
COMMENT ON TABLE ql3.granted_profiles IS 'what ql3_grant gave to whom';

-- Dispatch --------------------------------------------------------------------------------------------------------

-- Made by CREATE EXTENSION and never dumped: a restored copy is another installation.
CREATE TABLE ql3.installation (
  installation uuid NOT NULL,
  only_one boolean NOT NULL DEFAULT true CHECK (only_one),
  CONSTRAINT installation_pkey PRIMARY KEY (only_one)
);
COMMENT ON TABLE ql3.installation IS 'the id of this installation; part of its lineage';
INSERT INTO ql3.installation VALUES (gen_random_uuid());

CREATE TABLE ql3.dispatch_lineage (
  lineage uuid NOT NULL,
  system_identifier text COLLATE "C" NOT NULL,
  timeline bigint NOT NULL CHECK (timeline > 0),
  database oid NOT NULL,
  installation uuid NOT NULL,
  seen_at timestamptz NOT NULL,
  protocol smallint NOT NULL DEFAULT 1,
  CONSTRAINT dispatch_lineage_pkey PRIMARY KEY (lineage),
  CONSTRAINT dispatch_lineage_key UNIQUE (system_identifier, timeline, database, installation)
);
COMMENT ON TABLE ql3.dispatch_lineage IS 'the databases that wrote dispatches; one that is neither live nor confirmed halts dispatch';

CREATE TABLE ql3.dispatch_confirmations (
  confirmation bigint GENERATED BY DEFAULT AS IDENTITY,
  lineage uuid NOT NULL,
  covered uuid[] NOT NULL,
  method text COLLATE "C" NOT NULL CHECK (method IN ('synchronous', 'drained')),
  reason text NOT NULL,
  actor text NOT NULL,
  confirmed_at timestamptz NOT NULL,
  protocol smallint NOT NULL DEFAULT 1,
  CONSTRAINT dispatch_confirmations_pkey PRIMARY KEY (confirmation)
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ql3.dispatch_confirmations
  FOR EACH STATEMENT EXECUTE FUNCTION ql3.ql3_refuse_change();
COMMENT ON TABLE ql3.dispatch_confirmations IS 'append-only: what an operator asserted about the gap behind a promotion or restore';

CREATE TABLE ql3.dispatch_halts (
  halt uuid NOT NULL,
  reason text NOT NULL,
  actor text NOT NULL,
  halted_at timestamptz NOT NULL,
  ended_at timestamptz,
  ended_by text,
  ended_reason text,
  protocol smallint NOT NULL DEFAULT 1,
  CONSTRAINT dispatch_halts_pkey PRIMARY KEY (halt),
  CONSTRAINT dispatch_halts_ended CHECK ((ended_at IS NULL) = (ended_by IS NULL) AND (ended_at IS NULL) = (ended_reason IS NULL))
);
COMMENT ON TABLE ql3.dispatch_halts IS 'halts by hand; each ends only by its own ql3_unhalt_dispatch';
CREATE INDEX dispatch_halts_standing_idx ON ql3.dispatch_halts (halt) WHERE ended_at IS NULL;

CREATE TABLE ql3.dispatches (
  attempt uuid NOT NULL,
  request_uid text COLLATE "C" NOT NULL CHECK (octet_length(request_uid) BETWEEN 1 AND 255),
  item text COLLATE "C" NOT NULL CHECK (octet_length(item) BETWEEN 1 AND 255),
  attempt_no integer NOT NULL CHECK (attempt_no > 0),
  state text COLLATE "C" NOT NULL,
  action text COLLATE "C" CHECK (action ~ '^[a-z][a-z0-9_]{0,62}$'),
  arguments jsonb CHECK (jsonb_typeof(arguments) = 'object'),
  writer text COLLATE "C" NOT NULL,
  token_digest bytea NOT NULL CHECK (octet_length(token_digest) = 32),
  permit_digest bytea CHECK (octet_length(permit_digest) = 32),
  lineage uuid NOT NULL,
  claimed_at timestamptz NOT NULL,
  permitted_at timestamptz,
  observe_after bigint NOT NULL CHECK (observe_after > 0),
  observe_at timestamptz NOT NULL,
  writer_outcome text COLLATE "C",
  judged_outcome text COLLATE "C",
  override_outcome text COLLATE "C",
  concluded_at timestamptz,
  contradicted boolean NOT NULL DEFAULT false,
  disagrees boolean NOT NULL GENERATED ALWAYS AS (contradicted
    OR coalesce(writer_outcome = 'not_sent' AND (judged_outcome = 'unknown' OR override_outcome = 'unknown'), false)
    OR coalesce(nullif(writer_outcome, 'unknown') <> nullif(judged_outcome, 'unknown'), false)
    OR coalesce(nullif(writer_outcome, 'unknown') <> nullif(override_outcome, 'unknown'), false)
    OR coalesce(nullif(judged_outcome, 'unknown') <> nullif(override_outcome, 'unknown'), false)) STORED,
  detail text,
  protocol smallint NOT NULL DEFAULT 1,
  CONSTRAINT dispatches_pkey PRIMARY KEY (attempt),
  CONSTRAINT dispatches_token_key UNIQUE (request_uid, item, token_digest),
  CONSTRAINT dispatches_order_key UNIQUE (request_uid, item, attempt_no),
  CONSTRAINT dispatches_identity CHECK ((action IS NULL) = (arguments IS NULL) AND (action IS NOT NULL OR state = 'released')),
  CONSTRAINT dispatches_permit CHECK ((permit_digest IS NULL) = (permitted_at IS NULL)),
  CONSTRAINT dispatches_facts CHECK (
        (writer_outcome IS NULL OR writer_outcome IN ('succeeded', 'failed', 'unknown', 'not_sent'))
    AND (judged_outcome IS NULL OR judged_outcome IN ('succeeded', 'failed', 'unknown', 'not_sent'))
    AND (override_outcome IS NULL OR override_outcome IN ('succeeded', 'failed', 'unknown', 'not_sent'))),
  CONSTRAINT dispatches_state CHECK (CASE state
    WHEN 'claimed' THEN writer_outcome IS NULL AND judged_outcome IS NULL AND override_outcome IS NULL AND concluded_at IS NULL
    WHEN 'released' THEN concluded_at IS NOT NULL
    WHEN 'succeeded' THEN concluded_at IS NOT NULL
      AND (writer_outcome = 'succeeded' OR judged_outcome = 'succeeded' OR override_outcome = 'succeeded')
    WHEN 'failed' THEN concluded_at IS NOT NULL
      AND (writer_outcome = 'failed' OR judged_outcome = 'failed' OR override_outcome = 'failed')
    WHEN 'not_sent' THEN concluded_at IS NOT NULL
      AND (writer_outcome = 'not_sent' OR judged_outcome = 'not_sent' OR override_outcome = 'not_sent')
    WHEN 'unknown' THEN concluded_at IS NOT NULL
      AND (writer_outcome = 'unknown' OR judged_outcome = 'unknown' OR override_outcome = 'unknown')
    ELSE false END)
) WITH (fillfactor = 80);
COMMENT ON TABLE ql3.dispatches IS 'one row per attempt: one token''s try at one (request, item); released ones stay';
COMMENT ON COLUMN ql3.dispatches.observe_after IS 'microseconds';
COMMENT ON COLUMN ql3.dispatches.disagrees IS 'the facts cannot all be true';
COMMENT ON COLUMN ql3.dispatches.contradicted IS 'a released token said later that it had called';
CREATE INDEX dispatches_unreleased_idx ON ql3.dispatches (request_uid, item) WHERE state <> 'released';
CREATE INDEX dispatches_observe_idx ON ql3.dispatches (observe_at, attempt) WHERE state = 'claimed';
-- What somebody has to look at: undecided, disagreeing, or perhaps a second attempt that stands for its item.
CREATE INDEX dispatches_attention_idx ON ql3.dispatches (request_uid, item, attempt_no)
  WHERE state = 'unknown' OR disagrees OR (attempt_no > 1 AND state <> 'released');
CREATE INDEX dispatches_decided_idx ON ql3.dispatches (concluded_at, attempt)
  WHERE state IN ('succeeded', 'failed', 'not_sent', 'released');

-- What is left of a decided attempt after prune, for ever: enough to refuse its item and its token, and no content.
CREATE TABLE ql3.dispatch_tombstones (
  request_digest bytea NOT NULL CHECK (octet_length(request_digest) = 32),
  item_digest bytea NOT NULL CHECK (octet_length(item_digest) = 32),
  token_digest bytea NOT NULL CHECK (octet_length(token_digest) = 32),
  identity_digest bytea CHECK (octet_length(identity_digest) = 32),
  attempt uuid NOT NULL,
  attempt_no integer NOT NULL CHECK (attempt_no > 0),
  state text COLLATE "C" NOT NULL CHECK (state IN ('succeeded', 'failed', 'not_sent', 'released')),
  writer text COLLATE "C" NOT NULL,
  permitted boolean NOT NULL,
  writer_outcome text COLLATE "C" CHECK (writer_outcome IN ('succeeded', 'failed', 'unknown', 'not_sent')),
  judged_outcome text COLLATE "C" CHECK (judged_outcome IN ('succeeded', 'failed', 'unknown', 'not_sent')),
  override_outcome text COLLATE "C" CHECK (override_outcome IN ('succeeded', 'failed', 'unknown', 'not_sent')),
  contradicted boolean NOT NULL,
  claimed_at timestamptz NOT NULL,
  concluded_at timestamptz NOT NULL,
  pruned_at timestamptz NOT NULL,
  protocol smallint NOT NULL DEFAULT 1,
  disagrees boolean NOT NULL GENERATED ALWAYS AS (contradicted
    OR coalesce(writer_outcome = 'not_sent' AND (judged_outcome = 'unknown' OR override_outcome = 'unknown'), false)
    OR coalesce(nullif(writer_outcome, 'unknown') <> nullif(judged_outcome, 'unknown'), false)
    OR coalesce(nullif(writer_outcome, 'unknown') <> nullif(override_outcome, 'unknown'), false)
    OR coalesce(nullif(judged_outcome, 'unknown') <> nullif(override_outcome, 'unknown'), false)) STORED,
  request_uid text COLLATE "C",
  item text COLLATE "C",
  CONSTRAINT dispatch_tombstones_pkey PRIMARY KEY (request_digest, item_digest, token_digest)
);
COMMENT ON TABLE ql3.dispatch_tombstones IS 'what ql3_prune leaves of a decided attempt; only ql3_forget removes it';
COMMENT ON COLUMN ql3.dispatch_tombstones.item_digest IS 'of request and item together';
COMMENT ON COLUMN ql3.dispatch_tombstones.identity_digest IS 'of action and arguments; NULL where the attempt had none';
COMMENT ON COLUMN ql3.dispatch_tombstones.disagrees IS 'the facts cannot all be true: its writer spoke after it was pruned';
COMMENT ON COLUMN ql3.dispatch_tombstones.request_uid IS 'with item, only where the facts disagree: somebody has to look';
CREATE UNIQUE INDEX dispatch_tombstones_attention_idx ON ql3.dispatch_tombstones (attempt) WHERE disagrees;

-- The lineage that this server writes now. NULL on a standby, which writes none.
CREATE TYPE ql3.lineage AS (system_identifier text, timeline integer, database oid, installation uuid);
COMMENT ON TYPE ql3.lineage IS 'what tells one history of a database from another';
CREATE FUNCTION ql3.ql3_live_lineage()
  RETURNS ql3.lineage LANGUAGE c STABLE PARALLEL RESTRICTED SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_live_lineage';
COMMENT ON FUNCTION ql3.ql3_live_lineage() IS 'the lineage that this server writes now; NULL on a standby';

-- From the install on, so that a standby promoted before the first dispatch was replicated halts too.
INSERT INTO ql3.dispatch_lineage
  SELECT gen_random_uuid(), live.system_identifier, live.timeline, live.database, live.installation, statement_timestamp()
    FROM ql3.ql3_live_lineage() AS live;

-- The built-in source: attempts that outlived their writer's time. Recovery observes them and never sends.
CREATE VIEW ql3.dispatch_candidates AS
  SELECT d.attempt AS id, d.request_uid AS run_id, d.state AS status, d.claimed_at AS created_at, d.observe_at AS lost_at,
         d.request_uid, d.item, d.action, d.arguments, d.writer, d.permit_digest IS NOT NULL AS permitted,
         l.system_identifier IS NOT DISTINCT FROM live.system_identifier AND l.timeline IS NOT DISTINCT FROM live.timeline
           AND l.database IS NOT DISTINCT FROM live.database
           AND l.installation IS NOT DISTINCT FROM live.installation AS own_lineage,
         statement_timestamp() - (d.observe_at - d.observe_after * interval '1 microsecond') AS age
    FROM ql3.dispatches AS d
    JOIN ql3.dispatch_lineage AS l ON l.lineage = d.lineage
   CROSS JOIN ql3.ql3_live_lineage() AS live
   WHERE d.state = 'claimed' AND d.observe_at <= statement_timestamp();
COMMENT ON VIEW ql3.dispatch_candidates IS 'the source of kind dispatch';
INSERT INTO ql3.recovery_sources (kind, attached, generation, relation_schema, relation_name, relation_owner, max_hold,
    attached_at, of_extension)
  SELECT 'dispatch', true, (('x' || substr(md5(installation::text), 1, 15))::bit(60)::bigint) | 1, 'ql3', 'dispatch_candidates', pg_get_userbyid(c.relowner), 3600000000, statement_timestamp(), true
    FROM pg_class AS c, ql3.installation WHERE c.oid = 'ql3.dispatch_candidates'::regclass;

-- Views -----------------------------------------------------------------------------------------------------------

-- What people on call look at. A view reads as its owner; who may read it is in ql3_grant. Work is bounded where a table
-- can grow without bound: by index, and up to a stated number of rows. No token and no digest of one is in any.

-- One target is counted once: what is due by its due time, what is parked by its own index.
CREATE VIEW ql3.backlog AS
  SELECT s.kind, s.attached, k.paused_at IS NOT NULL AS paused, c.state, count(*) FILTER (WHERE c.nth <= 10000) AS targets,
         min(c.lost_at) AS oldest_lost_at,
         CASE WHEN isfinite(min(c.lost_at)) THEN statement_timestamp() - min(c.lost_at) END AS oldest_age,
         min(c.due_at) AS due_since, max(c.failure_count) AS most_failures, bool_or(c.nth > 10000) AS more
    FROM ql3.recovery_sources AS s
    LEFT JOIN ql3.recovery_kinds AS k ON k.kind = s.kind
   CROSS JOIN LATERAL (
     SELECT d.*, row_number() OVER () AS nth FROM (
       SELECT CASE WHEN r.state = 'claimed' AND NOT (r.expires_at > statement_timestamp()
                     AND r.expires_at <= statement_timestamp() + interval '5 min') THEN 'expired' ELSE r.state END AS state,
              r.lost_at, r.due_at, r.failure_count
         FROM ql3.run_recovery_controls AS r
        WHERE r.kind = s.kind AND r.due_at IS NOT NULL ORDER BY r.due_at LIMIT 10001) AS d
     UNION ALL
     SELECT p.*, row_number() OVER () FROM (
       SELECT r.state, r.lost_at, r.due_at, r.failure_count FROM ql3.run_recovery_controls AS r
        WHERE r.kind = s.kind AND r.state = 'manual' LIMIT 10001) AS p) AS c
   GROUP BY s.kind, s.attached, k.paused_at, c.state;
COMMENT ON VIEW ql3.backlog IS
  'known targets by kind and state, with the age of the oldest; expired = claimed by an owner that vanished; at most 10,000 due and 10,000 parked ones of a kind are counted (more says that there are more). What no claim has met yet is in ql3_observe';

-- A renewal leaves the due time at most 5 minutes behind, so live claims are found by it.
CREATE VIEW ql3.claims AS
  SELECT r.kind, r.id, r.owner, r.version, r.run_id, r.status, r.lost_at, r.claimed_at, r.expires_at,
         r.expires_at - statement_timestamp() AS lease_left, statement_timestamp() - r.claimed_at AS held_for,
         r.failure_count
    FROM ql3.recovery_sources AS s
    JOIN ql3.run_recovery_controls AS r ON r.kind = s.kind AND r.due_at > statement_timestamp() - interval '5 min'
   WHERE r.state = 'claimed';
COMMENT ON VIEW ql3.claims IS
  'who judges what now, and claims that ran out in the last 2 minutes at least; older ones are state expired in ql3.backlog';

CREATE VIEW ql3.parked AS
  SELECT r.kind, r.id, r.version, r.run_id, r.status, r.lost_at, r.failure_count, r.detail AS reason,
         greatest((SELECT j.judged_at FROM ql3.judgements AS j WHERE j.kind = r.kind AND j.id = r.id
                    ORDER BY j.judgement_id DESC LIMIT 1),
                  (SELECT e.at FROM ql3.audit_events AS e WHERE e.kind = r.kind AND e.id = r.id
                    ORDER BY e.event_id DESC LIMIT 1)) AS parked_at
    FROM ql3.run_recovery_controls AS r WHERE r.state = 'manual';
COMMENT ON VIEW ql3.parked IS
  'targets no claim takes until ql3_release, each with its reason; parked_at is NULL when the history of it was pruned';

CREATE VIEW ql3.failing AS
  SELECT s.kind, f.id, f.state, f.version, f.owner, f.failure_count, s.max_failures,
         s.max_hold * interval '1 microsecond' AS max_hold, f.next_claim_at, f.detail
    FROM ql3.recovery_sources AS s
   CROSS JOIN LATERAL (
     SELECT d.* FROM (
       SELECT r.id, r.state, r.version, r.owner, r.failure_count, r.next_claim_at, r.detail
         FROM ql3.run_recovery_controls AS r
        WHERE r.kind = s.kind AND r.due_at IS NOT NULL ORDER BY r.due_at LIMIT 10000) AS d
      WHERE d.failure_count > 0 ORDER BY d.failure_count DESC, d.id LIMIT 20) AS f;
COMMENT ON VIEW ql3.failing IS
  'of each kind the 20 targets that failed most among the 10,000 that are due first, with the limits of their source';

-- Why nothing new may be dispatched; empty = it may. The test of a promotion needs a server that writes.
CREATE VIEW ql3.dispatch_halted AS
  SELECT h.halt, 'by hand'::text AS cause, h.reason, h.actor, h.halted_at AS since
    FROM ql3.dispatch_halts AS h WHERE h.ended_at IS NULL
  UNION ALL
  SELECT NULL, 'promoted or restored', format('rows of system identifier %s, timeline %s, are not covered by a confirmation',
           l.system_identifier, l.timeline), NULL, l.seen_at
    FROM ql3.dispatch_lineage AS l CROSS JOIN ql3.ql3_live_lineage() AS live
   WHERE live.system_identifier IS NOT NULL
     AND (l.system_identifier IS DISTINCT FROM live.system_identifier OR l.timeline IS DISTINCT FROM live.timeline
          OR l.database IS DISTINCT FROM live.database OR l.installation IS DISTINCT FROM live.installation)
     AND coalesce(current_setting('ql3.dispatch_after_promotion', true), 'halt') <> 'allow'
     AND NOT EXISTS (
       SELECT FROM ql3.dispatch_confirmations AS c JOIN ql3.dispatch_lineage AS made ON made.lineage = c.lineage
        WHERE l.lineage = ANY (c.covered)
          AND made.system_identifier IS NOT DISTINCT FROM live.system_identifier
          AND made.timeline IS NOT DISTINCT FROM live.timeline AND made.database IS NOT DISTINCT FROM live.database
          AND made.installation IS NOT DISTINCT FROM live.installation);
COMMENT ON VIEW ql3.dispatch_halted IS
  'what halts dispatch now: halts by hand, and lineages nobody confirmed; empty = nothing does (a standby cannot tell of lineages)';

-- A pruned attempt that stands beside another of its item is known by the digests that C++ makes (tombstones.cpp).
CREATE VIEW ql3.dispatches_open AS
  SELECT o.attempt, o.request_uid, o.item, o.attempt_no, o.action,
         CASE WHEN o.doubted OR o.rivals THEN 'conflict' WHEN o.state = 'unknown' THEN 'unknown'
              WHEN o.observe_at <= statement_timestamp() THEN 'overdue'
              WHEN o.permitted_at IS NOT NULL THEN 'in flight' ELSE 'claimed' END AS standing,
         o.state, o.writer, o.permitted_at IS NOT NULL AS permitted, o.claimed_at, o.permitted_at, o.observe_at, o.concluded_at,
         statement_timestamp() - o.claimed_at AS age, o.writer_outcome, o.judged_outcome, o.override_outcome,
         o.doubted OR o.rivals AS conflict, EXISTS (SELECT FROM ql3.dispatch_halted) AS halted, o.detail
    FROM (SELECT d.*, d.disagrees AS doubted,
                 EXISTS (SELECT FROM ql3.dispatches AS other WHERE other.request_uid = d.request_uid AND other.item = d.item
                            AND other.state <> 'released' AND other.attempt <> d.attempt)
                 OR (d.attempt_no > 1 AND EXISTS (
                   SELECT FROM ql3.dispatch_tombstones AS t
                    WHERE t.request_digest = sha256(int8send(octet_length(d.request_uid)) || convert_to(d.request_uid, getdatabaseencoding()))
                      AND t.item_digest = sha256(int8send(octet_length(d.request_uid)) || convert_to(d.request_uid, getdatabaseencoding())
                                                 || int8send(octet_length(d.item)) || convert_to(d.item, getdatabaseencoding()))
                      AND t.state <> 'released')) AS rivals
            FROM (SELECT c.* FROM ql3.dispatches AS c WHERE c.state = 'claimed'
                  UNION ALL
                  SELECT c.* FROM ql3.dispatches AS c
                   WHERE (c.state = 'unknown' OR c.disagrees OR (c.attempt_no > 1 AND c.state <> 'released'))
                     AND c.state <> 'claimed') AS d) AS o
   WHERE o.state IN ('claimed', 'unknown') OR o.doubted OR o.rivals
  UNION ALL
  SELECT t.attempt, t.request_uid, t.item, t.attempt_no, NULL, 'conflict', t.state, t.writer, t.permitted, t.claimed_at, NULL, NULL,
         t.concluded_at, statement_timestamp() - t.claimed_at, t.writer_outcome, t.judged_outcome, t.override_outcome,
         true, EXISTS (SELECT FROM ql3.dispatch_halted), 'pruned'
    FROM ql3.dispatch_tombstones AS t WHERE t.disagrees;
COMMENT ON VIEW ql3.dispatches_open IS
  'attempts that are not decided, or whose facts conflict, pruned ones too: claimed, in flight, overdue (recovery looks), unknown, conflict; halted says that nothing new may start';

CREATE VIEW ql3.history AS
  SELECT j.judgement_id, j.kind, j.id, j.version, j.owner, j.run_id, j.status, j.lost_at, j.disposition, j.verdict, j.note,
         j.evidence, j.result, j.failure_count, j.judged_at
    FROM ql3.judgements AS j;
COMMENT ON VIEW ql3.history IS 'how claims ended, by target; prunable';

-- An event is sound when its digest is that of its content and it follows the one before: a row that was edited, added or
-- removed shows. The end of the chain is anchored by a digest kept elsewhere. audit.cpp writes the same expression.
CREATE VIEW ql3.audit AS
  SELECT e.event_id, e.at, e.actor, e.role_set, e.action, e.kind, e.id, e.reason, e.before, e.after,
         encode(e.digest, 'hex') AS digest,
         e.previous_digest = CASE WHEN e.event_id = 1 THEN decode(repeat('00', 32), 'hex') ELSE coalesce(p.digest, '') END
         AND e.digest = sha256(e.previous_digest || convert_to(jsonb_build_array(e.event_id,
               to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), e.actor, e.role_set, e.action, e.kind, e.id,
               e.reason, e.before, e.after)::text, getdatabaseencoding())) AS sound
    FROM ql3.audit_events AS e LEFT JOIN ql3.audit_events AS p ON p.event_id = e.event_id - 1;
COMMENT ON VIEW ql3.audit IS
  'what operators did: who, when, why, before, after; sound = false where the chain was tampered with';

-- As the extension's owner: a role without pg_monitor sees no other session's horizon.
CREATE FUNCTION ql3.ql3_horizon()
  RETURNS TABLE (holder text, name text, role text, since timestamptz, age interval, transactions bigint)
  LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 10 SET search_path = pg_catalog, pg_temp AS $$
  SELECT h.holder, h.name, h.role, h.since, clock_timestamp() - h.since, h.transactions::bigint FROM (
    SELECT CASE a.backend_type WHEN 'walsender' THEN 'standby' ELSE 'session' END AS holder,
           format('pid %s, %s', a.pid, coalesce(nullif(a.application_name, ''), a.backend_type)) AS name,
           a.usename::text AS role, a.xact_start AS since,
           greatest(age(a.backend_xmin), age(a.backend_xid)) AS transactions
      FROM pg_stat_activity AS a
     WHERE (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL) AND a.pid <> pg_backend_pid()
       AND (a.datname = current_database() OR a.backend_type = 'walsender')
    UNION ALL
    SELECT 'prepared transaction', x.gid, x.owner::text, x.prepared, age(x.transaction)
      FROM pg_prepared_xacts AS x WHERE x.database = current_database()
    UNION ALL
    SELECT 'replication slot', s.slot_name::text, NULL, NULL, age(s.xmin)
      FROM pg_replication_slots AS s WHERE s.xmin IS NOT NULL) AS h
  ORDER BY h.transactions DESC, h.since LIMIT 20 $$;
COMMENT ON FUNCTION ql3.ql3_horizon() IS
  'who keeps VACUUM from removing dead rows of our tables, and for how long; the worst first';

REVOKE ALL ON ALL TABLES IN SCHEMA ql3 FROM PUBLIC;

-- Row types of results: columns can be added later without dropping a function and its grants ---------------------

CREATE TYPE ql3.claimed_target AS (
  kind text, id text, run_id text, status text, created_at timestamptz, lost_at timestamptz, observed_at timestamptz,
  owner text, token uuid, version bigint, expires_at timestamptz, lease_left interval, failure_count integer,
  source jsonb
);
COMMENT ON TYPE ql3.claimed_target IS 'a row of ql3_claim';

CREATE TYPE ql3.target_result AS (ordinal integer, kind text, id text, result text);
COMMENT ON TYPE ql3.target_result IS 'what became of one input position of a page function';

CREATE TYPE ql3.observed_target AS (
  kind text, id text, run_id text, status text, created_at timestamptz, lost_at timestamptz, observed_at timestamptz,
  state text, owner text, version bigint, expires_at timestamptz, next_claim_at timestamptz, failure_count integer,
  source jsonb, claimable boolean, has_more boolean, detail text
);
COMMENT ON TYPE ql3.observed_target IS 'a row of ql3_observe';

CREATE TYPE ql3.observed_control AS (
  state text, owner text, version bigint, expires_at timestamptz, next_claim_at timestamptz, failure_count integer,
  listed boolean, held boolean
);
COMMENT ON TYPE ql3.observed_control IS 'the row of ql3_observe_one';

CREATE TYPE ql3.explanation AS (topic text, text text, command text);
COMMENT ON TYPE ql3.explanation IS 'a row of ql3_explain';

CREATE TYPE ql3.dispatch_verdict AS (verdict text, state text, claimed_at timestamptz, detail text);
COMMENT ON TYPE ql3.dispatch_verdict IS 'the row of ql3_dispatch_claim';

CREATE TYPE ql3.observed_dispatch AS (
  attempt uuid, state text, held boolean, permitted boolean, outcome text, writer_outcome text, judged_outcome text,
  override_outcome text, conflict boolean, action text, arguments jsonb, writer text, claimed_at timestamptz,
  permitted_at timestamptz, concluded_at timestamptz, detail text
);
COMMENT ON TYPE ql3.observed_dispatch IS 'the row of ql3_dispatch_observe';

-- Sources (operator) ----------------------------------------------------------------------------------------------

-- SECURITY INVOKER: the caller must own the relation, and only as the caller can that be asked.
CREATE FUNCTION ql3.ql3_attach_source(kind text, relation regclass, transition regprocedure DEFAULT NULL,
    max_failures integer DEFAULT NULL, max_hold interval DEFAULT '1 h', allow_slow boolean DEFAULT false)
  RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY INVOKER SET search_path = pg_catalog, pg_temp
  AS 'MODULE_PATHNAME', 'ql3_attach_source';
COMMENT ON FUNCTION ql3.ql3_attach_source(text, regclass, regprocedure, integer, interval, boolean) IS
  'makes a relation the source of a kind; the caller must own it';

CREATE FUNCTION ql3.ql3_detach_source(kind text)
  RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
  AS 'MODULE_PATHNAME', 'ql3_detach_source';
COMMENT ON FUNCTION ql3.ql3_detach_source(text) IS 'ends a source; its controls and its version floor stay';

-- Both answer 'unchanged' where it was so already; the first pause's reason stays.
CREATE FUNCTION ql3.ql3_pause(kind text, reason text)
  RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
  AS 'MODULE_PATHNAME', 'ql3_pause';
COMMENT ON FUNCTION ql3.ql3_pause(text, text) IS
  'stops claims and conclusions of a kind, or of every attached one (NULL), until ql3_resume: paused or unchanged';

CREATE FUNCTION ql3.ql3_resume(kind text, reason text)
  RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
  AS 'MODULE_PATHNAME', 'ql3_resume';
COMMENT ON FUNCTION ql3.ql3_resume(text, text) IS 'ends the pause of a kind, or every pause (NULL): resumed or unchanged';

-- Recovery (runtime) ----------------------------------------------------------------------------------------------

CREATE FUNCTION ql3.ql3_claim(owner text, page_size integer DEFAULT 16, lease interval DEFAULT '30 s',
    token uuid DEFAULT NULL, kinds text[] DEFAULT NULL)
  RETURNS SETOF ql3.claimed_target LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 1000 ROWS 16
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_claim';
COMMENT ON FUNCTION ql3.ql3_claim(text, integer, interval, uuid, text[]) IS
  'hands out a page of targets to judge: one owner and token at a time, until the lease ends';

CREATE FUNCTION ql3.ql3_renew(kind text, id text, owner text, token uuid, version bigint,
    lease interval DEFAULT '30 s')
  RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 100
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_renew';
COMMENT ON FUNCTION ql3.ql3_renew(text, text, text, uuid, bigint, interval) IS
  'prolongs a claim under its fence: renewed or fenced';

CREATE FUNCTION ql3.ql3_renew_page(owner text, token uuid, kinds text[], ids text[], versions bigint[],
    lease interval DEFAULT '30 s')
  RETURNS SETOF ql3.target_result LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 1000 ROWS 16
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_renew_page';
COMMENT ON FUNCTION ql3.ql3_renew_page(text, uuid, text[], text[], bigint[], interval) IS
  'prolongs several claims of one page: renewed or fenced, in input order';

CREATE FUNCTION ql3.ql3_settle(kind text, id text, owner text, token uuid, version bigint, disposition text,
    delay interval DEFAULT NULL, note text DEFAULT NULL)
  RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 100
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_settle';
COMMENT ON FUNCTION ql3.ql3_settle(text, text, text, uuid, bigint, text, interval, text) IS
  'ends a claim under its fence as resolved, retry or manual: settled or fenced';

CREATE FUNCTION ql3.ql3_settle_page(owner text, token uuid, kinds text[], ids text[], versions bigint[],
    dispositions text[], delays interval[] DEFAULT NULL, notes text[] DEFAULT NULL)
  RETURNS SETOF ql3.target_result LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 1000 ROWS 16
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_settle_page';
COMMENT ON FUNCTION ql3.ql3_settle_page(text, uuid, text[], text[], bigint[], text[], interval[], text[]) IS
  'ends several claims of one page: settled or fenced, in input order';

CREATE FUNCTION ql3.ql3_give_back(owner text, token uuid, kinds text[], ids text[], versions bigint[])
  RETURNS SETOF ql3.target_result LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 1000 ROWS 16
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_give_back';
COMMENT ON FUNCTION ql3.ql3_give_back(text, uuid, text[], text[], bigint[]) IS
  'returns targets that were not started: claimable at once, not counted; released or fenced';

CREATE FUNCTION ql3.ql3_conclude(kind text, id text, owner text, token uuid, version bigint, verdict text,
    evidence jsonb DEFAULT NULL)
  RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 1000
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_conclude';
COMMENT ON FUNCTION ql3.ql3_conclude(text, text, text, uuid, bigint, text, jsonb) IS
  'runs the source''s transition and settles, in one transaction under the fence: concluded, stale or fenced';

CREATE FUNCTION ql3.ql3_require_fence(kind text, id text, owner text, token uuid, version bigint)
  RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 100
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_require_fence';
COMMENT ON FUNCTION ql3.ql3_require_fence(text, text, text, uuid, bigint) IS
  'raises when the claim is not held, else holds its row to the end of the transaction';

CREATE FUNCTION ql3.ql3_observe(page_size integer DEFAULT 16, kinds text[] DEFAULT NULL)
  RETURNS SETOF ql3.observed_target LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 1000 ROWS 16
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_observe';
COMMENT ON FUNCTION ql3.ql3_observe(integer, text[]) IS
  'what the sources list now and where each target stands; read-only, also on a hot standby';

CREATE FUNCTION ql3.ql3_observe_one(kind text, id text, token uuid DEFAULT NULL)
  RETURNS SETOF ql3.observed_control LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 100 ROWS 1
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_observe_one';
COMMENT ON FUNCTION ql3.ql3_observe_one(text, text, uuid) IS
  'where one target stands; held tells whether the token holds it now';

CREATE FUNCTION ql3.ql3_explain(kind text, id text)
  RETURNS SETOF ql3.explanation LANGUAGE c STABLE PARALLEL UNSAFE SECURITY DEFINER COST 1000 ROWS 10
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_explain';
COMMENT ON FUNCTION ql3.ql3_explain(text, text) IS
  'why a target or dispatch stands where it stands, and the calls that change it, to be pasted; also on a standby';

-- Operators -------------------------------------------------------------------------------------------------------

CREATE FUNCTION ql3.ql3_release(kind text, id text, version bigint, reason text)
  RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_release';
COMMENT ON FUNCTION ql3.ql3_release(text, text, bigint, text) IS
  'makes a parked or waiting target claimable now: released or stale';

CREATE FUNCTION ql3.ql3_park(kind text, id text, version bigint, reason text)
  RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_park';
COMMENT ON FUNCTION ql3.ql3_park(text, text, bigint, text) IS
  'takes a target out of automatic claiming, also out of a live claim: parked or stale';

CREATE FUNCTION ql3.ql3_release_page(kinds text[], ids text[], versions bigint[], reason text)
  RETURNS SETOF ql3.target_result LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 1000 ROWS 16
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_release_page';
COMMENT ON FUNCTION ql3.ql3_release_page(text[], text[], bigint[], text) IS
  'makes several parked or waiting targets claimable now: released or stale, in input order';

CREATE FUNCTION ql3.ql3_import(kind text, ids text[], states text[], failure_counts integer[], reason text)
  RETURNS SETOF ql3.target_result LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 1000 ROWS 16
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_import';
COMMENT ON FUNCTION ql3.ql3_import(text, text[], text[], integer[], text) IS
  'takes over where targets stood in another table: imported, known or not_listed, in input order';

CREATE FUNCTION ql3.ql3_prune(older_than interval, batch integer DEFAULT 1000)
  RETURNS bigint LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 1000
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_prune';
COMMENT ON FUNCTION ql3.ql3_prune(interval, integer) IS
  'removes up to batch rows of what is over for so long; decided dispatches leave a tombstone; repeat until 0';

CREATE FUNCTION ql3.ql3_forget(request_uid text, reason text)
  RETURNS bigint LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_forget';
COMMENT ON FUNCTION ql3.ql3_forget(text, text) IS
  'removes the tombstones of a request, so that its items can be dispatched anew; repeat until 0';

CREATE FUNCTION ql3.ql3_grant(role regrole, profile text)
  RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY INVOKER
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_grant';
COMMENT ON FUNCTION ql3.ql3_grant(regrole, text) IS
  'gives a role the rights of a profile: runtime, observer or operator; extension owner only';

CREATE FUNCTION ql3.ql3_revoke(role regrole, profile text)
  RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY INVOKER
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_revoke';
COMMENT ON FUNCTION ql3.ql3_revoke(regrole, text) IS 'takes the rights of a profile away; extension owner only';

-- Dispatch (runtime, then operators) -------------------------------------------------------------------------------

CREATE FUNCTION ql3.ql3_dispatch_claim(request_uid text, item text, action text, arguments jsonb, writer text, token uuid,
    observe_after interval DEFAULT '5 min')
  RETURNS SETOF ql3.dispatch_verdict LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 100 ROWS 1
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_dispatch_claim';
COMMENT ON FUNCTION ql3.ql3_dispatch_claim(text, text, text, jsonb, text, uuid, interval) IS
  'records the intent to act, durably: see docs/dispatch.md for the verdicts';

-- A SECURITY DEFINER function loads its library when it runs; the permit must see how it is run.
CREATE FUNCTION ql3.permit_support(internal)
  RETURNS internal LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'ql3_load';
COMMENT ON FUNCTION ql3.permit_support(internal) IS 'loads the library at planning; no use to a caller';

CREATE FUNCTION ql3.ql3_dispatch_permit(request_uid text, item text, writer text, token uuid, permit uuid)
  RETURNS boolean LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 100 SUPPORT ql3.permit_support
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_dispatch_permit';
COMMENT ON FUNCTION ql3.ql3_dispatch_permit(text, text, text, uuid, uuid) IS
  'permission to call, true exactly once per attempt; a statement of its own';

CREATE FUNCTION ql3.ql3_dispatch_extend(request_uid text, item text, writer text, token uuid, observe_after interval)
  RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 100
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_dispatch_extend';
COMMENT ON FUNCTION ql3.ql3_dispatch_extend(text, text, text, uuid, interval) IS
  'says that the call is still running: extended, foreign, concluded or absent';

CREATE FUNCTION ql3.ql3_dispatch_settle(request_uid text, item text, writer text, token uuid, outcome text,
    detail text DEFAULT NULL, permit uuid DEFAULT NULL)
  RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 100
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_dispatch_settle';
COMMENT ON FUNCTION ql3.ql3_dispatch_settle(text, text, text, uuid, text, text, uuid) IS
  'stores what the writer knows: recorded, foreign, concluded or absent';

CREATE FUNCTION ql3.ql3_dispatch_reassert(request_uid text, item text, action text, arguments jsonb, writer text, token uuid,
    outcome text)
  RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 100
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_dispatch_reassert';
COMMENT ON FUNCTION ql3.ql3_dispatch_reassert(text, text, text, jsonb, text, uuid, text) IS
  'stores the result of a call whose row is gone: recorded, foreign or concluded';

CREATE FUNCTION ql3.ql3_dispatch_observe(request_uid text, item text, token uuid DEFAULT NULL)
  RETURNS SETOF ql3.observed_dispatch LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER COST 100 ROWS 1
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_dispatch_observe';
COMMENT ON FUNCTION ql3.ql3_dispatch_observe(text, text, uuid) IS
  'what is true of an item, or of one token''s attempt';

CREATE FUNCTION ql3.ql3_dispatch_override(attempt uuid, expected_state text, outcome text, reason text)
  RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_dispatch_override';
COMMENT ON FUNCTION ql3.ql3_dispatch_override(uuid, text, text, text) IS
  'an operator''s word on an attempt: recorded or stale; makes nothing sendable';

CREATE FUNCTION ql3.ql3_dispatch_record(request_uid text, item text, action text, arguments jsonb, outcome text, reason text)
  RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_dispatch_record';
COMMENT ON FUNCTION ql3.ql3_dispatch_record(text, text, text, jsonb, text, text) IS
  'records an action found outside that no row tells of: recorded or concluded';

CREATE FUNCTION ql3.ql3_confirm_promotion(system_identifier text, timeline integer, method text, reason text)
  RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_confirm_promotion';
COMMENT ON FUNCTION ql3.ql3_confirm_promotion(text, integer, text, text) IS
  'asserts that the gap behind a promotion or restore is closed: confirmed or stale';

CREATE FUNCTION ql3.ql3_halt_dispatch(reason text)
  RETURNS uuid LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_halt_dispatch';
COMMENT ON FUNCTION ql3.ql3_halt_dispatch(text) IS
  'halts every claim and permit until its own ql3_unhalt_dispatch';

CREATE FUNCTION ql3.ql3_unhalt_dispatch(halt uuid, reason text)
  RETURNS text LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_unhalt_dispatch';
COMMENT ON FUNCTION ql3.ql3_unhalt_dispatch(uuid, text) IS
  'ends one halt made by hand: confirmed or stale';

-- Readiness -------------------------------------------------------------------------------------------------------

-- The settings are those that change how the server prints a constant.
CREATE TYPE ql3.catalog_line AS (object text, form text);
COMMENT ON TYPE ql3.catalog_line IS 'a row of ql3_catalog_form';
CREATE FUNCTION ql3.ql3_catalog_form(extension text DEFAULT 'ql3')
  RETURNS SETOF ql3.catalog_line LANGUAGE c STABLE PARALLEL UNSAFE SECURITY DEFINER COST 10000 ROWS 400
  SET search_path = pg_catalog, pg_temp SET DateStyle = 'ISO' SET IntervalStyle = 'postgres' SET TimeZone = 'UTC'
  SET quote_all_identifiers = off SET jit = off
  AS 'MODULE_PATHNAME', 'ql3_catalog_form';
COMMENT ON FUNCTION ql3.ql3_catalog_form(text) IS
  'this installation, or that of ql3_ledger, in a normal form, the same on every major; make contract freezes it. Owner only';

CREATE TYPE ql3.readiness AS (
  check_name text, level text, ok boolean, needed_for text, detail text, remedy text
);
COMMENT ON TYPE ql3.readiness IS 'a row of ql3_ready';
CREATE FUNCTION ql3.ql3_ready()
  RETURNS SETOF ql3.readiness LANGUAGE c STABLE PARALLEL UNSAFE SECURITY DEFINER COST 10000 ROWS 40
  SET search_path = pg_catalog, pg_temp SET DateStyle = 'ISO' SET IntervalStyle = 'postgres' SET TimeZone = 'UTC'
  SET quote_all_identifiers = off SET jit = off
  AS 'MODULE_PATHNAME', 'ql3_ready';
COMMENT ON FUNCTION ql3.ql3_ready() IS
  'whether the installation is as shipped and the server keeps what ql3 promises: one row per check';
REVOKE USAGE ON TYPE ql3.catalog_line, ql3.readiness FROM PUBLIC;

-- Verification ----------------------------------------------------------------------------------------------------

-- Promises as they show in the rows, whatever constraints and triggers were off when they were written. One rule a branch;
-- each looks at no more than 100,000 rows of a table, the newest where that can be told. No token is in any detail.
CREATE TYPE ql3.broken_promise AS (rule text, kind text, id text, detail text);
COMMENT ON TYPE ql3.broken_promise IS 'a row of ql3_verify';

CREATE FUNCTION ql3.ql3_verify()
  RETURNS SETOF ql3.broken_promise LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER COST 10000 ROWS 10
  SET search_path = pg_catalog, pg_temp SET jit = off
  AS $verify$
  WITH
  controls AS MATERIALIZED (SELECT c.* FROM ql3.run_recovery_controls AS c LIMIT 100000),
  judged AS MATERIALIZED (
    SELECT j.judgement_id, j.kind, j.id, j.version, j.verdict, j.result,
           lag(j.version) OVER (PARTITION BY j.kind, j.id ORDER BY j.judgement_id) AS earlier
      FROM (SELECT n.* FROM ql3.judgements AS n ORDER BY n.judgement_id DESC LIMIT 100000) AS j
     WHERE j.result <> 'expired'),  -- a claim that ran out was not judged
  pages AS MATERIALIZED (SELECT p.* FROM ql3.recovery_pages AS p ORDER BY p.claimed_at DESC LIMIT 100000),
  attempts AS MATERIALIZED (
    SELECT d.*, d.request_uid || ' / ' || d.item AS name, d.permit_digest IS NOT NULL AS permitted,
           coalesce(nullif(d.override_outcome, 'unknown'), nullif(d.writer_outcome, 'unknown'),
                    nullif(d.judged_outcome, 'unknown'), d.override_outcome, d.writer_outcome, d.judged_outcome, 'claimed') AS told
      FROM ql3.dispatches AS d LIMIT 100000),
  tombstones AS MATERIALIZED (
    SELECT t.*, coalesce(nullif(t.override_outcome, 'unknown'), nullif(t.writer_outcome, 'unknown'),
                         nullif(t.judged_outcome, 'unknown'), 'unknown') AS told
      FROM ql3.dispatch_tombstones AS t LIMIT 100000)

  -- Recovery.
  SELECT 'control_state', c.kind, c.id, format('state %s with owner, token, times or mark that it must not have or lacks', c.state)
    FROM controls AS c
   WHERE (CASE c.state
     WHEN 'claimed' THEN c.owner IS NOT NULL AND octet_length(c.token_digest) = 32 AND c.version > 0 AND c.claimed_at IS NOT NULL
       AND isfinite(c.expires_at) AND c.claim_mark IS NOT NULL AND c.next_claim_at IS NULL AND c.due_at IS NOT NULL
     WHEN 'available' THEN num_nonnulls(c.owner, c.token_digest, c.claimed_at, c.expires_at, c.claim_mark, c.next_claim_at) = 0
       AND c.due_at IS NOT NULL
     WHEN 'manual' THEN num_nonnulls(c.owner, c.token_digest, c.claimed_at, c.expires_at, c.claim_mark, c.next_claim_at, c.due_at) = 0
     WHEN 'retry' THEN num_nonnulls(c.owner, c.token_digest, c.claimed_at, c.expires_at, c.claim_mark) = 0
       AND isfinite(c.next_claim_at) AND c.due_at IS NOT NULL
     WHEN 'resolved' THEN num_nonnulls(c.owner, c.token_digest, c.claimed_at, c.expires_at, c.claim_mark) = 0
       AND isfinite(c.next_claim_at)
     ELSE false END) IS NOT TRUE
  UNION ALL
  SELECT 'control_expiry', c.kind, c.id, format('claimed at %s, expires at %s', c.claimed_at, c.expires_at)
    FROM controls AS c WHERE c.state = 'claimed' AND c.expires_at <= c.claimed_at
  UNION ALL
  -- A takeover goes by the due time, so it must not lie after the expiry; a wait is over when it is due.
  SELECT 'control_due', c.kind, c.id, format('state %s is due at %s, but ends at %s', c.state, c.due_at, coalesce(c.expires_at, c.next_claim_at))
    FROM controls AS c
   WHERE (c.state = 'claimed' AND c.due_at > c.expires_at) OR (c.state IN ('retry', 'resolved') AND c.due_at > c.next_claim_at)
  UNION ALL
  SELECT 'control_count', c.kind, c.id, format('version %s, failure count %s', c.version, c.failure_count)
    FROM controls AS c WHERE c.version < 0 OR c.failure_count < 0 OR c.failure_count > 1000000
  UNION ALL
  SELECT 'control_twice', c.kind, c.id, format('%s rows', count(*)) FROM controls AS c GROUP BY c.kind, c.id HAVING count(*) > 1
  UNION ALL
  SELECT 'claim_without_page', c.kind, c.id, format('claimed by %s until %s, and no page of its token lists it', c.owner, c.expires_at)
    FROM controls AS c
   WHERE c.state = 'claimed' AND c.expires_at > clock_timestamp() AND c.expires_at <= clock_timestamp() + interval '5 min'
     AND NOT EXISTS (
       SELECT FROM ql3.recovery_pages AS p
        WHERE p.token_digest = c.token_digest AND p.owner = c.owner
          AND EXISTS (SELECT FROM unnest(p.target_kinds, p.target_ids) AS t(kind, id) WHERE t.kind = c.kind AND t.id = c.id))
  UNION ALL
  SELECT 'page_twice', NULL, NULL, format('%s pages of one token, of %s', count(*), string_agg(DISTINCT p.owner, ', '))
    FROM pages AS p GROUP BY p.token_digest HAVING count(*) > 1
  UNION ALL
  SELECT 'page_size', NULL, NULL, format('a page of %s asked for %s targets and got %s', p.owner, p.page_size, cardinality(p.target_ids))
    FROM pages AS p WHERE cardinality(p.target_ids) NOT BETWEEN 1 AND p.page_size OR cardinality(p.target_kinds) <> cardinality(p.target_ids)
  UNION ALL
  SELECT 'judged_twice', j.kind, j.id, format('version %s, the second time in judgement %s', j.version, j.judgement_id)
    FROM judged AS j WHERE j.version = j.earlier
  UNION ALL
  SELECT 'history_version', j.kind, j.id, format('version %s after %s, in judgement %s', j.version, j.earlier, j.judgement_id)
    FROM judged AS j WHERE j.version < j.earlier
  UNION ALL
  SELECT 'version_below_history', j.kind, j.id, format('judged with version %s, but the target stands at %s', max(j.version), c.version)
    FROM judged AS j JOIN ql3.run_recovery_controls AS c ON c.kind = j.kind AND c.id = j.id
   WHERE j.version > c.version GROUP BY j.kind, j.id, c.version
  UNION ALL
  SELECT 'judged_and_claimed', j.kind, j.id, format('version %s was judged and is claimed still', j.version)
    FROM judged AS j JOIN ql3.run_recovery_controls AS c ON c.kind = j.kind AND c.id = j.id
   WHERE j.version = c.version AND c.state = 'claimed'
  UNION ALL
  -- A target that was pruned: the floor of its kind must lie above every version it had.
  SELECT 'version_floor', j.kind, j.id, format('judged with version %s and pruned, but the floor of the kind is %s', max(j.version), k.version_floor)
    FROM judged AS j LEFT JOIN ql3.recovery_kinds AS k ON k.kind = j.kind
   WHERE j.version > coalesce(k.version_floor, 0)
     AND NOT EXISTS (SELECT FROM ql3.run_recovery_controls AS c WHERE c.kind = j.kind AND c.id = j.id)
   GROUP BY j.kind, j.id, k.version_floor

  -- Dispatch.
  UNION ALL
  SELECT 'dispatch_state', 'dispatch', a.attempt::text, format('%s: state %s, facts say %s', a.name, a.state, a.told)
    FROM attempts AS a WHERE a.state <> 'released' AND a.state <> a.told
  UNION ALL
  SELECT 'dispatch_concluded', 'dispatch', a.attempt::text, format('%s: state %s, concluded at %s', a.name, a.state, a.concluded_at)
    FROM attempts AS a WHERE (a.state = 'claimed') = (a.concluded_at IS NOT NULL)
  UNION ALL
  SELECT 'two_unreleased', 'dispatch', min(a.attempt::text), format('%s: %s attempts stand for the item', a.request_uid || ' / ' || a.item, count(*))
    FROM attempts AS a WHERE a.state <> 'released' GROUP BY a.request_uid, a.item HAVING count(*) > 1
  UNION ALL
  SELECT 'permit_without_claim', 'dispatch', a.attempt::text, format('%s: permitted, but it has no action, or no time of the permit', a.name)
    FROM attempts AS a WHERE a.permitted <> (a.permitted_at IS NOT NULL) OR (a.permitted AND a.action IS NULL)
  UNION ALL
  SELECT 'released_after_permit', 'dispatch', a.attempt::text,
         format('%s: released although it was permitted and its writer says %s', a.name, coalesce(a.writer_outcome, 'nothing'))
    FROM attempts AS a WHERE a.state = 'released' AND a.permitted AND a.writer_outcome IS DISTINCT FROM 'not_sent'
  UNION ALL
  SELECT 'released_unsaid', 'dispatch', a.attempt::text, format('%s: released, and nobody said not_sent', a.name)
    FROM attempts AS a
   WHERE a.state = 'released' AND a.writer_outcome IS DISTINCT FROM 'not_sent' AND a.judged_outcome IS DISTINCT FROM 'not_sent'
  UNION ALL
  SELECT 'judged_after_permit', 'dispatch', a.attempt::text, format('%s: judged not_sent although it was permitted', a.name)
    FROM attempts AS a WHERE a.judged_outcome = 'not_sent' AND a.permitted
  UNION ALL
  SELECT 'conflict_hidden', 'dispatch', a.attempt::text, format('%s: contradicted is set of state %s, writer %s', a.name, a.state, a.writer_outcome)
    FROM attempts AS a
   WHERE a.contradicted AND (a.state = 'released' OR coalesce(a.writer_outcome, 'unknown') IN ('unknown', 'not_sent'))
  UNION ALL
  SELECT 'judgement_lost', 'dispatch', a.attempt::text,
         format('%s: concluded %s in judgement %s, but the attempt says %s', a.name, j.verdict, j.judgement_id, coalesce(a.judged_outcome, 'nothing'))
    FROM judged AS j JOIN attempts AS a ON a.attempt::text = j.id
   WHERE j.kind = 'dispatch' AND j.result = 'concluded' AND a.judged_outcome IS DISTINCT FROM j.verdict
  UNION ALL
  SELECT 'lineage_missing', 'dispatch', a.attempt::text, format('%s: no row tells which database wrote it', a.name)
    FROM attempts AS a WHERE NOT EXISTS (SELECT FROM ql3.dispatch_lineage AS l WHERE l.lineage = a.lineage)
  UNION ALL
  SELECT 'lineage_missing', NULL, f.confirmation::text, 'a confirmation speaks of a lineage that is not there'
    FROM ql3.dispatch_confirmations AS f
   WHERE EXISTS (SELECT FROM unnest(f.covered || f.lineage) AS u(lineage)
                  WHERE NOT EXISTS (SELECT FROM ql3.dispatch_lineage AS l WHERE l.lineage = u.lineage))
  UNION ALL
  SELECT 'tombstone_state', 'dispatch', t.attempt::text, format('tombstone: state %s, facts say %s', t.state, t.told)
    FROM tombstones AS t
   WHERE CASE WHEN t.state = 'released' THEN (t.permitted AND t.writer_outcome IS DISTINCT FROM 'not_sent')
                OR (t.writer_outcome IS DISTINCT FROM 'not_sent' AND t.judged_outcome IS DISTINCT FROM 'not_sent')
              ELSE t.state <> t.told END
  UNION ALL
  SELECT 'tombstone_conflict', 'dispatch', t.attempt::text,
         CASE WHEN t.request_uid IS NULL OR t.item IS NULL THEN 'its facts disagree, and nothing says of which item'
              ELSE format('%s / %s: it names an item that is not the one of its digests', t.request_uid, t.item) END
    FROM tombstones AS t
   WHERE CASE WHEN t.request_uid IS NULL OR t.item IS NULL THEN t.disagrees
              ELSE t.item_digest <> sha256(int8send(octet_length(t.request_uid)) || convert_to(t.request_uid, getdatabaseencoding())
                                           || int8send(octet_length(t.item)) || convert_to(t.item, getdatabaseencoding())) END
  UNION ALL
  SELECT 'tombstone_rival', 'dispatch', a.attempt::text, format('%s: it stands beside attempt %s, which is pruned', a.name, t.attempt_no)
    FROM attempts AS a JOIN tombstones AS t
      ON t.item_digest = sha256(int8send(octet_length(a.request_uid)) || convert_to(a.request_uid, getdatabaseencoding())
                                || int8send(octet_length(a.item)) || convert_to(a.item, getdatabaseencoding()))
   WHERE a.attempt_no > 1 AND a.state <> 'released' AND t.state <> 'released'
  UNION ALL
  SELECT 'tombstone_twice', 'dispatch', min(t.attempt::text), format('%s pruned attempts stand for one item', count(*))
    FROM tombstones AS t WHERE t.state <> 'released' GROUP BY t.request_digest, t.item_digest HAVING count(*) > 1
  UNION ALL
  SELECT 'tombstone_and_attempt', 'dispatch', t.attempt::text, 'pruned, and there still'
    FROM tombstones AS t WHERE EXISTS (SELECT FROM ql3.dispatches AS d WHERE d.attempt = t.attempt)

  -- Operators' acts: edited, added, removed, or cut off before the first.
  UNION ALL
  SELECT 'audit_chain', a.kind, a.id, format('event %s was edited, or the one before it is gone', a.event_id)
    FROM (SELECT e.* FROM ql3.audit AS e ORDER BY e.event_id DESC LIMIT 100000) AS a WHERE NOT a.sound
  UNION ALL
  SELECT 'later_protocol', NULL, NULL, format('table %s has rows of a later ql3', p.name)
    FROM (SELECT 'run_recovery_controls', max(protocol) FROM controls UNION ALL SELECT 'recovery_pages', max(protocol) FROM pages
          UNION ALL SELECT 'dispatches', max(protocol) FROM attempts
          UNION ALL SELECT 'dispatch_tombstones', max(protocol) FROM tombstones) AS p(name, protocol)
   WHERE p.protocol > 1
  $verify$;
COMMENT ON FUNCTION ql3.ql3_verify() IS
  'rows or sequences of rows that break a promise; empty = sound. At most 100,000 rows of each table; also on a standby';
REVOKE USAGE ON TYPE ql3.broken_promise FROM PUBLIC;

-- Rights and dump -------------------------------------------------------------------------------------------------

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ql3 FROM PUBLIC;
REVOKE USAGE ON TYPE ql3.claimed_target, ql3.target_result, ql3.observed_target, ql3.observed_control,
  ql3.explanation, ql3.lineage, ql3.dispatch_verdict, ql3.observed_dispatch FROM PUBLIC;

SELECT pg_extension_config_dump('ql3.recovery_sources', 'WHERE NOT of_extension');
SELECT pg_extension_config_dump('ql3.recovery_kinds', '');
SELECT pg_extension_config_dump('ql3.run_recovery_controls', '');
SELECT pg_extension_config_dump('ql3.recovery_pages', '');
SELECT pg_extension_config_dump('ql3.judgements', '');
SELECT pg_extension_config_dump('ql3.judgements_judgement_id_seq', '');
SELECT pg_extension_config_dump('ql3.audit_events', '');
SELECT pg_extension_config_dump('ql3.dispatches', '');
SELECT pg_extension_config_dump('ql3.dispatch_tombstones', '');
SELECT pg_extension_config_dump('ql3.dispatch_lineage', '');
SELECT pg_extension_config_dump('ql3.dispatch_confirmations', '');
SELECT pg_extension_config_dump('ql3.dispatch_confirmations_confirmation_seq', '');
SELECT pg_extension_config_dump('ql3.dispatch_halts', '');
SELECT pg_extension_config_dump('ql3.granted_profiles', '');
