"""What the chapters link to comes along: notes as pages, source files as listings, the card to print."""

import os
import re
import shutil
from pathlib import Path

_LINK = re.compile(r"(!?)(\[[^\]\n]*\]\()([^)\s#:]+)(#[^)\s]*)?\)")
_LANGUAGES = {".cuh": "cuda", ".py": "python", ".toml": "toml", ".json": "json"}
_AS_IT_IS = (".md", ".ipynb", ".pdf")


class Library:
    """The files of a repository that a book takes in. `source` is the folder that Sphinx reads."""

    def __init__(self, root: Path, source: Path) -> None:
        self.root, self.source = root, source
        self.taken: dict[Path, None] = {}  # in their order

    def follow(self, text: str, folder: Path) -> str:
        """A Markdown text that stands in `folder` (of the repository), with every file it links to taken in and each
        link to a listing leading to the page of it. A picture that the text shows needs no page."""

        def led(link: re.Match) -> str:
            image, label, target, anchor = link.groups()
            place = Path(os.path.normpath(folder / target))
            if not (self.root / place).is_file():
                return self._dead(link, place)
            if image:
                self._copy(place)
                return link[0]
            self.take(place)
            page = target if place.suffix in _AS_IT_IS else f"{target}.md"
            return f"{label}{page}{anchor or ''})"

        return _LINK.sub(led, text)

    def take(self, place: Path) -> None:
        """Bring one file of the repository, and the page that shows it."""
        if place in self.taken or place.suffix == ".ipynb":
            return
        self.taken[place] = None
        path = self.source / place
        path.parent.mkdir(parents=True, exist_ok=True)
        if place.suffix == ".md":
            text = (self.root / place).read_text(encoding="utf-8")
            path.write_text(self.follow(text, place.parent), encoding="utf-8")
            return
        self._copy(place)
        if place.suffix not in _AS_IT_IS:
            (self.source / f"{place}.md").write_text(_listing(place), encoding="utf-8")

    def _copy(self, place: Path) -> None:
        (self.source / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.root / place, self.source / place)

    def _dead(self, link: re.Match, place: Path) -> str:
        """A link to a folder shows its README; of any other that leads to no file, Sphinx says so."""
        readme = place / "README.md"
        if not (self.root / readme).is_file():
            return link[0]
        self.take(readme)
        return f"{link[2]}{link[3].rstrip('/')}/README.md)"

    def notes(self) -> list[str]:
        """Names of the notes taken in, as a table of contents wants them; listings are not among them."""
        return [place.with_suffix("").as_posix() for place in self.taken if place.suffix == ".md"]


def _listing(place: Path) -> str:
    language = _LANGUAGES.get(place.suffix, "text")
    return f"---\norphan: true\n---\n# {place.name}\n\n`{place.as_posix()}`\n\n" + (
        f"```{{literalinclude}} {place.name}\n:language: {language}\n:linenos:\n```\n"
    )
