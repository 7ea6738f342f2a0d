-- Recovery once more, for comparison only: one source, no concurrency, no plans, no limits. Written from the documentation,
-- not from the C++. A table of its own plays the source; the harness makes the same changes to both.
CREATE TABLE oracle.job (id text PRIMARY KEY, status text NOT NULL, listed boolean NOT NULL DEFAULT true);
CREATE TABLE oracle.control (
  id text PRIMARY KEY, state text NOT NULL, owner text, token uuid, version bigint NOT NULL, expired boolean NOT NULL DEFAULT false,
  waits boolean NOT NULL DEFAULT false, due boolean NOT NULL DEFAULT true, failures int NOT NULL DEFAULT 0, status text NOT NULL,
  ended text, answer text);
CREATE TABLE oracle.page (token uuid PRIMARY KEY, owner text);

CREATE FUNCTION oracle.take(who text, t uuid) RETURNS text LANGUAGE plpgsql AS $$
DECLARE j record; c oracle.control; changed boolean; fails int; had text;
BEGIN
  SELECT owner INTO had FROM oracle.page WHERE token = t;
  IF FOUND THEN
    IF had <> who OR NOT EXISTS (SELECT FROM oracle.control AS h WHERE h.state = 'claimed' AND h.token = t AND NOT h.expired)
      THEN RETURN '22023'; END IF;
  ELSE
    -- What is due but gone from its source is put aside, with a clean count.
    UPDATE oracle.control AS g SET state = 'resolved', owner = NULL, token = NULL, due = false, waits = false, failures = 0, expired = false
     WHERE NOT EXISTS (SELECT FROM oracle.job AS k WHERE k.id = g.id AND k.listed)
       AND (g.state = 'available' OR (g.state = 'claimed' AND g.expired) OR (g.state IN ('retry', 'resolved') AND g.due AND NOT g.waits));
    FOR j IN SELECT * FROM oracle.job WHERE listed LOOP
      SELECT * INTO c FROM oracle.control WHERE id = j.id;
      IF NOT FOUND THEN
        INSERT INTO oracle.control (id, state, owner, token, version, status) VALUES (j.id, 'claimed', who, t, 1, j.status);
        CONTINUE;
      END IF;
      changed := j.status <> c.status;
      IF c.state = 'manual' OR (c.state = 'claimed' AND NOT c.expired) OR (c.state = 'retry' AND c.waits)
         OR (c.state = 'resolved' AND c.waits AND NOT changed) THEN CONTINUE; END IF;
      fails := CASE WHEN changed THEN 0 WHEN c.state = 'claimed' THEN c.failures + 1 ELSE c.failures END;
      UPDATE oracle.control SET state = 'claimed', owner = who, token = t, version = c.version + 1, expired = false, waits = false, due = true,
             failures = fails, status = j.status, ended = NULL, answer = NULL WHERE id = j.id;
    END LOOP;
    INSERT INTO oracle.page SELECT t, who WHERE EXISTS (SELECT FROM oracle.control AS h WHERE h.token = t);
  END IF;
  RETURN coalesce((SELECT string_agg(format('%s %s %s', h.id, h.version, h.failures), ', ' ORDER BY h.id)
                     FROM oracle.control AS h WHERE h.state = 'claimed' AND h.token = t AND NOT h.expired), 'nothing');
END $$;

CREATE FUNCTION oracle.holds(c oracle.control, who text, t uuid, v bigint) RETURNS boolean LANGUAGE sql AS $$
  SELECT coalesce(c.state = 'claimed' AND c.owner = who AND c.token = t AND c.version = v AND NOT c.expired, false) $$;

-- Ends a claim. put: state, waits, due, failures.
CREATE FUNCTION oracle.put(target text, st text, wait boolean, is_due boolean, fails int, request text, word text) RETURNS text LANGUAGE sql AS $$
  UPDATE oracle.control SET state = st, owner = NULL, token = NULL, expired = false, waits = wait, due = is_due, failures = fails,
         ended = request, answer = word WHERE id = target RETURNING word $$;

-- How it goes on when the incident is over or resolved: free, put aside, or waiting because it is listed still.
CREATE FUNCTION oracle.go_on(c oracle.control, same_only boolean, request text, word text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE j oracle.job;
BEGIN
  SELECT * INTO j FROM oracle.job WHERE id = c.id AND listed;
  IF NOT FOUND THEN RETURN oracle.put(c.id, 'resolved', false, false, 0, request, word); END IF;
  IF j.status <> c.status THEN RETURN oracle.put(c.id, 'available', false, true, 0, request, word); END IF;
  IF same_only THEN RETURN NULL; END IF;
  RETURN oracle.put(c.id, 'resolved', true, true, c.failures + 1, request, word);
END $$;

CREATE FUNCTION oracle.finish(target text, who text, t uuid, v bigint, how text, delay text, note text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c oracle.control; request text := format('settle %s %s %s %s %s %s %s', target, who, t, v, how, delay, note); moved text;
BEGIN
  SELECT * INTO c FROM oracle.control WHERE id = target;
  IF NOT oracle.holds(c, who, t, v) THEN RETURN CASE WHEN c.ended = request THEN c.answer ELSE 'fenced' END; END IF;
  moved := oracle.go_on(c, how <> 'resolved', request, 'settled');
  IF moved IS NOT NULL THEN RETURN moved; END IF;
  IF how = 'manual' THEN RETURN oracle.put(target, 'manual', false, false, c.failures, request, 'settled'); END IF;
  RETURN oracle.put(target, 'retry', delay <> '0', true, c.failures + CASE WHEN note = 'running' THEN 0 ELSE 1 END, request, 'settled');
END $$;

CREATE FUNCTION oracle.conclude(target text, who text, t uuid, v bigint, verdict text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c oracle.control; request text := format('conclude %s %s %s %s %s', target, who, t, v, verdict); word text := 'stale';
BEGIN
  SELECT * INTO c FROM oracle.control WHERE id = target;
  IF NOT oracle.holds(c, who, t, v) THEN RETURN CASE WHEN c.ended = request THEN c.answer ELSE 'fenced' END; END IF;
  UPDATE oracle.job SET listed = false WHERE id = target AND listed AND verdict = 'lost';
  IF FOUND THEN word := 'concluded'; END IF;
  RETURN oracle.go_on(c, false, request, word);
END $$;

CREATE FUNCTION oracle.give_back(target text, who text, t uuid, v bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c oracle.control; request text := format('give_back %s %s %s %s', target, who, t, v);
BEGIN
  SELECT * INTO c FROM oracle.control WHERE id = target;
  IF NOT oracle.holds(c, who, t, v) THEN RETURN CASE WHEN c.ended = request THEN c.answer ELSE 'fenced' END; END IF;
  RETURN oracle.put(target, 'available', false, true, c.failures, request, 'released');
END $$;

CREATE FUNCTION oracle.renew(target text, who text, t uuid, v bigint) RETURNS text LANGUAGE sql AS $$
  SELECT CASE WHEN EXISTS (SELECT FROM oracle.control AS c WHERE c.id = target AND oracle.holds(c, who, t, v)) THEN 'renewed' ELSE 'fenced' END $$;

CREATE FUNCTION oracle.release(target text, v bigint) RETURNS text LANGUAGE sql AS $$
  WITH done AS (UPDATE oracle.control SET state = 'available', waits = false, due = true, failures = 0
                 WHERE id = target AND version = v AND state NOT IN ('claimed', 'available') RETURNING 1)
  SELECT CASE WHEN EXISTS (SELECT FROM done) THEN 'released' ELSE 'stale' END $$;

CREATE FUNCTION oracle.park(target text, v bigint) RETURNS text LANGUAGE sql AS $$
  WITH done AS (UPDATE oracle.control SET state = 'manual', owner = NULL, token = NULL, expired = false, waits = false, due = false
                 WHERE id = target AND version = v RETURNING 1)
  SELECT CASE WHEN EXISTS (SELECT FROM done) THEN 'parked' ELSE 'stale' END $$;
