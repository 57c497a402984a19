"""Write how to try the course in a browser into README's first screen: `python -m tools.author.try_it`, after a new
address.

`Book` in pyproject.toml's [project.urls] is the address of a book whose cells run; before it is published there
is none.
"""

from hiding_latency.packages import pyproject
from tools.author import marked
from tools.install import ROOT


def sentence(address: str) -> str:
    """What stands there; "" is no address."""
    if not address:
        return (
            "**In a browser that has nothing installed**: `make live`, then `make serve`, on one Linux machine;\n"
            "each cell of the book then runs in its page. No public address yet."
        )
    place = f"{address.rstrip('/')}/playground.html"
    return (
        f"**[Try it in your browser]({place})**: nothing is installed. Or serve it yourself:\n"
        "`make live`, then `make serve`, on one Linux machine."
    )


def written(readme: str, address: str) -> str:
    """The page with that sentence."""
    return marked.between(readme, "browser", sentence(address))


def address() -> str:
    """As pyproject.toml has it."""
    return pyproject()["project"]["urls"].get("Book", "")


def main() -> None:
    readme = ROOT / "README.md"
    readme.write_text(written(readme.read_text(encoding="utf-8"), address()), encoding="utf-8")


if __name__ == "__main__":
    main()
