"""Statements sent by pgbench: a client in C with prepared statements, so that what is measured is the server."""
import dataclasses
import os
import re
import subprocess
import tempfile

CORES = os.cpu_count() or 1


@dataclasses.dataclass
class Load:
    """What a run did. `ticks` are the transactions per second of each interval of `progress` seconds."""
    transactions: int
    rate: float
    ticks: list

    @property
    def seconds(self):
        return self.transactions / self.rate


def command(database, script, clients, variables, length, progress):
    words = ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", str(min(clients, CORES)), "-f", script, *length]
    if progress:
        words += ["-P", str(progress)]
    for name, value in variables.items():
        words += ["-D", f"{name}={value}"]
    return words + [database.conninfo()]


class Running:
    """A pgbench at work in the background; `end()` waits for it. An error of a statement is an error of ours."""

    def __init__(self, database, text, clients=1, transactions=None, seconds=None, progress=None, **variables):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".sql", prefix="ql3_bench_")
        self.file.write(text)
        self.file.flush()
        length = ["-T", str(seconds)] if seconds else ["-t", str(transactions)]
        self.process = subprocess.Popen(command(database, self.file.name, clients, variables, length, progress),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self):
        try:
            out, errors = self.process.communicate()
        except BaseException:
            self.process.terminate()
            raise
        self.file.close()
        done = re.search(r"number of transactions actually processed: (\d+)", out)
        rate = re.search(r"tps = ([\d.]+)", out)
        aborted = re.search(r"aborted|ERROR|FATAL|error:", errors)
        if self.process.returncode or aborted or not done or not rate:
            raise RuntimeError(f"pgbench failed:\n{errors[-2000:]}\n{out[-500:]}")
        ticks = [float(tick) for tick in re.findall(r"progress: [\d.]+ s, ([\d.]+) tps", errors)]
        return Load(int(done[1]), float(rate[1]), ticks)


def run(database, text, **how):
    """Runs a script to its end. Give `transactions` (of each client) or `seconds`."""
    return Running(database, text, **how).end()


# One pass of a replica: a page is claimed, judged at once and settled. What went wrong is counted by the checks:
# a page with fewer targets than asked, a target that was not settled. Neither costs a statement otherwise.
CYCLE = """
SELECT count(*) AS n, (array_agg(token))[1] AS token, array_agg(kind) AS kinds, array_agg(id) AS ids,
       array_agg(version) AS versions
  FROM ql3.ql3_claim('replica-' || :client_id, :page, '5 min', NULL, ARRAY['{kind}']) \\gset
\\if :n < :page
INSERT INTO bench.short_pages VALUES (:client_id, :n);
\\endif
\\if :n > 0
{before}SELECT count(*) FILTER (WHERE result = 'settled') AS settled
  FROM ql3.ql3_settle_page('replica-' || :client_id, :token, :kinds, :ids, :versions,
         array_fill('{disposition}'::text, ARRAY[:n]::int[]){delays}) \\gset
\\if :settled <> :n
INSERT INTO bench.unsettled VALUES (:client_id, :n - :settled);
\\endif
{after}\\endif
"""


def cycle(kind, disposition="retry", delay=None, before="", after=""):
    """The script of CYCLE; `before` is sent between claim and settle and may use :ids, `after` behind the settle."""
    delays = "" if delay is None else f", array_fill('{delay}'::interval, ARRAY[:n]::int[])"
    return CYCLE.format(kind=kind, disposition=disposition, delays=delays, before=before, after=after)


def watch(database):
    """The tables that CYCLE counts in."""
    database.admin.run("CREATE TABLE bench.short_pages (client integer, n integer); "
                       "CREATE TABLE bench.unsettled (client integer, n integer)")


def short_pages(database):
    return database.admin.value("SELECT count(*) FROM bench.short_pages")


def unsettled(database):
    return database.admin.value("SELECT coalesce(sum(n), 0) FROM bench.unsettled")
