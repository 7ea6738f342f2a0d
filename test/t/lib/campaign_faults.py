"""What befalls the world of the campaign, drawn from a seed. Every fault that lasts is ended by a timer, so that
nothing we ask of the server meanwhile can keep it from ending."""

import collections
import os
import random
import re
import signal
import subprocess
import tempfile
import threading
import time

# How often each is drawn, beside once each in the beginning.
WEIGHTS = {"kill_client": 22, "stop_client": 14, "terminate": 16, "cancel": 6, "stop_backend": 8, "out_of_memory": 8,
           "kill_backend": 2, "crash": 2, "disk_full": 3, "step_server": 4, "step_clients": 4, "kill_pooler": 3}
STEPS = (0, 2, 5, 600, 21600, -21600)


class Faults:
    def __init__(self, world, seed, disk=True):
        self.world, self.random = world, random.Random(seed)
        self.did = collections.Counter()
        self.missing = []
        self.timers = []
        self.offset = self.highest = 0
        self.full_until = 0.0
        self.owner = os.stat(world.ask("SHOW data_directory")[0][0])
        self.place = self.small_disk() if disk else None
        if not world.clock_env:
            self.missing.append("step_server")
            self.missing.append("step_clients")
        self.first = [name for name in WEIGHTS if name not in self.missing]
        self.random.shuffle(self.first)

    # --- what needs a small file system -----------------------------------------------------------------

    def small_disk(self):
        """A file system of its own for the tables that grow. It takes root and mount."""
        place = tempfile.mkdtemp(prefix="ql3.")
        os.chmod(place, 0o755)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m,mode=0777", "ql3", place], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode != 0:
            os.rmdir(place)
            self.missing.append("disk_full")
            return None
        space = os.path.join(place, "space")
        os.mkdir(space)
        os.chown(space, self.owner.st_uid, self.owner.st_gid)
        self.world.ask(f"CREATE TABLESPACE small LOCATION '{space}'")
        for table in ("judgements", "run_recovery_controls", "recovery_pages", "dispatches"):
            self.world.ask(f"ALTER TABLE ql3.{table} SET TABLESPACE small")
        return place

    def remove_small_disk(self):
        """When the server has ended."""
        if self.place:
            subprocess.run(["umount", "-l", self.place], check=False)
            os.rmdir(self.place)

    def disk_full(self):
        filler = os.path.join(self.place, f"filler.{time.monotonic()}")
        block = b"x" * (1 << 16)
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(block)
            except OSError:
                pass
        lasts = 0.5 + 1.5 * self.random.random()
        self.full_until = time.monotonic() + lasts
        self.after(lasts, lambda: os.unlink(filler))
        return True

    # --- clients ----------------------------------------------------------------------------------------

    def client(self):
        """Of each sort as often."""
        sort = self.random.choice(sorted({name[:3] for name in self.world.clients}))
        return self.random.choice([one for name, one in self.world.clients.items() if name.startswith(sort)])

    def kill_client(self):
        self.client().signal(signal.SIGKILL)
        return True

    def stop_client(self):
        """Longer than some leases, so that it comes back overtaken."""
        client = self.client()
        client.signal(signal.SIGSTOP)
        self.after(0.2 + 5 * self.random.random() ** 2, lambda: client.signal(signal.SIGCONT))
        return True

    def step_clients(self):
        for name in self.world.leases:
            if name != "sup-1":
                self.world.clock(name, self.random.choice((0, 600, -600, 86400)))
        return True

    def kill_pooler(self):
        with self.world.forking:
            self.world.kill_pooler()
            self.world.pool.start()
        return True

    # --- backends ---------------------------------------------------------------------------------------

    def backends(self):
        return [pid for pid, in self.world.ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
                                               " AND usename = 'worker' ORDER BY pid")]

    def to_backend(self, act):
        pids = self.backends()
        try:
            return bool(pids) and act(self.random.choice(pids)) is not False
        except ProcessLookupError:
            return False

    def terminate(self):
        return self.to_backend(lambda pid: self.world.ask("SELECT pg_terminate_backend(%s)", pid)[0][0])

    def cancel(self):
        return self.to_backend(lambda pid: self.world.ask("SELECT pg_cancel_backend(%s)", pid)[0][0])

    def stop_backend(self):
        def act(pid):
            os.kill(pid, signal.SIGSTOP)
            self.after(0.1 + 2 * self.random.random() ** 2, lambda: resume(pid))
        return self.to_backend(act)

    def kill_backend(self):
        """The server takes all backends down and recovers."""
        return self.to_backend(lambda pid: os.kill(pid, signal.SIGKILL)) if self.may_crash() else False

    def out_of_memory(self):
        """No backend that is there may have one page more for a while: what it asks for beyond is refused."""
        done = [pid for pid in self.backends() if self.limit_memory(pid, self.data_of(pid))]
        for pid in done:
            self.after(1 + 2 * self.random.random(), lambda pid=pid: self.limit_memory(pid, "unlimited"))
        return bool(done)

    @staticmethod
    def data_of(pid):
        """Its heap without its stack, which a limit of the whole address space would take away in mid-air."""
        try:
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                heap = re.search(r"VmData:\s+(\d+) kB", file.read())
                return int(heap.group(1)) * 1024 if heap else "unlimited"  # one that has just ended has none
        except (FileNotFoundError, ProcessLookupError):
            return "unlimited"

    def limit_memory(self, pid, size):
        """The soft limit, as the user of the backend: nobody else may without a capability."""
        owner = self.owner
        other = ["setpriv", "--reuid", str(owner.st_uid), "--regid", str(owner.st_gid), "--clear-groups", "--"]
        other = other if owner.st_uid != os.getuid() else []
        with self.world.forking:
            return subprocess.run([*other, "prlimit", "--pid", str(pid), f"--data={size}:"], check=False,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    # --- the server -------------------------------------------------------------------------------------

    def may_crash(self):
        """Recovery needs room: a server that crashed on a full disk stays down until there is some."""
        return time.monotonic() > self.full_until

    def crash(self):
        """The first, and every second, when nobody but the writers of dispatch has committed for a second: nobody
        else's commit has flushed then what they were promised."""
        if not self.may_crash():
            return False
        others = [one for name, one in self.world.clients.items() if not name.startswith("wri")]
        if self.did["crash"] % 2 == 0:
            for client in others:
                client.signal(signal.SIGSTOP)
            time.sleep(1)
        self.world.restart()
        for client in others:
            client.signal(signal.SIGCONT)
        return True

    def step_server(self):
        self.offset = self.random.choice(STEPS)
        self.highest = max(self.highest, self.offset)
        self.world.step_server(self.offset)
        return True

    # --- all of it --------------------------------------------------------------------------------------

    def after(self, seconds, act):
        timer = threading.Timer(seconds, act)
        timer.daemon = True
        timer.start()
        self.timers = [each for each in self.timers if each.is_alive()] + [timer]

    def one(self):
        names = [name for name in WEIGHTS if name not in self.missing]
        name = self.first.pop() if self.first else self.random.choices(names, [WEIGHTS[n] for n in names])[0]
        if getattr(self, name)():
            self.did[name] += 1

    def pause(self):
        return 0.1 + 0.5 * self.random.random()

    def heal(self):
        """Everything that lasts is over; the server's clock is right again, and not behind what it has written."""
        for timer in self.timers:
            timer.join()
        if self.world.clock_env:
            self.world.step_server(self.highest)
        self.world.proxy.send_signal(signal.SIGUSR1)


def resume(pid):
    try:
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass
