"""Write how to try the course in a browser into README's first screen: `python -m tools.author.try_it`, after a new
address.

`Book` in pyproject.toml's [project.urls] is the address of a book whose cells run; before it is published there
is none.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARKED = re.compile(r"(<!-- browser: begin -->\n).*?(<!-- browser: end -->)", re.DOTALL)


def sentence(address: str) -> str:
    """What stands there; "" is no address."""
    if not address:
        return (
            "**In a browser that has nothing installed**: `make live`, then `make serve`, on one Linux machine;\n"
            "each cell of the book then runs in its page. No public address yet.\n"
        )
    place = f"{address.rstrip('/')}/playground.html"
    return (
        f"**[Try it in your browser]({place})**: nothing is installed. Or serve it yourself:\n"
        "`make live`, then `make serve`, on one Linux machine.\n"
    )


def written(readme: str, address: str) -> str:
    """The page with that sentence."""
    return MARKED.sub(lambda marks: f"{marks[1]}{sentence(address)}{marks[2]}", readme)


def address() -> str:
    """As pyproject.toml has it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["urls"].get("Book", "")


def main() -> None:
    readme = ROOT / "README.md"
    readme.write_text(written(readme.read_text(encoding="utf-8"), address()), encoding="utf-8")


if __name__ == "__main__":
    main()
