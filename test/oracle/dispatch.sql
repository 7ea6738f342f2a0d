-- Dispatch once more, for comparison only: one item after the other, no concurrency, no durability, no limits. Written from
-- docs/dispatch.md, not from the C++.
CREATE TABLE oracle.attempt (
  n bigserial PRIMARY KEY, item text, token uuid, writer text, action text, args jsonb, permit uuid,
  released boolean NOT NULL DEFAULT false, contradicted boolean NOT NULL DEFAULT false, overdue boolean NOT NULL DEFAULT false,
  w text, j text, o text);
CREATE TABLE oracle.halts (halt text);

CREATE FUNCTION oracle.state(a oracle.attempt) RETURNS text LANGUAGE sql AS $$
  SELECT CASE WHEN a.released THEN 'released'
    ELSE coalesce(nullif(a.o, 'unknown'), nullif(a.w, 'unknown'), nullif(a.j, 'unknown'), a.o, a.w, a.j, 'claimed') END $$;
CREATE FUNCTION oracle.own(it text, t uuid) RETURNS oracle.attempt LANGUAGE sql AS $$
  SELECT a FROM oracle.attempt AS a WHERE a.item = it AND a.token = t $$;
CREATE FUNCTION oracle.standing(it text) RETURNS oracle.attempt LANGUAGE sql AS $$
  SELECT a FROM oracle.attempt AS a WHERE a.item = it AND NOT a.released ORDER BY a.n LIMIT 1 $$;
CREATE FUNCTION oracle.other_identity(it text, act text, arg jsonb) RETURNS boolean LANGUAGE sql AS $$
  SELECT coalesce((SELECT (a.action, a.args) IS DISTINCT FROM (act, arg) FROM oracle.attempt AS a
                    WHERE a.item = it AND a.action IS NOT NULL ORDER BY a.n LIMIT 1), false) $$;

CREATE FUNCTION oracle.claim(it text, act text, arg jsonb, wr text, t uuid) RETURNS text LANGUAGE plpgsql AS $$
DECLARE mine oracle.attempt := oracle.own(it, t); other oracle.attempt := oracle.standing(it);
BEGIN
  IF mine.released THEN RETURN 'released'; END IF;
  IF oracle.other_identity(it, act, arg) THEN RETURN 'identity_conflict'; END IF;
  IF EXISTS (SELECT FROM oracle.attempt AS a WHERE a.item = it AND NOT a.released AND oracle.state(a) <> 'claimed')
    THEN RETURN 'concluded'; END IF;
  IF mine.n IS NOT NULL THEN RETURN CASE WHEN mine.writer = wr THEN 'recorded' ELSE 'foreign' END; END IF;
  IF other.n IS NOT NULL THEN RETURN 'foreign'; END IF;
  IF EXISTS (SELECT FROM oracle.halts) THEN RETURN 'halted'; END IF;
  INSERT INTO oracle.attempt (item, token, writer, action, args) VALUES (it, t, wr, act, arg);
  RETURN 'recorded';
END $$;

CREATE FUNCTION oracle.permit(it text, wr text, t uuid, p uuid) RETURNS text LANGUAGE plpgsql AS $$
DECLARE mine oracle.attempt := oracle.own(it, t);
BEGIN
  IF mine.n IS NULL OR mine.writer <> wr OR oracle.state(mine) <> 'claimed' OR mine.permit IS NOT NULL
     OR (SELECT count(*) FROM oracle.attempt AS a WHERE a.item = it AND NOT a.released) <> 1 THEN RETURN 'false'; END IF;
  IF EXISTS (SELECT FROM oracle.halts) THEN RETURN '55000'; END IF;
  UPDATE oracle.attempt SET permit = p, overdue = false WHERE n = mine.n;
  RETURN 'true';
END $$;

CREATE FUNCTION oracle.extend(it text, wr text, t uuid) RETURNS text LANGUAGE plpgsql AS $$
DECLARE mine oracle.attempt := oracle.own(it, t);
BEGIN
  IF mine.n IS NULL THEN RETURN CASE WHEN (oracle.standing(it)).n IS NULL THEN 'absent' ELSE 'foreign' END; END IF;
  IF mine.writer <> wr THEN RETURN 'foreign'; END IF;
  IF oracle.state(mine) <> 'claimed' THEN RETURN 'concluded'; END IF;
  UPDATE oracle.attempt SET overdue = false WHERE n = mine.n;
  RETURN 'extended';
END $$;

-- The writer's word on its own attempt.
CREATE FUNCTION oracle.say(mine oracle.attempt, word text, p uuid) RETURNS text LANGUAGE plpgsql AS $$
DECLARE definite boolean := mine.w IS NOT NULL AND mine.w <> 'unknown'; fresh boolean := num_nonnulls(mine.w, mine.j, mine.o) = 0;
BEGIN
  IF definite AND mine.w <> word THEN RETURN 'concluded'; END IF;       -- it said something else before
  IF mine.released AND word = 'unknown' THEN RETURN 'concluded'; END IF;
  UPDATE oracle.attempt SET w = word WHERE n = mine.n;
  IF mine.released AND word IN ('succeeded', 'failed') THEN              -- it had called after all
    UPDATE oracle.attempt SET released = false, contradicted = true WHERE n = mine.n;
    RETURN 'recorded';
  END IF;
  IF mine.released THEN RETURN 'recorded'; END IF;
  IF word = 'not_sent' AND fresh THEN
    UPDATE oracle.attempt SET released = mine.permit IS NULL OR mine.permit IS NOT DISTINCT FROM p WHERE n = mine.n;
    RETURN 'recorded';
  END IF;
  -- Stored; whether it decides depends on who else has spoken.
  IF word IN ('not_sent', 'unknown') THEN RETURN CASE WHEN mine.j IS NULL AND mine.o IS NULL THEN 'recorded' ELSE 'concluded' END; END IF;
  RETURN CASE WHEN coalesce(mine.o, 'unknown') = 'unknown' THEN 'recorded' ELSE 'concluded' END;
END $$;

CREATE FUNCTION oracle.settle(it text, wr text, t uuid, word text, p uuid) RETURNS text LANGUAGE plpgsql AS $$
DECLARE mine oracle.attempt := oracle.own(it, t);
BEGIN
  IF mine.n IS NOT NULL THEN RETURN CASE WHEN mine.writer = wr THEN oracle.say(mine, word, p) ELSE 'foreign' END; END IF;
  IF (oracle.standing(it)).n IS NOT NULL THEN RETURN 'foreign'; END IF;
  IF word = 'not_sent' THEN INSERT INTO oracle.attempt (item, token, writer, released, w) VALUES (it, t, wr, true, word); END IF;
  RETURN 'absent';
END $$;

CREATE FUNCTION oracle.reassert(it text, act text, arg jsonb, wr text, t uuid, word text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE mine oracle.attempt := oracle.own(it, t);
BEGIN
  IF mine.writer <> wr OR oracle.other_identity(it, act, arg) THEN RETURN 'foreign'; END IF;
  IF mine.n IS NOT NULL THEN RETURN oracle.say(mine, word, NULL); END IF;
  UPDATE oracle.attempt AS a SET j = 'not_sent', released = true
   WHERE a.n = (SELECT b.n FROM oracle.attempt AS b WHERE b.item = it AND oracle.state(b) = 'claimed' AND b.permit IS NULL ORDER BY b.n LIMIT 1);
  INSERT INTO oracle.attempt (item, token, writer, action, args, w) VALUES (it, t, wr, act, arg, word);
  RETURN 'recorded';
END $$;

CREATE FUNCTION oracle.judge(a_n bigint, word text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a oracle.attempt;
BEGIN
  SELECT * INTO a FROM oracle.attempt WHERE n = a_n;
  IF oracle.state(a) <> 'claimed' OR NOT a.overdue OR (word = 'not_sent' AND a.permit IS NOT NULL) THEN RETURN 'stale'; END IF;
  UPDATE oracle.attempt SET j = word, released = word = 'not_sent' WHERE n = a_n;
  RETURN 'concluded';
END $$;

CREATE FUNCTION oracle.override(it text, t uuid, expected text, word text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a oracle.attempt := oracle.own(it, t);
BEGIN
  IF a.n IS NULL OR oracle.state(a) <> expected OR a.released OR (coalesce(a.o, 'unknown') <> 'unknown' AND a.o <> word) THEN RETURN 'stale'; END IF;
  UPDATE oracle.attempt SET o = word WHERE n = a.n;
  RETURN 'recorded';
END $$;

CREATE FUNCTION oracle.record(it text, act text, arg jsonb, word text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF (oracle.standing(it)).n IS NOT NULL THEN RETURN 'concluded'; END IF;
  IF oracle.other_identity(it, act, arg) THEN RETURN '22023'; END IF;
  INSERT INTO oracle.attempt (item, token, writer, action, args, o) VALUES (it, gen_random_uuid(), 'operator', act, arg, word);
  RETURN 'recorded';
END $$;
