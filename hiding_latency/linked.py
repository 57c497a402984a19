"""Pages to which lessons link, beside copies that lie alone: in their folder `pages`, as the repository has them.

A link out of the notebooks, `../docs/tuning.md`, then leads to `pages/docs/tuning.md`. The pages, and the changelog
beside them, are not the learner's: each update writes them anew where they differ.
"""

import re
import site
import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from course_lib.lessons import folders
from hiding_latency import places
from ptxsim.ground import whole

PAGES, NEWS = "pages", "CHANGELOG.md"
_TOPS = "docs|assets|ptxsim|matmul|cupy_or_sim"
_OUT = re.compile(rf"\]\(\.\./((?:\.\./)*)({_TOPS})/([^)#\s]+)")
_IN = re.compile(rf"\]\(((?:\.\./)*){PAGES}/({_TOPS})/")
_TO_A_PAGE = re.compile(r"\]\(([^):#\s]+)")
_TO_A_LESSON = re.compile(r"\]\(((?:\.\./)+)notebooks/")


def inside(text: str) -> str:
    """The text of a notebook whose links lead to `pages`."""
    return _OUT.sub(rf"](\1{PAGES}/\2/\3", text)


def outside(text: str) -> str:
    """The text as the lesson has it."""
    return _IN.sub(r"](../\1\2/", text)


def source(page: PurePosixPath) -> Path:
    """Where a page of the repository is in this installation."""
    top, *below = page.parts
    return (folders.place(top) if top in ("docs", "assets") else folders.PACKAGE.parent / top).joinpath(
        *below
    )


def pages(texts: Iterable[str]) -> set[PurePosixPath]:
    """All pages to which these notebooks link, and to which those pages do, of those that were installed."""
    left = [PurePosixPath(top, below) for text in texts for _, top, below in _OUT.findall(text)]
    found: set[PurePosixPath] = set()
    while left:
        page = left.pop()
        if page not in found and source(page).is_file():
            found.add(page)
            left += _next(page)
    return found


def _next(page: PurePosixPath) -> list[PurePosixPath]:
    if page.suffix != ".md":
        return []
    links = _TO_A_PAGE.findall(source(page).read_text(encoding="utf-8"))
    return [
        to
        for link in links
        if (to := _joined(page.parent, link)).parts[:1] and to.parts[0] in _TOPS.split("|")
    ]


def _joined(folder: PurePosixPath, link: str) -> PurePosixPath:
    parts = list(folder.parts)
    for part in PurePosixPath(link).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return PurePosixPath(*parts)


def what_is_new() -> list[Path]:
    """The changelog: of a clone, or where pip put it; none where a distribution left it out."""
    if not places.INSTALLED:
        return [places.ROOT / NEWS]
    tops = (sys.prefix, site.getuserbase(), places.ROOT)
    return [file for top in tops if (file := Path(top, "share", "doc", places.NAME, NEWS)).is_file()][:1]


def write(folder: Path, texts: Iterable[str]) -> None:
    """The pages for these notebooks, in `folder`/pages, and the changelog."""
    found = {page: source(page) for page in pages(texts)} | {
        PurePosixPath(NEWS): file for file in what_is_new()
    }
    for page, file in found.items():
        data, place = file.read_bytes(), folder / PAGES / page
        if page.suffix == ".md":
            data = _TO_A_LESSON.sub(r"](\1../", data.decode()).encode()
        if not (place.is_file() and place.read_bytes() == data):
            place.parent.mkdir(parents=True, exist_ok=True)
            whole.write(place, data)
