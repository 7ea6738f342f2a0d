"""What a server really committed, in the order of the commits: the changes of tables, decoded from its
write-ahead log (test_decoding), so that nothing has to be put into the tables to watch them."""

import datetime
import re

SLOT = "ql3_trace"
FIELD = re.compile(r" ([a-z_]+)\[(?:[^\[\]]|\[\])*\]:(?:'((?:[^']|'')*)'|([^ ]+))")
LINE = re.compile(r"table ([a-z0-9_]+)\.([a-z0-9_]+): (INSERT|UPDATE|DELETE):")
COMMIT = re.compile(r"COMMIT \d+ \(at ([^)]*)\)")
KEYS = {"run_recovery_controls": ("kind", "id"), "dispatches": ("attempt",)}


def moment(text):
    """Microseconds since 1970 of a timestamp as the server writes it; None for NULL."""
    if text is None:
        return None
    at = datetime.datetime.fromisoformat(text)
    return round((at - EPOCH) / datetime.timedelta(microseconds=1))


EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class Change:
    """`row` has every column as text or None; of a DELETE the key only."""

    def __init__(self, table, act, row):
        self.table, self.act, self.row = table, act, row

    def __repr__(self):
        return f"{self.act} {self.table} {self.row}"


class Transaction:
    def __init__(self):
        self.changes = []
        self.at = None      # of the commit, in microseconds

    def of(self, table, act=None):
        return [c for c in self.changes if c.table == table and act in (None, c.act)]


def columns(text):
    row = {}
    for name, quoted, bare in FIELD.findall(text):
        row[name] = bare if bare and bare != "null" else None if bare else quoted.replace("''", "'")
    return row


class Trace:
    """Reads on with each pull(). A crash may make the server repeat itself: what was had is left out."""

    def __init__(self, tables):
        self.tables = tables
        self.had = (0, 0)
        self.pending = None

    @staticmethod
    def start(ask):
        ask("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", SLOT)

    def pull(self, ask, most=20000):
        """The transactions committed since, or None when there is nothing more; `ask` runs a statement and gives its
        rows. An empty list says that the server repeated what was had, after a crash: there may be more behind it."""
        found = []
        rows = ask("SELECT lsn::text, data FROM pg_logical_slot_get_changes(%s, NULL, %s,"
                   " 'include-timestamp', '1', 'skip-empty-xacts', '1')", SLOT, most)
        if not rows:
            return None
        for lsn, data in rows:
            if data.startswith("BEGIN"):
                self.pending = Transaction()
            elif data.startswith("COMMIT"):
                place = tuple(int(part, 16) for part in lsn.split("/"))
                self.pending.at = moment(COMMIT.match(data).group(1))
                if place > self.had and self.pending.changes:
                    found.append(self.pending)
                self.had = max(self.had, place)
                self.pending = None
            else:
                line = LINE.match(data)
                if line and line.group(2) in self.tables:
                    self.pending.changes.append(
                        Change(line.group(2), line.group(3), columns(data[line.end():])))
        return found
