"""A notebook in the browser: JupyterLite, whose Python runs in a worker of the page.

Nothing there says which notebook runs. So each cell of the site's copies has its notebook's name in its metadata,
which Jupyter sends along with the cell. The folder of the copies, the progress in it, is the browser's storage.
"""

import json
import logging
import os
import sys
from pathlib import Path

from ptxsim.compiler import cache, elsewhere

HERE = "pyodide_kernel" in sys.modules
DRIVE = Path("/drive")
"""Where that Python finds the browser's storage."""
NOTEBOOK = "notebook"
"""The key in a cell's metadata: "02_producer_consumer.ipynb", "exercises/01_mainloop.ipynb"."""
SERVICE = "/api/compile"
"""Where the page's host has a compiler, if `hiding-latency serve` is that host."""
WITHOUT_COMPILER = (
    "This kernel was edited, and a browser has no CUDA compiler. Kernels that are not edited run here: what the "
    "compiler makes of them ships with the course. Where `make serve` serves these pages, it compiles the others "
    "(docs/hosts.md)."
)


def prepare() -> None:
    """Say to the course what it cannot find out there. `course_lib` calls it when it is imported."""
    from IPython import get_ipython

    shell = get_ipython()
    note_notebook(shell.kernel.get_parent())
    shell.events.register("pre_run_cell", lambda _: note_notebook(shell.kernel.get_parent()))
    elsewhere.ask_with(ask_host)
    sys.path.append("")  # a learner's own modules; last, since looking there asks the page
    cache.HINTS.clear()  # they say what to install
    # "Matplotlib is building the font cache": natively that happens once, here whenever Python starts.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)


def note_notebook(asked: dict | None) -> None:
    """Name the notebook whose cell is to run as Jupyter does elsewhere. A cell that a learner added says nothing."""
    name = (asked or {}).get("metadata", {}).get(NOTEBOOK, "")
    if name or "JPY_SESSION_NAME" not in os.environ:
        os.environ["JPY_SESSION_NAME"] = str(DRIVE / (name or "unknown.ipynb"))


def ask_host(question: dict) -> elsewhere.Answer:
    """Have the page's host compile a text. One that has no compiler is not sent any."""
    if not _request("GET")[1].get("compiler"):
        return 503, {"error": WITHOUT_COMPILER}
    return _request("POST", json.dumps(question))


def _request(method: str, body: str | None = None) -> elsewhere.Answer:
    """Ask, and wait: a worker may."""
    from js import XMLHttpRequest

    request = XMLHttpRequest.new()
    request.open(method, SERVICE, False)
    request.setRequestHeader("Content-Type", "application/json")
    try:
        request.send(body)
        answer = json.loads(request.responseText)
    except Exception:  # JavaScript's: nobody is there; or Python's: the answer is no JSON
        answer = None
    gone = {"error": "The compile service of this host does not answer."}
    return request.status, answer if isinstance(answer, dict) else gone
