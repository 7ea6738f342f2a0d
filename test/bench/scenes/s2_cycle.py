"""S2: the cycle of claim 128 and settle_page 128, over the raw limit of two bare UPDATEs.

A backlog of known targets, all due, is claimed and given back for another try at once, page after page. The
baseline writes the same columns of a copy of the control table, 128 rows by key in one statement, twice, each in its
own transaction. Whatever else ql3 does (choosing, reading the source again, the page, the history) is the distance.
"""
import bare
import pgbench
from explain import CLAIM
from figures import ratio
from population import make_known, make_source, settle_down

TITLE = "claim 128 + settle_page 128 over two bare UPDATEs of 128 rows"
PAGE = 128

BARE = """
\\set n (:n % {pages}) + 1
UPDATE bench.controls SET {claim} WHERE kind = 'job' AND id = ANY ((SELECT ids FROM bench.pages WHERE page = :n)::text[]);
UPDATE bench.controls SET {settle} WHERE kind = 'job' AND id = ANY ((SELECT ids FROM bench.pages WHERE page = :n)::text[]);
"""


def bare_script(db, pages):
    """Takes one target through a claim and a settle, and makes the same of a copy of all rows."""
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
    return BARE.format(pages=pages, claim=bare.assignments(db, images[0], images[1], clock),
                       settle=bare.assignments(db, images[1], images[2], clock))


def run(scene):
    pages = scene.size(4, 40, 100)
    length = scene.length(8, 2, 4)
    with scene.database() as db:
        pgbench.watch(db)
        make_source(db.admin, "job", pages * PAGE)
        make_known(db.admin, "job", "retry", pages * PAGE, waits="-1 s")
        text = bare_script(db.admin, pages)
        settle_down(db.admin)
        ours, raw = [], []
        for _ in range(scene.rounds):
            before = db.admin.value("SELECT count(*) FROM ql3.judgements")
            load = pgbench.run(db, pgbench.cycle("job", delay="0"), **length, page=PAGE)
            done = db.admin.value("SELECT count(*) FROM ql3.judgements") - before
            ours.append(load.rate * PAGE)
            scene.check(done == load.transactions * PAGE, "as many judgements as targets in the pages",
                        f"{done} of {load.transactions * PAGE}")
            raw.append(pgbench.run(db, text, **length, n=0).rate * PAGE)
        changed = db.admin.value("SELECT min(version) FROM bench.controls") if scene.scale == "smoke" else 2
        scene.check(changed > 1, "the bare statements reach every row", changed)
        scene.check(pgbench.short_pages(db) == 0, "no short page")
        scene.check(pgbench.unsettled(db) == 0, "every target settled")
        scene.add(ratio("items/s, one client", ours, raw, (">=", 0.7)))
