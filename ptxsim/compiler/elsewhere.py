"""What a compiler elsewhere makes: a compile service on another machine, or what came with a link.

Asked only where this machine has no NVRTC and the text is not kept. `use` says what one text compiles to; `ask_with`
names who answers for all others. A service is asked as `question` says, and answers as the course's does:

200  {"ptx": text, "log": text, "lowered": names}, and under its own name a text of another kind that was asked for
422  {"error": the compiler's errors}
any other  {"error": one sentence that says why there is no answer}
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence

from . import nvrtc

ADDRESS = "PTXSIM_COMPILER"
"""Environment variable: the address of a compile service, for example http://192.168.1.20:8000"""
SECONDS = 120
"""How long a service may take, its queue included."""
LONGEST = 32 << 20
"""Bytes of an answer; the course's service sends no text of more than 4 MB."""
OK, REFUSED = 200, 422

Answer = tuple[int, Mapping]
"""A service's status and what it says."""

_known: dict[nvrtc.Wanted, str] = {}
_send: list[Callable[[dict], Answer]] = []


def use(source: str, options: Sequence[str], ptx: str) -> None:
    """From now on this text with these options compiles to this PTX."""
    _known[nvrtc.wanted(source, options)] = nvrtc.packed(ptx, {})


def known(wanted: nvrtc.Wanted) -> str:
    """The PTX that `use` or an answer brought for a text; "" where there is none, or it did not compile."""
    head, _, body = _known.get(wanted, "").partition("\n")
    return body if "lowered" in head else ""


def ask_with(send: Callable[[dict], Answer]) -> None:
    """Have `send` ask for every text that is not known: it takes a question and returns status and answer."""
    _send[:] = [send]


def question(wanted: nvrtc.Wanted) -> dict:
    """What a service is asked: JSON for `POST /api/compile`. Folders of this machine mean nothing there."""
    kind, source, names, options = wanted
    added = ("-lineinfo", *nvrtc.OF_PTXAS)
    kept = [each for each in options if not each.startswith(("-I", "-arch=")) and each not in added]
    asked = {"source": source, "options": kept, "arch": nvrtc.asked_arch(options)}
    return asked | ({"names": list(names)} if names else {}) | ({} if kind == "ptx" else {"kind": kind})


def over_http(address: str) -> Callable[[dict], Answer]:
    """Ask the service at this address."""

    # a browser's Python would load these for nothing
    from http.client import HTTPException
    from urllib import error, parse, request

    near = _is_near(parse.urlsplit(address).hostname or "")
    opener = request.build_opener(*([request.ProxyHandler({})] if near else []))

    def send(asked: dict) -> Answer:
        url, headers = f"{address.rstrip('/')}/api/compile", {"Content-Type": "application/json"}
        try:
            post = request.Request(url, json.dumps(asked).encode(), headers)
            try:
                reply = opener.open(post, timeout=SECONDS)
            except error.HTTPError as refusal:
                reply = refusal
            with reply:
                said = reply.read(LONGEST + 1)
                if len(said) > LONGEST:
                    raise ValueError(f"the answer has more than {LONGEST:,} bytes")
                return reply.status, json.loads(said)
        except (OSError, ValueError, RecursionError, HTTPException) as why:
            return 503, {"error": f"no compile service answers at {address} ({why})"}

    return send


def _is_near(host: str) -> bool:
    """Whether a host is this machine, or in its own network: a proxy for the world outside does not lead there."""
    import ipaddress
    import socket

    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return host in ("localhost", socket.gethostname().lower()) or host.endswith((".localhost", ".local"))
    return number.is_private or number.is_loopback or number.is_link_local


def _asked(wanted: nvrtc.Wanted) -> str | None:
    """The text, as it is kept."""
    if wanted in _known:
        return _known[wanted]
    address = os.environ.get(ADDRESS)
    send = _send[0] if _send else over_http(address) if address else None
    if send is None:
        return None
    return _known.setdefault(wanted, _kept_form(*send(question(wanted)), wanted[0]))


def _kept_form(status: int, answer: object, kind: str) -> str:
    """An answer as it is kept. Raises NvrtcMissing, in the service's words or ours, for one that is no text."""
    said = answer if isinstance(answer, Mapping) else {}
    text, lowered, error = said.get(kind), said.get("lowered", {}), said.get("error")
    if status == OK and isinstance(text, str) and isinstance(lowered, Mapping):
        if all(isinstance(name, str) for pair in lowered.items() for name in pair):
            return nvrtc.packed(text, dict(lowered))
    elif status != OK and isinstance(error, str):
        if status == REFUSED:
            return nvrtc.refused(error)
        raise nvrtc.NvrtcMissing(error)
    raise nvrtc.NvrtcMissing(
        f"the compile service answered with status {status}, and not as one does. Is its address right, and its "
        "version that of the course here?"
    )


nvrtc.ELSEWHERE.append(_asked)
