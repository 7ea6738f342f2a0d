"""S9: dispatch, claim + permit + settle, over a bare INSERT + UPDATE + UPDATE with the same three commits.

The bare statements write the columns that the calls write, on a copy of the table of attempts with the same
constraints and indexes. Both sides make their uuids and names in the same expressions, and flush every commit.
"""
import bare
import pgbench
from figures import ratio

TITLE = "dispatch claim + permit + settle over bare INSERT + UPDATE + UPDATE"
TOKEN = "('00000000-0000-4000-8000-' || lpad((:n::bigint * 100 + :client_id)::text, 12, '0'))::uuid"
PERMIT = TOKEN.replace("-4000-8000-", "-4000-9000-")
REQUEST = "'request-' || (:n::bigint * 100 + :client_id)"

OURS = f"""
\\set n :n + 1
SELECT * FROM ql3.ql3_dispatch_claim({REQUEST}, 'db-1', 'switchover', '{{{{"source": "a", "candidate": "b"}}}}'::jsonb, 'writer-1', {TOKEN});
SELECT ql3.ql3_dispatch_permit({REQUEST}, 'db-1', 'writer-1', {TOKEN}, {PERMIT});
SELECT ql3.ql3_dispatch_settle({REQUEST}, 'db-1', 'writer-1', {TOKEN}, 'succeeded', NULL, {PERMIT});
""".replace("{{", "{").replace("}}", "}")

BARE = """
\\set n :n + 1
INSERT INTO bench.dispatches ({names}) VALUES ({values});
UPDATE bench.dispatches SET {permit} WHERE attempt = {token};
UPDATE bench.dispatches SET {settle} WHERE attempt = {token};
"""


def bare_script(db):
    """Takes one attempt through the calls and makes the same of a copy."""
    table, where = "ql3.dispatches", "request_uid = 'request-0'"
    calls = [line.replace(":n::", "0::").replace(":client_id", "0") for line in OURS.splitlines() if line.startswith("SELECT")]
    images = []
    for call in calls:
        db.run(call.replace("%", "%%"))
        images.append(bare.image(db, table, where))
    clock = images[0]["claimed_at"]
    bare.copy_table(db, table, "dispatches")
    new = {"attempt": TOKEN, "request_uid": REQUEST, "token_digest": f"sha256(uuid_send({TOKEN}))",
           "arguments": """'{"source": "a", "candidate": "b"}'::jsonb"""}
    return BARE.format(
        token=TOKEN, names=", ".join(images[0]),
        values=", ".join(new.get(name) or bare.literal(db, value, clock) for name, value in images[0].items()),
        permit=bare.assignments(db, images[0], images[1], clock, {"permit_digest": f"sha256(uuid_send({PERMIT}))"}),
        settle=bare.assignments(db, images[1], images[2], clock))


def compare(scene, db, text, clients, target, first):
    length = scene.length(50, 2, 4)
    ours, raw = [], []
    for n in range(scene.rounds):
        before = db.admin.value("SELECT count(*) FROM ql3.dispatches WHERE state = 'succeeded' AND permitted_at IS NOT NULL")
        start = first + n * 1_000_000
        load = pgbench.run(db, OURS, clients=clients, **length, n=start)
        after = db.admin.value("SELECT count(*) FROM ql3.dispatches WHERE state = 'succeeded' AND permitted_at IS NOT NULL")
        scene.check(after - before == load.transactions, f"{clients} writers: every attempt permitted and recorded",
                    f"{after - before} of {load.transactions}")
        ours.append(load.rate)
        raw.append(pgbench.run(db, text, clients=clients, **length, n=start).rate)
    scene.add(ratio(f"dispatches/s, {clients} writer{'s' * (clients > 1)}", ours, raw, target))


def run(scene):
    with scene.database() as db:
        text = bare_script(db.admin)
        compare(scene, db, text, 1, (">=", 0.85), 1_000_000)
        compare(scene, db, text, 4, None, 100_000_000)
