"""The commands that pages name: read from them, in the form in which commands.toml has them."""

import json
import re
import shlex
import subprocess
from pathlib import Path

from tests.rules import ROOT

CODE = re.compile(r"^ *```\w*\n(.*?)^ *```|`([^`]+)`", re.DOTALL | re.MULTILINE)
SETTING = re.compile(r"\w+=.*", re.DOTALL)
LEFT_OUT = re.compile(r"(.*/)?CHANGELOG\.md|research/.*")
"""What a version brought may be gone since, and what was tried once too."""
OURS = {"ptxsim": "ptxsim", "hiding_latency": "hiding-latency"}
"""Packages that are commands too -> their names then."""
WITH_A_WORD = ("ptxsim", "hiding-latency", "docker", "conda", "nbgrader")
"""Programs whose first word says what they do."""


def pages() -> list[Path]:
    """Every page and every notebook that git has."""
    asked = ["git", "ls-files", "*.md", "*.ipynb"]
    names = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return [ROOT / name for name in names if name and not LEFT_OUT.fullmatch(name)]


def prose(path: Path) -> str:
    """The Markdown of a page, or of a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def lines(text: str) -> list[str]:
    """What stands in a page as code: each line of a block, and what stands in a sentence."""
    found = []
    for block, words in CODE.findall(text):
        found += block.replace("\\\n", " ").splitlines() if block else [" ".join(words.split())]
    return found


def commands(line: str) -> list[str]:
    """The commands of the course in a line, without their arguments: "make lab", "python -m tools.book"."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:  # an apostrophe: prose
        return []
    while words and SETTING.fullmatch(words[0]):
        words.pop(0)
    if not words:
        return []
    program, rest = words[0].rpartition("bin/")[2].replace("python3", "python"), words[1:]
    if program == "make":
        return [f"make {word}" for word in rest if re.fullmatch("[a-z]+", word)]
    if program == "python" and rest[:1] == ["-m"] and rest[1:]:
        program, rest = OURS.get(rest[1], f"python -m {rest[1]}"), rest[2:]
    if program in WITH_A_WORD:
        return [f"{program} {rest[0]}"] if rest and re.fullmatch("[a-z][a-z_]+", rest[0]) else []
    if program.startswith("python -m "):
        return [program]
    if program in ("python", "bash"):
        return [f"{program} {rest[0]}"] if rest else []
    if program == "pip":
        return [f"pip {' '.join(rest)}"]
    return [program] if program == ".ci/run" else []


def named() -> dict[str, set[str]]:
    """Command -> the pages that name it."""
    found: dict[str, set[str]] = {}
    for path in pages():
        for line in lines(prose(path)):
            for command in commands(line):
                found.setdefault(command, set()).add(path.relative_to(ROOT).as_posix())
    return found
