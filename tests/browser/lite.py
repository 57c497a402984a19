"""The JupyterLite site in Chromium, for tests: `Opened` is a notebook there."""

import contextlib
import json
import os
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from course_lib.lessons import sources

PATIENCE = 1_200_000
"""Milliseconds for a lesson; the longest takes minutes where others work too."""
OPEN = """async () => {
    const { shell, commands } = window.jupyterapp;
    const { context, sessionContext } = shell.currentWidget;
    await context.ready;
    await sessionContext.ready;
    await sessionContext.session.kernel.info;
    window.finished = false;
    window.act = (id, given) => {
        window.finished = false;
        commands.execute(id, given).finally(() => { window.finished = true; });
    };
}"""
CELLS = "() => window.jupyterapp.shell.currentWidget.context.model.sharedModel.toJSON().cells"


class _Files(SimpleHTTPRequestHandler):
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".wasm": "application/wasm"}

    def log_message(self, *_: object) -> None:
        pass


def for_tests(site: Path, folder: Path) -> Path:
    """The site in this folder, with one setting more: the application is there for the page's scripts."""
    shutil.copytree(site, folder, copy_function=os.link)
    settings = folder / "jupyter-lite.json"
    read = json.loads(settings.read_text(encoding="utf-8"))
    read["jupyter-config-data"]["exposeAppInBrowser"] = "true"
    settings.unlink()  # a link to the site's own
    settings.write_text(json.dumps(read), encoding="utf-8")
    return folder


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder of files on this machine meanwhile; its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class Opened:
    """A notebook in the page, whose Python is there."""

    def __init__(self, page, address: str, name: str) -> None:
        self.page, self.address = page, f"{address}/lab/index.html?path={name}"
        self._open()

    def open_again(self) -> None:
        """Save, and load the page anew, with a Python that knows nothing."""
        self._act("docmanager:save")
        self._open()

    def _open(self) -> None:
        self.page.goto(self.address)
        self.page.wait_for_function(
            "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel", timeout=PATIENCE
        )
        self.page.evaluate(OPEN)

    def run_all(self) -> list[dict]:
        """Run all cells; return them with what they printed. What the site's copy has as printed goes first."""
        self._act("notebook:clear-all-cell-outputs")
        self._act("notebook:run-all-cells")
        return self.cells()

    def run(self, cell: str, source: str | None = None) -> dict:
        """Run one cell, by its id, with another text if one is given; return it with what it printed."""
        given = json.dumps([cell, source])
        self.page.evaluate(f"""() => {{
            const [id, source] = {given};
            const {{ content }} = window.jupyterapp.shell.currentWidget;
            const number = content.widgets.findIndex(({{ model }}) => model.id === id);
            if (source !== null) content.widgets[number].model.sharedModel.setSource(source);
            content.deselectAll();
            content.activeCellIndex = number;
        }}""")
        self._act("notebook:run-cell")
        return next(each for each in self.cells() if each["id"] == cell)

    def cells(self) -> list[dict]:
        """All cells as the notebook has them now."""
        return self.page.evaluate(CELLS)

    def _act(self, command: str) -> None:
        self.page.evaluate(f"window.act({command!r}, {{}})")
        self.page.wait_for_function("window.finished", timeout=PATIENCE, polling=250)


def text_of(cell: dict) -> str:
    """What a cell printed, the text of what it showed, and of what it raised."""
    parts = [
        out.get("text") or out.get("evalue") or out.get("data", {}).get("text/plain", "")
        for out in cell.get("outputs", ())
    ]
    return "".join("".join(part) for part in parts).strip()


def errors(cells: list[dict]) -> list[str]:
    """Errors of cells that were not meant to raise one."""
    return [
        f"{cell['id']}: {out['evalue']}"
        for cell in cells
        if cell["cell_type"] == "code" and "raises-exception" not in cell["metadata"].get("tags", ())
        for out in cell["outputs"]
        if out["output_type"] == "error"
    ]


def compared(cells: list[dict], name: str) -> tuple[int, list[tuple[str, str, str]]]:
    """How many code cells were compared with the lesson in the repository, and (id, text here, text there) of those
    that print another text. Cells whose text is another one on each machine are left out."""
    lesson = json.loads((sources.NOTEBOOKS / name).read_text(encoding="utf-8"))
    there = {cell["id"]: cell for cell in lesson["cells"] if cell["cell_type"] == "code"}
    same_everywhere = [
        cell
        for cell in cells
        if cell["id"] in there and "nbval-ignore-output" not in cell["metadata"].get("tags", ())
    ]
    pairs = [(cell["id"], text_of(cell), text_of(there[cell["id"]])) for cell in same_everywhere]
    return len(pairs), [pair for pair in pairs if pair[1] != pair[2]]
