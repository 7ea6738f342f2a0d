"""The raw limit: the very row changes that ql3 makes, as bare statements on a copy of its table with the same
columns, constraints and indexes.

What to write is not invented: one real target (or attempt) is taken through ql3's calls, the row is read before and
after each, and the statement sets the columns that changed. Times move with the clock, counts go up by what they went.
"""
import datetime


def image(db, table, where):
    """One row of a table as {column: value}, without generated columns."""
    names = [row[0] for row in db.run("SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 "
                                      "AND NOT attisdropped AND attgenerated = '' ORDER BY attnum", table)]
    rows = db.run(f"SELECT {', '.join(names)} FROM {table} WHERE {where}")
    if len(rows) != 1:
        raise RuntimeError(f"{len(rows)} rows of {table} where {where}")
    return dict(zip(names, rows[0]))


def copy_table(db, table, name):
    """An empty table like another, under the schema bench."""
    db.run(f"CREATE TABLE bench.{name} (LIKE {table} INCLUDING ALL)")
    fill = db.value("SELECT array_to_string(reloptions, ', ') FROM pg_class WHERE oid = %s::regclass", table)
    if fill:
        db.run(f"ALTER TABLE bench.{name} SET ({fill})")


def literal(db, value, clock):
    """A value as SQL. A time becomes the same distance from the statement's clock as it was from `clock`."""
    if isinstance(value, datetime.datetime):
        return f"statement_timestamp() + interval '{(value - clock).total_seconds():.3f} s'"
    with db.connection.cursor() as cursor:
        return cursor.mogrify("%s", (value,)).decode()


def assignments(db, before, after, clock, special=None):
    """The SET list that makes `after` of `before`. `special` gives expressions for some columns."""
    special = special or {}
    parts = []
    for column, value in after.items():
        if value == before[column]:
            continue
        if column in special:
            text = special[column]
        elif type(value) is int and type(before[column]) is int and 0 < value - before[column] < 10:
            text = f"{column} + {value - before[column]}"
        else:
            text = literal(db, value, clock)
        parts.append(f"{column} = {text}")
    return ", ".join(parts)
