"""Tables of jobs as a user has them, attached to ql3, and targets in any state behind them.

A backlog of a million is not made by a million calls. One real target is taken through the real calls to the state
that is wanted, and its control row is the pattern that the others are copied from, with times of their own.
"""
import itertools
import uuid

# Older ones first; a millisecond apart, from a time long past.
START = "'2026-01-01'::timestamptz"


def make_source(db, kind, count=0, first=1):
    """A table of jobs, a view of the lost ones, attached as `kind`; `count` lost jobs are in it."""
    db.run(f"""CREATE TABLE {kind} (id text PRIMARY KEY, status text NOT NULL, created_at timestamptz NOT NULL,
                 lease_expires_at timestamptz NOT NULL);
               CREATE VIEW lost_{kind} AS SELECT id, id AS run_id, status, created_at, lease_expires_at AS lost_at
                 FROM {kind} WHERE status = 'running' AND lease_expires_at <= statement_timestamp()""")
    list_jobs(db, kind, count, first)
    db.run(f"CREATE INDEX ON {kind} (lease_expires_at, id) WHERE status = 'running'")
    db.run(f"VACUUM ANALYZE {kind}")
    db.run("SELECT ql3.ql3_attach_source(%s, %s)", kind, f"lost_{kind}")


def list_jobs(db, kind, count, first=1):
    """Lists the jobs number `first` and on."""
    db.run(f"""INSERT INTO {kind} SELECT 'job-' || lpad(n::text, 9, '0'), 'running', {START}, {START} + n * interval '1 ms'
               FROM generate_series({first}, {first + count - 1}) AS n""")


def key(n):
    return f"job-{n:09}"


NUMBERS = itertools.count(1)
WAYS = {
    "claimed": None,
    "manual": ("settle", "manual", None),
    "retry": ("settle", "retry", "5 min"),
    "resolved": ("settle", "resolved", None),
    "available": ("give_back", None, None),
}


def pattern(db, state):
    """One real target in `state`, of a kind of its own. Returns that kind."""
    kind = f"pattern_{next(NUMBERS)}"
    make_source(db, kind, 1)
    row = db.run("SELECT token, kind, id, version FROM ql3.ql3_claim('elsewhere', 1, '5 min', %s, %s)",
                 str(uuid.uuid4()), [kind])[0]
    way = WAYS[state]
    if way and way[0] == "settle":
        db.run("SELECT ql3.ql3_settle(%s, %s, 'elsewhere', %s, %s, %s, %s)", row[1], row[2], row[0], row[3], *way[1:])
    elif way:
        db.run("SELECT * FROM ql3.ql3_give_back('elsewhere', %s, %s, %s, %s)", row[0], [row[1]], [row[2]], [row[3]])
    db.run("SELECT ql3.ql3_detach_source(%s)", kind)
    return kind


def columns(db):
    return [row[0] for row in db.run("""SELECT attname FROM pg_attribute
        WHERE attrelid = 'ql3.run_recovery_controls'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum""")]


def make_known(db, kind, state, count, first=1, waits="5 min"):
    """Gives the listed jobs number `first` and on a control row in `state`. What waits or is held does so for
    `waits` from now, at most 5 minutes where it is a lease."""
    of = pattern(db, state)
    new = {
        "kind": f"'{kind}'", "id": "'job-' || lpad(n::text, 9, '0')", "run_id": "'job-' || lpad(n::text, 9, '0')",
        "lost_at": f"{START} + n * interval '1 ms'", "created_at": START,
    }
    later = f"clock_timestamp() + interval '{waits}'"
    for column in ("expires_at", "next_claim_at"):
        new[column] = f"CASE WHEN p.{column} IS NOT NULL THEN {later} END"
    # Due when its wait ends; what is due at once is due from its insertion on.
    new["due_at"] = f"""CASE WHEN p.due_at IS NULL THEN NULL WHEN p.expires_at IS NULL AND p.next_claim_at IS NULL
                        THEN clock_timestamp() ELSE {later} END"""
    names = columns(db)
    db.run(f"""INSERT INTO ql3.run_recovery_controls ({', '.join(names)})
               SELECT {', '.join(new.get(name, 'p.' + name) for name in names)}
                 FROM ql3.run_recovery_controls AS p, generate_series({first}, {first + count - 1}) AS n
                WHERE p.kind = '{of}'""")
    db.run("DELETE FROM ql3.run_recovery_controls WHERE kind = %s", of)
    db.run(f"DROP TABLE {of} CASCADE")


def pass_known(db, kind, count):
    """Claims until discovery has read past `count` known rows that no claim handed out: at least 4,096 a pass, once. Returns
    the ids that these claims took meanwhile."""
    taken = set()
    for _ in range(count // 4096 + 2):
        taken.update(row[0] for row in db.run("SELECT id FROM ql3.ql3_claim('bench', 16, '5 min', NULL, %s)", [kind]))
    return taken


def settle_down(db):
    """After the data was made: statistics and a visibility map as a server has them that runs for a while."""
    db.run("VACUUM ANALYZE")
    db.run("CHECKPOINT")
