"""S8: what a claim adds to the memory of its backend, and that it stays flat.

The server's own count of the session's memory contexts, and the private memory of the process where the server runs
on this machine. A first claim of one target pays for catalogs and plans; then one claim of 128 is weighed. After that
the session makes very many claims, of mixed sizes, each committed, and is weighed on the way.
"""
import os
import re

from explain import claimed
from figures import Figure, shown
from population import make_source, settle_down

TITLE = "backend memory: one claim of 128, and very many claims in one session"
CONTEXTS = "SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts"


def private(process):
    """Bytes that only this process has, or None when it is not to be seen from here."""
    try:
        with open(f"/proc/{process}/status", encoding="ascii") as file:
            text = file.read()
    except OSError:
        return None
    if os.path.basename(re.search(r"Name:\s*(\S+)", text)[1]) not in ("postgres", "postmaster"):
        return None
    return int(re.search(r"RssAnon:\s*(\d+)", text)[1]) * 1024


class Scale:
    """Weighs one session."""

    def __init__(self, db, session):
        self.session, self.local = session, db.is_local()
        self.session.run(CONTEXTS)

    def weigh(self):
        return self.session.value(CONTEXTS), private(self.session.process) if self.local else None


def added(label, before, after, target):
    return Figure(label, (after - before) / 1024, "KiB", target, sides={"before": before // 1024, "after": after // 1024})


def run(scene):
    claims = scene.size(600, 10_000, 100_000)
    every = claims // 10
    with scene.database() as db:
        make_source(db.admin, "job", 2 * claims + 2000)
        settle_down(db.admin)
        # A commit's flush uses no memory, and a hundred thousand of them would only take time.
        session = db.session(synchronous_commit="off")
        scale = Scale(db, session)
        cold = scale.weigh()
        claimed(session, "job", 1)
        before = scale.weigh()
        size = len(claimed(session, "job", 128))
        after = scale.weigh()
        scene.check(size == 128, "the page of 128 is full", size)
        limit = ("<=", 1024)
        scene.add(added("first claim of a session, contexts", cold[0], before[0], None))
        scene.add(added("one claim of 128, contexts", before[0], after[0], limit))
        if after[1] is not None:
            scene.add(added("one claim of 128, private memory of the process", before[1], after[1], limit))

        weights = []
        for n in range(1, claims + 1):
            claimed(session, "job", 16 if n % 16 == 0 else 1)
            if n % every == 0:
                weights.append(scale.weigh())
        tenth, last = weights[0], weights[-1]
        flat = ("<=", 64)
        scene.add(added(f"{claims:,} claims, contexts: from the first tenth to the end", tenth[0], last[0], flat))
        if last[1] is not None:
            scene.add(added(f"{claims:,} claims, private memory: the same", tenth[1], last[1], ("<=", 256)))
        scene.note("contexts at each tenth, KiB: " + " ".join(shown(each[0] / 1024) for each in weights))
        scene.check(last[0] - tenth[0] <= 64 * 1024, "memory is flat", [each[0] for each in weights])
        scene.check(after[0] - before[0] <= 1024 * 1024, "a claim of 128 adds at most 1 MiB", (before, after))
