"""Helpers of the tests of the program ql3: a throw-away server with a table of jobs, runs of the
program with a probe that does what it is told, and TAP."""

import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback

import psycopg2

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
PROGRAM = os.environ.get("QL3_BIN", os.path.join(ROOT, "build/bin/ql3"))
PROBE = os.path.join(HERE, "hold_probe")

JOBS = """
CREATE TABLE jobs (id text PRIMARY KEY, status text NOT NULL DEFAULT 'running',
  created_at timestamptz NOT NULL DEFAULT now(), lease_expires_at timestamptz NOT NULL);
CREATE INDEX ON jobs (lease_expires_at, id) WHERE status = 'running';
CREATE VIEW lost_jobs AS SELECT id, id AS run_id, status, created_at, lease_expires_at AS lost_at
  FROM jobs WHERE status = 'running' AND lease_expires_at <= statement_timestamp();
CREATE FUNCTION job_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql AS
$$ UPDATE public.jobs AS j SET status = 'lost' WHERE j.id = $1 AND j.status = 'running'
   AND j.lease_expires_at <= statement_timestamp() RETURNING true $$;
"""

_tests = 0
_failed = 0


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
    return ok(got == wanted, name, f"got    {got!r}\nwanted {wanted!r}")


def has(text, part, name):
    return ok(part in text, name, f"{part!r} is not in:\n{text}")


def until(condition, what, limit=60):
    """Waits for a condition; the limit only ends a test that waits for what never comes."""
    end = time.monotonic() + limit
    while True:
        got = condition()
        if got:
            return got
        if time.monotonic() > end:
            raise TimeoutError(f"waited {limit} s for: {what}")
        time.sleep(0.02)


def main(*cases):
    """Runs the cases in order; one that raises fails and ends the run."""
    for case in cases:
        print(f"# {case.__name__}", flush=True)
        try:
            case()
        except Exception:  # pylint: disable=broad-except
            ok(False, case.__name__, traceback.format_exc())
            break
    print(f"1..{_tests}")
    sys.exit(1 if _failed else 0)


# A test that is told to end ends its programs too: a dispatcher that has called would wait for its server without end.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def process_is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


class Stage:
    """A throw-away server and a folder, both gone when the test ends."""

    def __init__(self, name, *settings):
        self.throwaway = os.environ.get("QL3_THROWAWAY", f"{ROOT}/test/server/throwaway")
        self.dir = os.path.join(os.environ.get("QL3_TMP", f"{ROOT}/build/t"), name)
        shutil.rmtree(f"{self.dir}.files", ignore_errors=True)
        self.files = f"{self.dir}.files"
        os.makedirs(self.files)
        self.runs = []
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
        atexit.register(self.end)
        out = subprocess.run([self.throwaway, "start", self.dir, *settings], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
        words = dict(re.findall(r"(PG[A-Z]+)=(\S+)", out))
        self.host, self.port = words["PGHOST"], words["PGPORT"]
        self.db = self.connect()
        self.ask("CREATE EXTENSION ql3")
        self.ask("CREATE ROLE supervisor LOGIN; CREATE ROLE stranger LOGIN")
        self.ask("SELECT ql3.ql3_grant('supervisor', 'runtime')")
        self.ask(JOBS)
        self.ask("SELECT ql3.ql3_attach_source('job', 'lost_jobs', 'job_lost(text,text,jsonb)')")

    def end(self):
        for run in self.runs:
            run.end()
        subprocess.run([self.throwaway, "stop", self.dir], check=False)
        shutil.rmtree(self.files, ignore_errors=True)

    def connect(self, database="postgres"):
        db = psycopg2.connect(host=self.host, port=self.port, user="postgres", dbname=database)
        db.autocommit = True
        return db

    def ask(self, statement, *values):
        """The rows of a statement, or None."""
        with self.db.cursor() as cursor:
            cursor.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else None

    def value(self, statement, *values):
        return self.ask(statement, *values)[0][0]

    def jobs(self, *ids):
        """Only these jobs, all lost, the first one longest."""
        self.ask("TRUNCATE jobs")
        self.ask("DELETE FROM ql3.run_recovery_controls")
        self.ask("DELETE FROM ql3.judgements")
        for number, job in enumerate(ids):
            self.ask("INSERT INTO jobs VALUES (%s, 'running', now(), now() - interval '1 h' + "
                     "interval '1 s' * %s)", job, number)
        for file in os.listdir(self.files):
            os.unlink(self.file(file))

    def statuses(self):
        return dict(self.ask("SELECT id, status FROM jobs ORDER BY id"))

    def control(self, job, column):
        rows = self.ask(f"SELECT {column} FROM ql3.run_recovery_controls WHERE id = %s", job)
        return rows[0][0] if rows else None

    def judged(self, job):
        """Without the claims that ran out: nobody judged there."""
        return self.ask("SELECT owner, disposition, result FROM ql3.judgements WHERE id = %s "
                        "AND result <> 'expired' ORDER BY judgement_id", job)

    def put_off_no_longer(self):
        """What waits for a retry is due: a test need not wait for it."""
        self.ask("UPDATE ql3.run_recovery_controls SET due_at = now(), next_claim_at = now() "
                 "WHERE state = 'retry'")

    def file(self, name):
        return os.path.join(self.files, name)

    def write(self, name, text=""):
        with open(self.file(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.file(name), encoding="utf-8") as file:
            return file.read()

    def dsn(self, user="supervisor", host=None, database="postgres"):
        return f"host={host or self.host} port={self.port} user={user} dbname={database}"

    def start(self, *words):
        run = Run(self, words)
        self.runs.append(run)
        return run

    def run(self, *words):
        """The ended run of a command."""
        run = self.start(*words)
        run.wait()
        return run

    def supervise(self, owner, *words, dsn=None, probe=f"job=exec:{PROBE}"):
        return self.start("supervise", "--dsn", dsn or self.dsn(), "--owner", owner, "--probe",
                          probe, "--interval", "100ms", "--json", *words)

    def supervised(self, owner, *words, **options):
        run = self.supervise(owner, *words, **options)
        run.wait()
        return run

    def wait_seen(self, job):
        """Until a probe was asked about the job; its process number."""
        until(lambda: os.path.exists(self.file(f"{job}.seen")), f"a probe of {job}")
        return int(self.read(f"{job}.seen"))


class Run:
    """One process of the program."""

    counter = 0

    def __init__(self, stage, words):
        Run.counter += 1
        self.out_path = f"{stage.dir}.out.{Run.counter}"
        self.err_path = f"{stage.dir}.err.{Run.counter}"
        with open(self.out_path, "w", encoding="utf-8") as out, \
             open(self.err_path, "w", encoding="utf-8") as err:
            self.process = subprocess.Popen(
                [PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                env={**stage.environment, "QL3_PROBE_DIR": stage.files}, start_new_session=True)

    def wait(self, limit=90):
        """The exit code, negative for a signal."""
        return self.process.wait(timeout=limit)

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.send_signal(signal.SIGCONT)
            self.process.wait()
        for path in (self.out_path, self.err_path):
            if os.path.exists(path):
                os.unlink(path)

    @property
    def code(self):
        return self.process.returncode

    @property
    def out(self):
        with open(self.out_path, encoding="utf-8") as file:
            return file.read()

    @property
    def err(self):
        with open(self.err_path, encoding="utf-8") as file:
            return file.read()

    def passes(self):
        """The reports so far; a line that is still being written is left out."""
        return [json.loads(line) for line in self.out.split("\n")[:-1]]

    @property
    def last(self):
        return self.passes()[-1]

    def wait_pass(self, condition, what):
        return until(lambda: next((p for p in self.passes() if condition(p)), None), what)
