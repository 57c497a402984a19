"""What a page says to the scripts that run its cells (tools/live), where they are there."""

import json
import re
from functools import cache

from course_lib.exercises.answers import exercises
from course_lib.exercises.ids import id_of

HOW_TO_SERVE = "make serve"


def tell(app, pagename: str, templatename: str, context: dict, doctree: object) -> None:
    """Give the templates the name of the page's notebook, its lesson's exercises, and how to serve the book."""
    whole = re.sub(r"-\d+$", "", pagename)
    notebook = whole.removeprefix("notebooks/") if whole.startswith("notebooks/") else ""
    context["live_notebook"] = notebook
    context["live_exercises"] = json.dumps(exercises_of(notebook.rpartition("/")[2][:2]))
    context["how_to_serve"] = HOW_TO_SERVE


@cache
def exercises_of(lesson: str) -> dict[str, str]:
    """Number -> permanent id of the exercises of a lesson such as "02", further ones too."""
    return {name: id_of(name) for name in exercises() if lesson and name.startswith(f"{lesson}.")}


def setup(app) -> dict[str, bool]:
    app.connect("html-page-context", tell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
