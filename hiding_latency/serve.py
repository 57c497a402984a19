"""`hiding-latency serve`: the book and a compile service for a room. The server itself needs tornado, and is imported
when it is to run."""

import argparse
import ipaddress
import socket
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hiding_latency.compile_service.limits import Limits
from hiding_latency.packages import brings
from hiding_latency.places import ROOT

if TYPE_CHECKING:
    from hiding_latency.compile_service.server import Server

MISSING = "The server needs tornado, which is not installed here"
BOOK = ROOT / "build" / "course"
OPEN = (
    "Everybody who reaches this machine over the network can read the book and have texts compiled here. Nothing that\n"
    "they send is run. Nothing is encrypted and nobody is asked for a password: use it among people you know."
)


def main(asked: argparse.Namespace) -> int:
    """Serve until Ctrl-C; the exit status."""
    if find_spec("tornado") is None:
        print(f"{MISSING}: {brings('learn')} brings it.", file=sys.stderr)
        return 2
    root = Path(asked.folder) if asked.folder else BOOK if BOOK.is_dir() else None
    if asked.folder and root and not root.is_dir():
        print(f"There is no folder {root}. `make course` writes the book to build/course.", file=sys.stderr)
        return 2
    from hiding_latency.compile_service.server import Server

    try:
        server = Server((asked.host, asked.port), root, limits(asked), asked.name, asked.origin)
    except OSError as error:
        why = str(error.strerror).partition(" (while")[0]
        print(f"{asked.host}:{asked.port} cannot be used: {why}. Try another --port.", file=sys.stderr)
        return 2
    try:
        server.run(lambda said: print(*words(asked.host, server, said), sep="\n", flush=True))
    except KeyboardInterrupt:
        print("\nStopped.")
    return 0


def origin(text: str) -> str:
    """A scheme and a host, with a port where it is not the scheme's own. Raises argparse.ArgumentTypeError."""
    split = urlsplit(text.rstrip("/").lower())
    if (
        split.scheme not in ("http", "https")
        or not split.hostname
        or split.geturl() != f"{split.scheme}://{split.netloc}"
    ):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no origin; one is https://book.example.org, without a path"
        )
    return split.geturl()


def limits(asked: argparse.Namespace) -> Limits:
    """Where all come from one address, nobody can be told from the others: it may have all places."""
    most = replace(Limits(), at_once=asked.at_once) if asked.at_once else Limits()
    return replace(most, share=1.0) if asked.one_address or is_closed(asked.host) else most


def words(host: str, server: "Server", said: dict) -> list[str]:
    """What the teacher reads. `said`: by the compiler, of itself."""
    compiler = said.get("compiler")
    has = f"{compiler}, {server.limits.at_once} texts at a time" if compiler else f"none. {said['error']}"
    book = (
        []
        if server.root
        else ["There is no book yet: `make course` writes it. Texts are compiled all the same."]
    )
    here = [f"http://{_in_address(name)}:{server.server_port}/" for name in addresses(host)]
    closed = "Only this machine can open it; --host 0.0.0.0 lets others."
    return [f"The course: {'  or  '.join(here)}", *book, f"Compiler: {has}", closed if is_closed(host) else OPEN,
            "Ctrl-C ends it."]  # fmt: skip


def is_closed(host: str) -> bool:
    """Whether only this machine reaches the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def addresses(host: str) -> list[str]:
    """What to type into a browser: for "all addresses", the one by which this machine goes to others."""
    if host not in ("0.0.0.0", "::", ""):
        return [host]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address for examples; nothing is sent
            return [probe.getsockname()[0]]
        except OSError:
            return [socket.gethostname()]


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """What can be typed behind `serve`."""
    about = (
        "Serve the book, and compile kernels for those who read it: what is sent is compiled and never run."
    )
    add = commands.add_parser("serve", help=about, description=about).add_argument
    add("folder", nargs="?", help="the book; build/course if not given")
    add(
        "--host",
        default="127.0.0.1",
        help="the address to listen on; 0.0.0.0 is the whole network (127.0.0.1)",
    )
    add("--port", type=int, default=8000, help="8000 if not given")
    add(
        "--name",
        action="append",
        default=[],
        help="a name under which browsers find this machine, besides its own",
    )
    add(
        "--origin",
        action="append",
        default=[],
        type=origin,
        help="where a book lies whose pages may ask this compiler, such as https://book.example.org",
    )
    add(
        "--at-once", type=int, default=0, metavar="N", help="compilations at a time (twice the cores, 4 to 8)"
    )
    add(
        "--one-address",
        action="store_true",
        help="all readers come from one address (a router, a proxy): it may have all places, not a quarter of them",
    )
