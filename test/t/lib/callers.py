"""What every example in examples/<language> must do, on a real server, with an outside ledger of its calls:
the accidents are made by a proxy, and what came of them is read from the tables and from the ledger."""

import http.server
import os
import re
import socket
import subprocess
import threading
import time

from program import ROOT, has, ok, same, until, Stage
from pooler import Pooler
from proxy import Proxy

GONE = 2147483000  # no process has such a number
LIMIT = 200


def build(*words, **environment):
    """The output of a command that must succeed."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **environment}, check=False)
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stdout}")
    return done.stdout


class Ledger:
    """The outside world: an HTTP server that writes down every call before it answers."""

    def __init__(self):
        ledger = self
        self.calls, self.answer = [], 204

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                ledger.calls.append(body.decode())
                if ledger.answer:
                    self.send_response(ledger.answer)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                self.close_connection = True

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/restart"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Callers:
    """The server, the ledger, and one example after another. `supervisor` and `dispatcher` are the commands
    that the database follows, which `database` tells from host, port and user in the driver's own words."""

    def __init__(self, name, tcp=False):
        self.name, self.tcp = name, tcp
        self.stage = Stage(name, "track_functions=all")
        self.ask, self.value = self.stage.ask, self.stage.value
        self.ask("SELECT ql3.ql3_detach_source('job'); ALTER TABLE jobs ADD pid integer")
        self.ask("CREATE OR REPLACE VIEW lost_jobs AS SELECT id, id AS run_id, status, created_at, lease_expires_at "
                 "AS lost_at, pid FROM jobs WHERE status = 'running' AND lease_expires_at <= statement_timestamp()")
        self.ask("SELECT ql3.ql3_attach_source('job', 'lost_jobs', 'job_lost(text,text,jsonb)')")
        self.proxy, self.ledger = Proxy(self.stage, tcp), Ledger()
        self.supervisor = self.dispatcher = self.database = None
        self.request, self.pooler = 0, None
        # What the driver's own library does in other words.
        self.put_off, self.refused, self.halted_late = "settled", 16, 16

    def end(self):
        self.proxy.close()
        self.stage.end()

    def run(self, command, *words):
        """The ended example: exit code and output. It leaves no session behind."""
        done = subprocess.run([*command, self.database(self.proxy.host, self.proxy.port, "supervisor"), *words],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=self.stage.environment, timeout=LIMIT, check=False)
        until(lambda: self.value("SELECT count(*) FROM pg_stat_activity WHERE usename = 'supervisor'")
              == len(self.proxy.held), "its sessions to end")
        return done.returncode, done.stdout

    def called(self, function):
        return self.value("SELECT coalesce(sum(calls), 0)::int FROM pg_stat_user_functions WHERE funcname = %s", function)

    def jobs(self, **pids):
        self.stage.jobs(*pids)
        for job, pid in pids.items():
            self.ask("UPDATE jobs SET pid = %s WHERE id = %s", pid, job)

    # --- the supervisor -------------------------------------------------------------------------

    def judges(self):
        self.jobs(gone=GONE, lives=os.getpid(), odd=None)
        code, said = self.run(self.supervisor, "alpha")
        same((code, sorted(said.splitlines())), (0, ["gone: concluded", f"lives: {self.put_off}", f"odd: {self.put_off}"]),
             "it judges each by what it sees")
        same(self.stage.statuses(), {"gone": "lost", "lives": "running", "odd": "running"}, "only what is gone was moved")
        same([self.stage.control(job, "state || ' ' || failure_count") for job in ("lives", "odd")],
             ["retry 0", "retry 1"], "one that runs is no failure, one that it cannot tell is")

    def is_fenced(self):
        """While it judges, its claims run out; another takes one of them and parks it."""
        self.jobs(a=GONE, b=GONE, c=GONE)
        before = self.called("ql3_conclude")
        taken = []

        def takeover():
            self.ask("UPDATE ql3.run_recovery_controls SET expires_at = clock_timestamp(), due_at = clock_timestamp() "
                     "WHERE state = 'claimed'")
            [(job, token, version)] = self.ask("SELECT id, token, version FROM ql3.ql3_claim('other', 1)")
            taken.append(job)
            self.ask("SELECT ql3.ql3_settle('job', %s, 'other', %s, %s, 'manual')", job, token, version)

        self.proxy.order("first", "ql3_conclude", takeover)
        code, said = self.run(self.supervisor, "alpha")
        words = [line.split(": ")[1] for line in said.splitlines()]
        same((code, words), (0, ["fenced"] * 3 + ["concluded"] * 2), "it drops what is fenced, and claims anew")
        same(self.stage.statuses(), {job: "running" if job in taken else "lost" for job in "abc"},
             "what another has judged stays as it is")
        same({job: self.stage.judged(job) for job in "abc"},
             {job: [("other", "manual", "settled")] if job in taken else [("alpha", "resolved", "concluded")] for job in "abc"},
             "each was judged once, by the one who held it")
        same(self.called("ql3_conclude") - before, 5, "a conclusion that is fenced is not repeated")

    def loses_replies(self):
        """The connection ends between the commit and its reply, for a claim and for two conclusions."""
        self.jobs(a=GONE, b=GONE, c=GONE)
        for function in ("ql3_claim", "ql3_conclude", "ql3_conclude"):
            self.proxy.order("lose", function)
        done = len(self.proxy.done)
        code, said = self.run(self.supervisor, "alpha")
        same((code, sorted(said.splitlines())), (0, ["a: concluded", "b: concluded", "c: concluded"]),
             "it asks again, under the same token, and is told the same")
        same(len(self.proxy.done) - done, 3, "three replies were lost")
        same(self.stage.statuses(), {"a": "lost", "b": "lost", "c": "lost"}, "nothing waits for a claim to run out")
        same([[(owner, result) for owner, _, result in self.stage.judged(job)] for job in "abc"],
             [[("alpha", "concluded")]] * 3, "each was concluded once")

    # --- dispatch -------------------------------------------------------------------------------

    def dispatch(self, wanted, name, calls, state, again=None):
        """One dispatch of a fresh item, and with `again` a second of the same one; what came of it."""
        self.request += 1
        request = f"r{self.request}"
        before, done = len(self.ledger.calls), len(self.proxy.done) + len(self.proxy.orders)
        codes = [self.run(self.dispatcher, request, "db", self.ledger.url)]
        same((len(self.proxy.orders), len(self.proxy.done)), (0, done), f"{name}: the accident happened")
        at_once = len(self.ledger.calls) - before
        if self.proxy.deliver():
            codes[0] = (codes[0][0], codes[0][1] + "delivered")
        if again is not None:
            codes.append(self.run(self.dispatcher, request, "db", self.ledger.url))
        same([code for code, _ in codes], [wanted] + ([] if again is None else [again]), f"{name}: exit code") or print(codes)
        same((at_once, len(self.ledger.calls) - before), calls, f"{name}: calls in the ledger")
        same([row[0] for row in self.ask("SELECT state FROM ql3.dispatches WHERE request_uid = %s ORDER BY attempt_no",
                                         request)], state, f"{name}: its attempts")
        return request

    def dispatches(self):
        request = self.dispatch(0, "dispatch", (1, 1), ["succeeded"], again=12)
        same(self.ask("SELECT action, arguments FROM ql3.dispatches WHERE request_uid = %s", request),
             [("restart", {"url": self.ledger.url})], "the row says what was to be done")
        has(self.ledger.calls[-1], request, "the other side is told the request")

    def outcomes(self):
        self.ledger.answer = 409
        self.dispatch(10, "refused by the other side", (1, 1), ["failed"], again=12)
        self.ledger.answer = None
        self.dispatch(15, "no answer from the other side", (1, 1), ["unknown"], again=12)
        self.ledger.answer = 204

    def loses_dispatch_replies(self):
        self.proxy.order("lose", "ql3_dispatch_claim")
        self.dispatch(0, "lost reply of the claim", (1, 1), ["succeeded"])
        self.proxy.order("lose", "ql3_dispatch_settle")
        self.dispatch(0, "lost reply of the settle", (1, 1), ["succeeded"], again=12)
        self.proxy.order("swallow", "ql3_dispatch_settle")
        self.dispatch(0, "lost settle", (1, 1), ["succeeded"])

    def loses_permit(self):
        self.proxy.order("lose", "ql3_dispatch_permit")
        self.dispatch(16, "lost reply of the permit", (0, 1), ["released", "succeeded"], again=0)
        self.proxy.order("late", "ql3_dispatch_permit")
        self.dispatch(16, "permit that arrives late", (0, 1), ["released", "succeeded"], again=0)
        self.proxy.order("first", "ql3_dispatch_permit", self.overridden)
        self.dispatch(self.refused, "permit refused", (0, 0), ["failed"], again=12)

    def overridden(self):
        [(attempt,)] = self.ask("SELECT attempt FROM ql3.dispatches WHERE request_uid = %s", f"r{self.request}")
        self.ask("SELECT ql3.ql3_dispatch_override(%s, 'claimed', 'failed', 'test')", attempt)

    def halted(self):
        halts = [self.value("SELECT ql3.ql3_halt_dispatch('test')")]

        def unhalt():
            self.ask("SELECT ql3.ql3_unhalt_dispatch(%s, 'test')", halts.pop())

        self.dispatch(14, "halted", (0, 0), [], again=14)
        unhalt()
        self.proxy.order("first", "ql3_dispatch_permit",
                         lambda: halts.append(self.value("SELECT ql3.ql3_halt_dispatch('test')")))
        request = self.dispatch(self.halted_late, "halted before the permit", (0, 0), ["released"], again=14)
        unhalt()
        same((self.run(self.dispatcher, request, "db", self.ledger.url)[0], self.ledger.calls[-1].count(request)), (0, 1),
             "after the halt it goes on")

    def foreign(self):
        self.request += 1
        request = f"r{self.request}"
        before = len(self.ledger.calls)
        self.ask("SELECT * FROM ql3.ql3_dispatch_claim(%s, 'db', 'restart', %s, 'other', gen_random_uuid())",
                 request, f'{{"url": "{self.ledger.url}"}}')
        same((self.run(self.dispatcher, request, "db", self.ledger.url)[0], len(self.ledger.calls) - before), (11, 0),
             "what another writer has is not called")
        self.ask("SELECT * FROM ql3.ql3_dispatch_claim(%s, 'db2', 'stop', '{}', 'other', gen_random_uuid())", request)
        same((self.run(self.dispatcher, request, "db2", self.ledger.url)[0], len(self.ledger.calls) - before), (13, 0),
             "nor what is known as another action")

    def sizes(self, *files):
        """Lines of code: blank ones, comments and imports are not counted."""
        counted = {}
        for name in files:
            with open(f"{ROOT}/examples/{name}", encoding="utf-8") as file:
                text = re.sub(r'^import \(.*?^\)|^""".*?^"""|^/\*\*.*?\*/', "", file.read(), flags=re.S | re.M)
            counted[name] = len([line for line in text.splitlines()
                                 if not re.match(r"\s*($|#|//|/\*|import |from \S+ import |package )", line)])
        ok(all(1 < lines < 80 for lines in counted.values()), "each has under 80 lines of code", counted)

    # --- the driver's page ------------------------------------------------------------------------

    def page(self, name, language, run):
        """docs/callers/NAME.md: its blocks of the language are one program, which `run` runs with a DATABASE and a
        POOLER, and prints what the text blocks under them show; what `sh` blocks say is done."""
        path = f"{ROOT}/docs/callers/{name}.md"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        blocks = re.findall(r"^```(\S+).*?\n(.*?)^```$", text, flags=re.M | re.S)
        self.jobs(a=GONE, b=GONE, c=GONE, d=GONE)
        self.ask("ALTER ROLE supervisor RESET ALL")
        if self.pooler is None:
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            owner = os.stat(self.value("SHOW data_directory")).st_uid
            self.pooler = Pooler(self.stage.host, self.stage.port, self.stage.host + ".pool", owner, tcp=port)
            self.stage.runs.append(self.pooler)
        at = ("127.0.0.1", self.pooler.port) if self.tcp else (self.pooler.host, self.pooler.port)
        places = {"DATABASE": self.database(self.proxy.host, self.proxy.port, "supervisor"),
                  "POOLER": self.database(*at, "supervisor"), "LEDGER": self.ledger.url}
        environment = {**self.stage.environment, **places}
        code = "\n".join(body for what, body in blocks if what == language)
        got = run(code, environment)
        wanted = "".join(body for what, body in blocks if what == "text")
        same(got.splitlines(), wanted.splitlines(), f"docs/callers/{name}.md: prints what is shown")
        for what, body in blocks:
            if what == "sh":
                done = subprocess.run(["sh", "-eu", "-c", body], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT, check=False)
                same(done.returncode, 0, f"docs/callers/{name}.md: {body.strip().splitlines()[-1]}") or print(done.stdout)

    def all(self):
        started = time.monotonic()
        for case in (self.judges, self.is_fenced, self.loses_replies, self.dispatches, self.outcomes,
                     self.loses_dispatch_replies, self.loses_permit, self.halted, self.foreign):
            print(f"# {self.name} {case.__name__} at {time.monotonic() - started:.1f} s", flush=True)
            case()
