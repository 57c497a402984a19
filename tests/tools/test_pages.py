"""The pages: every link leads to a file that is there, and to a heading that it has; and pages stay short."""

import json
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.rules import ROOT

LINK = re.compile(r"\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]+))?\)")
AT_THE_TOP = ("tools/book/front.md",)
"""Pages that become a page of the book's first folder."""
LONGEST = {
    "README.md": 1000,
    "CONTRIBUTING.md": 1725,
    "ptxsim/README.md": 1175,
    "docs/tuning.md": 4500,
    "docs/instructor.md": 4450,
    "ptxsim/docs/races.md": 2385,
    "ptxsim/docs/clock.md": 1150,
    "docs/glossary.md": 2305,
    "docs/hosts.md": 1555,
}
"""Words of a page, as `wc -w` counts them."""
TOGETHER = 34_000
"""Words of all pages, without notebooks and research/."""
LONGEST_SECTION = 700
"""Words that docs/tuning.md has for one lesson."""
QUOTED = {
    "deeper/01_loop_and_grid": ["-1 to +1 %", "29.8", "19.6", "44.3", "46.7"],
    "deeper/05_fastest": ["467", "482", "255 registers"],
    "deeper/06_parts_of_matmul": ["10.3", "7.5"],
    "deeper/06_tuning": ["609"],
    "deeper/06_stream_k": ["68 shapes", "2125", "2638"],
    "deeper/06_limits": ["648", "950"],
    "deeper/08_epilogue": ["MEMBAR.ALL.GPU"],
    "deeper/08_orders": ["128 blocks"],
}
"""What lessons quote from docs/tuning.md, in the same words."""


def tracked(pattern: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", pattern], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.splitlines() if not name.startswith("research/")]


def prose(path: Path) -> str:
    """The Markdown of a page or a notebook, without code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return re.sub(r"^```.*?^```|`[^`\n]*`", "code", text, flags=re.DOTALL | re.MULTILINE)


@cache
def anchors(path: Path) -> set[str]:
    """What a link to a heading of this page may be: as GitHub and the book make it."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", tracked("*.md") + tracked("*.ipynb"), ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    folder = ROOT if path.relative_to(ROOT).as_posix() in AT_THE_TOP else path.parent
    for target, anchor in LINK.findall(prose(path)):
        place = (folder / target).resolve() if target else path
        assert place.exists(), f"{target}: no such file"
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place), f"{place.name} has no heading #{anchor}"


@pytest.mark.parametrize(("name", "words"), LONGEST.items())
def test_a_page_stays_short(name, words):
    assert len((ROOT / name).read_text(encoding="utf-8").split()) <= words


def test_the_pages_together_stay_short():
    pages = [path for path in tracked("*.md") if (ROOT / "notebooks") not in path.parents]
    assert sum(len(path.read_text(encoding="utf-8").split()) for path in pages) <= TOGETHER


def test_no_paragraph_stands_on_two_pages():
    homes: dict[str, set[str]] = {}
    for page in [*tracked("*.md"), *(ROOT / "research").glob("*.md")]:
        for paragraph in page.read_text(encoding="utf-8").split("\n\n"):
            homes.setdefault(" ".join(paragraph.split()), set()).add(str(page))
    assert {text: pages for text, pages in homes.items() if len(pages) > 1 and len(text) > 150} == {}


def test_a_lesson_has_a_page_of_the_tuning_notes():
    sections = re.split(
        r"^## ", (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )[1:]
    lessons = [section for section in sections if section.startswith("Lesson")]
    assert len(lessons) == 7
    assert [each.partition("\n")[0] for each in lessons if len(each.split()) > LONGEST_SECTION] == []


@pytest.mark.parametrize(("lesson", "quoted"), QUOTED.items())
def test_what_a_lesson_quotes_from_the_tuning_notes_stands_there(lesson, quoted):
    notes = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8")
    words = prose(ROOT / "notebooks" / f"{lesson}.ipynb")
    assert "docs/tuning.md" in words
    assert [text for text in quoted if text not in words or text not in notes] == []
