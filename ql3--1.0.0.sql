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
  ('ql3', 1, '{"protocol": 1}');

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
  version_floor bigint NOT NULL DEFAULT 0 CHECK (version_floor >= 0),
  attached_at timestamptz NOT NULL,
  of_extension boolean NOT NULL DEFAULT false,
  protocol smallint NOT NULL DEFAULT 1,
  CONSTRAINT recovery_sources_pkey PRIMARY KEY (kind),
  CONSTRAINT recovery_sources_transition CHECK ((transition_schema IS NULL) = (transition_name IS NULL))
);
COMMENT ON TABLE ql3.recovery_sources IS 'one row per kind ever attached; the row and its version floor survive detach';
COMMENT ON COLUMN ql3.recovery_sources.generation IS 'grows with each attach; hints of an earlier generation are void';
COMMENT ON COLUMN ql3.recovery_sources.max_hold IS 'microseconds; NULL = no bound';
COMMENT ON COLUMN ql3.recovery_sources.of_extension IS 'attached by the script of an extension, which attaches it again at restore';
COMMENT ON COLUMN ql3.recovery_sources.version_floor IS 'no version of this kind is handed out at or below it';

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
) WITH (fillfactor = 70);
COMMENT ON TABLE ql3.run_recovery_controls IS 'one row per target ever claimed: snapshot, state, claim, failure count';
COMMENT ON COLUMN ql3.run_recovery_controls.due_at IS 'when a claim looks at the row by itself; NULL = only when its source lists it again';
COMMENT ON COLUMN ql3.run_recovery_controls.claim_mark IS 'digest of the claiming transaction, to refuse its own settle';
COMMENT ON COLUMN ql3.run_recovery_controls.ended_digest IS 'digest of the call that ended the last claim, to recognise its repeat';

-- The one index that selection needs: claimable states by due time, and expiry of claims.
CREATE INDEX run_recovery_controls_due_idx ON ql3.run_recovery_controls (kind, due_at) WHERE due_at IS NOT NULL;

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
);
COMMENT ON TABLE ql3.recovery_pages IS 'one row per page handed out, until 10 minutes after its last expiry: a token claims once';
COMMENT ON COLUMN ql3.recovery_pages.cursor_kinds IS 'where discovery stood, to start from after a restart; a hint';
CREATE INDEX recovery_pages_claimed_at_idx ON ql3.recovery_pages (claimed_at);

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
CREATE INDEX judgements_target_idx ON ql3.judgements (kind, id, judgement_id);

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

CREATE FUNCTION ql3.ql3_grant(role regrole, profile text)
  RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY INVOKER
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_grant';
COMMENT ON FUNCTION ql3.ql3_grant(regrole, text) IS
  'gives a role the rights of a profile: runtime, observer or operator; extension owner only';

CREATE FUNCTION ql3.ql3_revoke(role regrole, profile text)
  RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY INVOKER
  SET search_path = pg_catalog, pg_temp AS 'MODULE_PATHNAME', 'ql3_revoke';
COMMENT ON FUNCTION ql3.ql3_revoke(regrole, text) IS 'takes the rights of a profile away; extension owner only';

-- Rights and dump -------------------------------------------------------------------------------------------------

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ql3 FROM PUBLIC;
REVOKE USAGE ON TYPE ql3.claimed_target, ql3.target_result, ql3.observed_target, ql3.observed_control FROM PUBLIC;

SELECT pg_extension_config_dump('ql3.recovery_sources', 'WHERE NOT of_extension');
SELECT pg_extension_config_dump('ql3.run_recovery_controls', '');
SELECT pg_extension_config_dump('ql3.recovery_pages', '');
SELECT pg_extension_config_dump('ql3.judgements', '');
SELECT pg_extension_config_dump('ql3.judgements_judgement_id_seq', '');
SELECT pg_extension_config_dump('ql3.audit_events', '');
SELECT pg_extension_config_dump('ql3.granted_profiles', '');
