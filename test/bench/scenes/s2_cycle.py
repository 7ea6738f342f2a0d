"""S2: the cycle of claim 128 and settle_page 128, over the raw limit of two bare UPDATEs.

A backlog of known targets, all due, is claimed and given back for another try at once, page after page. The
baseline writes the same columns of a copy of the control table, 128 rows by key in one statement, twice, each in its
own transaction. Whatever else ql3 does (choosing, reading the source again, the page, the history) is the distance. A
second baseline also writes the history, 128 bare rows with the second UPDATE: what anybody pays who keeps one.
"""
import bare
import pgbench
from explain import CLAIM
from figures import ratio
from population import make_known, make_source, settle_down

TITLE = "claim 128 + settle_page 128 over two bare UPDATEs of 128 rows"
PAGE = 128

PAGE_OF = "kind = 'job' AND id = ANY ((SELECT ids FROM bench.pages WHERE page = :n)::text[])"
BARE = """
\\set n (:n % {pages}) + 1
UPDATE bench.controls SET {claim} WHERE {page};
UPDATE bench.controls SET {settle} WHERE {page};
"""
KEPT = """
\\set n (:n % {pages}) + 1
UPDATE bench.controls SET {claim} WHERE {page};
BEGIN;
UPDATE bench.controls SET {settle} WHERE {page};
INSERT INTO bench.judgements ({names}) SELECT {values} FROM bench.controls WHERE {page};
COMMIT;
"""


def history(db, clock):
    """The columns of a row of the history and what to write in them, on a copy of the table."""
    row = bare.image(db, "ql3.judgements", "kind = 'sample'")
    del row["judgement_id"]  # counted up by the table
    bare.copy_table(db, "ql3.judgements", "judgements")
    taken = {"kind", "id", "run_id", "version", "status", "lost_at"}
    return ", ".join(row), ", ".join(name if name in taken else bare.literal(db, value, clock) for name, value in row.items())


def bare_scripts(db, pages):
    """Takes one target through a claim and a settle, and makes the same of a copy of all rows: without and with the
    history."""
    table, where = "ql3.run_recovery_controls", "kind = 'sample'"
    make_source(db, "sample", 1)
    make_known(db, "sample", "retry", 1, waits="-1 s")
    images = [bare.image(db, table, where)]
    row = db.run(CLAIM.replace("*", "token, version"), 1, ["sample"])[0]
    images.append(bare.image(db, table, where))
    clock = images[1]["claimed_at"]
    db.run("SELECT ql3.ql3_settle('sample', %s, 'bench', %s, %s, 'retry', '0')", images[0]["id"], *row)
    images.append(bare.image(db, table, where))
    db.run("SELECT ql3.ql3_detach_source('sample')")

    bare.copy_table(db, table, "controls")
    db.run("INSERT INTO bench.controls SELECT * FROM ql3.run_recovery_controls WHERE kind = 'job'")
    db.run(f"""CREATE TABLE bench.pages AS SELECT row_number() OVER () AS page, ids FROM
               (SELECT array_agg(id) AS ids FROM
                 (SELECT id, (row_number() OVER (ORDER BY id) - 1) / {PAGE} AS page FROM bench.controls) AS numbered
                GROUP BY page) AS grouped""")
    db.run("ALTER TABLE bench.pages ADD PRIMARY KEY (page)")
    names, values = history(db, clock)
    words = {"pages": pages, "page": PAGE_OF, "claim": bare.assignments(db, images[0], images[1], clock),
             "settle": bare.assignments(db, images[1], images[2], clock), "names": names, "values": values}
    return BARE.format(**words), KEPT.format(**words)


def run(scene):
    pages = scene.size(4, 40, 100)
    length = scene.length(8, 2, 4)
    with scene.database() as db:
        pgbench.watch(db)
        make_source(db.admin, "job", pages * PAGE)
        make_known(db.admin, "job", "retry", pages * PAGE, waits="-1 s")
        text, keeping = bare_scripts(db.admin, pages)
        settle_down(db.admin)
        ours, raw, kept = [], [], []
        for _ in range(scene.rounds):
            before = db.admin.value("SELECT count(*) FROM ql3.judgements")
            load = pgbench.run(db, pgbench.cycle("job", delay="0"), **length, page=PAGE)
            done = db.admin.value("SELECT count(*) FROM ql3.judgements") - before
            ours.append(load.rate * PAGE)
            scene.check(done == load.transactions * PAGE, "as many judgements as targets in the pages",
                        f"{done} of {load.transactions * PAGE}")
            raw.append(pgbench.run(db, text, **length, n=0).rate * PAGE)
            kept.append(pgbench.run(db, keeping, **length, n=0).rate * PAGE)
        changed = db.admin.value("SELECT min(version) FROM bench.controls") if scene.scale == "smoke" else 2
        scene.check(changed > 1, "the bare statements reach every row", changed)
        scene.check(db.admin.value("SELECT count(*) % 128 = 0 AND count(*) > 0 FROM bench.judgements"), "and write the history")
        scene.check(pgbench.short_pages(db) == 0, "no short page")
        scene.check(pgbench.unsettled(db) == 0, "every target settled")
        scene.add(ratio("items/s over two bare UPDATEs", ours, raw, (">=", 0.7)))
        scene.add(ratio("items/s over the same and a bare INSERT of the history", ours, kept))
