"""No tracked file names a place that one machine has."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.rules import ABSOLUTE, ROOT

ADDRESS = re.compile(
    r"--(?:extra-)?index-url|--find-links|\bindex-url\b|https?://[\w.-]*(?:pypi|pythonhosted|/simple)"
)


HERE = Path(__file__).parent
NAME_THEM = ("test_tracked.py", "test_install.py", "test_lock.py")
"""Tests that have to name what is looked for."""


def tracked() -> list[Path]:
    """Every text file that git knows, and what it would take in; as git does, a zero byte tells a binary one."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    files = [path for path in (ROOT / name for name in names) if path.is_file()]
    return [path for path in files if b"\0" not in path.read_bytes()[:8000]]


def found_in(path: Path, pattern: re.Pattern) -> list[str]:
    text = path.read_bytes().decode("utf-8", errors="ignore")
    return [f"{path.relative_to(ROOT)}: {match[0]}" for match in pattern.finditer(text)]


@pytest.mark.parametrize("pattern", [ABSOLUTE, ADDRESS], ids=["absolute path", "index address"])
def test_no_machine_of_ours_in_any_file(pattern):
    files = [path for path in tracked() if path.parent != HERE or path.name not in NAME_THEM]
    assert [hit for path in files for hit in found_in(path, pattern)] == []


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        *(
            (ABSOLUTE, text, True)
            for text in ("see /home/someone/x", '"/tmp/a.json"', "-I/opt/cuda", r"C:\Users")
        ),
        (ABSOLUTE, "(/scratch/x)", True),
        *(
            (ABSOLUTE, text, False)
            for text in ("a/home/b", "https://x.org/root/y", "./tmp/x", "$HOME/work/x")
        ),
        *((ABSOLUTE, text, False) for text in ("/usr/bin/env", "A / B")),
        *((ADDRESS, text, True) for text in ("--index-url x", "--find-links y", "index-url = z")),
        (ADDRESS, "https://pypi.org/simple", True),
    ],
)
def test_the_patterns_find_what_they_should(pattern, text, found):
    assert bool(pattern.search(text)) is found
