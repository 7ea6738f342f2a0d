"""PgQ, where the server has it (Debian's postgresql-15-pgq3): a queue of batches that rotates its tables.

It hands a whole batch to the one consumer of a subscription, in order. There is no claim of one item by one of several
replicas, no lease and no second try of one item alone, so only its pace can be compared: batches of 16 taken and
finished, and what an old snapshot does to it. Its ticker is called as a function; no daemon runs.
"""
import pgbench

EXTENSION = "pgq"

FILL = """
SELECT count(pgq.insert_event('lost', 'job', n::text)) FROM generate_series(1, :page) AS n;
SELECT pgq.ticker('lost');
"""

CONSUME = """
SELECT coalesce(pgq.next_batch('lost', 'judge'), 0) AS batch \\gset
\\if :batch > 0
SELECT count(*) AS n FROM pgq.get_batch_events(:batch) \\gset
SELECT pgq.finish_batch(:batch);
\\if :n < :page
INSERT INTO bench.pgq_short VALUES (:n);
\\endif
\\endif
"""


def make(db, batches, page):
    """A queue with one consumer and so many batches of `page` events."""
    db.admin.run("CREATE EXTENSION pgq")
    db.admin.run("CREATE TABLE bench.pgq_short (n integer)")
    db.admin.run("SELECT pgq.create_queue('lost')")
    for name, value in (("ticker_max_count", str(page)), ("ticker_max_lag", "1 hour"), ("ticker_idle_period", "1 hour")):
        db.admin.run("SELECT pgq.set_queue_config('lost', %s, %s)", name, value)
    db.admin.run("SELECT pgq.register_consumer('lost', 'judge')")
    db.admin.run("ALTER DATABASE \"" + db.name + "\" SET synchronous_commit = off")
    pgbench.run(db, FILL, transactions=batches, page=page)
    db.admin.run("ALTER DATABASE \"" + db.name + "\" RESET synchronous_commit")
