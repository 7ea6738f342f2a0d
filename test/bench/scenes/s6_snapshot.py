"""S6: an old snapshot held open elsewhere, under full load, while targets leave for good.

Two clients claim pages of 16; the user's own UPDATE takes the targets out of the source, and the page is settled as
resolved in the same transaction. All the time another session holds a snapshot from before, so that no dead row can
be removed: not from ql3's tables, and not from the user's. The pace of the last interval over the first, then again
after the snapshot ended and one vacuum. One run, too long to repeat. The same once more without a snapshot: what it loses
is what tables lose that grow. Beside the pace, what it is made of: processor time for each item, and the disk's time for
each flush of the log. The plain-SQL way and PgQ, for a shorter time.
"""
import contextlib

import pgbench
import pgq
import plain_sql
import strain
from figures import Figure
from population import list_jobs, make_source, settle_down

TITLE = "an old snapshot held open elsewhere, items/s"
PAGE = 16
CLIENTS = 2
LEAVE = "UPDATE {kind} SET status = 'lost' WHERE id = ANY (:ids::text[]);\n"


@contextlib.contextmanager
def snapshot(db):
    """Holds a snapshot of now, and a transaction id so that not even its own database looks away."""
    session = db.session(idle_in_transaction_session_timeout=0)
    session.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
    session.run("SELECT pg_current_xact_id()")
    try:
        yield
    finally:
        session.run("COMMIT")


def pace(db, text, seconds, interval, held=True, **how):
    """Items per second in each interval of a run, under an old snapshot or without one, and the strain of each."""
    with snapshot(db) if held else contextlib.nullcontext():
        running = pgbench.Running(db, text, seconds=seconds + 1, progress=interval, page=PAGE, **how)
        strains = strain.during(db, running, interval)
        whole = seconds // interval  # it runs for a second longer, so that the last one is whole
        return [tick * PAGE for tick in running.end().ticks[:whole]], strains[:whole]


def decline(what, ticks, target, last="last"):
    return Figure(what, ticks[-1] / ticks[0], "ratio", target, sides={"first": ticks[0], last: ticks[-1]})


def made_of(scene, what, ticks, strains):
    """What the pace was made of, in each interval and after the vacuum."""
    if all(strain.processor for strain in strains):
        spent = [1e6 * strain.processor / tick for tick, strain in zip(ticks, strains)]
        scene.add(Figure(f"{what}processor time for an item, last over first",
                         spent[-2] / spent[0], "ratio", sides={"first": spent[0], "last": spent[-2], "after": spent[-1]}))
        scene.note(f"{what}microseconds of processor for an item, the last one after the vacuum: " + " ".join(f"{one:.0f}" for one in spent))
    if all(strain.flush for strain in strains):
        scene.note(f"{what}milliseconds for a flush of the log, the last one after the vacuum: "
                   + " ".join(f"{strain.flush:.2f}" for strain in strains))


def ours(scene, seconds, interval, held):
    what = "" if held else "without a snapshot: "
    with scene.database("" if held else "_free") as db:
        pgbench.watch(db)
        text = pgbench.cycle("job", "resolved", before="BEGIN;\n" + LEAVE.format(kind="job"), after="COMMIT;\n")
        first = scene.size(60_000, 100_000, 200_000)
        make_source(db.admin, "job", first)
        probe = pgbench.run(db, text, clients=CLIENTS, seconds=scene.size(1, 2, 4), page=PAGE)
        db.admin.run("DELETE FROM bench.short_pages")  # the probe may have taken all there was
        # Enough for the whole run at twice this pace, so that no page is short for want of targets.
        more = int(probe.rate * PAGE * 2 * (seconds + 2 * interval))
        list_jobs(db.admin, "job", more, first + 1)
        settle_down(db.admin)
        ticks, strains = pace(db, text, seconds, interval, held, clients=CLIENTS)
        scene.add(decline(f"{what}last {interval} s of {seconds} s over the first", ticks, (">=", 0.8) if held else None))
        scene.note(f"{what}items/s in each interval: " + " ".join(f"{tick:.0f}" for tick in ticks))
        db.admin.run("VACUUM")
        after, after_strains = pace(db, text, interval, interval, held=False, clients=CLIENTS)
        scene.add(decline("after it ended and one vacuum, over the first" if held else f"{what}after one vacuum, over the first",
                          [ticks[0], after[0]], (">=", 0.95) if held else None, "after"))
        made_of(scene, what, ticks + after, strains + after_strains)
        # A page may be short when nothing is left at all.
        waiting = db.admin.value("SELECT count(*) FROM job WHERE status <> 'lost'")
        scene.check(pgbench.short_pages(db) == 0 or waiting == 0, "no short page while targets wait",
                    (waiting, db.admin.run("SELECT count(*), sum(n) FROM bench.short_pages")))
        scene.check(pgbench.unsettled(db) == 0, "every target settled")
        left = db.admin.value("SELECT count(*) FROM job WHERE status = 'lost'")
        judged = db.admin.value("SELECT count(DISTINCT id) FROM ql3.judgements WHERE disposition = 'resolved'")
        scene.check(left == judged, "as many targets left the source as were judged", (left, judged))


def plain(scene, seconds, interval):
    with scene.database("_plain") as db:
        plain_sql.make(db.admin)
        make_source(db.admin, "job", scene.size(10_000, 50_000, 100_000))
        settle_down(db.admin)
        ticks, _ = pace(db, plain_sql.cycle("job", PAGE, resolved=True, before=LEAVE.format(kind="job")), seconds, interval,
                        clients=CLIENTS)
        scene.add(decline(f"plain SQL: last {interval} s of {seconds} s over the first", ticks, None))


def queue(scene):
    with scene.database("_pgq") as db:
        if not db.has_extension(pgq.EXTENSION):
            scene.note("PgQ is absent (postgresql-15-pgq3), so it was not measured.")
            return
        batches = scene.size(100, 4000, 12_500)
        pgq.make(db, batches, PAGE)
        pgbench.run(db, pgq.CONSUME, transactions=batches // 50, page=PAGE)
        settle_down(db.admin)
        with snapshot(db):
            rates = [pgbench.run(db, pgq.CONSUME, transactions=batches // 5, page=PAGE).rate * PAGE for _ in range(4)]
        scene.add(decline(f"PgQ, one consumer: last of four runs of {batches // 5} batches over the first", rates, None))


def run(scene):
    interval = scene.size(1, 5, 10)
    for held in (True, False):
        ours(scene, scene.size(3, 30, 120), interval, held)
    plain(scene, scene.size(2, 15, 40), interval)
    queue(scene)
