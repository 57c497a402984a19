"""What a reader has solved and predicted, as in JupyterLab: the logbook writes a file, the page keeps its lines."""

import sys
import tempfile
from functools import cache
from pathlib import Path

from course_lib.exercises.logbook import FILE, GIVEN


@cache
def _folder() -> Path:
    """A folder of copies, for the logbook, without a copy in it."""
    folder = Path(tempfile.mkdtemp())
    (folder / GIVEN).touch()
    return folder


def begin(notebook: str, text: str, lines: str) -> None:
    """A cell with this text runs next, in the reader's copy of this notebook; `lines` are kept so far."""
    (_folder() / FILE).write_text("".join(f"{line}\n" for line in lines.splitlines()), encoding="utf-8")
    shell = sys.modules["IPython"].get_ipython()
    shell.user_ns["__vsc_ipynb_file__"] = str(_folder() / f"{notebook}.ipynb")
    shell.history_manager.input_hist_raw[:] = [text]


def lines() -> str:
    """All lines that are kept now."""
    return (_folder() / FILE).read_text(encoding="utf-8")
