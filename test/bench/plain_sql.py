"""The plain-SQL way, as a careful team writes it: discover a page of the oldest claimable candidates, upsert them,
claim within the page with SKIP LOCKED, commit, judge, then settle one by one under the full fence.

Same columns and checks as the control table of the architecture decision this comes from, with its three partial
indexes; no history, no token of a lost reply, no second look at the source. Statistics are kept by autovacuum.
"""

SCHEMA = """
CREATE SCHEMA plain;
CREATE TABLE plain.controls (
  kind text NOT NULL, id text NOT NULL, state text NOT NULL, run_id text NOT NULL, status text,
  created_at timestamptz, lost_at timestamptz NOT NULL, observed_at timestamptz NOT NULL, owner text, token uuid,
  version bigint NOT NULL, expires_at timestamptz, next_claim_at timestamptz, failure_count integer NOT NULL,
  PRIMARY KEY (kind, id),
  CHECK (CASE state WHEN 'claimed' THEN owner IS NOT NULL AND token IS NOT NULL AND expires_at IS NOT NULL
    WHEN 'retry' THEN owner IS NULL AND next_claim_at IS NOT NULL ELSE owner IS NULL END)
) WITH (fillfactor = 70);
CREATE INDEX ON plain.controls (kind, lost_at, id) WHERE state = 'available';
CREATE INDEX ON plain.controls (kind, next_claim_at) WHERE state = 'retry';
CREATE INDEX ON plain.controls (kind, expires_at) WHERE state = 'claimed';
"""

CLAIMABLE = """(c.state = 'available' OR (c.state = 'retry' AND c.next_claim_at <= statement_timestamp())
  OR (c.state = 'claimed' AND c.expires_at <= statement_timestamp()))"""

DISCOVER = """SELECT s.id FROM lost_{kind} AS s LEFT JOIN plain.controls AS c ON c.kind = '{kind}' AND c.id = s.id
   WHERE c.id IS NULL OR {claimable} ORDER BY s.lost_at, s.id LIMIT {page}"""

CLAIM = """
BEGIN;
SELECT coalesce(array_agg(id), '{{}}') AS found FROM ({discover}) AS page \\gset
INSERT INTO plain.controls (kind, id, state, run_id, status, created_at, lost_at, observed_at, version, failure_count)
  SELECT '{kind}', s.id, 'available', s.run_id, s.status, s.created_at, s.lost_at, statement_timestamp(), 0, 0
    FROM lost_{kind} AS s WHERE s.id = ANY (:found::text[]) ORDER BY s.id
  ON CONFLICT (kind, id) DO UPDATE SET run_id = EXCLUDED.run_id, status = EXCLUDED.status,
    created_at = EXCLUDED.created_at, lost_at = EXCLUDED.lost_at, observed_at = EXCLUDED.observed_at;
WITH chosen AS MATERIALIZED (
  SELECT c.id FROM plain.controls AS c WHERE c.kind = '{kind}' AND c.id = ANY (:found::text[]) AND {claimable}
   ORDER BY c.id FOR UPDATE SKIP LOCKED), token AS MATERIALIZED (SELECT gen_random_uuid() AS token), taken AS (
  UPDATE plain.controls AS c SET state = 'claimed', owner = 'replica-' || :client_id, token = token.token,
         version = c.version + 1, expires_at = clock_timestamp() + interval '5 min', next_claim_at = NULL
    FROM chosen, token WHERE c.kind = '{kind}' AND c.id = chosen.id RETURNING c.id, c.token, c.version)
SELECT count(*) AS n, (array_agg(token))[1] AS token, array_agg(id) AS ids, array_agg(version) AS versions FROM taken \\gset
COMMIT;
\\if :n < :page
INSERT INTO bench.plain_short VALUES (:client_id, :n);
\\endif
"""

SETTLE = """\\if :n >= {n}
UPDATE plain.controls SET state = {state}, owner = NULL, token = NULL, expires_at = NULL,
       next_claim_at = {next}, failure_count = failure_count + 1
 WHERE kind = '{kind}' AND id = (:ids::text[])[{n}] AND owner = 'replica-' || :client_id AND token = :token::uuid
   AND version = (:versions::bigint[])[{n}] AND state = 'claimed' AND expires_at > statement_timestamp();
\\endif
"""


def make(db):
    db.run(SCHEMA)
    db.run("CREATE TABLE bench.plain_short (client integer, n integer)")


def cycle(kind, page, resolved=False, before=""):
    """The script of one pass; `before` is sent between claim and the settles and may use :ids."""
    state, later = ("'resolved'", "NULL") if resolved else ("'retry'", "statement_timestamp() + interval '5 min'")
    settles = "".join(SETTLE.format(n=n, kind=kind, state=state, next=later) for n in range(1, page + 1))
    return CLAIM.format(kind=kind, claimable=CLAIMABLE,
        discover=DISCOVER.format(kind=kind, claimable=CLAIMABLE, page=":page")) + (f"\\if :n > 0\n{before}\\endif\n" if before else "") + settles
