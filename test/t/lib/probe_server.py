"""An HTTP or HTTPS server on the loopback that answers a probe's requests with bytes it is told, so
that it can break the protocol at any place."""

import json
import os
import socket
import ssl
import subprocess
import threading


def response(body, status="200 OK", *headers):
    if isinstance(body, str):
        body = body.encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Content-Type: application/json",
             *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def verdict(word="not_running", **more):
    return json.dumps({"verdict": word, **more})


class Request:
    """What came: the head's lines as they were, and the candidate."""

    def __init__(self, head, body):
        lines = head.decode("latin-1").split("\r\n")
        self.line = lines[0]
        self.headers = {name.lower(): value.strip()
                        for name, _, value in (line.partition(":") for line in lines[1:])}
        self.candidate = json.loads(body) if body else {}
        self.id = self.candidate.get("id")


class ProbeServer:
    """`answers` maps a target's id to bytes, or to a function that is given the connection and the
    request; every other target is not_running."""

    def __init__(self, certificate=None, address="127.0.0.1"):
        self.answers = {}
        self.requests = []
        self.connections = 0
        self.failed_handshakes = 0
        self.stopping = threading.Event()
        self.context = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(f"{certificate}.pem", f"{certificate}.key")
        self.listener = socket.create_server((address, 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self, host="127.0.0.1", userinfo="", path="/probe"):
        return f"http{'s' if self.context else ''}://{userinfo}{host}:{self.port}{path}"

    def close(self):
        self.stopping.set()
        # Without it the socket would listen on until somebody connects.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            connection.settimeout(60)
            if self.context:
                try:
                    connection = self.context.wrap_socket(connection, server_side=True)
                except (ssl.SSLError, OSError):
                    self.failed_handshakes += 1
                    return
            request = self.read(connection)
            if request is None:
                return
            self.requests.append(request)
            answer = self.answers.get(request.id, response(verdict()))
            if callable(answer):
                answer(connection, request)
            else:
                connection.sendall(answer)
        except OSError:
            pass
        finally:
            connection.close()

    @staticmethod
    def read(connection):
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return None
            data += more
            if data[0] == 0x16:
                connection.sendall(response("", "400 TLS is not spoken here"))
                return None
        head, _, body = data.partition(b"\r\n\r\n")
        length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n")
                       if line.lower().startswith(b"content-length:")), 0)
        parts, have = [body], len(body)
        while have < length:
            more = connection.recv(1 << 20)
            if not more:
                return None
            parts.append(more)
            have += len(more)
        return Request(head, b"".join(parts))

    def asked(self, target):
        return [request for request in self.requests if request.id == target]


def until_closed(connection):
    """Until the other side closes; whatever it sends is thrown away."""
    try:
        while connection.recv(65536):
            pass
    except OSError:
        pass


def make_certificate(path, name):
    """PATH.pem and PATH.key for one host, signed by itself."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=probe", "-addext", f"subjectAltName={name}",
         "-keyout", f"{path}.key", "-out", f"{path}.pem"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "OPENSSL_CONF": "/dev/null"})
    return path
