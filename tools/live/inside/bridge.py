"""Questions and answers of the page, as JSON: `ask(what, data, tell)` is all that the worker calls."""

import json
from collections.abc import Callable

from . import outputs

outputs.stand_in_for_ipython()

import course_lib  # noqa: E402  it asks for IPython, and finds the stand-in
from course_lib.lessons import sources  # noqa: E402
from ptxsim.compiler import cache  # noqa: E402

from . import playground  # noqa: E402
from . import progress as logged  # noqa: E402
from .elsewhere import ask_by  # noqa: E402, F401  the worker calls it
from .notebook import LATER, Notebook  # noqa: E402

_open: dict[str, Notebook] = {}


def ask(what: str, data: str, tell: Callable[[str], None] = lambda _: None) -> str:
    """Answer one question. {"later": ...} names a package that is to be loaded before it is asked again."""
    try:
        answer = ANSWERS[what](tell=tell, **json.loads(data))
    except ModuleNotFoundError as error:
        if error.name not in LATER:
            raise
        answer = {"later": error.name}
    return json.dumps(answer)


def run(
    notebook: str, cell: str, edits: dict[str, str], tell: Callable[[str], None], progress: str = ""
) -> dict:
    """Run a cell of a notebook: "02_producer_consumer", "deeper/01_banks". `progress`: what was solved and predicted
    so far, in lines; the answer has them with those of this run."""
    if notebook not in _open:
        cache.look_again()  # its compiled texts have come
        _open[notebook] = Notebook((sources.NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8"))
    opened = _open[notebook]
    logged.begin(notebook, edits.get(cell, opened.cells[opened.place[cell]].source), progress)
    return opened.run(cell, edits, tell) | {"progress": logged.lines()}


def about(tell: Callable[[str], None]) -> dict:
    """Which versions run here."""
    import platform

    import numpy

    return {"python": platform.python_version(), "numpy": numpy.__version__, "course": course_lib.__name__}


def play(lesson: str, tell: Callable[[str], None], **asked: object) -> dict:
    """Run a text of the playground; `lesson`: where it began, whose compiled texts have come."""
    cache.look_again()
    tell("")
    return playground.run(**asked)


ANSWERS = {"run": run, "about": about, "play": play}
