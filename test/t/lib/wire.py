"""A client of PostgreSQL's protocol that can be cut at any message: it sends one simple query, and
reads its answer, never, later or only in part. Unix sockets, no password."""

import select
import socket
import struct
import time


class Lost(Exception):
    """No answer: whether the statement was executed is not known."""


class ServerError(Exception):
    """The server said in so many words that it did nothing."""

    def __init__(self, sqlstate, message):
        super().__init__(f"{sqlstate} {message}")
        self.sqlstate = sqlstate
        self.message = message


class Answer:
    """Rows as tuples of text or None, the command's tag, and the SQLSTATEs of the warnings."""

    def __init__(self):
        self.rows = []
        self.tag = None
        self.warnings = []

    def value(self):
        return self.rows[0][0]


def literal(value):
    if value is None:
        return "NULL"
    return "'" + str(value).replace("'", "''") + "'"


def call(function, *arguments):
    """The text of SELECT * FROM ql3.FUNCTION(ARGUMENTS), untyped literals throughout."""
    return f"SELECT * FROM ql3.{function}({', '.join(literal(each) for each in arguments)})"


class Connection:
    """One connection. Every failure of the transport is Lost and leaves it closed."""

    def __init__(self, host, port, settings=None, limit=30.0, database="postgres"):
        self.limit = limit
        self.buffer = b""
        self.socket = None
        options = " ".join(f"-c {name}={value}" for name, value in (settings or {}).items())
        path = f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, int(port))
        family = socket.AF_UNIX if host.startswith("/") else socket.AF_INET
        pairs = ["user", "postgres", "database", database, "options", options]
        body = struct.pack("!i", 196608) + b"".join(p.encode() + b"\0" for p in pairs) + b"\0"
        try:
            self.socket = socket.socket(family, socket.SOCK_STREAM)
            self.socket.settimeout(limit)
            self.socket.connect(path)
            self.socket.sendall(struct.pack("!i", len(body) + 4) + body)
            self.read()
        except OSError as error:
            self.cut()
            raise Lost(str(error)) from error
        except BaseException:
            self.cut()
            raise

    def cut(self):
        if self.socket is not None:
            self.socket.close()
            self.socket = None

    def send(self, sql):
        self.send_bytes(frame(b"Q", sql.encode() + b"\0"))

    def send_bytes(self, data):
        if self.socket is None:
            raise Lost("closed")
        try:
            self.socket.sendall(data)
        except OSError as error:
            self.cut()
            raise Lost(str(error)) from error

    def message(self, until):
        while True:
            if len(self.buffer) >= 5:
                size = struct.unpack("!i", self.buffer[1:5])[0] + 1
                if len(self.buffer) >= size:
                    whole, self.buffer = self.buffer[:size], self.buffer[size:]
                    return whole[:1], whole[5:]
            if self.socket is None:
                raise Lost("closed")
            try:
                left = until - time.monotonic()
                if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                    raise Lost("no answer in time")
                got = self.socket.recv(65536)
            except OSError as error:
                self.cut()
                raise Lost(str(error)) from error
            if not got:
                self.cut()
                raise Lost("closed by the server")
            self.buffer += got

    def read(self, limit=None, stop_at=b"Z"):
        """The answer of the statement sent, whole: up to ReadyForQuery, or to `stop_at`."""
        answer, error = Answer(), None
        until = time.monotonic() + (self.limit if limit is None else limit)
        while True:
            kind, body = self.message(until)
            if kind == b"D":
                answer.rows.append(columns(body))
            elif kind == b"C":
                answer.tag = body[:-1].decode()
            elif kind == b"E":
                error = fields(body)
                if error["S"] in ("FATAL", "PANIC"):
                    self.cut()
                    raise Lost(f"{error['C']} {error['M']}")
            elif kind == b"N":
                said = fields(body)
                if said["S"] == "WARNING":
                    answer.warnings.append(said["C"])
            if kind == stop_at or (kind == b"Z"):
                if error:
                    raise ServerError(error["C"], error["M"])
                return answer

    def query(self, sql, limit=None):
        self.send(sql)
        return self.read(limit)


def frame(kind, body):
    return kind + struct.pack("!i", len(body) + 4) + body


def extended(sql):
    """Parse, Bind and Execute of a statement without parameters; the caller adds Sync or Flush."""
    return (frame(b"P", b"\0" + sql.encode() + b"\0" + struct.pack("!h", 0))
            + frame(b"B", b"\0\0" + struct.pack("!hhh", 0, 0, 0))
            + frame(b"E", b"\0" + struct.pack("!i", 0)))


SYNC = frame(b"S", b"")
FLUSH = frame(b"H", b"")


def columns(body):
    count, at, row = struct.unpack("!h", body[:2])[0], 2, []
    for _ in range(count):
        size = struct.unpack("!i", body[at:at + 4])[0]
        at += 4
        if size < 0:
            row.append(None)
        else:
            row.append(body[at:at + size].decode(errors="replace"))
            at += size
    return tuple(row)


def fields(body):
    """The fields of an error or notice; S is the severity that is never translated."""
    found = {}
    for part in body.split(b"\0"):
        if part:
            found[chr(part[0])] = part[1:].decode(errors="replace")
    found["S"] = found.get("V", found.get("S"))
    return found
