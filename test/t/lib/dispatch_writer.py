"""A writer that keeps the rules of the Dispatcher over the bare protocol, so that thousands of runs are
cheap, and the same writer with one rule broken on purpose (MUTANTS), which the checker must find out."""

import time
import uuid

from wire import Lost, ServerError, call

MUTANTS = ("no_permit_check", "settle_before_call", "late_true", "call_after_not_sent",
           "call_again_on_doubt", "not_sent_after_call", "true_before_completion")
RETRYABLE = ("40001", "40P01", "55P03", "53100", "53300", "25006")
OBSERVE_AFTER = 1.0


class Killed(BaseException):
    """This writer is no more: nothing of it runs after this."""


class Writer:
    """One invocation. `run` is the run it is part of: step(), sent(), connect(), call() and blame()."""

    def __init__(self, run, name, plan, mutant=""):
        self.run, self.name, self.plan, self.mutant = run, name, plan, mutant
        self.token, self.permit = str(uuid.uuid4()), str(uuid.uuid4())
        self.connection = None
        self.late = None
        self.seen = {}
        self.given_up = False
        self.permit_sent = False
        self.called = False
        self.held = None          # the outcome of our call
        self.stored = None        # the word that answered it
        self.end = "running"

    # --- messages -------------------------------------------------------------------------------

    def drop(self):
        if self.connection is not None:
            self.connection.cut()
            self.connection = None

    def wrap(self, kind):
        """What goes before and after the statement. The permit is always a statement of its own."""
        block = self.plan.block
        if kind == "permit" or block == "autocommit":
            return [], []
        if block == "repeatable_read":
            if kind == "claim":
                return [], []
            return ["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM ql3.dispatches WHERE "
                    f"request_uid = '{self.run.request}'"], ["COMMIT"]
        if block == "block_off_before":
            return ["BEGIN", "SET LOCAL synchronous_commit = off"], ["COMMIT"]
        if block == "block_off_after":
            return ["BEGIN"], ["SET LOCAL synchronous_commit = off", "COMMIT"]
        return ["BEGIN"], ["COMMIT"]

    def exchange(self, kind, sql):
        """Sends one message of the protocol and reads its whole answer, unless the plan forbids."""
        nth = self.seen.get(kind, 0)
        self.seen[kind] = nth + 1
        fault = self.plan.faults.get((kind, nth), ("",))
        before, after = self.wrap(kind)
        if self.connection is None:
            self.connection = self.run.connect(self.plan.sync)
        try:
            if fault[0] == "error":
                self.connection.query(f"SET fault.code = '{fault[1]}'; SET fault.at = '{fault[2]}'")
            for each in before:
                self.connection.query(each)
            self.run.sent(kind, sql)
            if not after:
                answer = self.last(kind, sql, fault[0])
            else:
                answer = self.connection.query(sql)
                for each in after[:-1]:
                    self.connection.query(each)
                done = self.last(kind, after[-1], fault[0])
                answer.warnings += done.warnings
                if done.tag != "COMMIT":
                    raise Lost(f"COMMIT was answered {done.tag}")
        except (Lost, ServerError) as error:
            self.run.met(error)
            self.drop()
            raise
        if fault[0] == "error":
            self.drop()
        if "01000" in answer.warnings:
            raise Lost("the wait for the commit was cancelled")
        return answer

    def last(self, kind, sql, fault):
        if fault == "cut_before":
            raise Lost("cut before it was sent")
        if fault == "cut_before_late":
            if sql != "COMMIT":
                self.run.later(kind, sql)
            raise Lost("on its way for ever")
        self.connection.send(sql)
        if fault == "cut_after":
            raise Lost("cut after it was sent")
        if fault == "cut_after_answer":
            self.connection.read(stop_at=b"D")
            raise Lost("cut within the answer")
        if fault == "late":
            self.late, self.connection = self.connection, None
            raise Lost("no answer yet")
        if self.mutant == "true_before_completion" and kind == "permit":
            half = self.connection.read(stop_at=b"D")
            self.drop()
            return half
        return self.connection.read()

    # --- the protocol ---------------------------------------------------------------------------

    def invoke(self):
        try:
            self.end = self.steps()
        except Killed:
            self.end = "killed"
        finally:
            self.drop()
            if self.late is not None:
                self.late.cut()
        return self.end

    def steps(self):
        verdict = self.claim()
        if verdict != "recorded":
            return verdict
        self.at("after_claim")
        granted, asked = self.ask_permission()
        if self.mutant == "no_permit_check":
            granted = True
        if not granted:
            return self.give_up()
        self.at("after_permit")
        if time.monotonic() - asked > OBSERVE_AFTER / 2 and not self.mutant:
            return self.give_up()
        return self.call_and_store()

    def at(self, step):
        self.run.step(self, step)

    def claim(self):
        self.at("before_claim")
        request = self.run.request
        sql = call("ql3_dispatch_claim", request, self.run.item, "switchover", self.run.arguments,
                   self.name, self.token, f"{OBSERVE_AFTER} s")
        if self.plan.block in ("psycopg", "repeatable_read"):
            self.must_be_refused(sql)
        for _ in self.run.tries():
            try:
                return self.exchange("claim", sql).rows[0][0]
            except Lost:
                pass
            except ServerError as error:
                if error.sqlstate not in RETRYABLE:
                    self.run.blame(f"claim: {error}")
                    return "refused"
        self.tell_not_sent()
        return "refused"

    def must_be_refused(self, claim):
        """Drivers that open transactions by themselves: the permit in a block, a claim in an old snapshot."""
        level = " ISOLATION LEVEL REPEATABLE READ" if self.plan.block == "repeatable_read" else ""
        permit = call("ql3_dispatch_permit", self.run.request, self.run.item, self.name, self.token,
                      self.permit)
        wanted = "25000" if level else "25001"
        try:
            self.connection = self.run.connect(self.plan.sync)
            self.connection.query("BEGIN" + level)
            if not level:
                try:
                    self.connection.query(claim)
                except ServerError as error:
                    if error.sqlstate not in RETRYABLE:
                        raise
                    return
            self.connection.query(claim if level else permit)
            self.run.blame(f"not refused with {wanted} in {self.plan.block}")
        except Lost:
            pass
        except ServerError as error:
            if error.sqlstate != wanted:
                self.run.blame(f"refused with {error}, not {wanted}, in {self.plan.block}")
        finally:
            self.drop()

    def ask_permission(self):
        """(granted, when asked). Any doubt means no, for good; a plain refusal may be asked again."""
        self.at("before_permit")
        sql = call("ql3_dispatch_permit", self.run.request, self.run.item, self.name, self.token,
                   self.permit)
        asked = time.monotonic()
        for _ in self.run.tries(few=True):
            asked = time.monotonic()
            self.permit_sent = True
            try:
                yes = self.exchange("permit", sql).value() == "t"
                if yes:
                    self.run.saw_true(self.token)
                return yes, asked
            except Lost:
                return self.mutant == "call_again_on_doubt", asked
            except ServerError as error:
                if error.sqlstate not in RETRYABLE:
                    self.run.blame(f"permit: {error}")
                    return False, asked
        return False, asked

    def give_up(self):
        self.given_up = True
        self.at("before_settle")
        self.tell_not_sent()
        self.at("after_settle")
        if self.mutant == "call_after_not_sent":
            return self.call_and_store()
        if self.late is not None:
            try:
                late = self.late.read(1.0)
                if late.rows and late.value() == "t":
                    self.run.saw_true(self.token)
                    if self.mutant == "late_true":
                        return self.call_and_store()
            except (Lost, ServerError):
                pass
        return "not_sent"

    def tell_not_sent(self):
        permit = self.permit if self.permit_sent else None
        word = self.settle("not_sent", "not_sent", permit)
        if word == "recorded":
            self.run.gave_back(self.token)

    def call_and_store(self):
        if self.mutant == "settle_before_call":
            self.settle("settle", self.plan.outcome, self.permit)
        self.at("call_begun")
        self.called = True
        self.run.call(self)
        self.at("call_done")
        self.held = self.plan.outcome
        self.at("before_settle")
        if self.mutant == "not_sent_after_call":
            self.settle("not_sent", "not_sent", self.permit)
            return "not_sent"
        self.stored = self.settle("settle", self.held, self.permit)
        if self.stored not in ("recorded", "concluded"):
            self.run.blame(f"the outcome of a call was answered {self.stored}")
        self.at("after_settle")
        return "stored"

    def settle(self, kind, outcome, permit):
        sql = call("ql3_dispatch_settle", self.run.request, self.run.item, self.name, self.token, outcome,
                   f"by {self.name}", permit)
        for _ in self.run.tries():
            try:
                return self.exchange(kind, sql).value()
            except Lost:
                pass
            except ServerError as error:
                if error.sqlstate not in RETRYABLE:
                    self.run.blame(f"settle {outcome}: {error}")
                    return "error"
        return "never"
