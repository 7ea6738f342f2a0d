"""One fault run on one item: its writers, what the network does to their messages, and what must be
true at the end whatever happened."""

import os
import random
import threading
import time

from dispatch_plan import WriterPlan
from dispatch_writer import Killed, Writer
from wire import Lost, ServerError, call

SURVIVES = ("claimed", "unknown")


class Run:
    """`world` is the server with its supervisors; `plan` says what happens; `mutant` breaks one rule."""

    arguments = '{"source": "a", "candidate": "b"}'
    item = "db"

    def __init__(self, world, plan, mutant=""):
        self.world, self.plan, self.mutant = world, plan, mutant
        self.request = f"run-{plan.seed}{'-' + mutant if mutant else ''}"
        self.draw = random.Random(plan.seed ^ 0x5DEECE66D)
        self.lock = threading.Lock()
        self.thaw = threading.Event()
        self.moved = threading.Condition()
        self.living = self.frozen = 0
        self.messages = []      # (kind, sql), as sent
        self.pending = []       # those that the network still has
        self.trues = {}
        self.released = set()
        self.writers = []
        self.violations = []
        self.ledger = os.path.join(world.calls, self.request)
        world.judges[self.request] = plan.judge

    # --- what a writer needs --------------------------------------------------------------------

    def connect(self, sync):
        return self.world.connect(sync)

    def tries(self, few=False):
        """Tries with backoff: for an outcome as long as it takes, for a permission 20 s."""
        end = time.monotonic() + (20 if few else 120)
        pause = 0.02
        while time.monotonic() < end:
            yield None
            time.sleep(pause)
            pause = min(pause * 2, 0.5)

    def blame(self, text):
        with self.lock:
            self.violations.append(text)

    def met(self, error):
        if isinstance(error, ServerError) and error.message.startswith("injected at "):
            with self.world.looked:
                self.world.injected[self.world.path, error.message.removeprefix("injected at ")] += 1

    def sent(self, kind, sql):
        with self.lock:
            self.messages.append((kind, sql))

    def later(self, kind, sql):
        with self.lock:
            self.pending.append((kind, sql))

    def saw_true(self, token):
        with self.lock:
            self.trues[token] = self.trues.get(token, 0) + 1

    def gave_back(self, token):
        with self.lock:
            self.released.add(token)

    def call(self, writer):
        """The action: not idempotent, counted by a file that is only ever appended to."""
        file = os.open(self.ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, f"{writer.name} {writer.token}\n".encode())
        finally:
            os.close(file)

    def calls(self):
        try:
            with open(self.ledger, encoding="ascii") as file:
                return len(file.readlines())
        except FileNotFoundError:
            return 0

    def step(self, writer, step):
        if writer.plan.step == step and writer.plan.stop:
            stop, writer.plan.stop = writer.plan.stop, ""
            if stop.startswith("crash"):
                self.world.server.crash()
            if stop in ("kill", "crash_and_kill"):
                raise Killed()
            if stop == "freeze":
                self.freeze()
        if self.draw.random() < self.plan.duplicates:
            self.duplicate()

    def freeze(self):
        with self.moved:
            self.frozen += 1
            self.moved.notify_all()
        self.thaw.wait(300)

    # --- the network ----------------------------------------------------------------------------

    def duplicate(self):
        with self.lock:
            if self.pending and self.draw.random() < 0.5:
                kind, sql = self.pending.pop(self.draw.randrange(len(self.pending)))
            elif self.messages:
                kind, sql = self.draw.choice(self.messages)
            else:
                return
        self.deliver(kind, sql)

    def deliver(self, kind, sql):
        """Executes a message again, or late, on a backend of its own; nobody reads the answer but us."""
        try:
            connection = self.connect(None)
        except Lost:
            return
        try:
            answer = connection.query(sql)
            if kind == "permit" and answer.value() == "t":
                self.saw_true(sql.split("'")[7])
        except (Lost, ServerError):
            pass
        finally:
            connection.cut()

    def override(self):
        try:
            connection = self.connect(None)
            found = connection.query("SELECT attempt, state FROM ql3.dispatches WHERE request_uid = "
                                     f"'{self.request}' AND state IN ('claimed', 'unknown') LIMIT 1")
            connection.cut()
            if found.rows:
                sql = call("ql3_dispatch_override", *found.rows[0], self.plan.override, "a person looked")
                self.sent("override", sql)
                self.deliver("override", sql)
        except (Lost, ServerError):
            pass

    # --- the run --------------------------------------------------------------------------------

    def racer(self, number, plans):
        try:
            for nth, plan in enumerate(plans):
                writer = Writer(self, f"w{number}.{nth}", plan, self.mutant)
                with self.lock:
                    self.writers.append(writer)
                if writer.invoke() not in ("not_sent", "released", "refused"):
                    break
        except Exception as error:  # pylint: disable=broad-except
            self.blame(f"the writer itself failed: {error!r}")
        finally:
            with self.moved:
                self.living -= 1
                self.moved.notify_all()

    def execute(self):
        self.living = len(self.plan.racers)
        threads = [threading.Thread(target=self.racer, args=each, daemon=True)
                   for each in enumerate(self.plan.racers)]
        for thread in threads:
            thread.start()
        with self.moved:
            self.moved.wait_for(lambda: self.living <= self.frozen, 200)
        if self.plan.override and self.draw.random() < 0.5:
            self.override()
        self.closed("while writers are frozen")
        if self.plan.override:
            self.override()
        while self.pending and self.draw.random() < 0.7:
            self.duplicate()
        self.thaw.set()
        for thread in threads:
            thread.join(300)
            if thread.is_alive():
                self.blame("a writer did not end")
        self.closed("after the writers")
        self.one_more()
        with self.lock:
            again = self.messages[:]
            again += self.pending
        self.draw.shuffle(again)
        for kind, sql in again[:10]:
            self.deliver(kind, sql)
        self.closed("after the duplicates")
        self.check()
        return self.violations

    def closed(self, when):
        if not self.world.wait_closed(self.request):
            self.blame(f"an attempt is open for ever {when}")
        # In this order: what was stored before we look must have been called before.
        stored = [row for row in self.rows("writer_outcome IN ('succeeded', 'failed')")]
        if stored and not self.calls():
            self.blame(f"{stored[0][1]} stored {stored[0][2]} of no call, {when}")

    def one_more(self):
        """A new writer without any fault: it may call if and only if nothing stands for the item."""
        # Late claims that were answered foreign may take the item until recovery frees it; not now.
        self.plan.duplicates = 0
        for nth in range(3):
            before, standing = self.calls(), self.rows("state <> 'released'")
            last = Writer(self, f"last{nth}", WriterPlan(), "")
            self.writers.append(last)
            end = last.invoke()
            # A claim that was cut off may still have been on its way: recovery frees the item again. On a slow machine
            # recovery may also find the writer itself overdue before it asked for its permission.
            if standing or end not in ("foreign", "released"):
                break
            self.closed("after a claim that nobody waits for")
        if before and end == "stored":
            self.blame("the item was sendable after a call")
        if not before and not standing and end not in ("stored", "not_sent"):
            self.blame(f"the item was free, and the last writer ended {end}: {self.rows('true')}")
        if standing and end != "concluded":
            self.blame(f"the item was {standing}, and the last writer ended {end}")

    # --- the checker ----------------------------------------------------------------------------

    def rows(self, condition):
        for _ in self.tries():
            try:
                connection = self.connect(None)
                try:
                    return connection.query(
                        "SELECT state, writer, writer_outcome, permit_digest IS NOT NULL FROM ql3.dispatches"
                        f" WHERE request_uid = '{self.request}' AND {condition} ORDER BY attempt_no").rows
                finally:
                    connection.cut()
            except (Lost, ServerError):
                pass
        return []

    def check(self):
        calls, rows = self.calls(), self.rows("true")
        standing = [row for row in rows if row[0] != "released"]
        if calls > 1:
            self.blame(f"{calls} calls")
        if len(standing) > 1:
            self.blame(f"{len(standing)} attempts stand")
        if calls and not standing:
            self.blame("called, and the item is free")
        for state, writer, outcome, permitted in rows:
            own = [w for w in self.writers if w.name == writer]
            if own and own[0].called and permitted == "f":
                self.blame(f"{writer} called without permission")
            if outcome is None and state == "not_sent" and calls and not self.plan.override:
                self.blame(f"{writer}: called and judged not sent")
            if state == "released" and own and own[0].held:
                self.blame(f"{writer} called and is released")
            if own and own[0].token in self.released and permitted == "f" and state == "claimed":
                self.blame(f"the released token of {writer} came back")
        for writer in self.writers:
            self.check_writer(writer, rows)
        for token, count in self.trues.items():
            if count > 1:
                self.blame(f"{count} times true for {token}")

    def check_writer(self, writer, rows):
        own = [row for row in rows if row[1] == writer.name]
        state = own[0][0] if own else "absent"
        if len(own) > 1:
            self.blame(f"{writer.name} has {len(own)} attempts")
        if writer.held in ("succeeded", "failed") and writer.stored and (not own or own[0][2] != writer.held):
            self.blame(f"{writer.name} called, {writer.held}, and the row says {own}")
        if writer.held and not writer.stored and state not in SURVIVES + ("succeeded", "failed", "not_sent"):
            self.blame(f"{writer.name} was killed after its call and is {state}")
        if writer.end == "running":
            self.blame(f"{writer.name} never ended")
