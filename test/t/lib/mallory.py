"""What a hostile role can plant around a call: look-alikes of our tables and of the server's catalogs, first in the path,
each of which leaves a trace of who ran it."""

from stress import run

# A trace is a notice, so that it also tells from where nothing can be written or where all is rolled back.
SCHEMA = """
CREATE SCHEMA mallory;
CREATE FUNCTION mallory.spy(what text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN RAISE NOTICE 'spy: % as %', what, current_user; RETURN true; END $$;
"""

COMPARED = ["text", "bigint", "integer", "uuid", "bytea", "boolean", "timestamptz", "interval", "jsonb", "name", "oid"]
FUNCTIONS = {
    "now()": "timestamptz", "clock_timestamp()": "timestamptz", "statement_timestamp()": "timestamptz",
    "gen_random_uuid()": "uuid", "current_database()": "name", "sha256(bytea)": "bytea", "md5(text)": "text",
    "octet_length(text)": "integer", "jsonb_typeof(jsonb)": "text", "isfinite(timestamptz)": "boolean",
    "pg_get_userbyid(oid)": "name", "jsonb_object_keys(jsonb)": "text", "to_jsonb(anyelement)": "jsonb",
    "count(text)": "bigint", "length(text)": "integer", "lower(text)": "text", "format(text)": "text",
}


def look_alikes(schema):
    """The statements that plant the functions, operators and a cast in a schema."""
    planted = []
    for signature, result in FUNCTIONS.items():
        planted.append(f"CREATE FUNCTION {schema}.{signature} RETURNS {result} LANGUAGE sql VOLATILE AS "
                       f"$$ SELECT NULL::{result} WHERE mallory.spy('{signature}') $$")
    for kind in COMPARED:
        for name, symbol in (("same", "="), ("less", "<"), ("more", ">"), ("atmost", "<="), ("other", "<>")):
            planted.append(f"CREATE FUNCTION {schema}.{name}({kind}, {kind}) RETURNS boolean LANGUAGE sql VOLATILE "
                           f"AS $$ SELECT mallory.spy('{symbol} {kind}') $$")
            planted.append(f"CREATE OPERATOR {schema}.{symbol} (LEFTARG = {kind}, RIGHTARG = {kind}, "
                           f"FUNCTION = {schema}.{name})")
    planted += [
        f"CREATE FUNCTION {schema}.joined(text, text) RETURNS text LANGUAGE sql VOLATILE AS "
        "$$ SELECT 'planted' WHERE mallory.spy('||') $$",
        f"CREATE OPERATOR {schema}.|| (LEFTARG = text, RIGHTARG = text, FUNCTION = {schema}.joined)",
        f"CREATE TYPE {schema}.word AS ENUM ('a', 'job', 'A')",
        f"CREATE FUNCTION {schema}.word_text({schema}.word) RETURNS text LANGUAGE sql VOLATILE AS "
        "$$ SELECT 'planted' WHERE mallory.spy('cast') $$",
        f"CREATE CAST ({schema}.word AS text) WITH FUNCTION {schema}.word_text({schema}.word) AS IMPLICIT",
        f"CREATE DOMAIN {schema}.claimed_target AS text CHECK (mallory.spy('domain'))",
    ]
    return planted


def plant_temporary(db, tables):
    """Temporary tables with the names of ours and of the catalogs, and a trigger that would tell of any write."""
    for table in tables:
        run(db, f"CREATE TEMP TABLE {table} (kind text, id text, state text, attached boolean)")
    run(db, "CREATE FUNCTION pg_temp.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS "
            "$$ SELECT 'infinity'::timestamptz WHERE mallory.spy('pg_temp') $$")


def traces(db):
    """What was spied on in the session since the last look: the notices."""
    found = [n for n in db.notices if "spy:" in n]
    del db.notices[:]
    return found
