-- The functions of the module, and what test/t/boundary asks with them.
CREATE SCHEMA torture;

CREATE FUNCTION torture.fail(places text, way text) RETURNS text
  LANGUAGE c VOLATILE AS 'ql3_torture', 'ql3_torture_fail';
CREATE FUNCTION torture.absorb(way text) RETURNS text
  LANGUAGE c VOLATILE AS 'ql3_torture', 'ql3_torture_absorb';
CREATE FUNCTION torture.absorb_many(way text, times integer) RETURNS bigint
  LANGUAGE c VOLATILE AS 'ql3_torture', 'ql3_torture_absorb_many';
CREATE FUNCTION torture.cancel_then(milliseconds integer) RETURNS boolean
  LANGUAGE c VOLATILE AS 'ql3_torture', 'ql3_torture_cancel_then';
CREATE FUNCTION torture.growth(times integer) RETURNS bigint
  LANGUAGE c VOLATILE AS 'ql3_torture', 'ql3_torture_growth';
CREATE FUNCTION torture.state() RETURNS text LANGUAGE c VOLATILE AS 'ql3_torture', 'ql3_torture_state';
CREATE FUNCTION torture.memory() RETURNS bigint LANGUAGE c VOLATILE AS 'ql3_torture', 'ql3_torture_memory';
CREATE FUNCTION torture.arm(n integer, sqlstate text) RETURNS text
  LANGUAGE c VOLATILE AS 'ql3_torture', 'ql3_torture_arm';
CREATE FUNCTION torture.disarm() RETURNS boolean LANGUAGE c VOLATILE AS 'ql3_torture', 'ql3_torture_disarm';

-- Private memory of this backend in bytes: what C++ leaks shows here only.
CREATE FUNCTION torture.resident() RETURNS bigint LANGUAGE sql VOLATILE AS
  $$ SELECT 1024 * (regexp_match(pg_read_file('/proc/self/status'), 'RssAnon:\s+(\d+) kB'))[1]::bigint $$;

-- How each way to fail must arrive.
CREATE TABLE torture.ways (way text PRIMARY KEY, code text, message text, detail text, hint text);
INSERT INTO torture.ways VALUES
  ('error', '22012', 'thrown by C++', 'its detail', 'its hint'),
  ('error_bare', '55000', 'thrown by C++', '', ''),
  ('error_bad_sqlstate', 'XX000', 'thrown by C++', '', ''),
  ('error_long', '22012', repeat('x', 511), repeat('x', 511), repeat('x', 511)),
  ('bad_alloc', '53200', 'out of memory', '', ''),
  ('bad_alloc_real', '53200', 'out of memory', '', ''),
  ('std', 'XX000', 'a standard exception', '', ''),
  ('std_long', 'XX000', 'xx' || repeat('中', 169), '', ''),
  ('int', 'XX000', 'unknown C++ exception', '', ''),
  ('pointer', 'XX000', 'unknown C++ exception', '', ''),
  ('raise', 'XX001', 'raised in a leaf', 'the detail', 'the hint'),
  ('raise_in_callback', 'XX001', 'raised in a leaf', 'the detail', 'the hint'),
  ('callback_uncopied', 'XX001', 'out of memory while an error was reported', '', ''),
  ('raise_uncopied', 'XX001', 'out of memory while an error was reported', '', ''),
  ('cancel', '57014', 'canceling statement due to user request', '', ''),
  ('cancel_uncopied', '57014', 'out of memory while an error was reported', '', ''),
  ('huge_palloc', 'XX000', 'invalid memory alloc request size 1073741824', '', ''),
  ('huge_text', 'XX000', 'invalid memory alloc request size 2147483649', '', ''),
  ('no_memory', '53200', 'out of memory', 'the context is exhausted', ''),
  ('prepare', '42P01', 'relation "nowhere" does not exist', '', ''),
  ('execute', '22012', 'division by zero', '', ''),
  ('null_cell', 'XX000', 'unexpected null in a row of ql3', '', ''),
  ('syscache', '42704', 'invalid role OID: 4294967290', '', ''),
  ('relation', 'XX000', 'could not open relation with OID 4294967290', '', ''),
  ('relation_kept_open', 'XX001', 'raised in a leaf', 'the detail', 'the hint'),
  ('lock_kept', 'XX001', 'raised in a leaf', 'the detail', 'the hint'),
  ('lwlock_kept', 'XX001', 'raised in a leaf', 'the detail', 'the hint'),
  ('setting', '22023', 'invalid value for parameter "work_mem": "nonsense"', '', ''),
  ('role_kept', 'XX001', 'raised in a leaf', 'the detail', 'the hint'),
  ('input', '22P02', 'invalid input syntax for type json', 'The input string ended unexpectedly.', ''),
  ('array', '54000', 'array size exceeds the maximum allowed (134217727)', '', ''),
  ('snapshot_kept', 'XX001', 'raised in a leaf', 'the detail', 'the hint'),
  ('warning', 'XX001', 'raised in a leaf', 'the detail', 'the hint'),
  ('no_plan', 'XX000', 'statement of ql3 failed: SPI_ERROR_ARGUMENT', '', '');

-- Where the failure happens; a statement of ours needs SPI, so each begins with a session.
CREATE TABLE torture.places (places text PRIMARY KEY);
INSERT INTO torture.places VALUES ('session'), ('session/scratch'), ('session/discard'), ('session/keep_if'),
  ('session/scratch/discard/scratch'), ('session/discard/keep_if/discard'), ('session/session/scratch/keep_if'),
  ('session/scratch/context'), ('session/sql'), ('session/discard/sql'), ('session/keep_if/scratch/sql');

-- What is wrong with the failure when it is caught in a block of PL/pgSQL; NULL = nothing.
CREATE FUNCTION torture.caught(place text, how text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  wanted torture.ways;
  got torture.ways;
  before text := torture.state();
  context text;
BEGIN
  SELECT * INTO STRICT wanted FROM torture.ways WHERE way = how;
  BEGIN
    PERFORM torture.fail(place, how);
    RETURN how || ' went well in ' || place;
  EXCEPTION WHEN OTHERS OR query_canceled THEN
    GET STACKED DIAGNOSTICS got.code = RETURNED_SQLSTATE, got.message = MESSAGE_TEXT, got.detail = PG_EXCEPTION_DETAIL,
      got.hint = PG_EXCEPTION_HINT, context = PG_EXCEPTION_CONTEXT;
  END;
  got.way := how;
  IF got <> wanted THEN RETURN format('%s in %s: %s, not %s', how, place, got, wanted); END IF;
  IF how = 'raise' AND context NOT LIKE '%the context%' THEN RETURN place || ': the context is ' || context; END IF;
  IF how = 'raise_in_callback' AND context NOT LIKE '%of the callback%' THEN
    RETURN place || ': the context is ' || context;
  END IF;
  IF torture.state() <> before THEN
    RETURN format('%s in %s: left %s, not %s', how, place, torture.state(), before);
  END IF;
  RETURN NULL;
END $$;

-- Makes the n-th statement inside `what` fail, for n = 1, 2, ... until none is left; everything is undone each time.
CREATE FUNCTION torture.sweep(what text, code text, OUT fault integer, OUT outcome text) RETURNS SETOF record
  LANGUAGE plpgsql AS $$
DECLARE
  before text := torture.state();
  fired boolean;
BEGIN
  FOR n IN 2 .. 10000 LOOP  -- the first is `what` itself
    fault := n;
    BEGIN
      PERFORM torture.arm(n, code);
      EXECUTE what;
      fired := torture.disarm();
      outcome := 'went well';
      RAISE EXCEPTION USING ERRCODE = 'QL3ZZ';
    EXCEPTION WHEN OTHERS OR query_canceled THEN
      IF SQLSTATE <> 'QL3ZZ' THEN
        fired := torture.disarm();
        outcome := SQLSTATE || ' ' || SQLERRM;
      END IF;
    END;
    IF torture.state() <> before THEN
      outcome := format('%s, left %s, not %s', outcome, torture.state(), before);
    END IF;
    EXIT WHEN NOT fired;
    RETURN NEXT;
  END LOOP;
END $$;
