"""A raw caller of recovery: a process that claims, renews, judges in every way, forgets, comes back late with
fences that are over, also those of its dead predecessors, and tries fences that never were."""

import json
import os
import random
import time
import uuid

import psycopg2

from campaign_ledger import RAW_LEASES

# What a caller may be answered while server, disk, memory and network are being broken.
FORGIVEN = {"57P01", "57P02", "57P03", "55P03", "53100", "53200", "53300", "57014", "25006"}
GONE = {"57P01", "57P02", "57P03"}


def forgiven(error):
    """Whether the broken world answers so. Without memory the library may not be loaded either, and the server's own
    pattern in a CHECK is refused as one."""
    code = error.pgcode
    return code is None or code.startswith("08") or code in FORGIVEN or (
        code == "58P01" and "could not load library" in str(error)) or (code == "2201B" and "out of memory" in str(error))


class Caller:
    """One process. `ways` gives connection parameters: [direct, by the proxy, by the pooler]."""

    def __init__(self, name, seed, ledger, ways, fences):
        self.name, self.ledger, self.ways = name, ledger, ways
        self.random = random.Random(seed)
        self.db = None
        self.count = 0
        self.life = f"{name}.{os.getpid()}"
        self.fences = open(fences, "a", encoding="utf-8")
        with open(fences, encoding="utf-8") as file:
            self.old = [json.loads(line) for line in file if line.endswith("\n")][-200:]

    # --- one statement ----------------------------------------------------------------------------

    def connect(self, way):
        db = psycopg2.connect(application_name=self.name, connect_timeout=10, **way)
        db.autocommit = True
        return db

    def intend(self, op, **what):
        self.count += 1
        nonce = f"{self.life}#{self.count}"
        self.ledger.say(n=nonce, op=op, **what)
        return nonce

    def once(self, db, statement, values):
        with db.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall()

    def forgive(self, error, nonce):
        """Every other error than those of a broken world is on record, and ends up as a violation."""
        code = error.pgcode
        if code is None or code.startswith("08") or code in GONE:
            self.db = None
        elif code == "22023" and "is over" in str(error):
            raise error  # the reply of a claim was lost for so long
        elif not forgiven(error):
            self.ledger.say(n=nonce, error=code, text=str(error).strip())
            raise error

    def ask(self, nonce, statement, *values):
        """Repeats until answered, as a client does after a lost reply; the words of the first column."""
        while True:
            try:
                if self.db is None:
                    self.db = self.connect(self.random.choice(self.ways))
                return self.once(self.db, statement, values)
            except psycopg2.Error as error:
                self.forgive(error, nonce)
                time.sleep(0.05 + 0.2 * self.random.random())

    def tell(self, nonce, word):
        self.ledger.say(n=nonce, word=word)
        return word

    # --- acts under a fence; each by its own name in the ledger ---------------------------------------

    def act(self, op, fence, send, **flags):
        """`send` gets (nonce, statement, *values). The word of the answer, or None."""
        kind, target, owner, token, version = fence
        nonce = self.intend(op, kind=kind, id=target, owner=owner, token=token, version=version, **flags)
        name = kind, target, owner, token, version
        call = "SELECT ql3.ql3_"
        if op == "settle":
            how = self.random.choice(("retry", "retry", "retry", "resolved", "manual"))
            return send(nonce, call + "settle(%s, %s, %s, %s, %s, %s, %s, %s)", *name, how,
                        "50 ms" if how == "retry" else None, f"n={nonce}")
        if op == "conclude":
            verdict = "unknown" if kind == "dispatch" else "lost"
            return send(nonce, call + "conclude(%s, %s, %s, %s, %s, %s, %s)", *name,
                        flags.get("verdict", verdict), json.dumps({"n": nonce, **self.ballast()}))
        if op == "renew":
            return send(nonce, call + "renew(%s, %s, %s, %s, %s, %s)", *name, f"{self.random.choice(RAW_LEASES)} s")
        if op == "give_back":
            return send(nonce, "SELECT result FROM ql3.ql3_give_back(%s, %s, %s, %s, %s)", owner, token,
                        [kind], [target], [version])
        return send(nonce, call + "require_fence(%s, %s, %s, %s, %s)", *name)

    def ballast(self):
        """Sometimes more than a session has at hand: memory is asked for anew."""
        return {"pad": "x" * self.random.randrange(30000, 60000)} if self.random.random() < 0.15 else {}

    def patiently(self, nonce, statement, *values):
        try:
            return self.tell(nonce, self.ask(nonce, statement, *values)[0][0])
        except psycopg2.Error:
            return None

    def straight(self, nonce, statement, *values):
        """Sent once, past the proxy, so that the answer is the answer of this very call."""
        try:
            db = self.connect(self.ways[0])
        except psycopg2.Error:
            return None
        try:
            word = self.once(db, statement, values)[0][0]
            return self.tell(nonce, word if word != "" else "held")
        except psycopg2.Error as error:
            if error.pgcode == "55000" and "require_fence" in statement:
                return self.tell(nonce, "fenced")
            if not forgiven(error):
                self.ledger.say(n=nonce, error=error.pgcode, text=str(error).strip())
            return None
        finally:
            db.close()

    def late(self):
        """Fences of long ago, whoever held them: the answer must be `fenced`, and nothing may change."""
        for fence in self.random.sample(self.old, min(len(self.old), self.random.randrange(1, 5))):
            op = self.random.choice(("settle", "settle", "conclude", "conclude", "renew", "give_back", "require_fence"))
            self.act(op, fence, self.straight, late=True)

    def forge(self, fence):
        kind, target, owner, token, version = fence
        wrong = self.random.choice(((kind, target, owner + "x", token, version), (kind, target, owner, str(uuid.uuid4()), version),
                                    (kind, target, owner, token, version - 1), (kind, target, owner, token, version + 1)))
        self.act(self.random.choice(("settle", "conclude", "renew", "give_back", "require_fence")), wrong,
                 self.straight, forged=True)

    def own_transition(self, fence):
        """The caller's own update under the fence. In doubt it is not repeated: the fence tells."""
        kind, target, owner, token, version = fence
        nonce = self.intend("own", kind=kind, id=target, owner=owner, token=token, version=version)
        try:
            db = self.connect(self.random.choice(self.ways))
            db.autocommit = False
            self.once(db, "SELECT ql3.ql3_require_fence(%s, %s, %s, %s, %s)", fence)
            self.once(db, "SELECT move(%s, 'own')", (target,))
            word = self.once(db, "SELECT ql3.ql3_settle(%s, %s, %s, %s, %s, 'resolved', NULL, %s)", (*fence, f"n={nonce}"))[0][0]
            if word == "settled":
                db.commit()
                self.tell(nonce, word)
            db.close()
        except psycopg2.Error as error:
            if error.pgcode != "55000" and not forgiven(error):
                self.ledger.say(n=nonce, error=error.pgcode, text=str(error).strip())

    # --- a page -------------------------------------------------------------------------------------

    def page(self):
        token, size, lease = str(uuid.uuid4()), self.random.choice((1, 3, 8, 16)), self.random.choice(RAW_LEASES)
        nonce = self.intend("claim", owner=self.name, token=token, size=size)
        try:
            rows = self.ask(nonce, "SELECT kind, id, version, source ->> 'permitted' FROM ql3.ql3_claim(%s, %s, %s, %s, %s)",
                            self.name, size, f"{lease} s", token, ["job", "dispatch"])
        except psycopg2.Error as error:
            if error.pgcode != "22023":
                raise
            return 0
        self.ledger.say(n=nonce, rows=[row[:3] for row in rows])
        for kind, target, version, permitted in rows:
            fence = [kind, target, self.name, token, version]
            self.fences.write(json.dumps(fence) + "\n")
            self.fences.flush()
            self.old = self.old[-199:] + [fence]
            self.one(fence, permitted)
        return len(rows)

    def one(self, fence, permitted):
        what = self.random.random()
        if what < 0.12:
            self.forge(fence)
        if what < 0.25:
            self.act("renew", fence, self.patiently)
        if 0.2 < what < 0.26:
            time.sleep(1 + self.random.random())  # long enough for some leases to run out
        if fence[0] == "dispatch":
            # Never permitted is not_sent; and a lie now and then, which must be stale.
            lie = self.random.random() < 0.2
            self.act("conclude", fence, self.patiently, verdict="not_sent" if permitted == "false" or lie else "unknown")
        elif what < 0.45:
            self.act("conclude", fence, self.patiently)
        elif what < 0.55:
            self.own_transition(fence)
        elif what < 0.6:
            self.act("give_back", fence, self.patiently)
        elif what < 0.68:
            pass  # forgotten: it expires
        else:
            self.act("settle", fence, self.patiently)

    def work(self):
        while True:
            if self.page() == 0:
                time.sleep(0.1)
            if self.random.random() < 0.6:
                self.late()
