"""Throw-away servers and their accidents: crash, standby, promotion."""

import os
import signal
import subprocess
import threading
import time

from wire import Connection, Lost, ServerError

HERE = os.path.dirname(os.path.abspath(__file__))
THROWAWAY = os.environ.get("QL3_THROWAWAY", os.path.join(HERE, "../../server/throwaway"))


class Server:
    """A server in DIRECTORY; with `primary` a streaming standby of that one. Settings by keyword."""

    def __init__(self, directory, primary=None, **settings):
        self.directory = directory
        what = ["start", directory] if primary is None else ["standby", directory, primary.directory]
        said = subprocess.run([THROWAWAY] + what + [f"{k}={v}" for k, v in settings.items()],
                              check=True, stdout=subprocess.PIPE, text=True).stdout
        words = dict(w.split("=", 1) for w in said.replace("export ", "").split())
        self.host, self.port, self.data = words["PGHOST"], words["PGPORT"], words["PGDATA"]
        self.lock = threading.Lock()
        self.crashes = 0

    def connect(self, **settings):
        return Connection(self.host, self.port, settings)

    def query(self, sql):
        """The rows of one statement over a connection of its own."""
        connection = self.connect()
        try:
            return connection.query(sql).rows
        finally:
            connection.cut()

    def postmaster(self):
        with open(f"{self.data}/postmaster.pid", encoding="ascii") as file:
            return int(file.readline())

    def kill(self):
        """What a power cut leaves: nothing that was not flushed by us, and no goodbye."""
        pid = self.postmaster()
        os.kill(pid, signal.SIGQUIT)
        until(lambda: not os.path.exists(f"{self.data}/postmaster.pid"), "the server to end")

    def crash(self):
        with self.lock:
            os.kill(self.postmaster(), signal.SIGQUIT)
            self.start()
            self.crashes += 1

    def start(self):
        subprocess.run([THROWAWAY, "restart", self.directory, "immediate"], check=True)

    def promote(self):
        self.query("SELECT pg_promote(true, 60)")
        until(lambda: self.query("SELECT pg_is_in_recovery()") == [("f",)], "the promotion")

    def stop(self):
        subprocess.run([THROWAWAY, "stop", self.directory], check=False)


def until(condition, what, limit=60):
    """Waits for a condition; the limit only ends a test that waits for what never comes."""
    end = time.monotonic() + limit
    while True:
        try:
            if condition():
                return
        except (Lost, ServerError):
            pass
        if time.monotonic() > end:
            raise TimeoutError(f"waited {limit} s for {what}")
        time.sleep(0.02)
