"""What a cell prints and shows, as a notebook keeps it; and a stand-in for IPython, which is large and not needed."""

import contextlib
import io
import sys
import traceback
import types
from collections.abc import Iterator

from ptxsim import MessageOnly
from ptxsim.compiler import ToolMissing

FORMS = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_", "image/png": "_repr_png_"}
"""Of an output, besides its text; the methods of objects that have them."""
CELL = "<cell>"
"""What a cell is called in a traceback."""


class Outputs(list):
    """The outputs of the cell that runs now, as dictionaries of a notebook."""

    def write(self, text: str) -> None:
        """What is printed in a row is one text."""
        if self and self[-1]["output_type"] == "stream":
            self[-1]["text"] += text
        elif text:
            self.append({"output_type": "stream", "name": "stdout", "text": text})

    def show(
        self, shown: object, kind: str = "display_data", raw: bool = False, metadata: dict | None = None
    ) -> None:
        """`raw`: what is shown is the output's data already."""
        data = shown if raw else data_of(shown)
        self.append({"output_type": kind, "data": data, "metadata": metadata or {}})

    def fail(self, error: BaseException) -> None:
        self.append(
            {"output_type": "error", "ename": type(error).__name__, "evalue": str(error), "text": told(error)}
        )


def data_of(shown: object) -> dict[str, str]:
    """An object in all forms that it has."""
    found = {form: made for form, name in FORMS.items() if (made := _made(shown, name)) is not None}
    return found | {"text/plain": repr(shown)}


def _made(shown: object, method: str) -> str | None:
    make = None if isinstance(shown, type) else getattr(shown, method, None)
    return make() if callable(make) else None


def told(error: BaseException) -> str:
    """An error as a learner reads it: the line of the cell and the message, or the message where it says all."""
    if isinstance(error, ToolMissing):
        return str(error)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == CELL]
    where = f"line {frames[-1].lineno} of the cell: " if frames and not isinstance(error, MessageOnly) else ""
    return f"{where}{type(error).__name__}: {error}"


@contextlib.contextmanager
def collected() -> Iterator[Outputs]:
    """All that is printed and shown meanwhile."""
    outputs = Outputs()
    writer = io.TextIOBase()
    writer.write = outputs.write
    _now.append(outputs)
    try:
        with contextlib.redirect_stdout(writer):
            yield outputs
    finally:
        _now.pop()


_now: list[Outputs] = []


def display(*shown: object, raw: bool = False, metadata: dict | None = None, **_: object) -> None:
    """IPython's function of that name."""
    for each in shown:
        _now[-1].show(each, raw=raw, metadata=metadata)


def stand_in_for_ipython() -> None:
    """Let the library find a notebook: figures ask IPython whether they are in one."""
    shell = types.SimpleNamespace(user_ns={}, history_manager=types.SimpleNamespace(input_hist_raw=[""]))
    package, room, core = (types.ModuleType(f"IPython{part}") for part in ("", ".display", ".core"))
    package.get_ipython, package.display, room.display = lambda: shell, room, display
    # Matplotlib asks, of old versions for more.
    package.version_info, core.pylabtools = (9, 0), types.ModuleType("IPython.core.pylabtools")
    sys.modules |= {each.__name__: each for each in (package, room, core, core.pylabtools)}
