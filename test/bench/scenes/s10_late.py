"""S10: a target that is listed late or out of order is offered within the documented bound of passes.

Behind very many held targets, all known, some more get listed when discovery has long passed their place: older than
everything, in the middle, and with the same time as others. docs/selection.md: with `L` rows listed and pages of `p`,
`s = max(64, 4 p)`, each is offered within `ceil(L / s) + 1` passes that came back short.
"""
import math
import time

from explain import claimed
from figures import Figure
from population import START, make_known, make_source, pass_known, settle_down

TITLE = "late targets behind held ones: passes until offered, over the documented bound"


def list_late(db, count, late):
    """Lists `late` targets at places spread over the held ones, the first before all of them."""
    ids = []
    for n in range(late):
        ids.append(f"late-{n:03}")
        place = n * count // late
        db.run(f"INSERT INTO job VALUES ('{ids[-1]}', 'running', {START}, {START} + {place} * interval '1 ms')")
    return ids


def passes_until(session, page, wanted, most):
    """{id: the number of the pass that offered it}, and milliseconds of a pass."""
    offered, started = {}, time.monotonic()
    for n in range(1, most + 1):
        for each in claimed(session, "job", page):
            offered[each] = n
        if len(offered) >= len(wanted):
            break
    return offered, (time.monotonic() - started) * 1000 / n


def run(scene):
    count, late = scene.size(3000, 50_000, 1_000_000), 8
    for page in scene.size((16,), (16, 128), (16, 128)):
        with scene.database(f"_{page}") as db:
            make_source(db.admin, "job", count)
            settle_down(db.admin)
            # Held until the scene is over: it takes a minute or two.
            started = time.monotonic()
            make_known(db.admin, "job", "claimed", count, waits="4 min 55 s")
            session = db.session()
            pass_known(session, "job", count)
            wanted = list_late(db.admin, count, late)
            bound = math.ceil((count + late) / max(64, 4 * page)) + 1
            offered, each = passes_until(session, page, wanted, bound + 10)
            most = max(offered.values(), default=bound + 10) if len(offered) == late else bound + 10
            scene.add(Figure(f"page {page}, {count:,} held: passes of the last one, over {bound:,}", most / bound, "ratio",
                             ("<=", 1), sides={"bound": bound, "last offered": most,
                                               "first offered": min(offered.values(), default=most)}))
            scene.add(Figure(f"page {page}: time of a pass", each, "ms"))
            scene.check(sorted(offered) == sorted(wanted), f"page {page}: every late target offered, and no held one",
                        f"offered {sorted(offered)[:12]}")
            scene.check(most <= bound, f"page {page}: within {bound} passes", most)
            scene.check(time.monotonic() - started < 290, f"page {page}: over before the leases of the held ones")
