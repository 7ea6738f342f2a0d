"""Where the bench works: databases of its own, each made for one scene and dropped after it, on a throw-away
server or on the server that the user named. Nothing outside them is written."""
import contextlib
import os
import re
import shutil
import subprocess

import psycopg2
import psycopg2.extensions

HERE = os.path.dirname(os.path.abspath(__file__))
THROWAWAY = os.environ.get("QL3_THROWAWAY", os.path.join(HERE, "../server/throwaway"))
# No checkpoint falls into one side of a comparison, and each flush is timed; everything else is the default, fsync above all.
SETTINGS = ("fsync=on", "shared_buffers=512MB", "max_wal_size=16GB", "checkpoint_timeout=1h", "track_io_timing=off",
            "track_wal_io_timing=on")


class Unusable(Exception):
    """The server cannot be measured on; `status` is the exit status that says why."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Session:
    """One connection in autocommit."""

    def __init__(self, address, database, **options):
        settings = " ".join(f"-c {name}={value}" for name, value in options.items())
        self.connection = psycopg2.connect(**{**address, "dbname": database, "application_name": "ql3 bench",
                                              "options": settings})
        self.connection.autocommit = True

    def run(self, statement, *values):
        """Runs one statement; its rows, or None."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else None

    def value(self, statement, *values):
        return self.run(statement, *values)[0][0]

    @property
    def process(self):
        return self.connection.info.backend_pid

    def close(self):
        self.connection.close()


class Server:
    """A server that the bench may make databases on. `address` holds libpq's parameters, without dbname."""

    def __init__(self, address, maintenance="postgres"):
        self.address, self.maintenance = address, maintenance

    @contextlib.contextmanager
    def database(self, name):
        """A database of the bench with ql3 in it, dropped at the end of the block."""
        name = f"ql3_bench_{os.getpid()}_{name.lower()}"
        admin = self.admin()
        try:
            admin.run(f'CREATE DATABASE "{name}"')
            database = Database(self, name)
            try:
                database.admin.run("CREATE EXTENSION ql3")
                database.admin.run("CREATE SCHEMA bench")
                yield database
            finally:
                database.close()
                admin.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", name)
                admin.run(f'DROP DATABASE IF EXISTS "{name}"')
        finally:
            admin.close()

    def admin(self):
        """A session that may make databases with ql3 in them."""
        try:
            session = Session(self.address, self.maintenance)
        except psycopg2.OperationalError as error:
            raise Unusable(4, f"the server cannot be reached: {error}".strip()) from None
        if not session.value("SELECT rolsuper FROM pg_roles WHERE rolname = current_user"):
            raise Unusable(3, "the role must be a superuser: it creates databases and the extension ql3 in them")
        if not session.value("SELECT count(*) FROM pg_available_extensions WHERE name = 'ql3'"):
            raise Unusable(3, "the extension ql3 is not installed on this server")
        if not shutil.which("pgbench"):
            raise Unusable(3, "there is no pgbench: it comes with the server's package")
        return session

    def about(self):
        """What the figures depend on: the server's version and the settings that matter. No name of a machine."""
        names = ("fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size",
                 "checkpoint_timeout", "autovacuum", "jit", "wal_level")
        with contextlib.closing(self.admin()) as session:
            settings = {name: session.value("SELECT current_setting(%s)", name) for name in names}
            return {"ql3": session.value("SELECT default_version FROM pg_available_extensions WHERE name = 'ql3'"),
                    "server": session.value("SELECT current_setting('server_version')"), "settings": settings}


class Database:
    """A database of the bench. `admin` is a session that prepares and looks; what is measured gets its own."""

    def __init__(self, server, name):
        self.server, self.name = server, name
        self.sessions = []
        self.admin = self.session()

    def session(self, **options):
        self.sessions.append(Session(self.server.address, self.name, **options))
        return self.sessions[-1]

    def conninfo(self):
        return psycopg2.extensions.make_dsn(**{**self.server.address, "dbname": self.name})

    def close(self):
        for session in self.sessions:
            session.close()

    def is_local(self):
        """Whether its processes are to be seen from here."""
        return self.admin.value("SELECT inet_client_addr() IS NULL")

    def has_extension(self, name):
        """Whether the server has files of an extension."""
        return self.admin.value("SELECT count(*) FROM pg_available_extensions WHERE name = %s", name) > 0


@contextlib.contextmanager
def throwaway(place, settings=()):
    """A server of our own under `place`, ended and removed at the end of the block."""
    directory = os.path.join(place, "server")
    said = subprocess.run([THROWAWAY, "start", directory, *SETTINGS, *settings], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    try:
        words = dict(re.findall(r"(PG[A-Z]+)=(\S+)", said))
        os.environ["PATH"] = words["PGBIN"] + os.pathsep + os.environ["PATH"]
        yield Server({"host": words["PGHOST"], "port": words["PGPORT"], "user": words["PGUSER"]})
    finally:
        subprocess.run([THROWAWAY, "stop", directory], check=False)


def named(dsn):
    """The server behind a conninfo string or URI. What it leaves out comes from libpq's environment."""
    address = psycopg2.extensions.parse_dsn(dsn)
    maintenance = address.pop("dbname", "postgres")
    return Server(address, maintenance)
