"""The kinds of findings into the simulator's README, their causes into a csv: `python -m tools.author.kinds`."""

import csv
import io
from pathlib import Path

from ptxsim import CAUSES, KINDS
from tools.author import marked

FOLDER = Path(__file__).resolve().parents[2] / "ptxsim"
PAGE, FILE = FOLDER / "README.md", FOLDER / "docs" / "causes.csv"


def kinds() -> str:
    """Each kind with what it means, in Markdown."""
    return "\n".join(["|kind|means|", "|---|---|", *(f"|`{each.name}`|{each.means}|" for each in KINDS)])


def causes() -> str:
    """Each cause with what it means."""
    lines = io.StringIO()
    rows = csv.writer(lines, lineterminator="\n")
    rows.writerows([("cause", "means"), *((each.name, each.means) for each in CAUSES)])
    return lines.getvalue()


def main() -> None:
    marked.write(PAGE, "kinds", kinds())
    FILE.write_text(causes(), encoding="utf-8")


if __name__ == "__main__":
    main()
