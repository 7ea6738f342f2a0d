"""Helpers of the server's stress tests: a throw-away server, its sessions, and TAP.

Sizes: QL3_STRESS=full runs what the issue of each test names; otherwise a share that fits the CI's time.
"""

import atexit
import os
import re
import subprocess
import sys
import time
import uuid

import psycopg2

FULL = os.environ.get("QL3_STRESS", "") == "full"
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))

# Retryable or documented answers of a server whose clients are being killed: terminated by an
# administrator, lock not got within 1 s, the fence of require_fence lost.
DOCUMENTED = {"57P01", "55P03", "55000"}

_tests = 0
_failed = 0


def size(small, full):
    return full if FULL else small


def ok(good, name, detail=""):
    global _tests, _failed
    _tests += 1
    print(f"{'ok' if good else 'not ok'} {_tests} - {name}", flush=True)
    if not good:
        _failed += 1
        for line in str(detail).splitlines():
            print(f"# {line}")
    return good


def same(got, wanted, name):
    return ok(got == wanted, name, f"got {got!r}, wanted {wanted!r}")


def done():
    print(f"1..{_tests}")
    sys.exit(1 if _failed else 0)


def note(text):
    print(f"# {text}", flush=True)


class Server:
    """A throw-away server, ended when the test ends, with the extension in database postgres; with `primary` a
    standby of that one."""

    def __init__(self, name, *settings, primary=None):
        self.throwaway = os.environ.get("QL3_THROWAWAY", os.path.join(ROOT, "test/server/throwaway"))
        place = os.environ.get("QL3_TMP", os.path.join(ROOT, "build", "t"))
        os.makedirs(place, exist_ok=True)
        self.dir = os.path.join(place, name)
        what = ["standby", self.dir, primary.dir] if primary else ["start", self.dir]
        out = subprocess.run(
            [self.throwaway, *what, *settings], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        words = dict(re.findall(r"(PG[A-Z]+)=(\S+)", out))
        self.address = dict(host=words["PGHOST"], port=words["PGPORT"], user=words["PGUSER"])
        # Elsewhere than `dir` where the server's user cannot come there.
        self.log = os.path.join(os.path.dirname(words["PGDATA"]), "log")
        self.owner = os.getpid()
        atexit.register(self.stop)
        if not primary:
            with self.connect() as db:
                run(db, "CREATE EXTENSION ql3")

    def stop(self):
        if os.getpid() == self.owner:
            subprocess.run([self.throwaway, "stop", self.dir], check=False)

    def connect(self, name="", **options):
        db = psycopg2.connect(
            dbname="postgres", application_name=name, options=" ".join(f"-c {k}={v}" for k, v in options.items()),
            **self.address
        )
        db.autocommit = True
        return db


def run(db, statement, *values):
    """Runs one statement; its rows, or None."""
    with db.cursor() as cursor:
        cursor.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else None


def value(db, statement, *values):
    return run(db, statement, *values)[0][0]


def until(condition, what, limit=120):
    """Waits for a condition; a limit only so that a broken server ends the test."""
    end = time.monotonic() + limit
    while True:
        got = condition()
        if got:
            return got
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.02)


def token():
    return str(uuid.uuid4())
