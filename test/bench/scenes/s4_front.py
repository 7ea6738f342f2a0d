"""S4: nothing in front hides a claimable target or slows its claim down.

Two sources: one lists as many claimable targets as the other, which has them behind parked, waiting, resolved but
still listed and held ones, all older. Half of the claimable ones are known and due, half were never seen. Pages of 16
are claimed from both in turn until nothing is left. A third kind, whose name sorts behind both, waits: the end of the
due-time index, where the server needs no look-up to write an entry, is then at neither side.
"""
from explain import claim, claimed
from figures import Figure, ratio
from population import key, make_known, make_source, settle_down

TITLE = "claim(16) behind targets that cannot be claimed, over the same without them"


def arrange(db, kind, front, claimable):
    """`front` is {state: number}; the claimable ones follow, never seen yet. Returns the number of the first."""
    before = sum(front.values())
    make_source(db, kind, before + claimable)
    first = 1
    for state, count in front.items():
        make_known(db, kind, state, count, first)
        first += count
    return first


def start(db, kind, first, claimable):
    """Claims until a page is full, then gives the newer half of the claimable ones control rows that are due.
    Returns the passes that came back short, and the targets taken."""
    got, passes = set(), 0
    while len(page := claimed(db, kind)) < 16 and passes < first // 4096 + 10:
        got.update(page)
        passes += 1
    got.update(page)
    if len(got) == len(page):  # else a page was short with claimable targets in it, and the checks will say so
        make_known(db, kind, "available", claimable // 2, first + claimable // 2)
    return passes, got


def run(scene):
    unit = scene.size(500, 10_000, 100_000)
    front = {"manual": unit, "retry": unit, "resolved": unit, "claimed": unit // 10}
    claimable = scene.size(320, 1000, 1000)
    with scene.database() as db:
        first = arrange(db.admin, "behind", front, claimable)
        wanted = {key(n) for n in range(first, first + claimable)}
        arrange(db.admin, "clear", {}, claimable)
        arrange(db.admin, "later", {"retry": claimable}, 0)
        settle_down(db.admin)
        # No claim handed out the rows in front, so discovery reads past them now, once.
        passes, got = start(db.admin, "behind", first, claimable)
        scene.add(Figure(f"short passes until discovery stood behind {first - 1:,} known rows", passes, "passes"))
        start(db.admin, "clear", 1, claimable)
        settle_down(db.admin)

        session = db.session()
        behind, clear = [], []
        for _ in range(scene.size(5, 21, 21)):
            for kind, costs in (("behind", behind), ("clear", clear)):
                costs.append(claim(session, kind))
        scene.check(all(cost.rows == 16 for cost in behind + clear), "every page full", [c.rows for c in behind + clear])
        names = ("behind", "clear")
        scene.add(ratio("time", [c.milliseconds for c in behind], [c.milliseconds for c in clear], ("<=", 1.25), names))
        scene.add(ratio("buffers", [c.buffers for c in behind], [c.buffers for c in clear], ("<=", 1.25), names))

        for _ in range(claimable):
            if not (page := claimed(db.admin, "behind")):
                break
            got.update(page)
        held = {row[0] for row in db.admin.run("SELECT id FROM ql3.run_recovery_controls WHERE kind = 'behind' AND "
                                               "state = 'claimed' AND owner = 'bench'")}
        scene.check(held == wanted, "every claimable one claimed, and nothing else",
                    f"missing {sorted(wanted - held)[:5]}, extra {sorted(held - wanted)[:5]}")
        scene.check(got <= wanted, "nothing in front was handed out", sorted(got - wanted)[:5])
