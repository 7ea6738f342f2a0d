#!/usr/bin/python3
"""A dispatch with psycopg 3: posts to URL at most once for this item of this request.

    psycopg_dispatch.py DSN REQUEST ITEM URL        exit codes as those of `ql3 dispatch`
"""
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid

import psycopg
from psycopg.types.json import Jsonb

EXITS = {"succeeded": 0, "failed": 10, "foreign": 11, "concluded": 12, "identity_conflict": 13, "halted": 14,
         "unknown": 15, "not_sent": 16, "released": 16}
AGAIN = {None, "25006", "40001", "55P03", "57P01", "57P02", "57P03"}  # lost, moved, or refused for the moment


def once(dsn, statement, *values):
    """One statement on a connection of its own, which is given up with whatever may still come over it."""
    # Without autocommit psycopg opens a transaction, and the permit refuses that.
    connection = psycopg.connect(dsn, autocommit=True)
    try:
        return connection.execute(statement, values).fetchone()
    finally:
        connection.close()


def ask(dsn, statement, *values, patience=float("inf")):
    """Repeats a call whose answer was lost, as it was: ql3 knows it by its token, and answers the same."""
    end = time.monotonic() + patience
    while True:
        try:
            return once(dsn, statement, *values)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if error.sqlstate not in AGAIN or time.monotonic() > end:
                raise
        time.sleep(0.5)


def post(url, request, item):
    body = json.dumps({"request": request, "item": item}).encode()
    try:
        with urllib.request.urlopen(url, body, timeout=60) as answer:
            return "succeeded", f"HTTP {answer.status}"
    except urllib.error.HTTPError as error:
        return "failed", f"HTTP {error.code}"
    except OSError as error:
        return "unknown", str(error)  # it may have arrived


def main(dsn, request, item, url):
    me, what = (request, item, f"pid-{os.getpid()}", uuid.uuid4()), Jsonb({"url": url})
    verdict, detail = ask(dsn, "SELECT verdict, detail FROM ql3.ql3_dispatch_claim(%s, %s, 'restart', %s, %s, %s)",
                          request, item, what, *me[2:], patience=30)
    if verdict != "recorded":  # another's, done, or halted until an operator has spoken: in no case a call
        return verdict, detail
    permit, asked, outcome, detail = uuid.uuid4(), time.monotonic(), "not_sent", "no permission"
    try:
        granted = once(dsn, "SELECT ql3.ql3_dispatch_permit(%s, %s, %s, %s, %s)", *me, permit)[0]
    except psycopg.Error as error:  # lost or refused: no answer, no call, and never asked again
        granted, detail = False, str(error)
    if granted and time.monotonic() - asked < 60:  # with the call's own minute, less than half of observe_after
        outcome, detail = post(url, request, item)
    [stored] = ask(dsn, "SELECT ql3.ql3_dispatch_settle(%s, %s, %s, %s, %s, %s, %s)", *me, outcome, detail, permit)
    if granted and stored in ("absent", "foreign"):  # a failover has lost our row
        ask(dsn, "SELECT ql3.ql3_dispatch_reassert(%s, %s, 'restart', %s, %s, %s, %s)",
            request, item, what, *me[2:], outcome)
    return outcome, detail


if __name__ == "__main__":
    end, why = main(*sys.argv[1:])
    print(end, why or "")
    sys.exit(EXITS[end])
