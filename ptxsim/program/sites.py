"""Where in the program's text something was called: addresses of its code, turned into files and lines at the end.

`mark(site)` stands for a place in a message until then.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

_MARK = re.compile("\x02([0-9a-f]+)\x03")
_ASIDE = re.compile(rf"( )\(at {_MARK.pattern}\)")
_SYSTEM = ("/usr/include/", "/usr/local/cuda", "/nvidia/cu", "/usr/lib/")


def mark(site: int) -> str:
    return f"\x02{site:x}\x03" if site else ""


class Mapped(NamedTuple):
    """Code of a file in the program's memory."""

    first: int
    end: int
    offset: int
    file: str


class Sites:
    """Those of one program, which runs in a process of its own."""

    def __init__(self) -> None:
        self._maps: list[Mapped] = []
        self._seen: set[int] = set()
        self.known: dict[int, str] = {}

    def see(self, site: int, process: int) -> None:
        """While the program runs: which file of code lies there."""
        if site and site not in self._seen:
            self._seen.add(site)
            if self._place(site) is None:
                self._maps = _maps_of(process)

    def resolve(self) -> None:
        """Ask the host's tools for files and lines. Without them nothing is known."""
        by_file: dict[str, list[tuple[int, int]]] = {}
        for site in self._seen - self.known.keys():
            if mapped := self._place(site):
                base = _first_address(mapped.file, self._maps)
                by_file.setdefault(mapped.file, []).append((site, site - 1 - base))
        for file, asked in by_file.items():
            for (site, _), place in zip(asked, _lines_of(file, [at for _, at in asked]), strict=False):
                self.known[site] = place

    def words(self, text: str) -> str:
        """A message with the places in words. Where one is not known, what leads to it is left out."""

        def place(found: re.Match) -> str:
            return self.known.get(int(found[2], 16), "") and found[1] + self.known[int(found[2], 16)]

        text = _ASIDE.sub(
            lambda found: place(found).rstrip() and f" (at {self.known[int(found[2], 16)]})", text
        )
        return re.sub(r"((?:,? ?\b(?:allocated|freed|launched|called) at )?)" + _MARK.pattern, place, text)

    def of(self, site: int) -> str:
        """`main.cu:12`; "" where that is not known."""
        return self.known.get(site, "")

    def _place(self, site: int) -> Mapped | None:
        at = bisect_right(self._maps, site, key=lambda each: each.first) - 1
        return self._maps[at] if at >= 0 and site < self._maps[at].end else None


def _maps_of(process: int) -> list[Mapped]:
    found: list[Mapped] = []
    try:
        text = Path(f"/proc/{process}/maps").read_text()
    except OSError:
        return found
    for line in text.splitlines():
        parts = line.split(maxsplit=5)
        if len(parts) == 6 and parts[5].startswith("/"):
            first, end = (int(number, 16) for number in parts[0].split("-"))
            found.append(Mapped(first, end, int(parts[2], 16), parts[5]))
    return sorted(found)


def _first_address(file: str, maps: list[Mapped]) -> int:
    """What to take off addresses of a file's code: nothing, where the program was linked for a fixed place."""
    with open(file, "rb") as opened:
        opened.seek(16)
        fixed = int.from_bytes(opened.read(2), "little") == 2
    return 0 if fixed else min(each.first - each.offset for each in maps if each.file == file)


def _lines_of(file: str, addresses: list[int]) -> list[str]:
    """For each address the place in the program's own text: the innermost one that is in no header of the system."""
    if not (tool := shutil.which("addr2line")):
        return [""] * len(addresses)
    command = [tool, "-a", "-i", "-e", file, *map(hex, addresses)]
    said = subprocess.run(command, capture_output=True, errors="surrogateescape", check=False).stdout
    places: list[list[str]] = []
    for line in said.splitlines():
        if line.startswith("0x"):
            places.append([])
        elif places:
            places[-1].append(line.partition(" (")[0])
    return [_shown(found) for found in places]


def _shown(places: list[str]) -> str:
    own = [place for place in places if not place.startswith("?") and not any(s in place for s in _SYSTEM)]
    return near(own[0]) if own else ""


def near(place: str) -> str:
    """As one would type it here: relative where it lies below this folder."""
    name, colon, line = place.rpartition(":")
    path = Path(name if colon else place)
    here = Path.cwd()
    if path.is_absolute() and path.is_relative_to(here):
        path = path.relative_to(here)
    return f"{path}{colon}{line if colon else ''}"
