"""The server of a stage over TCP, behind a network that can go bad in every way a network can."""

import ctypes
import select
import socket
import struct
import threading

ATTACH_FILTER, DETACH_FILTER = 26, 27


class TcpProxy:
    """`black_hole()`: from now on no packet of the connections there are arrives, in silence.
    `deaf`: nor does one that asks for a new connection. `mute`: what comes is taken and acknowledged,
    and goes nowhere. `refuse`: connections are taken and closed at once."""

    def __init__(self, stage):
        self.server = f"{stage.host}/.s.PGSQL.{stage.port}"
        self.mute = self.refuse = False
        self.accepted, self.clients = 0, []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.close()

    @staticmethod
    def drop_all(sock, drop):
        """A filter of the kernel's own, before TCP: one instruction, which lets nothing pass."""
        if drop:
            code = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
            program = struct.pack("HL", 1, ctypes.addressof(code))
            sock.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, program)
        else:
            sock.setsockopt(socket.SOL_SOCKET, DETACH_FILTER, 0)

    @classmethod
    def can_filter(cls):
        """Some kernels keep filters for root."""
        with socket.socket() as sock:
            try:
                cls.drop_all(sock, True)
            except PermissionError:
                return False
        return True

    def black_hole(self):
        for client in self.clients:
            if client.fileno() >= 0:
                self.drop_all(client, True)

    def deaf(self, on):
        self.drop_all(self.listener, on)

    def cut(self):
        for client in self.clients:
            try:
                client.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            if self.refuse:
                client.close()
                continue
            self.clients.append(client)
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        server = socket.socket(socket.AF_UNIX)
        try:
            with client, server:
                server.connect(self.server)
                while True:
                    for ready in select.select([client, server], [], [])[0]:
                        data = ready.recv(65536)
                        if not data:
                            return
                        if not self.mute:
                            (server if ready is client else client).sendall(data)
        except OSError:
            pass
