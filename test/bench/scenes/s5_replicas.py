"""S5: four replicas over one, and no short page while claimable targets remain.

The same number of pages is worked by one client and by four, in turn: of targets never seen before, then of targets
that are all known and due. More claimable ones are left than any page needs, so every short page is a fault.
"""
import pgbench
from figures import ratio
from population import make_known, make_source, settle_down

TITLE = "4 replicas over 1 on the same work, items/s"
PAGE = 16


def compare(scene, db, kind, label, pages):
    one, four = [], []
    text = pgbench.cycle(kind, delay="5 min")
    for _ in range(scene.rounds):
        for clients, rates in ((4, four), (1, one)):
            rates.append(pgbench.run(db, text, clients=clients, transactions=pages // clients, page=PAGE).rate * PAGE)
    scene.add(ratio(label, four, one, (">=", 1.6), ("4 replicas", "1 replica")))
    scene.check(pgbench.short_pages(db) == 0, f"{label}: no short page", db.admin.run("SELECT * FROM bench.short_pages LIMIT 5"))
    scene.check(pgbench.unsettled(db) == 0, f"{label}: every target settled")
    twice, judged = db.admin.run("SELECT count(*) - count(DISTINCT id), count(*) FROM ql3.judgements WHERE kind = %s", kind)[0]
    scene.check(twice == 0, f"{label}: no target handed out twice", twice)
    scene.check(judged == 2 * scene.rounds * pages * PAGE, f"{label}: every target of every page judged", judged)


def run(scene):
    pages = scene.size(40, 400, 1000)
    count = 2 * scene.rounds * pages * PAGE + 8 * PAGE
    with scene.database() as db:
        pgbench.watch(db)
        make_source(db.admin, "unknown", count)
        make_source(db.admin, "known", count)
        make_known(db.admin, "known", "available", count)
        settle_down(db.admin)
        compare(scene, db, "unknown", "targets never seen before", pages)
        compare(scene, db, "known", "targets known before", pages)
