"""Write into README how to get the course: `python -m tools.author.try_it`, after a new address.

`Repository` in pyproject.toml's [project.urls] is where it is cloned from, `Book` where a book with live cells is.
Before they are published a reader knows the first from the page that he reads, and of the second README says nothing.
"""

from hiding_latency.packages import pyproject
from tools.author import marked
from tools.install import ROOT

NOWHERE = ".invalid/"
"""In an address that is none."""


def clone(repository: str) -> str:
    """The commands that bring the course and open it."""
    address = "ADDRESS" if NOWHERE in repository else repository
    what = "    # the address of this repository" if address == "ADDRESS" else ""
    return f"```\ngit clone {address} hiding-latency{what}\ncd hiding-latency\nmake lab\n```"


def in_a_browser(book: str) -> str:
    """Where one may try it with nothing installed; "" where there is no such place."""
    return (
        f"**[Try it in your browser]({book.rstrip('/')}/playground.html)**: nothing is installed."
        if book
        else ""
    )


def written(readme: str, repository: str, book: str) -> str:
    """The page with both."""
    return marked.between(marked.between(readme, "clone", clone(repository)), "browser", in_a_browser(book))


def addresses() -> tuple[str, str]:
    """Of the repository and of the book, "" for none, as pyproject.toml has them."""
    urls = pyproject()["project"]["urls"]
    return urls["Repository"], urls.get("Book", "")


def main() -> None:
    readme = ROOT / "README.md"
    readme.write_text(written(readme.read_text(encoding="utf-8"), *addresses()), encoding="utf-8")


if __name__ == "__main__":
    main()
