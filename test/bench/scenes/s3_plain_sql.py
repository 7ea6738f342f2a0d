"""S3: items per second over the plain-SQL way, one client, pages of 16.

Two states of a backlog. *Behind waiting ones*: everything old was judged once and waits for its retry, and targets go
on getting lost, which is what a backlog is after its first minutes; the plain way reads all of it for every page. *A
burst*: so many were lost at once, none was known before; the plain way finds a page at once and is held up by its
commits. Each round claims, judges at once and settles as retry in 5 minutes.
"""
import pgbench
import plain_sql
from figures import ratio
from population import make_known, make_source, pass_known, settle_down

TITLE = "items/s over the plain-SQL way, page 16, one client"
PAGE = 16


def judged(db):
    return db.admin.value("SELECT count(*) FROM ql3.judgements")


def settled(db):
    return db.admin.value("SELECT coalesce(sum(failure_count), 0) FROM plain.controls")


def rate(db, text, count, transactions):
    """Items per second, counted by what is in the tables afterwards."""
    before = count(db)
    load = pgbench.run(db, text, transactions=transactions, page=PAGE)
    return (count(db) - before) / load.seconds


def backlog(scene, label, waiting, claimable, pages, plain_pages, target):
    """`waiting` in front, `claimable` behind; in a round ql3 takes `pages` of them and the plain way `plain_pages`."""
    with scene.database(f"_{waiting}_{claimable}") as db:
        pgbench.watch(db)
        plain_sql.make(db.admin)
        make_source(db.admin, "job", waiting + claimable)
        if waiting:
            make_known(db.admin, "job", "retry", waiting)
            db.admin.run("""INSERT INTO plain.controls SELECT kind, id, state, run_id, status, created_at, lost_at,
                observed_at, NULL, NULL, version, NULL, next_claim_at, 1 FROM ql3.run_recovery_controls WHERE kind = 'job'""")
        settle_down(db.admin)
        pass_known(db.admin, "job", waiting)
        ours, plain = [], []
        for _ in range(scene.rounds):
            ours.append(rate(db, pgbench.cycle("job", delay="5 min"), judged, pages))
            plain.append(rate(db, plain_sql.cycle("job", PAGE), settled, plain_pages))
        scene.check(pgbench.short_pages(db) == 0, f"{label}: no short page", pgbench.short_pages(db))
        scene.check(pgbench.unsettled(db) == 0, f"{label}: every target settled")
        scene.add(ratio(label, ours, plain, target, ("ql3", "plain SQL")))


def run(scene):
    few, many = scene.size(200, 1000, 1000), scene.size(1000, 20_000, 100_000)
    rounds, long = scene.rounds, scene.size(20, 200, 500)
    short = few // PAGE // rounds - 1  # pages of a round, so that a thousand last for all rounds
    backlog(scene, f"{few:,} waiting in front", few, 40 * PAGE * rounds + 64 * PAGE, 40, 20, (">=", 6))
    backlog(scene, f"{many:,} waiting in front", many, long * PAGE * rounds + 64 * PAGE, long, scene.size(5, 15, 15), (">=", 60))
    backlog(scene, f"a burst of {few:,}", 0, few, short, short, None)
    backlog(scene, f"a burst of {many:,}", 0, many, min(long, many // PAGE // rounds - 1), scene.size(5, 40, 40), None)
