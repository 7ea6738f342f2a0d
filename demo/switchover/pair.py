"""The servers of the demo: the pair that is switched over, the control database, and the end of all."""
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAM = os.environ.get("QL3_BIN", str(ROOT / "build/bin/ql3"))


class Failure(Exception):
    """Something did not come as it must."""


class Stage:
    """Use as a context manager: leaving it ends every process and removes every file."""

    def __init__(self):
        self.began = time.monotonic()
        self.dir = Path(os.environ.get("QL3_TMP", ROOT / "build")) / "switchover"
        self.processes = []
        self.clean = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "QL3_")) or k == "QL3_PGROOT"}
        self.clean["LC_ALL"] = "C.UTF-8"

    def __enter__(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit(130))
        try:
            self.end()
            self.dir.mkdir(parents=True)
            with ThreadPoolExecutor(1) as beside:
                control = beside.submit(self.start, "start", "control")
                self.start_pair()
                self.control = control.result()
            self.spawn("agent", [HERE / "agent", self.dir])
            self.wait_for("the agent", (self.dir / "port").exists)
            self.url = f"http://127.0.0.1:{(self.dir / 'port').read_text(encoding='ascii')}/"
        except BaseException:
            self.__exit__()
            raise
        return self

    def start_pair(self):
        self.pair = {"a": self.start("start", "a", "wal_keep_size=256MB", "max_wal_senders=5")}
        self.pair["b"] = self.start("standby", "b", str(self.dir / "a"))
        for name, other in (("a", "b"), ("b", "a")):
            there = self.pair[other]
            self.ask(name, f"ALTER SYSTEM SET primary_conninfo = 'host={there['host']} "
                           f"port={there['port']} user=postgres application_name={name}'")
        (self.dir / "pair.json").write_text(json.dumps(self.pair), encoding="utf-8")

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.end()

    def end(self):
        for name in ("a", "b", "control"):
            self.throwaway("stop", self.dir / name)
        shutil.rmtree(self.dir, ignore_errors=True)

    def throwaway(self, *words):
        return subprocess.run([ROOT / "test/server/throwaway", *words], env=self.clean, check=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              start_new_session=True).stdout

    def start(self, how, name, *words):
        said = self.throwaway(how, self.dir / name, *words)
        found = dict(word.split("=", 1) for word in shlex.split(said)[1:])
        return {"host": found["PGHOST"], "port": found["PGPORT"], "data": found["PGDATA"],
                "psql": found["PGBIN"] + "/psql"}

    def environment(self):
        return {**self.clean, "PGHOST": self.control["host"], "PGPORT": self.control["port"],
                "PGUSER": "postgres", "PGDATABASE": "postgres", "QL3_PROBE_PAIR": json.dumps(self.pair),
                "PATH": str(Path(self.control["psql"]).parent) + ":" + self.clean.get("PATH", "/usr/bin:/bin")}

    def psql(self, server, sql):
        done = subprocess.run([server["psql"], "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", server["host"], "-p",
                               server["port"], "-U", "postgres", "-d", "postgres"], input=sql,
                              env=self.clean, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failure(done.stderr.strip())
        return done.stdout.strip()

    def ask(self, name, sql):
        return self.psql(self.pair[name], sql)

    def sql(self, text):
        return self.psql(self.control, text)

    def takes_writes(self, name):
        try:
            return self.ask(name, "SELECT pg_is_in_recovery()") == "f"
        except Failure:  # it is down, or on its way
            return False

    def primary(self):
        """The one that takes writes now."""
        up = [name for name in self.pair if self.takes_writes(name)]
        return up[0] if len(up) == 1 else f"{len(up)} primaries"

    def rejoin(self, new):
        """Once `new` is the primary, the old one comes back as its standby. Right after the call the old
        one may still be up, so it is not enough that some server takes writes."""
        old = next(name for name in self.pair if name != new)
        self.wait_for("the end of the switchover", lambda: self.primary() == new)
        (Path(self.pair[old]["data"]) / "standby.signal").touch()
        self.throwaway("restart", self.dir / old)
        self.wait_for("the standby", lambda: self.ask(
            new, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == "1")
        return old

    def calls(self, request):
        try:
            return (self.dir / "requests").read_text(encoding="utf-8").split("\n").count(request)
        except FileNotFoundError:
            return 0

    def hold(self, on):
        """While held, an accepted switchover is still under way."""
        if on:
            (self.dir / "hold").touch()
        else:
            (self.dir / "hold").unlink()

    def spawn(self, name, command):
        with open(self.dir / f"{name}.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=log, env=self.environment(), start_new_session=True)
        self.processes.append(process)
        return process

    def run(self, name, command):
        """The exit status of a program that ends by itself."""
        return self.spawn(name, command).wait(timeout=60)

    def log(self, name):
        return (self.dir / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def show_logs(self):
        for path in sorted(self.dir.glob("*.log")):
            print(f"--- {path.name}\n{path.read_text(encoding='utf-8', errors='replace')[-2000:]}")

    def wait_for(self, what, condition, seconds=40):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise Failure(f"waited {seconds} s for {what}")
            time.sleep(0.05)

    def say(self, text):
        print(f"[{time.monotonic() - self.began:5.1f} s] {text}", flush=True)
