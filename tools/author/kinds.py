"""The simulator's README gets the kinds of findings and their causes: `python -m tools.author.kinds`."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from ptxsim import CAUSES, KINDS, Cause, Kind
from tools.author import marked

PAGE = Path(__file__).resolve().parents[2] / "ptxsim" / "README.md"
TABLES: dict[str, Sequence[Kind | Cause]] = {"kinds": KINDS, "causes": CAUSES}
"""What stands between which marks."""


def table(words: Iterable[Kind | Cause], heading: str) -> str:
    """Each word with what it means, in Markdown."""
    return "\n".join(
        [f"|{heading}|means|", "|---|---|", *(f"|`{each.name}`|{each.means}|" for each in words)]
    )


def main() -> None:
    for name, words in TABLES.items():
        marked.write(PAGE, name, table(words, name.removesuffix("s")))


if __name__ == "__main__":
    main()
