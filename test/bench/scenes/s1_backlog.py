"""S1: the cost of a claim does not grow with the backlog.

Two sources in one database, a small and a large backlog of targets never seen before, are claimed from in turn, a
page of 16 each. Time and buffers are those of the statement as the server counts them, so that the commit's flush,
which is the same for both, hides nothing. The same again for backlogs whose targets are all known and due.
"""
from explain import claim
from figures import ratio
from population import make_known, make_source, pass_known, settle_down

TITLE = "claim(16) at a large backlog over a small one"
TARGET = ("<=", 1.25)


def compare(scene, db, what, large, small, rounds, target=TARGET):
    session = db.session()
    for kind in (small, large):
        for _ in range(2):
            claim(session, kind)  # catalog look-ups and plans
    costs = [(claim(session, large), claim(session, small)) for _ in range(rounds)]
    names = ("large", "small")
    scene.add(ratio(f"{what}: time", [a.milliseconds for a, _ in costs], [b.milliseconds for _, b in costs], target, names))
    scene.add(ratio(f"{what}: buffers", [a.buffers for a, _ in costs], [b.buffers for _, b in costs], target, names))
    scene.check(all(each.rows == 16 for pair in costs for each in pair), f"{what}: every page full",
                [(a.rows, b.rows) for a, b in costs])


def run(scene):
    few, many = scene.size(300, 1000, 1000), scene.size(3000, 100_000, 1_000_000)
    rounds = scene.size(5, 11, 21)
    with scene.database() as db:
        make_source(db.admin, "few", few)
        make_source(db.admin, "many", many)
        settle_down(db.admin)
        compare(scene, db, f"{many:,} fresh over {few:,}", "many", "few", rounds)

    known = scene.size(2000, 20_000, 1_000_000)
    with scene.database("_known") as db:
        for kind, count in (("few", few), ("many", known)):
            make_source(db.admin, kind, count)
            make_known(db.admin, kind, "available", count)
        settle_down(db.admin)
        pass_known(db.admin, "many", known)
        compare(scene, db, f"{known:,} known and due over {few:,}", "many", "few", rounds)

    if "10million" in scene.extra:
        with scene.database("_10m") as db:
            make_source(db.admin, "few", 1000)
            make_source(db.admin, "many", 10_000_000)
            settle_down(db.admin)
            compare(scene, db, "10,000,000 fresh over 1,000", "many", "few", rounds)
