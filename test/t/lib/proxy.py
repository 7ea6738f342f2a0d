"""A proxy between client and server that does one thing to the next statement that calls a
function, or makes the whole way slow."""

import os
import re
import select
import socket
import threading
import time

READY = b"Z\x00\x00\x00\x05I"


def notice(sqlstate, message):
    """A WARNING on the wire."""
    body = b"".join(k + v.encode() + b"\0" for k, v in (
        (b"S", "WARNING"), (b"V", "WARNING"), (b"C", sqlstate), (b"M", message))) + b"\0"
    return b"N" + (len(body) + 4).to_bytes(4, "big") + body


def executes(message):
    """Whether it runs a statement: some drivers first prepare one, by a message of its own."""
    return message[:1] == b"Q" or b"E\0\0\0\x09\0\0\0\0\0" in message


class Proxy:
    """What it may do: `lose` lets the statement be answered and closes without the answer;
    `swallow` closes before the server sees it; `late` closes too, and the server gets it at
    deliver(); `warn` puts the warning of a cancelled wait for the standbys into the answer;
    `garble` spoils the first word of the answer; `rewind` makes long numbers in it zero; `first`
    calls a function of ours before the server gets it, `after` before the client gets the answer,
    and what that returns, if anything, is called when the client has its answer;
    `rollback` makes the statement end as ROLLBACK; `open` leaves its transaction open. `delay` is
    how many seconds every statement takes longer; while `deaf` is set nobody is let in. With `tcp`
    it listens on a port of the loopback interface, for drivers that know no Unix sockets."""

    def __init__(self, stage, tcp=False):
        self.server = f"{stage.host}/.s.PGSQL.{stage.port}"
        # Sockets have short names; the stage's own folder may be too deep.
        self.host, self.port = stage.host + ".proxy", stage.port
        self.path = None if tcp else f"{self.host}/.s.PGSQL.{stage.port}"
        if self.path:
            os.makedirs(self.host, exist_ok=True)
            if os.path.exists(self.path):
                os.unlink(self.path)
        self.orders, self.done, self.held = [], [], []
        self.delay, self.deaf = 0, False
        self.lock = threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX if self.path else socket.AF_INET)
        self.listener.bind(self.path or ("127.0.0.1", 0))
        if not self.path:
            self.host, self.port = self.listener.getsockname()
        self.listener.listen(50)
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.close()
        if self.path:
            os.unlink(self.path)
            os.rmdir(self.host)

    def order(self, what, function, act=None):
        """One statement per order; orders on one function are carried out in their order."""
        with self.lock:
            self.orders.append((what, function, act))

    def reset(self):
        with self.lock:
            self.orders, self.done, self.held = [], [], []
            self.delay, self.deaf = 0, False

    def take(self, data):
        with self.lock:
            for at, (what, function, act) in enumerate(self.orders):
                if function.encode() + b"(" in data:
                    del self.orders[at]
                    self.done.append((what, function))
                    return what, act
        return None, None

    def deliver(self):
        """The server gets what was held back, and has answered it when this returns."""
        for server, data in self.held:
            with server:
                server.sendall(data)
                answer = b""
                while not answer.endswith(READY):
                    more = server.recv(65536)
                    if not more:
                        break
                    answer += more
        count = len(self.held)
        self.held = []
        return count

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        while self.deaf:
            if select.select([client], [], [], 0.05)[0] and not client.recv(1, socket.MSG_PEEK):
                client.close()
                return
            time.sleep(0.05)
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self.server)
        except OSError:
            client.close()
            return
        if self.relay(client, server):
            client.close()
        else:
            client.close()
            server.close()

    def relay(self, client, server):
        """True when the server's side is kept for deliver()."""
        what, answer, then, prepared = None, b"", None, None
        while True:
            for ready in select.select([client, server], [], [])[0]:
                try:
                    data = ready.recv(65536)
                except ConnectionError:
                    data = b""
                if not data:
                    return False
                if ready is client:
                    if self.delay:
                        time.sleep(self.delay)
                    if what is None:
                        what, act = prepared or self.take(data)
                        prepared = None if not what or executes(data) else (what, act)
                        if prepared:
                            what = None
                        answer = b""
                        if what == "swallow":
                            return False
                        if what == "late":
                            self.held.append((server, data))
                            return True
                        if what == "first":
                            then, what = act(), None
                    try:
                        server.sendall(data)
                    except OSError:
                        return False
                    continue
                if what is not None:
                    # The whole answer: the statement is committed.
                    answer += data
                    if not answer.endswith(READY):
                        continue
                    if what == "lose":
                        return False
                    if what == "after":
                        data, then = answer, act()
                    elif what == "rollback":
                        data = re.sub(rb"C\0\0\0.SELECT [0-9]+\0", b"C\0\0\0\x0dROLLBACK\0", answer,
                                      flags=re.S)
                    elif what == "open":
                        data = answer[:-1] + b"T"
                    elif what == "warn":
                        data = answer[:-len(READY)] + notice(
                            "01000", "canceling wait for synchronous replication") + READY
                    elif what == "garble":
                        data = re.sub(rb"recorded", b"rec0rded", answer, count=1)
                    elif what == "rewind":
                        data = re.sub(rb"[0-9]{6,}", lambda n: b"0" * len(n.group()), answer)
                    what = None
                try:
                    client.sendall(data)
                except OSError:
                    return False
                if callable(then) and data.endswith(READY):
                    then()
                    then = None
