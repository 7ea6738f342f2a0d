#!/usr/bin/python3 -B
"""A TCP proxy before a server of PostgreSQL's protocol that cuts, delays and replays:

    mischief_proxy.py SOCKET SEED      prints the port it listens on at 127.0.0.1

For each batch of messages that a client ends with Query or Sync it draws: hand on; hand on after up to 2 s; cut
before the server sees it; cut once it is sent, or in the middle of the answer. A call of ql3 outside a transaction
may besides come a second time, up to 5 s later, on a connection of its own (a delayed duplicate; with a cut before
it was sent, the only time it comes at all). SIGUSR1 turns all of that on and off; at SIGTERM it prints what it did,
as JSON."""

import asyncio
import json
import random
import signal
import struct
import sys

SSL, GSS, CANCEL = 80877103, 80877104, 80877102


class Proxy:
    def __init__(self, path, seed):
        self.path, self.random = path, random.Random(seed)
        self.evil = True
        self.did = dict.fromkeys(("connections", "batches", "delayed", "cut before", "cut after", "cut within", "replayed"), 0)
        self.tasks = set()

    async def serve(self, reader, writer):
        try:
            await self.session(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def session(self, reader, writer):
        while True:
            head = await reader.readexactly(8)
            size, code = struct.unpack("!ii", head)
            startup = head + await reader.readexactly(size - 8)
            if code not in (SSL, GSS):
                break
            writer.write(b"N")
        up_reader, up_writer = await asyncio.open_unix_connection(self.path)
        self.did["connections"] += 1
        up_writer.write(startup)
        state = {"idle": False, "cut": None}
        try:
            if code == CANCEL:
                await up_writer.drain()
                return
            down = asyncio.ensure_future(self.answers(up_reader, writer, state))
            up = asyncio.ensure_future(self.batches(reader, up_writer, state, startup))
            await asyncio.wait((down, up), return_when=asyncio.FIRST_COMPLETED)
            for task in (down, up):
                task.cancel()
            await asyncio.gather(down, up, return_exceptions=True)
        finally:
            up_writer.close()

    async def answers(self, reader, writer, state):
        """Whole messages, so that ReadyForQuery is seen; a cut within leaves half of the answer out."""
        while True:
            head = await reader.readexactly(5)
            body = await reader.readexactly(struct.unpack("!i", head[1:])[0] - 4)
            if state["cut"] == "after" or (state["cut"] == "within" and head[:1] in b"CZ"):
                return
            writer.write(head + body)
            await writer.drain()
            if head[:1] == b"Z":
                state["idle"] = body == b"I"

    async def batches(self, reader, writer, state, startup):
        batch = b""
        while True:
            head = await reader.readexactly(5)
            batch += head + await reader.readexactly(struct.unpack("!i", head[1:])[0] - 4)
            if head[:1] not in b"QSX":
                continue
            self.did["batches"] += 1
            if self.evil and not await self.mischief(batch, state, startup):
                return
            writer.write(batch)
            await writer.drain()
            batch = b""

    async def mischief(self, batch, state, startup):
        """False when the connection is to be cut before the server sees the batch."""
        draw = self.random.random()
        if state["idle"] and b"ql3_" in batch and self.random.random() < 0.04:
            self.later(startup, batch)
        if draw < 0.04:
            self.did["delayed"] += 1
            await asyncio.sleep(2 * self.random.random() ** 2)
        elif draw < 0.05:
            self.did["cut before"] += 1
            return False
        elif draw < 0.07:
            state["cut"] = "after" if draw < 0.06 else "within"
            self.did["cut " + state["cut"]] += 1
        return True

    def later(self, startup, batch):
        task = asyncio.ensure_future(self.replay(startup, batch, 5 * self.random.random() ** 2))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def replay(self, startup, batch, delay):
        await asyncio.sleep(delay)
        try:
            reader, writer = await asyncio.open_unix_connection(self.path)
            writer.write(startup)
            await self.until_ready(reader)
            writer.write(batch)
            await self.until_ready(reader)
            self.did["replayed"] += 1
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            pass

    @staticmethod
    async def until_ready(reader):
        while True:
            head = await reader.readexactly(5)
            await reader.readexactly(struct.unpack("!i", head[1:])[0] - 4)
            if head[:1] == b"Z":
                return


async def main(path, seed):
    proxy, ended = Proxy(path, int(seed)), asyncio.Event()
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    loop.add_signal_handler(signal.SIGUSR1, lambda: setattr(proxy, "evil", not proxy.evil))
    print(server.sockets[0].getsockname()[1], flush=True)
    await ended.wait()
    print(json.dumps(proxy.did), flush=True)


asyncio.run(main(*sys.argv[1:]))
