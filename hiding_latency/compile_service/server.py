"""Who may ask, until when, and what comes back; tornado reads and writes HTTP.

GET   /api/compile  which compiler there is, and its limits
POST  /api/compile  a text to compile (questions.py): 200, 422 with the compiler's errors, or why there is no answer
GET   anything else a file of the book

Pages of this server ask its compiler, and those of origins that were named to it: a book on a server of files.
"""

import asyncio
import ipaddress
import json
import socket
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlsplit

from tornado.http1connection import HTTP1Connection, HTTP1ServerConnection
from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream, StreamClosedError
from tornado.web import Application, HTTPError, RequestHandler, stream_request_body

from . import files
from .limits import Limits
from .pool import Pool
from .questions import Refused, read

API = "/api/compile"
PIECE = 64 << 10
HEAD, LINES = 16 << 10, 100
"""Bytes and lines of a request's head, at most."""
GRACE, SLOWEST = 30.0, 20_000
"""Who takes an answer has so many seconds, and more for what is long: it has to read so many bytes a second."""
FULL = (
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n"
    "Retry-After: 5\r\n\r\n{}"
)
RULES = "; ".join(
    (
        "default-src 'self'",
        # the book's figures have their scripts in the page, and a browser's Python puts code together there
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob:",
        "worker-src 'self' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        # Compiler Explorer, which a reader may allow to be asked
        "connect-src 'self' data: blob: https://godbolt.org",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    )
)
"""What a page may load, whom it may ask, and who may show it in a frame."""


class Server:
    """The book in `root`, where there is one, and a compile service. Raises OSError where the address cannot be had."""

    def __init__(
        self,
        address: tuple[str, int],
        root: Path | None,
        limits: Limits,
        names: Iterable[str] = (),
        origins: Iterable[str] = (),
    ) -> None:
        host, port = address
        self.root, self.limits, self.pool = root, limits, Pool(limits)
        self.origins = frozenset(origins)
        own = socket.gethostname()
        self.names = {name.lower() for name in ("localhost", own, f"{own}.local", host, *names)}
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family, backlog=256)
        self._socket.setblocking(False)
        self.server_port: int = self._socket.getsockname()[1]
        self._ended: Future[None] = Future()

    def run(self, tell: Callable[[dict], object] | None = None) -> None:
        """Serve until `shutdown`, or Ctrl-C, which is raised. `tell` hears of the compiler, which is started for that;
        else the first text starts it."""
        asyncio.run(self._run(tell))

    def shutdown(self) -> None:
        """End `run`; from another thread."""
        self._ended.set_result(None)

    async def _run(self, tell: Callable[[dict], object] | None) -> None:
        door = Door(self)
        door.add_socket(self._socket)
        try:
            if tell:
                tell(await self.pool.compiler())
            await asyncio.wrap_future(self._ended)
        finally:
            door.stop()
            await door.close_all_connections()
            await self.pool.close()

    def knows(self, host: str) -> bool:
        """Whether a request may name this host.

        A page elsewhere can make its own name lead here (DNS rebinding), and a browser then takes it for this server's.
        A number cannot be made to lead elsewhere, and names count if they are this machine's.
        """
        try:
            split = urlsplit(f"//{host}")
            name = split.hostname or ""
        except ValueError:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self.names
        return "@" not in host


class Door(HTTPServer):
    """Counts connections: in all, and of each sender."""

    def initialize(self, served: Server) -> None:  # type: ignore[override]
        limits = served.limits
        handled = {"served": served}
        super().initialize(
            Application([(API, Compiler, handled), (".*", Book, handled)], log_function=lambda _: None),
            idle_connection_timeout=limits.request,
            body_timeout=limits.request,
            max_header_size=HEAD,
            max_body_size=limits.body,
            chunk_size=PIECE,
        )
        self._limits = limits
        self._open: Counter[str] = Counter()

    def handle_stream(self, stream: IOStream, address: tuple) -> None:
        sender = sender_of(address[0])
        of_one = self._limits.of_one(self._limits.connections)
        if self._open[sender] >= of_one or self._open.total() >= self._limits.connections:
            whose = (
                f"{of_one} are open from your address" if self._open[sender] >= of_one else "all are taken"
            )
            said = f"No more connections: {whose}. Try it again in a few seconds.\n"
            stream.write(FULL.format(len(said), said).encode()).add_done_callback(lambda _: stream.close())
            return
        self._open[sender] += 1
        super().handle_stream(stream, address)

    def on_close(self, server_conn: object) -> None:
        super().on_close(server_conn)
        assert isinstance(server_conn, HTTP1ServerConnection)
        sender = sender_of(server_conn.context.address[0])  # type: ignore[attr-defined]
        self._open[sender] -= 1
        if not self._open[sender]:
            del self._open[sender]


def sender_of(address: str) -> str:
    """Who counts as one: an address, and of IPv6 the network of which one machine has all."""
    known = ipaddress.ip_address(address.partition("%")[0])
    return str(ipaddress.ip_network((known, 64), strict=False)) if known.version == 6 else str(known)


@stream_request_body
class Answers(RequestHandler):
    """What all answers have in common. A request is judged by its head, before its body is read."""

    def initialize(self, served: Server) -> None:
        self.served = served
        self.body = b""

    def set_default_headers(self) -> None:
        for name, value in {
            "Server": "hiding-latency",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "same-origin",
            "Content-Security-Policy": RULES,
        }.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        host = self.request.headers.get("Host", "")
        if not self.served.knows(host):
            named = f"This request is for {host[:60]!r}" if host else "This request names no host"
            raise Refused(
                403, f"{named}; open this server by its number, or start it with --name and that name."
            )
        if len(list(self.request.headers.get_all())) > LINES:
            raise Refused(431, f"The request's head has more than {LINES} lines.")
        self.check()
        if self.request.method == "POST" or "Content-Length" in self.request.headers:
            self._check_length()

    def check(self) -> None:
        """What else a request must be. Raises Refused."""

    def _check_length(self) -> None:
        length, most = self.request.headers.get("Content-Length", ""), self.served.limits.body
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.request.headers:
            raise Refused(400, "The request does not say how long it is; send Content-Length.")
        if len(length) > 12 or int(length) > most:
            raise Refused(
                413,
                f"The request has {length[:12]} bytes, and at most {most:,} are read: shorten the source.",
            )

    def compute_etag(self) -> None:
        """What is made for one who asks has none."""

    def data_received(self, chunk: bytes) -> None:
        self.body += chunk

    def log_exception(self, *error: Any) -> None:
        """A request that is refused, or a browser that goes away, is no error; all else is ours."""
        if not isinstance(error[1], (Refused, StreamClosedError)):
            super().log_exception(*error)

    def write_error(self, status_code: int, **about: Any) -> None:
        why = about.get("exc_info", (None, None))[1]
        if isinstance(why, Refused):
            status_code = why.status
        self.set_status(status_code)
        self.set_header("Content-Type", "application/json")
        self.set_header("Cache-Control", "no-store")
        self.set_header("Connection", "close")  # its body, if it has one, was perhaps not read
        if status_code in (429, 503):
            self.set_header("Retry-After", "5")
        words = str(why) if isinstance(why, Refused) else self._reason
        sent = self.finish(json.dumps({"error": words}))
        sent.add_done_callback(lambda _: self._hang_up())

    def _hang_up(self) -> None:
        if isinstance(connection := self.request.connection, HTTP1Connection):
            connection.close()

    async def send(
        self, status: int, about: dict[str, str], body: IO[bytes] | bytes = b"", size: int = 0
    ) -> None:
        """An answer, to who reads it in time."""
        self.set_status(status)
        for name, value in about.items():
            self.set_header(name, value)
        try:
            async with asyncio.timeout(GRACE + size / SLOWEST):
                if isinstance(body, bytes):
                    return await self.finish(body or None)
                self.set_header("Content-Length", str(size))
                while self.request.method != "HEAD" and (piece := body.read(PIECE)):
                    self.write(piece)
                    await self.flush()
                await self.finish()
        except TimeoutError:
            self._hang_up()


class Compiler(Answers):
    """The compile service."""

    asked: "asyncio.Future[tuple[int, dict]] | None" = None

    def check(self) -> None:
        """Pages of other servers, but for those that were named, may not have texts compiled in their reader's name."""
        headers = self.request.headers
        kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if self.request.method == "POST" and kind != "application/json":
            raise Refused(400, "The request is not marked as JSON; send Content-Type: application/json.")
        if self._named_origin():
            return
        origin, site = headers.get("Origin"), headers.get("Sec-Fetch-Site", "none")
        mine = origin is None or origin.partition("://")[2].lower() == headers["Host"].lower()
        if not mine or site not in ("same-origin", "none"):
            raise Refused(403, "Only pages of this server may ask its compiler: open the book from here.")

    def _named_origin(self) -> str:
        """The origin of the page that asks, if it was named to this server; else ""."""
        origins = self.request.headers.get_list("Origin")
        return origins[0] if len(origins) == 1 and origins[0] in self.served.origins else ""

    def prepare(self) -> None:
        self._let_read()
        super().prepare()

    def write_error(self, status_code: int, **about: Any) -> None:
        self._let_read()
        super().write_error(status_code, **about)

    def _let_read(self) -> None:
        """Let a page of an origin that was named read the answer, a refusal too."""
        self.set_header("Vary", "Origin")
        if origin := self._named_origin():
            self.set_header("Access-Control-Allow-Origin", origin)
            self.set_header("Cross-Origin-Resource-Policy", "cross-origin")

    async def options(self) -> None:
        """A browser asks before a page of another origin may; nobody else has a reason."""
        if not self._named_origin():
            raise HTTPError(405)
        allowed = {
            "Access-Control-Allow-Methods": "GET, POST",
            "Access-Control-Allow-Headers": "Content-Type",
        }
        await self.send(204, allowed | {"Access-Control-Max-Age": "600"})

    async def get(self) -> None:
        said = await self.served.pool.compiler()
        status = 503 if "error" in said else 200
        await self._say(status, said if status == 503 else said | {"limits": self.served.limits.told()})

    async def post(self) -> None:
        question = read(self.body, self.served.limits)
        sender = sender_of(str(self.request.remote_ip))
        self.asked = asyncio.ensure_future(self.served.pool.answer(question, sender))
        await asyncio.wait({self.asked})
        if not self.asked.cancelled():
            await self._say(*self.asked.result())

    head = get

    def on_connection_close(self) -> None:
        super().on_connection_close()
        if self.asked:
            self.asked.cancel()

    async def _say(self, status: int, answer: dict) -> None:
        about = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        if status in (429, 503):
            about["Retry-After"] = "5"
        body = json.dumps(answer).encode()
        await self.send(status, about, body, len(body))


class Book(Answers):
    """The files."""

    def check(self) -> None:
        if self.request.method == "POST":
            raise Refused(404, f"Nothing takes a POST here but {API}.")

    async def get(self) -> None:
        root, path = self.served.root, self.request.path
        found = files.find(root, path) if root else None
        if root and found and found.is_dir():
            if not path.endswith("/"):
                return await self.send(301, {"Location": f"./{quote(found.name)}/"})
            found = files.find(root, f"{path}index.html")
        if found is None or not found.is_file():
            raise Refused(404, "There is no such page here.")
        about = {"Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        self.set_header("ETag", files.tag_of(found))
        if self.check_etag_header():
            return await self.send(304, about)
        about["Content-Type"] = files.type_of(found)
        if files.takes_gzip(self.request.headers.get("Accept-Encoding", "")):
            packed = await asyncio.to_thread(files.packed, found)
            if packed is not None:
                return await self.send(200, about | {"Content-Encoding": "gzip"}, packed, len(packed))
        with found.open("rb") as file:
            await self.send(200, about, file, found.stat().st_size)

    head = get
