"""Numbers in the prose of pages: bound to where they come from, as those of lessons are by `tools.author.numbers`.

docs/numbers.toml has a table for each page, as a Markdown cell's metadata has one:

    ["README.md"]
    "63" = "100 * shown('02_producer_consumer c071', 'in turn alone {}') / ..."
    "90" = "source: ..."

Beside `shown`, of a notebook's cell, there is `said("docs/gpus.md#a-heading", pattern)`: the number at
{} in a page, or behind one of its headings. Its tables are part of it: many are all the record that there is.
"""

import re
import tomllib
from collections.abc import Iterator
from functools import cache

from course_lib.lessons import sources
from tools.author import numbers
from tools.install import ROOT

FILE = ROOT / "docs" / "numbers.toml"
PAGES = ("README.md", "*/README.md", "*/*/README.md", "docs/*.md", "ptxsim/docs/*.md")
WHOLE = ("README.md", "matmul/README.md", "docs/measurements.md")
"""Pages in which each number with a unit is bound; in the others those in a sentence that names a kernel."""
MADE = re.compile(r"<!-- (\S+): begin -->.*?<!-- \1: end -->", re.DOTALL)
NO_PROSE = re.compile(r"^```.*?^```|^\|.*?$|\]\([^)]*\)|<details>.*?</details>", re.DOTALL | re.MULTILINE)
SENTENCE = re.compile(r"\n\s*\n|\n(?=\* )|(?<=[.:;])\s+(?=[A-Z`(*])")


def pages() -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for each in PAGES for path in ROOT.glob(each))


def bound() -> dict[str, dict[str, str]]:
    """Page -> its numbers, and where each comes from."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def prose(text: str) -> str:
    """Of a page, without what is made, tables, code and the places of links."""
    return NO_PROSE.sub(" ", MADE.sub(" ", text))


@cache
def kernels() -> set[str]:
    """Their names, as pages quote them."""
    with_kernels = (path.stem for path in sources.with_kernels(sources.NOTEBOOKS))
    return {f"`{name}`" for notebook in with_kernels for name in sources.kernels(notebook)}


def unbound(text: str, own: dict[str, str], everywhere: bool) -> list[str]:
    """Numbers with a unit that are bound to nothing, each with what stands before it."""
    names = kernels()
    return [
        " ".join(f"{sentence[:60]} ... {match[0]}".split())
        for sentence in SENTENCE.split(prose(text))
        if everywhere or any(name in sentence for name in names)
        for match in numbers.MEASURED.finditer(numbers.NOT_PROSE.sub(" ", sentence))
        if match[1] not in own
    ]


def said(page: str, pattern: str) -> float:
    """The number at {} in a page. Raises NotBound where it is not there."""
    name, _, anchor = page.partition("#")
    text = (ROOT / name).read_text(encoding="utf-8")
    if anchor:
        parts = re.split(r"^(?=#+ )", text, flags=re.MULTILINE)
        behind = [part for part in parts if _anchor(part) == anchor]
        if not behind:
            raise numbers.NotBound(f"{name} has no heading #{anchor}")
        text = behind[0]
    return numbers.number_in(text, pattern, page)


def _anchor(part: str) -> str:
    heading = part.partition("\n")[0].lstrip("# ").lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def wrong(text: str, own: dict[str, str]) -> list[str]:
    """What is bound to something else than it says, or bound and not there."""
    names = {"shown": lambda cell, pattern: numbers.shown([], cell, pattern), "said": said}
    cell = {"cell_type": "markdown", "id": "the page", "source": prose(text), "metadata": {"numbers": own}}
    return numbers.wrong([cell], names)


def found() -> Iterator[tuple[str, list[str]]]:
    """Page by page, what is wrong with its numbers."""
    of_all = bound()
    for page in pages():
        text, own = (ROOT / page).read_text(encoding="utf-8"), of_all.get(page, {})
        yield page, unbound(text, own, page in WHOLE) + wrong(text, own)


def main() -> None:
    for page, problems in found():
        for each in problems:
            print(f"{page}: {each}")


if __name__ == "__main__":
    main()
