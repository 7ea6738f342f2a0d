#!/usr/bin/python3
"""A supervisor with psycopg2: judges the lost targets of kind "job" until none can be claimed.

    psycopg2_supervisor.py DSN OWNER
"""
import os
import sys
import time
import uuid

import psycopg2
from psycopg2.extras import Json

AGAIN = {"55P03", "40001", "40P01"}  # refused for the moment, nothing was done


class Database:
    """Each call is one statement in autocommit: no transaction is open while a probe looks."""

    def __init__(self, dsn):
        self.dsn, self.connection = dsn, None

    def once(self, statement, *values):
        if self.connection is None:
            self.connection = psycopg2.connect(self.dsn)
            self.connection.autocommit = True
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall()

    def ask(self, statement, *values, patience=30.0):
        """Repeats a call whose answer was lost, as it was: ql3 knows it by its token, and answers the same."""
        end, pause = time.monotonic() + patience, 0.1
        while True:
            try:
                return self.once(statement, *values)
            except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
                lost = self.connection is None or self.connection.closed
                if not (lost or error.pgcode in AGAIN) or time.monotonic() > end:
                    raise
                if lost:
                    self.connection = None
            time.sleep(pause)
            pause = min(2 * pause, 5.0)


def probe(source):
    """Only the form; a real one compares start times too, since a pid is given again (docs/probes.md)."""
    if source is None or source["pid"] is None:
        return "unknown"
    return "running" if os.path.exists(f"/proc/{source['pid']}") else "not_running"


def judge(db, owner, token, kind, target, version, source):
    fence, verdict = (kind, target, owner, token, version), probe(source)
    if verdict == "not_running":
        [(word,)] = db.ask("SELECT ql3.ql3_conclude(%s, %s, %s, %s, %s, %s, %s)", *fence, verdict, Json(source))
    else:  # a retry noted as "running" is not counted as a failure
        [(word,)] = db.ask("SELECT ql3.ql3_settle(%s, %s, %s, %s, %s, 'retry', '10 s', %s)", *fence, verdict)
    # fenced: our claim ran out, another may have the target. Nothing was changed and nothing is repeated:
    # whoever holds it now decides. stale: the facts have changed, it will be judged anew.
    print(f"{target}: {word}", flush=True)


def main(dsn, owner):
    db = Database(dsn)
    while True:
        token = str(uuid.uuid4())  # made before the call, so that a lost reply can be asked for again
        page = db.ask("SELECT kind, id, version, source FROM ql3.ql3_claim(%s, 16, '30 s', %s, '{job}')", owner, token)
        if not page:
            return
        for target in page:
            judge(db, owner, token, *target)


if __name__ == "__main__":
    main(*sys.argv[1:])
