"""HTTP: who may ask, until when, and what comes back.

GET   /api/compile  which compiler there is, and its limits
POST  /api/compile  a text to compile (questions.py): 200, 422 with the compiler's errors, or why there is no answer
GET   anything else a file of the book
"""

import contextlib
import io
import ipaddress
import json
import socket
import sys
import threading
import time
from collections.abc import Iterable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any
from urllib.parse import quote, urlsplit

from . import files
from .limits import Limits
from .pool import Pool
from .questions import Refused, read

API = "/api/compile"
PIECE = 64 << 10
GRACE, SLOWEST = 30.0, 20_000
"""Who takes an answer has so many seconds, and more for what is long: it has to read so many bytes a second."""
FULL = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\nRetry-After: 5\r\n\r\n"


class Server(ThreadingHTTPServer):
    """The book in `root`, where there is one, and a compile service."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(
        self, address: tuple[str, int], root: Path | None, limits: Limits, names: Iterable[str] = ()
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.root, self.limits, self.pool = root, limits, Pool(limits)
        own = socket.gethostname()
        self.names = {name.lower() for name in ("localhost", own, f"{own}.local", address[0], *names)}
        self._room = threading.BoundedSemaphore(limits.connections)
        super().__init__(address, Handler)

    def server_bind(self) -> None:
        """Without asking the network for this machine's name, as HTTPServer does."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False):
            request.settimeout(1)
            with contextlib.suppress(OSError):
                request.sendall(FULL)
            return self.shutdown_request(request)
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # the system gives no more threads
            self._room.release()
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away is no error; all else is ours."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        super().server_close()
        self.pool.close()

    def knows(self, host: str) -> bool:
        """Whether a request may name this host.

        A page elsewhere can make its own name lead here (DNS rebinding), and a browser then takes it for this server's.
        A number cannot be made to lead elsewhere, and names count if they are this machine's.
        """
        name = urlsplit(f"//{host}").hostname or ""
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self.names
        return True


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body go in two writes

    def version_string(self) -> str:
        return "hiding-latency"

    def setup(self) -> None:
        super().setup()
        self._patience = _Patience(self.connection)
        self.rfile = io.BufferedReader(self._patience)

    def handle_one_request(self) -> None:
        self._patience.until = time.monotonic() + self.server.limits.request
        super().handle_one_request()

    def log_message(self, *_: object) -> None:
        """A classroom's requests would fill the window."""

    def do_GET(self) -> None:
        try:
            self._check_host()
            if self.path.partition("?")[0] == API:
                self._check_origin()
                self._say_compiler()
            else:
                self._file()
        except Refused as why:
            self._refuse(why)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        try:
            self._check_host()
            self._check_origin()
            if self.path.partition("?")[0] != API:
                raise Refused(404, f"Nothing takes a POST here but {API}.")
            question = read(self._body(), self.server.limits)
            self._say(*self.server.pool.answer(question))
        except Refused as why:
            self._refuse(why)

    def _check_host(self) -> None:
        hosts = self.headers.get_all("Host", [])
        try:
            known = len(hosts) == 1 and self.server.knows(hosts[0])
        except ValueError:
            known = False
        if not known:
            named = f"This request is for {hosts[0][:60]!r}" if hosts else "This request names no host"
            raise Refused(
                403, f"{named}; open this server by its number, or start it with --name and that name."
            )

    def _check_origin(self) -> None:
        """Pages of other servers may not have texts compiled in their reader's name."""
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site", "none")
        mine = origin is None or origin.partition("://")[2].lower() == self.headers["Host"].lower()
        if not mine or site not in ("same-origin", "none"):
            raise Refused(403, "Only pages of this server may ask its compiler: open the book from here.")

    def _body(self) -> bytes:
        if self.headers.get_content_type() != "application/json":
            raise Refused(400, "The request is not marked as JSON; send Content-Type: application/json.")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            raise Refused(400, "The request does not say how long it is; send Content-Length.")
        if len(length) > 12 or int(length) > self.server.limits.body:
            most = f"at most {self.server.limits.body:,} are read"
            raise Refused(413, f"The request has {length[:12]} bytes, and {most}: shorten the source.")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise Refused(400, "The request ended before its length.")
        return body

    def _say_compiler(self) -> None:
        said = self.server.pool.compiler()
        status = 503 if "error" in said else 200
        self._say(status, said if status == 503 else said | {"limits": self.server.limits.told()})

    def _refuse(self, why: Refused) -> None:
        self.close_connection = True  # its body, if it has one, was not read
        self._say(why.status, {"error": str(why)})

    def _say(self, status: int, answer: dict) -> None:
        body = json.dumps(answer).encode()
        about = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        if status in (429, 503):
            about["Retry-After"] = "5"
        self._send(status, about | {"Content-Length": str(len(body))}, io.BytesIO(body), len(body))

    def _file(self) -> None:
        root = self.server.root
        found = files.find(root, self.path) if root else None
        if found is not None and found.is_dir():
            if not self.path.partition("?")[0].endswith("/"):
                return self._send(301, {"Location": f"./{quote(found.name)}/", "Content-Length": "0"})
            found = found / "index.html"
        if found is None or not found.is_file():
            raise Refused(404, "There is no such page here.")
        tag = files.tag_of(found)
        about = {
            "Content-Type": files.type_of(found),
            "ETag": tag,
            "Cache-Control": "no-cache",
            "Vary": "Accept-Encoding",
        }
        if self.headers.get("If-None-Match") == tag:
            return self._send(304, about)
        body = files.packed(found) if "gzip" in self.headers.get("Accept-Encoding", "") else None
        if body is not None:
            about |= {"Content-Encoding": "gzip", "Content-Length": str(len(body))}
            return self._send(200, about, io.BytesIO(body), len(body))
        with found.open("rb") as file:
            size = found.stat().st_size
            self._send(200, about | {"Content-Length": str(size)}, file, size)

    def _send(self, status: int, about: dict[str, str], body: io.IOBase | None = None, size: int = 0) -> None:
        until = time.monotonic() + GRACE + size / SLOWEST
        self.connection.settimeout(GRACE)
        self.send_response(HTTPStatus(status))
        for name, value in about.items():
            self.send_header(name, value)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "same-origin")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        while body and self.command != "HEAD" and (piece := body.read(PIECE)):
            self.connection.settimeout(max(until - time.monotonic(), 0.001))
            self.wfile.write(piece)


class _Patience(io.RawIOBase):
    """What comes over a connection, until a moment: a byte now and then does not keep it open."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.until = 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)
