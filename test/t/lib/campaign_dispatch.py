"""A raw writer of dispatch: a process that keeps the rules of docs/dispatch.md, and sends late and wrong messages
beside."""

import os
import time
import uuid

import psycopg2

from campaign_recovery import Caller, forgiven

ACTION = ("act", "{}")


class Writer(Caller):
    """`calls` is the ledger of the outside action; `request` chooses what is acted on next."""

    def __init__(self, name, seed, ledger, calls, ways, fences, request):
        super().__init__(name, seed, ledger, ways, fences)
        self.calls, self.request = calls, request
        self.spent = []

    def say_until_answered(self, op, statement, *values, **what):
        nonce = self.intend(op, **what)
        word = self.ask(nonce, statement, *values)[0][0]
        return self.tell(nonce, word)

    def permit(self, name, token, permit):
        """True counts when the statement has completed; any doubt is a no, for good."""
        request, item = name
        nonce = self.intend("d.permit", request=request, item=item, token=token, permit=permit)
        for _ in range(20):
            try:
                db = self.connect(self.random.choice(self.ways))
            except psycopg2.Error:
                time.sleep(0.1)
                continue
            try:
                return self.tell(nonce, self.once(db, "SELECT ql3.ql3_dispatch_permit(%s, %s, %s, %s, %s)",
                                                  (*name, self.name, token, permit))[0][0])
            except psycopg2.Error as error:
                if error.pgcode not in ("55P03", "53200", "53100"):
                    if not forgiven(error):
                        self.ledger.say(n=nonce, error=error.pgcode, text=str(error).strip())
                    return None
            finally:
                db.close()
        return None

    def settle(self, name, token, outcome, permit):
        return self.say_until_answered("d.settle", "SELECT ql3.ql3_dispatch_settle(%s, %s, %s, %s, %s, %s, %s)", *name, self.name,
                                       token, outcome, self.life, permit, request=name[0], item=name[1], token=token,
                                       outcome=outcome, permit=permit)

    def attempt(self):
        name, token, permit = self.request(self.random), str(uuid.uuid4()), str(uuid.uuid4())
        word = self.say_until_answered(
            "d.claim", "SELECT verdict FROM ql3.ql3_dispatch_claim(%s, %s, %s, %s, %s, %s, '2 s')", *name, *ACTION, self.name,
            token, request=name[0], item=name[1], token=token)
        if word != "recorded" or self.gives_up():
            return
        asked = time.monotonic()
        granted = self.permit(name, token, permit)
        if self.gives_up():
            return
        if granted and self.random.random() < 0.3:
            self.wrong("d.permit", "ql3_dispatch_permit", *name, self.name, token, permit)
        if granted is not True or time.monotonic() - asked > 1:
            self.settle(name, token, "not_sent", permit)
            return
        self.calls.say(call=list(name), by=self.name, token=token)
        if self.gives_up():
            return
        self.settle(name, token, self.random.choice(("succeeded", "failed")), permit)
        self.spent = self.spent[-20:] + [(name, token, permit)]

    def gives_up(self):
        """Like a writer that dies here; or that dawdles."""
        what = self.random.random()
        if what > 0.8:
            time.sleep(self.random.random() * 0.5)
        return what < 0.08

    def late_and_wrong(self):
        """Of an attempt whose outcome is stored: nothing said again or by others may be obeyed."""
        if not self.spent:
            return
        name, token, permit = self.random.choice(self.spent)
        what = self.random.randrange(4)
        if what == 0:
            self.wrong("d.permit", "ql3_dispatch_permit", *name, self.name, token, permit)
        elif what == 1:
            self.wrong("d.permit", "ql3_dispatch_permit", *name, self.name, token, str(uuid.uuid4()))
        elif what == 2:
            self.wrong("d.settle", "ql3_dispatch_settle", *name, self.name, token, "not_sent", None, None)
        else:
            self.wrong("d.settle", "ql3_dispatch_settle", *name, self.name, str(uuid.uuid4()), "failed", None, permit)

    def wrong(self, op, function, *values):
        nonce = self.intend("d.wrong", function=function, values=values)
        word = self.straight(nonce, f"SELECT ql3.{function}({', '.join(['%s'] * len(values))})", *values)
        if word not in (None, False, "foreign", "concluded", "absent"):
            self.ledger.say(n=nonce, wrong=f"{function}{values} was answered {word}")

    def work(self):
        while True:
            self.attempt()
            if self.random.random() < 0.4:
                self.late_and_wrong()
            time.sleep(0.05)


def spawn(make):
    """A caller in a process of its own; it ends by being killed, or by an error that it must not meet."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        make().work()
    except BaseException as error:  # a child never returns into the test
        os.write(2, f"# a caller ends: {error!r}\n".encode())
    finally:
        os._exit(1)
