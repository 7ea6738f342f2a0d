"""PgBouncer in transaction mode in front of a throw-away server, as the user the server runs as, because it refuses root."""

import os
import shutil
import subprocess
import time

import psycopg2


class Pooler:
    """`sessions` connections to the server as `user`, each transaction on the next of them; databases by their own names. With
    `tcp` it listens on that port of the loopback interface too, for drivers that know no Unix sockets. The database `async` is
    postgres with synchronous_commit off: a pooler hands no options of its clients on."""

    def __init__(self, host, port, place, owner, sessions=3, tcp=None, user="postgres"):
        server, port = port, tcp or port
        self.host, self.port, self.sessions, self.user, self.process = place, port, sessions, user, None
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        ini = f"""
[databases]
async = user={user} host={host} port={server} dbname=postgres connect_query='SET synchronous_commit = off'
* = user={user} host={host} port={server}
[pgbouncer]
listen_addr = {"127.0.0.1" if tcp else ""}
listen_port = {port}
unix_socket_dir = {place}
logfile = {place}/log
auth_type = any
admin_users = postgres
pool_mode = transaction
server_round_robin = 1
default_pool_size = {sessions}
max_client_conn = 200
server_login_retry = 1
ignore_startup_parameters = extra_float_digits,options
"""
        with open(f"{place}/pgbouncer.ini", "w", encoding="utf-8") as file:
            file.write(ini)
        self.command = ["/usr/sbin/pgbouncer", "-q", f"{place}/pgbouncer.ini"]
        if os.getuid() == 0:
            for name in ("", "pgbouncer.ini"):
                os.chown(f"{place}/{name}", owner, -1)
            self.command = ["setpriv", f"--reuid={owner}", "--clear-groups", *self.command]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        end = time.monotonic() + 60
        while not os.path.exists(f"{self.host}/.s.PGSQL.{self.port}"):
            if time.monotonic() > end or self.process.poll() is not None:
                raise TimeoutError("the pooler did not start")
            time.sleep(0.02)

    def connect(self, database="postgres"):
        return psycopg2.connect(host=self.host, port=self.port, user=self.user, dbname=database)

    def open(self, database):
        """All sessions of a database at once; from then on its transactions go round them."""
        clients = [self.connect(database) for _ in range(self.sessions)]
        pids = set()
        for client in clients:
            with client.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                pids.add(cursor.fetchall()[0][0])
        for client in clients:
            client.rollback()
            client.close()
        return pids

    def transactions(self):
        """How many it has handed on since it was started."""
        db = psycopg2.connect(host=self.host, port=self.port, user="postgres", dbname="pgbouncer")
        db.autocommit = True
        with db.cursor() as cursor:
            cursor.execute("SHOW STATS")
            at = [column.name for column in cursor.description].index("total_xact_count")
            count = sum(row[at] for row in cursor.fetchall())
        db.close()
        return count

    def kill(self):
        """Its clients lose what they were told, the server its sessions."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        try:
            os.unlink(f"{self.host}/.s.PGSQL.{self.port}")
        except FileNotFoundError:
            pass

    def end(self):
        self.kill()
        shutil.rmtree(self.host, ignore_errors=True)
