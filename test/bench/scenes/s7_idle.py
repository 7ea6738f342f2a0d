"""S7: a claim that finds nothing to claim writes nothing.

Three ways to find nothing: nothing is listed; everything listed waits, is parked or held; nothing is attached but the
built-in kind. The server counts the WAL of the statement and the rows it wrote. Beside it the plain-SQL way's look.
"""
import plain_sql
from explain import cost
from figures import several
from population import make_known, make_source, pass_known, settle_down

TITLE = "what a claim writes that finds nothing to claim"
CLAIM = "SELECT * FROM ql3.ql3_claim('bench', 16, '5 min')"
WRITTEN = """SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_xact_all_tables"""


def idle(scene, db, label, rounds):
    session = db.session()
    session.run(CLAIM)  # whoever reads a page first may tidy it, and what the server writes for that is not the claim's
    costs = [cost(session, CLAIM) for _ in range(rounds)]
    scene.check(all(each.rows == 0 for each in costs), f"{label}: nothing is claimed", [each.rows for each in costs])
    rows = 0
    session.run("BEGIN")
    for _ in range(rounds):
        session.run(CLAIM)
    rows = int(session.value(WRITTEN))
    transaction = session.value("SELECT pg_current_xact_id_if_assigned()::text")
    session.run("COMMIT")
    wal = several(f"{label}: WAL of a claim", [each.wal for each in costs], "bytes", ("=", 0))
    written = several(f"{label}: rows of {rounds} claims", [rows], "rows", ("=", 0))
    scene.add(wal)
    scene.add(written)
    scene.add(several(f"{label}: time", [each.milliseconds for each in costs], "ms"))
    scene.check(sum(each.wal for each in costs) == 0, f"{label}: no WAL in {rounds} claims", [each.wal for each in costs])
    scene.check(rows == 0 and transaction is None, f"{label}: no row and no transaction id", (rows, transaction))


def run(scene):
    unit, rounds = scene.size(300, 5000, 25_000), scene.size(20, 100, 400)
    with scene.database() as db:
        make_source(db.admin, "job", 0)
        settle_down(db.admin)  # reading a page may prune it, which is WAL; not what is asked here
        idle(scene, db, "nothing listed", rounds)

    with scene.database("_held") as db:
        make_source(db.admin, "job", 4 * unit)
        for n, state in enumerate(("manual", "retry", "resolved", "claimed")):
            make_known(db.admin, "job", state, unit, n * unit + 1)
        settle_down(db.admin)
        pass_known(db.admin, "job", 4 * unit)
        idle(scene, db, f"{4 * unit:,} listed, none claimable", rounds)
        db.admin.run(plain_sql.SCHEMA)
        db.admin.run("INSERT INTO plain.controls SELECT kind, id, 'retry', run_id, status, created_at, lost_at, observed_at, "
                     "NULL, NULL, 1, NULL, now() + interval '5 min', 1 FROM ql3.run_recovery_controls")
        settle_down(db.admin)
        look = plain_sql.DISCOVER.format(kind="job", claimable=plain_sql.CLAIMABLE, page=16)
        scene.add(several("the plain way's look at the same: time", [cost(db.admin, look).milliseconds for _ in range(5)], "ms"))
