"""What a load costs in each interval: processor time of its sessions, and the disk's time to flush the log.

The pace of a long load goes up and down with the disk, which also has to write what the tables have grown by. The processor's time
for an item does not; so the two tell apart what became more work from what had to wait.
"""
import dataclasses
import os
import time

TICK = os.sysconf("SC_CLK_TCK")
SESSIONS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pgbench'"
FLUSHES = "SELECT wal_sync_time, wal_sync FROM pg_stat_wal"


@dataclasses.dataclass
class Strain:
    """Of one interval: processor time of all sessions in each second, and milliseconds for each flush; None = not to be seen."""
    processor: float
    flush: float


class Meter:
    def __init__(self, db):
        self.db, self.local = db, db.is_local()
        self.flushes = db.admin.value("SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass('pg_catalog.pg_stat_wal') "
                                      "AND attname = 'wal_sync_time'") > 0

    def read(self):
        spent = sum(map(processor, (row[0] for row in self.db.admin.run(SESSIONS)))) if self.local else None
        return spent, self.db.admin.run(FLUSHES)[0] if self.flushes else None


def processor(process):
    """Seconds that a process has used; 0 when it has ended."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / TICK


def between(before, after, interval):
    count = after[1] and after[1][1] - before[1][1]
    return Strain(None if after[0] is None else (after[0] - before[0]) / interval,
                  (after[1][0] - before[1][0]) / count if count else None)


def during(db, running, interval):
    """The strain of each whole interval of `running`, a pgbench that has just begun."""
    meter, started = Meter(db), time.monotonic()
    readings = [meter.read()]
    while running.process.poll() is None:
        time.sleep(min(0.05, interval))
        if time.monotonic() - started >= interval * len(readings):
            readings.append(meter.read())
    return [between(*pair, interval) for pair in zip(readings, readings[1:])]
