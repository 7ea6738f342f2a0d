"""The server under test and everybody in it who is no writer: recovery, the network's late messages, the
watcher. The server is killed and started as a whole; every part must live through that."""

import collections
import os
import shutil
import random
import threading
import time
import uuid

from server import Server
from wire import Lost, ServerError, call

# A transient error of the server itself, where and when the session asks for it: before a row is written, when its
# index entries are, and at the commit. The message tells whether a statement was running. A CHECK over a system column is
# tested by each write, and the function of the index keeps that empty. Indexes are written in the order in which they were
# made: those that are made again are behind the fault.
INJECT = """
CREATE FUNCTION fault(place text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  stack text;
BEGIN
  IF current_setting('fault.at', true) = place THEN
    GET DIAGNOSTICS stack = PG_CONTEXT;
    RAISE EXCEPTION USING ERRCODE = current_setting('fault.code'), MESSAGE = format('injected at %s, %s', place,
      CASE WHEN stack ~ 'SQL statement "(INSERT|UPDATE)' THEN 'in a statement' ELSE 'in no statement' END);
  END IF;
END $$;
CREATE FUNCTION trigger_fault() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN PERFORM public.fault(TG_ARGV[0]); RETURN NEW; END $$;
CREATE TABLE at_commit (n integer);
CREATE CONSTRAINT TRIGGER fault AFTER INSERT ON at_commit DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION trigger_fault('commit');
CREATE FUNCTION check_fault(oid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.fault('write');
  IF current_setting('fault.at', true) = 'commit' THEN INSERT INTO public.at_commit VALUES (1); END IF;
  RETURN true;
END $$;
CREATE FUNCTION index_fault(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
  $$ BEGIN PERFORM public.fault('index'); RETURN false; END $$;
ALTER TABLE ql3.dispatches ADD CONSTRAINT fault CHECK (check_fault(tableoid));
CREATE INDEX fault ON ql3.dispatches (permitted_at) WHERE index_fault(state);
DO $$
DECLARE
  one record;
BEGIN
  FOR one IN SELECT indexrelid::regclass AS name, pg_get_indexdef(indexrelid) AS made FROM pg_index
             WHERE indrelid = 'ql3.dispatches'::regclass AND NOT indisunique AND indexrelid <> 'ql3.fault'::regclass LOOP
    EXECUTE format('DROP INDEX %s', one.name);
    EXECUTE one.made;
  END LOOP;
END $$;
"""
# A table with a trigger is written by statements; any other below the executor.
PATHS = {
    "below": "DROP TRIGGER IF EXISTS nothing ON ql3.dispatches",
    "statements": "CREATE TRIGGER nothing BEFORE INSERT OR UPDATE ON ql3.dispatches FOR EACH ROW EXECUTE FUNCTION"
                  " trigger_fault('nowhere')",
}


class World:
    """One control database with ql3, two supervisors without end, and a watcher of what is open."""

    def __init__(self, directory, seed):
        self.server = Server(os.path.join(directory, "control"), wal_writer_delay="10000ms",
                             bgwriter_delay="10000ms", checkpoint_timeout="1h", max_connections=400,
                             autovacuum="off")
        setup = self.server.connect()
        setup.query("CREATE EXTENSION ql3; " + INJECT)
        setup.cut()
        self.calls = os.path.join(directory, "calls")
        # Calls that an earlier run of the same seed left here are not ours.
        shutil.rmtree(self.calls, ignore_errors=True)
        os.makedirs(self.calls)
        self.sync, self.path = "on", ""
        self.injected = collections.Counter()   # (path, message) of each error that we put there
        self.ending = threading.Event()
        self.judges = {}           # request -> how its attempts are judged
        self.open = set()
        self.look = 0
        self.looked = threading.Condition()
        self.errors = []
        self.threads = [threading.Thread(target=self.keep, args=(part, seed + n), daemon=True)
                        for n, part in enumerate((self.recover, self.recover, self.watch))]
        for thread in self.threads:
            thread.start()

    def write_by(self, path):
        """How attempts are written from now on."""
        if path != self.path:
            self.server.query(PATHS[path])
            self.path = path

    def stop(self):
        self.ending.set()
        for thread in self.threads:
            thread.join(30)
        self.server.stop()

    def connect(self, sync=None):
        return self.server.connect(synchronous_commit=sync or self.sync)

    def keep(self, part, seed):
        """Runs a part for ever, over a fresh connection after every failure."""
        draw = random.Random(seed)
        while not self.ending.is_set():
            connection = None
            try:
                connection = self.connect()
                part(connection, draw)
            except Lost:
                self.ending.wait(0.05)
            except ServerError as error:
                if error.sqlstate not in ("40001", "40P01", "55P03"):
                    self.errors.append(f"{part.__name__}: {error}")
            finally:
                if connection is not None:
                    connection.cut()

    # --- recovery -------------------------------------------------------------------------------

    def recover(self, connection, draw):
        """Judges what outlived its writer, as a supervisor does; sometimes long after the look."""
        owner = f"supervisor-{draw.randrange(1 << 30)}"
        sync = self.sync
        while not self.ending.is_set() and sync == self.sync:
            token = str(uuid.uuid4())
            page = connection.query(call("ql3_claim", owner, 16, "10 s", token, "{dispatch}"))
            for row in page.rows:
                if draw.random() < 0.1:
                    time.sleep(draw.random() * 0.3)
                self.judge(connection, owner, token, row)
            if not page.rows:
                self.ending.wait(0.1)

    def judge(self, connection, owner, token, row):
        kind, attempt, request, version, source = row[0], row[1], row[2], row[9], row[13]
        how = self.judges.get(request, "unknown")
        permitted = '"permitted": true' in source
        own = '"own_lineage": true' in source
        if (own and not permitted) or how == "not_sent":
            verdict = "not_sent"
            # Even where it is a lie it must do no harm: only the first time, so that all ends.
            self.judges[request] = "unknown"
        elif how == "true" and os.path.exists(os.path.join(self.calls, request)):
            verdict = "succeeded"
        elif how == "retry":
            self.judges[request] = "unknown"
            connection.query(call("ql3_settle", kind, attempt, owner, token, version, "retry", "100 ms"))
            return
        else:
            verdict = "unknown"
        connection.query(call("ql3_conclude", kind, attempt, owner, token, version, verdict, "{}"))

    # --- what is still open ---------------------------------------------------------------------

    def watch(self, connection, _draw):
        while not self.ending.is_set():
            found = connection.query("SELECT DISTINCT request_uid FROM ql3.dispatches WHERE state = 'claimed'")
            with self.looked:
                self.open = {row[0] for row in found.rows}
                self.look += 1
                self.looked.notify_all()
            self.ending.wait(0.1)

    def wait_closed(self, request, limit=120):
        """Until no attempt of the request is open. False when that does not come."""
        end = time.monotonic() + limit
        with self.looked:
            first = self.look + 1
            while self.look <= first or request in self.open:
                if not self.looked.wait(end - time.monotonic()) and time.monotonic() > end:
                    return False
        return True
