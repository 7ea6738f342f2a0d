"""The load of t/ha_patroni and the judge of its outside ledgers: `ql3 supervise` and `ql3 dispatch` through
multi-host strings. What a program did is appended to files that no database knows of."""

import collections
import json
import os
import random
import signal
import subprocess
import threading
import time

import psycopg2

from patroni import ROOT
from program import until

PROGRAM = os.environ.get("QL3_BIN", os.path.join(ROOT, "build/bin/ql3"))

# The writers' role has synchronous_commit off: what protects them must be forced by the extension.
SCHEMA = """
CREATE EXTENSION ql3;
CREATE ROLE supervisor LOGIN;
CREATE ROLE writer LOGIN;
ALTER ROLE writer SET synchronous_commit = off;
SELECT ql3.ql3_grant('supervisor', 'runtime');
SELECT ql3.ql3_grant('writer', 'runtime');
CREATE TABLE jobs (id text PRIMARY KEY, status text NOT NULL DEFAULT 'running', lost_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON jobs (lost_at, id) WHERE status = 'running';
CREATE TABLE judged (id text NOT NULL, evidence jsonb);
CREATE VIEW lost_jobs AS SELECT id, id AS run_id, status, lost_at AS created_at, lost_at FROM jobs WHERE status = 'running';
CREATE FUNCTION job_lost(id text, verdict text, evidence jsonb) RETURNS boolean LANGUAGE sql AS $$
  WITH u AS (UPDATE public.jobs AS j SET status = 'lost' WHERE j.id = $1 AND j.status = 'running' RETURNING j.id)
  INSERT INTO public.judged SELECT u.id, $3 FROM u RETURNING true $$;
SELECT ql3.ql3_attach_source('job', 'lost_jobs', 'job_lost(text,text,jsonb)');
"""
JOB_PROBE = """#!/bin/sh
id=$(sed -n 's/.*"id":"\\([^"]*\\)".*/\\1/p')
printf '{"verdict":"not_running","reason":"nobody there","evidence":{"probe":"%s"}}' "$$"
"""
# Only what was appended counts; of an attempt that never had a permit the supervisor knows by itself.
DISPATCH_PROBE = """#!/bin/sh
request=$(sed -n 's/.*"request_uid": *"\\([^"]*\\)".*/\\1/p')
if grep -q "^$request " "LEDGER"; then verdict=succeeded; else verdict=unknown; fi
printf '{"verdict":"%s","reason":"identity_unverifiable","evidence":{}}' "$verdict"
"""
ACTION = """#!/bin/sh
echo "$QL3_REQUEST_UID $QL3_ITEM $$" >>"LEDGER"
sleep 0.1
"""
ARGUMENTS = '{"candidate":"b"}'


class Load:
    """Runs until stopped; everything random is drawn from the seed, thread by thread."""

    def __init__(self, cluster, seed):
        self.cluster, self.seed = cluster, seed
        self.files = cluster.place.dir + "/load"
        os.mkdir(self.files)
        self.calls_path = self.script("calls", "")
        self.action = self.script("action", ACTION.replace("LEDGER", self.calls_path))
        self.probes = [f"job=exec:{self.script('job-probe', JOB_PROBE)}",
                       "dispatch=exec:" + self.script("dispatch-probe", DISPATCH_PROBE.replace("LEDGER", self.calls_path))]
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
        self.stopping, self.holding = threading.Event(), threading.Event()
        self.lock, self.threads, self.supervisors, self.busy = threading.Lock(), [], [], 0
        self.jobs, self.reports, self.requests, self.errors, self.programs = [], [], [], [], []

    def script(self, name, text):
        path = f"{self.files}/{name}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def thread(self, work, *arguments):
        def guarded():
            try:
                work(*arguments)
            except Exception as error:  # pylint: disable=broad-except
                self.errors.append(f"{work.__name__}: {type(error).__name__}: {error}")
        started = threading.Thread(target=guarded, daemon=True)
        started.start()
        self.threads.append(started)

    def start(self, supervisors=2, writers=3):
        for number in range(supervisors):
            out = open(f"{self.files}/supervise.{number}", "wb")  # pylint: disable=consider-using-with
            err = open(f"{self.files}/supervise.{number}.err", "wb")  # pylint: disable=consider-using-with
            words = [word for probe in self.probes for word in ("--probe", probe)]
            self.supervisors.append(subprocess.Popen(
                [PROGRAM, "supervise", "--dsn", self.cluster.dsn("supervisor"), "--owner", f"s{number}", *words, "--page", "8",
                 "--lease", "8s", "--interval", "200ms", "--json"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self.environment, start_new_session=True))
        self.thread(self.feed)
        for number in range(writers):
            self.thread(self.write, number)

    def feed(self):
        """Jobs that are lost from the start. One counts when the server has answered."""
        db, number = None, 0
        while not self.stopping.wait(0.1):
            if self.holding.is_set():
                continue
            number += 1
            try:
                if db is None:
                    db = psycopg2.connect(self.cluster.dsn() + " target_session_attrs=read-write"
                                          " options='-c statement_timeout=3000'")
                    db.autocommit = True
                with db.cursor() as cursor:
                    cursor.execute("INSERT INTO jobs (id) VALUES (%s)", (f"job-{number:06}",))
                # A cancelled wait is no answer.
                if not any("canceling wait" in notice for notice in db.notices):
                    self.jobs.append(f"job-{number:06}")
                del db.notices[:]
            except psycopg2.Error:
                if db is not None:
                    db.close()
                db = None

    def write(self, number):
        """One request after the other, each by two competing programs, some of which are killed, until it has an end."""
        draw = random.Random(f"{self.seed}/{number}")
        count = 0
        while not self.stopping.is_set():
            if self.holding.is_set():
                time.sleep(0.05)
                continue
            count += 1
            request = f"request-{number}-{count:05}"
            with self.lock:
                self.busy += 1
            try:
                self.requests.append(request)
                while not self.stopping.is_set() and not self.holding.is_set():
                    runs = [self.dispatch(request) for _ in range(2 if draw.random() < 0.3 else 1)]
                    if draw.random() < 0.15:
                        self.kill(request, runs[0], draw.random())
                    codes = [self.report(request, run) for run in runs]
                    if {0, 10, 12, 15} & set(codes):
                        break
                    # Halted, away, or in another's hands until recovery has judged.
                    self.stopping.wait(0.3)
            finally:
                with self.lock:
                    self.busy -= 1

    def dispatch(self, request, deadline="20s"):
        run = subprocess.Popen(
            [PROGRAM, "dispatch", "--dsn", self.cluster.dsn("writer"), "--request", request, "--item", "item", "--action", "switchover",
             "--arguments", ARGUMENTS, "--observe-after", "6s", "--deadline", deadline, "--json", "--", self.action],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.environment, text=True,
            start_new_session=True)
        with self.lock:
            self.programs = [each for each in self.programs if each.poll() is None] + [run]
        return run

    def kill(self, request, run, late):
        """Somewhere before its call, or while its program runs."""
        if late < 0.4:
            time.sleep(late)
        else:
            while run.poll() is None and request not in self.calls():
                time.sleep(0.02)
        run.kill()

    def report(self, request, run):
        """The exit status; what it said is kept."""
        out = run.communicate()[0].strip().splitlines()
        if run.returncode >= 0 and out:
            self.reports.append((request, json.loads(out[-1])))
        return run.returncode

    def once(self, request):
        with self.lock:
            if request not in self.requests:
                self.requests.append(request)
        return self.report(request, self.dispatch(request))

    def stored(self):
        return sum(1 for _, report in list(self.reports) if report["exit"] == 0)

    def concluded(self):
        """Ids that a supervisor was told are concluded, kind by kind; once for each time it was told so."""
        found = {"job": [], "dispatch": []}
        for number in range(len(self.supervisors)):
            with open(f"{self.files}/supervise.{number}", encoding="utf-8") as file:
                for line in file.read().split("\n")[:-1]:
                    for target in json.loads(line)["targets"]:
                        if target["outcome"] == "concluded":
                            found[target["kind"]].append(target["id"])
        return found

    def calls(self):
        with open(self.calls_path, encoding="utf-8") as file:
            return [line.split()[0] for line in file.read().split("\n")[:-1]]

    def hold(self):
        """No writer is left: each has ended by itself, with its outcome stored or given up. No job is fed either."""
        self.holding.set()
        until(lambda: self.busy == 0, "the writers to end", 120)

    def go_on(self):
        self.holding.clear()

    def progress(self, what="everything goes on"):
        """A job judged and an action done from now on."""
        jobs, stored = len(self.concluded()["job"]), self.stored()
        until(lambda: len(self.concluded()["job"]) > jobs and self.stored() > stored, what, 120)

    def stop(self):
        """Ends the writers, lets recovery judge what is left, then ends the supervisors."""
        self.stopping.set()
        for thread in self.threads:
            thread.join(timeout=120)

    def end(self):
        for process in self.supervisors:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.supervisors:
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        # One that has called keeps its outcome until a server takes it, and none will come any more.
        for process in self.programs:
            if process.poll() is None:
                process.kill()
                process.wait()


def more_than_once(found):
    return sorted(name for name, count in collections.Counter(found).items() if count > 1)


def rows(node, statement, *values):
    db = node.connect()
    try:
        with db.cursor() as cursor:
            cursor.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else None
    finally:
        db.close()


def breaches(load, node, lossless):
    """Each promise that the ledgers say was broken. What a failover may lose is only asked after when it may not."""
    found = [f"two calls: {each}" for each in more_than_once(load.calls())]
    found += [f"verify: {row}" for row in rows(node, "SELECT rule, kind, id, detail FROM ql3.ql3_verify()")]
    found += load.errors
    if not lossless:
        return found
    permitted = {r[0] for r in rows(node, "SELECT request_uid FROM ql3.dispatches WHERE permitted_at IS NOT NULL")}
    found += [f"called, and no permission is on record: {each}" for each in sorted(set(load.calls()) - permitted)]
    state = dict(rows(node, "SELECT request_uid, state FROM ql3.dispatches WHERE state <> 'released'"))
    found += [f"told that it is stored, and it is {state.get(request)}: {request}" for request, report in load.reports
              if report["exit"] == 0 and state.get(request) != "succeeded"]
    found += [f"called, and now {state.get(each)}: {each}" for each in sorted(set(load.calls()))
              if state.get(each) not in ("succeeded", "claimed", "unknown")]
    concluded = load.concluded()
    history = collections.Counter(r[0] for r in rows(
        node, "SELECT id FROM ql3.judgements WHERE kind = 'job' AND result = 'concluded'"))
    found += [f"judged twice, as was told: {each}" for each in more_than_once(concluded["job"])]
    found += [f"judged twice, as history says: {each}" for each, count in history.items() if count > 1]
    found += [f"told that it is concluded, and history lacks it: {each}" for each in concluded["job"] if each not in history]
    jobs = dict(rows(node, "SELECT id, status FROM jobs"))
    found += [f"transition ran again: {r}" for r in rows(node, "SELECT id FROM judged GROUP BY id HAVING count(*) > 1")]
    found += [f"the job is {jobs.get(each)}: {each}" for each in load.jobs if jobs.get(each) != "lost"]
    found += [f"concluded, and {jobs.get(each)}: {each}" for each in concluded["job"] if jobs.get(each) != "lost"]
    return found
