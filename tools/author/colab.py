"""Write the cell for Google Colab into every notebook: `python -m tools.author.colab`, after a new version or address.

The address is `Repository` in pyproject.toml, and the version the one there: Colab fetches the release with the tag
v<version>.
"""

import nbformat

from course_lib.lessons import sources
from hiding_latency.copies import COLAB_CELL as CELL
from hiding_latency.copies import first_code
from hiding_latency.packages import pyproject
from ptxsim.ground import whole

FOLDED = {"jupyter": {"source_hidden": True}, "tags": ["hide-input"]}


def source() -> str:
    """The text of the cell; it does nothing on any other host."""
    project = pyproject()["project"]
    release = f"{project['urls']['Repository']}/archive/refs/tags/v{project['version']}.tar.gz"
    return (
        "# For Google Colab, which opens a notebook without the course. Elsewhere nothing happens.\n"
        "import sys\n\n"
        'if "google.colab" in sys.modules:\n'
        f'    get_ipython().run_line_magic("pip", "install -q --no-deps {release}")\n'
        '    __import__("course_lib.lessons.colab").lessons.colab.prepare()'
    )


def put(notebook: nbformat.NotebookNode) -> None:
    """Put the cell, or a new one, above the first code: behind the introduction, and before the first import."""
    cells = notebook.cells
    place = next((place for place, cell in enumerate(cells) if cell.get("id") == CELL), None)
    there = nbformat.v4.new_code_cell(id=CELL, metadata=dict(FOLDED)) if place is None else cells.pop(place)
    there.source = source()
    cells.insert(first_code(cells), there)


def main() -> None:
    for path in sorted(sources.NOTEBOOKS.rglob("[0-9][0-9]_*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        put(notebook)
        whole.write(path, nbformat.writes(notebook) + "\n")


if __name__ == "__main__":
    main()
