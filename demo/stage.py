"""The stage of the demo: a throw-away server, real processes, and the end of both in any case."""
import ctypes
import fcntl
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


class Failure(Exception):
    """Something did not come as it must."""


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Stage:
    """Use as a context manager: leaving it ends every process and removes every file."""

    def __init__(self):
        self.began = time.monotonic()
        self.dir = ROOT / "build" / "demo"
        self.processes = {}
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
        self.environment["LC_ALL"] = "C.UTF-8"
        self.interrupted = None
        self.deferring = True

    def __enter__(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.on_signal)
        self.dir.parent.mkdir(exist_ok=True)
        self.lock = open(self.dir.parent / "demo.lock", "w", encoding="utf-8")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure("another demo is running in this tree") from None
        try:
            self.start_server()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def on_signal(self, number, _):
        self.interrupted = number
        if not self.deferring:
            raise KeyboardInterrupt

    def throwaway(self, *arguments):
        # A session of its own: a Ctrl-C at the terminal reaches this program alone.
        return subprocess.run([ROOT / "test/server/throwaway", *arguments], env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              check=True, start_new_session=True).stdout

    def start_server(self):
        self.throwaway("stop", self.dir / "server")
        shutil.rmtree(self.dir, ignore_errors=True)
        self.dir.mkdir()
        # signals wait, so that no half-made server is left behind
        exports = self.throwaway("start", self.dir / "server")
        for word in shlex.split(exports)[1:]:
            name, _, value = word.partition("=")
            self.environment[name] = value
        self.environment["PGDATABASE"] = "postgres"
        self.deferring = False
        if self.interrupted:
            raise KeyboardInterrupt

    def close(self):
        self.deferring = True
        for process in self.processes.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.throwaway("stop", self.dir / "server")
        # a held probe whose replica was killed ends when its files are gone
        shutil.rmtree(self.dir, ignore_errors=True)
        (self.dir.parent / "demo.lock").unlink(missing_ok=True)

    def say(self, text):
        print(f"[{time.monotonic() - self.began:5.1f} s] {text}", flush=True)

    def query(self, sql, role="postgres"):
        """The rows of a query as dictionaries, over a connection of its own."""
        psql = subprocess.run(
            [Path(self.environment["PGBIN"]) / "psql", "-XAtq", "-U", role, "-v", "ON_ERROR_STOP=1",
             "-c", f"SELECT coalesce(json_agg(q), '[]') FROM ({sql}) AS q"],
            # compiling a query of the report would take longer than running it
            env={**self.environment, "PGOPTIONS": "-c jit=off"}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, start_new_session=True)
        if psql.returncode != 0:
            raise Failure(psql.stderr.strip())
        return json.loads(psql.stdout)

    def execute(self, sql):
        psql = subprocess.run(
            [Path(self.environment["PGBIN"]) / "psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-c", sql],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, check=False, start_new_session=True)
        if psql.returncode != 0:
            raise Failure(psql.stderr.strip())

    def count(self, sql):
        return self.query(sql)[0]["count"]

    def spawn(self, name, command, role, **environment):
        """Start a process; what it prints lands in files of the stage."""
        with open(self.dir / f"{name}.out", "w", encoding="utf-8") as out, \
             open(self.dir / f"{name}.err", "w", encoding="utf-8") as err:
            process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                env={**self.environment, "PGUSER": role, **environment}, start_new_session=True,
                preexec_fn=die_with_parent)
        self.processes[name] = process
        return process

    def output(self, name):
        return (self.dir / f"{name}.out").read_text(encoding="utf-8", errors="replace")

    def errors(self, name):
        return (self.dir / f"{name}.err").read_text(encoding="utf-8", errors="replace")

    def wait_for(self, what, condition, seconds=40):
        """Wait until condition() is true; after so many seconds the demo has failed."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise Failure(f"waited {seconds} s for this and it did not come: {what}")
            time.sleep(0.15)


def complain(text):
    print(f"demo: {text}", file=sys.stderr, flush=True)
