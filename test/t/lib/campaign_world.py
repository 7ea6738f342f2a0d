"""The world of the campaigns: one server whose write-ahead log tells everything it commits, jobs that are lost all
the time, and the processes that work on them: `ql3 supervise`, `ql3 dispatch` and raw callers, a third of them by way
of a TCP proxy and a third through PgBouncer in transaction mode."""

import atexit
import glob
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import psycopg2

from campaign_dispatch import Writer, spawn
from campaign_ledger import Calls, Ledger
from campaign_recovery import Caller
from campaign_scene import ACTION, LOSE, PROBE, REOPEN, SETUP
from machine_dispatch import Dispatch
from machine_recovery import Recovery
from pooler import Pooler
from stress import ROOT, Server, run
from trace import Trace

PROGRAM = os.environ.get("QL3_BIN", os.path.join(ROOT, "build/bin/ql3"))
HERE = os.path.dirname(os.path.abspath(__file__))
TABLES = {"recovery_kinds", "run_recovery_controls", "recovery_pages", "judgements", "audit_events", "dispatches",
          "dispatch_tombstones", "jobs", "moves"}


# Beside 4, which says that there is no server: a supervisor repeats its first look for a lease and no longer.
CANNOT_BEGIN = re.compile(r" error (exhausted|locked|shutting_down|lost_reply)\b")


class Process:
    """A client: a fork of ours, or the program."""

    def __init__(self, name, pid, child=None):
        self.name, self.pid, self.child = name, pid, child

    def ended(self):
        """None, or the exit status, negative for a signal."""
        if self.child is not None:
            return self.child.poll()
        gone, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if gone else None

    def signal(self, number):
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass

    def end(self):
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        if self.child is not None:
            self.child.wait()
        else:
            try:
                os.waitpid(self.pid, 0)
            except ChildProcessError:
                pass


def forget_dead_clocks():
    """What libfaketime keeps of processes that were killed: a later one with such a number, of another user, could
    not begin."""
    for path in glob.glob("/dev/shm/faketime_shm_*") + glob.glob("/dev/shm/sem.faketime_sem_*"):
        if not os.path.exists("/proc/" + path.rpartition("_")[2]):
            try:
                os.unlink(path)
            except OSError:
                pass


class World:
    """`clocks`: server and some clients under clocks that can be stepped."""

    def __init__(self, name, seed, clocks, *settings, supervisors=3, raw=4, writers=3, dispatchers=3):
        # Told to end, the test ends its clients too: a dispatcher that has called waits for its server without end.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        self.seed, self.random = seed, random.Random(seed)
        self.sizes = {"raw": raw, "wri": writers, "sup": supervisors, "dis": dispatchers}
        # A fork beside another thread's subprocess would keep the pipe open that tells of its exec.
        self.forking = threading.Lock()
        self.clients, self.lives, self.exits, self.bad_ends = {}, 0, [], []
        self.violations, self.stored = [], []
        self.server = None
        base = os.path.join(os.environ.get("QL3_TMP", os.path.join(ROOT, "build", "t")), f"{name}.files")
        shutil.rmtree(base, ignore_errors=True)
        os.makedirs(base)
        self.files = base
        self.clock_env = self.server_clock() if clocks else {}
        forget_dead_clocks()
        self.with_clock(lambda: self.begin(name, settings))
        self.leases = {f"sup-{n}": (2, 3, 4)[n % 3] for n in range(1, supervisors + 1)}
        self.ledger = Ledger(self.path("ledger"))
        Ledger(self.path("calls"))
        installation, database = self.ask("SELECT installation, (SELECT oid FROM pg_database WHERE datname = 'postgres')"
                                          " FROM ql3.installation")[0]
        self.calls = Calls(self.path("ledger"), self.path("calls"), installation, database, self.leases)
        self.trace = Trace(TABLES)
        self.recovery = Recovery(self.calls, self.blame, not clocks)
        self.dispatch = Dispatch(self.calls, self.blame, self.recovery)
        self.transactions = self.told = self.moved = 0
        self.early = []
        self.moves = {}
        self.keep = lambda event: None      # every event, in the machine's order
        for file, text in (("probe", PROBE), ("action", ACTION)):
            with open(self.path(file), "w", encoding="utf-8") as out:
                out.write(text)
            os.chmod(self.path(file), 0o755)
        self.proxy = subprocess.Popen([os.path.join(HERE, "mischief_proxy.py"), self.socket, str(seed)], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, text=True)
        self.proxy_port = int(self.proxy.stdout.readline())
        self.proxy_did = {}
        direct = {"host": self.server.address["host"], "port": self.server.address["port"], "user": "worker"}
        self.pool = Pooler(direct["host"], direct["port"], direct["host"] + ".pool",
                           os.stat(self.ask("SHOW data_directory")[0][0]).st_uid, sessions=6, user="worker")
        self.pooled = 0
        self.ways = [direct, {**direct, "host": "127.0.0.1", "port": self.proxy_port}, {**direct, "host": self.pool.host}]

    def begin(self, name, settings):
        self.server = Server(name, "wal_level=logical", "timezone=UTC", "max_connections=60", "wal_writer_delay=10s",
                             "log_min_messages=warning", *settings)
        self.socket = f"{self.server.address['host']}/.s.PGSQL.{self.server.address['port']}"
        self.db = None
        self.ask("CREATE ROLE worker LOGIN SUPERUSER")
        self.ask(SETUP)
        Trace.start(self.ask)
        self.ask(LOSE, 60)
        data = self.ask("SHOW data_directory")[0][0]
        self.log = os.path.join(os.path.dirname(data), "log")

    def path(self, name):
        return os.path.join(self.files, name)

    def blame(self, rule, text):
        self.violations.append((rule, text))

    # --- clocks -----------------------------------------------------------------------------------

    def server_clock(self):
        """Where the user of the server can reach it."""
        place = tempfile.mkdtemp(prefix="ql3.", dir="/tmp")
        atexit.register(shutil.rmtree, place, True)
        os.chmod(place, 0o755)
        library, self.offset_path = f"{place}/stepped_clock.so", f"{place}/offset"
        subprocess.run(["g++", "-std=c++20", "-O1", "-shared", "-fPIC", "-o", library, os.path.join(HERE, "stepped_clock.cpp")], check=True)
        with open(self.offset_path, "wb") as file:
            file.write(struct.pack("q", 0))
        return {"LD_PRELOAD": library, "QL3_CLOCK": self.offset_path}

    def step_server(self, seconds):
        with open(self.offset_path, "r+b") as file:
            file.write(struct.pack("q", seconds))

    def clock(self, name, seconds):
        """Steps that clock, and the environment of those who live by it."""
        path = self.path(f"{name}.clock")
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write(f"{seconds:+d}\n")
        os.chmod(path + ".new", 0o644)
        os.rename(path + ".new", path)
        library = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")[0]
        return {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": path, "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    def with_clock(self, do):
        os.environ.update(self.clock_env)
        try:
            return do()
        finally:
            for name in self.clock_env:
                os.environ.pop(name, None)

    # --- the server ---------------------------------------------------------------------------------

    def ask(self, statement, *values):
        """Our own statement, repeated until it is answered; every one of ours may be."""
        end = time.monotonic() + 60
        while True:
            try:
                if self.db is None:
                    self.db = self.server.connect("campaign")
                return run(self.db, statement, *values)
            except psycopg2.Error as error:
                self.db = None
                if time.monotonic() > end:
                    raise
                if error.pgcode not in (None, "57P01", "57P02", "57P03", "55P03", "53100", "53200", "53300", "57014"):
                    raise
                time.sleep(0.05)

    def restart(self):
        self.with_clock(lambda: subprocess.run([self.server.throwaway, "restart", self.server.dir, "immediate"], check=True))

    def kill_pooler(self):
        if self.pool.process.poll() is None:
            self.pooled += self.pool.transactions()
            self.pool.kill()

    # --- the clients --------------------------------------------------------------------------------

    def keep_alive(self):
        """Starts what is missing, and keeps how every client ended."""
        for name, client in list(self.clients.items()):
            status = client.ended()
            if status is not None:
                del self.clients[name]
                self.exits.append((name, status))
                self.judge_end(client, status)
        for kind, count in self.sizes.items():
            for number in range(1, count + 1):
                if f"{kind}-{number}" not in self.clients:
                    self.start(kind, f"{kind}-{number}")

    def judge_end(self, client, status):
        if client.name.startswith("dis") and status in (0, 10):
            self.stored.append((client.request, {0: "succeeded", 10: "failed"}[status]))
        elif client.name[:3] in ("raw", "wri") and status >= 0:
            self.bad_ends.append((client.name, status))
        elif client.name.startswith("sup") and status not in (4, -9) and not CANNOT_BEGIN.search(self.tail(client)):
            self.bad_ends.append((client.name, status, self.tail(client)))

    def tail(self, client):
        with open(self.path(f"{client.name}.err"), encoding="utf-8", errors="replace") as file:
            return file.read()[-300:]

    def request(self, dice):
        """A few items at a time, so that writers meet on them."""
        return f"q-{int(time.monotonic() / 1.5)}-{dice.randrange(6)}", "item"

    def start(self, kind, name):
        self.lives += 1
        if kind in ("raw", "wri"):
            seed = self.seed * 1000 + self.lives
            ways = [{**way, "dbname": "postgres"} for way in self.ways]
            hasty = [{**way, "options": "-c synchronous_commit=off"} for way in ways[:2]] + [{**ways[2], "dbname": "async"}]
            make = {"raw": lambda: Caller(name, seed, self.ledger, ways, self.path(f"{name}.fences")),
                    "wri": lambda: Writer(name, seed, self.ledger, Ledger(self.path("calls")), hasty,
                                          self.path(f"{name}.fences"), self.request)}[kind]
            with self.forking:
                self.clients[name] = Process(name, spawn(make))
            return
        dsn = " ".join(f"{key}={value}" for key, value in self.ways[self.lives % 3].items()) + " dbname=postgres connect_timeout=10"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
        environment.update(QL3_PROBE_BY=name, QL3_PROBE_CALLS=self.path("calls"), QL3_PROBE_DEAD=self.path("no_writer"), CALLS=self.path("calls"))
        request = self.request(self.random)
        if kind == "sup":
            words = ["supervise", "--owner", name, "--lease", f"{self.leases[name]}s", "--page", str(self.random.choice((4, 8, 16))),
                     "--interval", "150ms", "--probe-timeout", "1s", "--probe", f"job=exec:{self.path('probe')}",
                     "--probe", f"dispatch=exec:{self.path('probe')}", "--json"]
            if self.clock_env and name != "sup-1":
                environment.update(self.clock(name, self.random.choice((0, 600, -600))))
        else:
            words = ["dispatch", "--request", request[0], "--item", request[1], "--action", "act", "--arguments", "{}",
                     "--writer", name, "--observe-after", "2s", "--deadline", "10s", "--json"]
        words += ["--dsn", dsn]
        if kind == "dis":
            words += ["--", self.path("action")]
        with open(self.path(f"{name}.out"), "a", encoding="utf-8") as out, \
             open(self.path(f"{name}.err"), "w", encoding="utf-8") as err:
            child = subprocess.Popen([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment,
                                     start_new_session=True)
        self.clients[name] = Process(name, child.pid, child)
        self.clients[name].request = request

    # --- who loses jobs, and the operator -------------------------------------------------------------

    def feed(self):
        waiting = self.ask("SELECT count(*) FROM jobs WHERE status = 'running'")[0][0]
        if waiting < 80:
            self.ask(LOSE, 10)
            self.ask(REOPEN, "done", 5)
        self.ask(REOPEN, "running", 2)

    def operate(self, dice):
        for kind, target, version in self.ask("SELECT kind, id, version FROM ql3.run_recovery_controls WHERE state = 'manual' LIMIT 30"):
            self.ask("SELECT ql3.ql3_release(%s, %s, %s, 'campaign')", kind, target, version)
        if dice.random() < 0.3:
            for kind, target, version in self.ask("SELECT kind, id, version FROM ql3.run_recovery_controls"
                                                  " WHERE state = 'claimed' AND kind = 'job' ORDER BY random() LIMIT 1"):
                self.ask("SELECT ql3.ql3_park(%s, %s, %s, 'campaign')", kind, target, version)
        if dice.random() < 0.2:
            self.ask("SELECT ql3.ql3_prune('5 s', 200)")

    def release_waiting(self):
        """What waits longer than a test does."""
        self.operate(random.Random(1))
        for kind, target, version in self.ask("SELECT kind, id, version FROM ql3.run_recovery_controls WHERE state IN ('retry', 'resolved')"
                                              " AND next_claim_at > clock_timestamp() + '1 s' LIMIT 100"):
            self.ask("SELECT ql3.ql3_release(%s, %s, %s, 'campaign')", kind, target, version)

    # --- the trace -------------------------------------------------------------------------------------

    def step(self):
        """Steps the machine over what was committed until now; then tells it of the calls that came before. A server that
        has just crashed may hand out less than it has: calls that lack their permission are looked at again at the end."""
        self.calls.read()
        actions = len(self.calls.actions)
        while True:
            found = self.trace.pull(self.ask)
            if found is None:
                break
            self.calls.read()
            for tx in found:
                self.transactions += 1
                self.keep(tx)
                self.recovery.transaction(tx)
                self.dispatch.transaction(tx)
                for change in tx.of("moves", "INSERT"):
                    self.moved += 1
                    key = change.row["id"], change.row["run_id"]
                    if key in self.moves:
                        self.blame("moved_once", f"{key} was moved by {self.moves[key]} and {change.row['how']}")
                    self.moves[key] = change.row["how"]
        for entry in self.calls.actions[self.told:actions]:
            self.keep((tuple(entry["call"]), entry["by"]))
            self.dispatch.call(tuple(entry["call"]), entry["by"], self.early)
        self.told = actions

    def end(self):
        for client in self.clients.values():
            client.end()
        self.clients.clear()
        if self.proxy.poll() is None:
            self.proxy.send_signal(signal.SIGTERM)
            out, _ = self.proxy.communicate(timeout=20)
            self.proxy_did = json.loads(out.splitlines()[-1])
        self.kill_pooler()
        self.pool.end()
        forget_dead_clocks()
