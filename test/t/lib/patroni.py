"""Three PostgreSQL nodes run by Patroni on one etcd, on loopback, and their accidents."""

import base64
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.request

import psycopg2

from program import until

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
CALLBACK = os.environ.get("QL3_HA_CALLBACK", os.path.join(ROOT, "examples/patroni/ql3-patroni-confirm"))
PROGRAMS = ("/usr/bin/patroni", "/usr/bin/etcd", "/usr/bin/etcdctl")
PREFIX = "/service/ql3"

# Short times: what is tested is the order of events, not their distance.
SETTINGS = {"ttl": 8, "loop_wait": 1, "retry_timeout": 3, "master_start_timeout": 0, "maximum_lag_on_failover": 1 << 30,
            "synchronous_mode": True, "synchronous_mode_strict": True,
            "postgresql": {"use_pg_rewind": True, "remove_data_directory_on_rewind_failure": True,
                           "remove_data_directory_on_diverged_timelines": True,
                           "parameters": {"fsync": "on", "shared_buffers": "32MB", "max_connections": 60,
                                          "max_wal_senders": 8, "wal_keep_size": "256MB", "autovacuum": "off",
                                          "wal_receiver_timeout": "5s", "wal_sender_timeout": "5s",
                                          "wal_retrieve_retry_interval": "200ms",
                                          "log_line_prefix": "%m [%p] %q%u "}}}


def missing():
    return [program for program in PROGRAMS if not os.access(program, os.X_OK)]


def free_ports(count):
    """All held at once, so that they differ."""
    held = [socket.socket() for _ in range(count)]
    try:
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()


class Place:
    """A directory and a copy of the server that the user of the servers can reach; never root's own."""

    def __init__(self, name):
        self.user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
        self.dir = tempfile.mkdtemp(prefix=f"ql3.{name}.", dir="/tmp")
        os.chmod(self.dir, 0o755)
        root = os.environ.get("QL3_PGROOT", os.path.join(ROOT, "build/pgroot"))
        self.pgroot = root
        if subprocess.run(self.as_user("test", "-x", f"{root}/bin/postgres"), check=False).returncode != 0:
            self.pgroot = f"{self.dir}/pgroot"
            if subprocess.run(["cp", "-al", root, self.pgroot], check=False, stderr=subprocess.DEVNULL).returncode:
                shutil.rmtree(self.pgroot, ignore_errors=True)
                subprocess.run(["cp", "-a", root, self.pgroot], check=True)
        self.own(self.dir)
        # The user of the servers may not reach the clone.
        self.script = shutil.copy(CALLBACK, f"{self.dir}/ql3-patroni-confirm")
        os.chmod(self.script, 0o755)

    def as_user(self, *command):
        return ["setpriv", f"--reuid={self.user}", f"--regid={pwd.getpwnam(self.user).pw_gid}", "--init-groups", *command] \
            if os.getuid() == 0 else list(command)

    def own(self, path):
        if os.getuid() == 0:
            owner = pwd.getpwnam(self.user)
            os.chown(path, owner.pw_uid, owner.pw_gid)

    def write(self, name, text, mode=0o644):
        path = f"{self.dir}/{name}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        self.own(path)
        return path

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def start(self, log, *command, **environment):
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "PATRONI", "ETCD"))}
        with open(f"{self.dir}/{log}", "ab") as out:
            return subprocess.Popen(self.as_user(*command), stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd="/",
                                    start_new_session=True,
                                    env={**variables, "HOME": self.dir, "PATH": f"{self.pgroot}/bin:/usr/bin:/bin", **environment})


class Etcd:
    """One etcd on loopback, under the same names whatever becomes of its data."""

    def __init__(self, place):
        client, self.peer = free_ports(2)
        self.place, self.endpoint, self.process = place, f"127.0.0.1:{client}", None
        self.start("etcd")

    def names(self):
        peer = f"http://127.0.0.1:{self.peer}"
        return ["--name", "one", "--initial-cluster", f"one={peer}", "--initial-advertise-peer-urls", peer]

    def start(self, data):
        """With what is in this folder, or from the beginning."""
        self.process = self.place.start(
            "etcd.log", "/usr/bin/etcd", *self.names(), "--data-dir", f"{self.place.dir}/{data}", "--unsafe-no-fsync",
            "--listen-client-urls", f"http://{self.endpoint}", "--advertise-client-urls", f"http://{self.endpoint}",
            "--listen-peer-urls", f"http://127.0.0.1:{self.peer}", "--logger", "zap", "--log-level", "warn")
        until(lambda: self.ctl("endpoint", "health") is not None, "etcd", 30)

    def end(self):
        self.process.kill()
        self.process.wait()

    def ctl(self, *words):
        ran = subprocess.run(["/usr/bin/etcdctl", *words], env={**os.environ, "ETCDCTL_API": "3", "ETCDCTL_ENDPOINTS": self.endpoint},
                             check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return ran.stdout if ran.returncode == 0 else None

    def script(self, name, prefix, dsn, word):
        """The shipped script by hand: (exit status, what it said)."""
        ran = subprocess.run(self.place.as_user(self.place.script, "--name", name, "--prefix", prefix, "--wait", "30", "--dsn", dsn, word),
                             env={**os.environ, "ETCDCTL_ENDPOINTS": self.endpoint}, check=False, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/")
        return ran.returncode, ran.stdout.strip()


class Node:
    """One Patroni with its server."""

    def __init__(self, cluster, name, port, api):
        self.cluster, self.name, self.port, self.api, self.process = cluster, name, port, api, None
        self.data = f"{cluster.place.dir}/{name}"
        callback = f"{cluster.place.script} --name {name} --prefix {PREFIX} --wait 30 --dsn " \
                   f"\"host=127.0.0.1 port={port} user=postgres dbname=postgres connect_timeout=3\""
        self.file = cluster.place.write(f"{name}.yml", json.dumps({
            "scope": "ql3", "namespace": "/service/", "name": name,
            "restapi": {"listen": f"127.0.0.1:{api}", "connect_address": f"127.0.0.1:{api}"},
            "etcd3": {"host": cluster.endpoint},
            "bootstrap": {"dcs": SETTINGS, "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "no-sync"],
                          "pg_hba": ["local all all trust", "host all all 127.0.0.1/32 trust",
                                     "host replication all 127.0.0.1/32 trust"]},
            "postgresql": {"listen": f"127.0.0.1:{port}", "connect_address": f"127.0.0.1:{port}", "data_dir": self.data,
                           "bin_dir": f"{cluster.place.pgroot}/bin", "basebackup": [{"checkpoint": "fast"}], "pgpass": f"{self.data}.pgpass",
                           "authentication": {"superuser": {"username": "postgres", "password": "p"},
                                              "replication": {"username": "replicator", "password": "p"}},
                           "parameters": {"unix_socket_directories": cluster.place.dir},
                           "callbacks": {"on_role_change": callback, "on_start": callback}},
            "watchdog": {"mode": "off"}}, indent=1))

    def start(self):
        self.process = self.cluster.place.start(f"{self.name}.log", "/usr/bin/python3", "/usr/bin/patroni", self.file,
                                                ETCDCTL_ENDPOINTS=self.cluster.endpoint)

    def postmaster(self):
        try:
            with open(f"{self.data}/postmaster.pid", encoding="ascii") as file:
                return int(file.readline())
        except (OSError, ValueError):
            return None

    def backends(self, title=""):
        """The processes of the server whose title begins so."""
        postmaster, found = self.postmaster(), []
        out = subprocess.run(["ps", "--ppid", str(postmaster or 0), "-o", "pid=,args="], check=False,
                             stdout=subprocess.PIPE, text=True).stdout
        for line in out.splitlines():
            pid, _, args = line.strip().partition(" ")
            if title in args:
                found.append(int(pid))
        return found

    def kill_server(self):
        """The postmaster dies as by a crash; its backends follow it."""
        pid = self.postmaster()
        if pid:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def kill_manager(self):
        """Patroni dies and leaves its server running, alone and still writable."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def joined(self, since):
        """How it came back, as its Patroni has told since that place of its log."""
        with open(f"{self.cluster.place.dir}/{self.name}.log", "rb") as file:
            file.seek(since)
            said = file.read()
        if b"replica has been created" in said:
            return "rebuilt"
        return "rewound" if b"running pg_rewind from" in said else "followed"

    def told(self):
        """How long the log of its Patroni is."""
        return os.path.getsize(f"{self.cluster.place.dir}/{self.name}.log")

    def kill(self):
        """The whole machine is gone, with every process of it: one that was just being forked, too."""
        self.kill_manager()
        self.kill_server()

        def gone():
            left = self.processes()
            for each in left:
                try:
                    os.kill(each, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            return not left
        until(gone, f"the end of {self.name}")

    def processes(self):
        """All that live in the data directory, orphans included."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/cwd") == self.data:
                    found.append(int(pid))
            except OSError:
                pass
        return found

    def switchover(self):
        """A planned change: the primary is demoted in order, its synchronous standby promoted."""
        standby = json.loads(self.cluster.key("sync") or "{}").get("sync_standby") or ""
        request = urllib.request.Request(f"http://127.0.0.1:{self.api}/switchover", method="POST",
                                         data=json.dumps({"leader": self.name, "candidate": standby.split(",")[0]}).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60):
            pass

    def freeze(self, stop=True):
        """All of it stops at once, or goes on as if nothing had been."""
        number = signal.SIGSTOP if stop else signal.SIGCONT
        for pid in [self.process.pid, self.postmaster(), *self.processes()]:
            try:
                if pid:
                    os.kill(pid, number)
            except ProcessLookupError:
                pass

    def connect(self, user="postgres"):
        db = psycopg2.connect(host="127.0.0.1", port=self.port, user=user, dbname="postgres", connect_timeout=3)
        db.autocommit = True
        return db


class Cluster:
    def __init__(self, name, size=3):
        self.place = Place(name)
        ports = free_ports(2 * size)
        self.etcd = Etcd(self.place)
        self.endpoint = self.etcd.endpoint
        self.nodes = [Node(self, f"n{i + 1}", ports[2 * i], ports[2 * i + 1]) for i in range(size)]

    def start(self):
        for node in self.nodes:
            node.start()
        self.settled()

    def key(self, name):
        found = json.loads(self.etcd.ctl("get", f"{PREFIX}/{name}", "-w", "json") or "{}").get("kvs")
        return base64.b64decode(found[0]["value"]).decode() if found else None

    def leader(self):
        name = self.key("leader")
        return next((n for n in self.nodes if n.name == name), None)

    def primary(self, other_than=None):
        """The node that leads and takes writes, or None."""
        node = self.leader()
        if node is None or node is other_than:
            return None
        try:
            db = node.connect()
            with db.cursor() as cursor:
                cursor.execute("SELECT pg_is_in_recovery()")
                standby = cursor.fetchall()[0][0]
            db.close()
            return None if standby else node
        except psycopg2.Error:
            return None

    def settled(self, limit=120):
        """One primary, and everybody else streams from it; in synchronous mode with a standby that counts."""
        def ready():
            node = self.primary()
            if node is None:
                return None
            try:
                db = node.connect()
                with db.cursor() as cursor:
                    cursor.execute("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")
                    streaming = cursor.fetchall()[0][0]
                db.close()
            except psycopg2.Error:
                return None
            if streaming < len(self.nodes) - 1:
                return None
            if json.loads(self.key("config")).get("synchronous_mode") and not json.loads(self.key("sync") or "{}").get("sync_standby"):
                return None
            return node
        return until(ready, "one primary and its standbys", limit)

    def configure(self, **settings):
        """Changes the settings of the whole cluster, as patronictl edit-config does, and waits until they count."""
        node = self.leader()
        request = urllib.request.Request(f"http://127.0.0.1:{node.api}/config", method="PATCH",
                                         data=json.dumps(settings).encode(), headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=5):
            pass

    def dsn(self, user="postgres"):
        return f"host={','.join(['127.0.0.1'] * len(self.nodes))} port={','.join(str(n.port) for n in self.nodes)} " \
               f"user={user} dbname=postgres connect_timeout=2"

    def callback(self, node, word, prefix=PREFIX):
        return self.etcd.script(node.name, prefix, f"host=127.0.0.1 port={node.port} user=postgres dbname=postgres", word)

    def stop(self):
        for node in self.nodes:
            if node.process:
                node.freeze(False)
                node.kill()
        self.etcd.end()
        self.place.remove()
