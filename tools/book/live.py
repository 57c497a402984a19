"""What a page says to the scripts that run its cells (tools/live), where they are there."""

import json
import re
from functools import cache
from pathlib import Path

from course_lib.exercises.answers import exercises
from hiding_latency.packages import pyproject

ROOT = Path(__file__).parents[2]

HOW_TO_SERVE = "make serve"
PLAYGROUND = "playground"
WITHOUT_SCRIPTS = (
    '<noscript><p class="live-hint">JavaScript is switched off: with it, this page '
    "runs kernels.</p></noscript>"
)


def tell(app, pagename: str, templatename: str, context: dict, doctree: object) -> None:
    """Give the templates the name of the page's notebook, its lesson's exercises, and how to serve the book."""
    whole = re.sub(r"-\d+$", "", pagename)
    notebook = whole.removeprefix("notebooks/") if whole.startswith("notebooks/") else ""
    context["live_notebook"] = notebook
    context["live_exercises"] = json.dumps(exercises_of(notebook.rpartition("/")[2][:2]))
    if "live_first" in context and (notebook or pagename == PLAYGROUND):
        context["body"] = context["body"].replace("</h1>", f"</h1>{WITHOUT_SCRIPTS}", 1)
    context["how_to_serve"] = HOW_TO_SERVE
    context["live_service"] = compile_service()


@cache
def compile_service() -> str:
    """The address of the compile service that pages ask besides their own host: `Compiler` in pyproject.toml; "" where
    there is none."""
    return pyproject(ROOT)["project"]["urls"].get("Compiler", "").rstrip("/")


@cache
def exercises_of(lesson: str) -> list[str]:
    """The numbers of the exercises of a lesson such as "02", further ones too."""
    return [name for name in exercises() if lesson and name.startswith(f"{lesson}.")]


def setup(app) -> dict[str, bool]:
    app.connect("html-page-context", tell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
