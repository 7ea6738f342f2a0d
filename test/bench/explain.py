"""What one statement cost, by the server's own count: time, buffers, WAL."""
import uuid

CLAIM = "SELECT * FROM ql3.ql3_claim('bench', %s, '5 min', NULL, %s)"


class Cost:
    """Milliseconds of execution without the commit, shared buffers touched, bytes of WAL, rows answered."""

    def __init__(self, answer):
        plan = answer["Plan"]
        self.milliseconds = answer["Execution Time"]
        self.buffers = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        self.wal = plan["WAL Bytes"]
        self.rows = plan["Actual Rows"]


def cost(session, statement, *values):
    """Runs a statement and tells its cost, with everything that its functions did."""
    return Cost(session.value("EXPLAIN (ANALYZE, BUFFERS, WAL, TIMING OFF, FORMAT JSON) " + statement, *values)[0])


def claim(session, kind, page=16):
    """The cost of one claim."""
    return cost(session, CLAIM, page, [kind])


def claimed(session, kind, page=16, token=None):
    """One claim without EXPLAIN: the ids of its page."""
    return [row[0] for row in session.run("SELECT id FROM ql3.ql3_claim('bench', %s, '5 min', %s, %s)", page,
                                          token or str(uuid.uuid4()), [kind])]
