"""PgBouncer in transaction mode in front of a throw-away server, as the user the server runs as, because it refuses root."""

import os
import shutil
import subprocess
import time

import psycopg2


class Pooler:
    """`sessions` connections to the server, each transaction on the next of them; databases by their own names. With `tcp` it
    listens on that port of the loopback interface too, for drivers that know no Unix sockets."""

    def __init__(self, host, port, place, owner, sessions=3, tcp=None):
        server, port = port, tcp or port
        self.host, self.port, self.sessions, self.process = place, port, sessions, None
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        files = {"userlist.txt": '"postgres" ""\n', "pgbouncer.ini": f"""
[databases]
* = user=postgres host={host} port={server}
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
ignore_startup_parameters = extra_float_digits,options
"""}
        for name, text in files.items():
            with open(f"{place}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        as_user = []
        if os.getuid() == 0:
            for name in ("", *files):
                os.chown(f"{place}/{name}", owner, -1)
            as_user = ["setpriv", f"--reuid={owner}", "--clear-groups"]
        self.process = subprocess.Popen([*as_user, "/usr/sbin/pgbouncer", "-q", f"{place}/pgbouncer.ini"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        end = time.monotonic() + 60
        while not os.path.exists(f"{place}/.s.PGSQL.{port}"):
            if time.monotonic() > end or self.process.poll() is not None:
                raise TimeoutError("the pooler did not start")
            time.sleep(0.02)

    def open(self, database):
        """All sessions of a database at once; from then on its transactions go round them."""
        clients = [psycopg2.connect(host=self.host, port=self.port, user="postgres", dbname=database) for _ in range(self.sessions)]
        pids = set()
        for client in clients:
            with client.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                pids.add(cursor.fetchall()[0][0])
        for client in clients:
            client.rollback()
            client.close()
        return pids

    def end(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.host, ignore_errors=True)
