"""The course in a browser tab: the book's cells, and a playground, run by Python in the page.

| file | one idea |
|---|---|
| pyodide.toml | the files of Python for a browser: names, versions, SHA-256 |
| pins.py | that list, and what Pyodide wants to know of packages |
| fetch.py | takes these files from where it is told, and refuses what has another hash |
| site.py | `_static/live/` beside the book: Python, the course as bytecode, an archive for each lesson |
| packages.py | Python's library and packages as bytecode, for a page |
| bytecode.py, bytecode.mjs | modules compiled by the Python that will run them |
| measure.py | how large and how quick a book's live cells are on this machine |
| inside/ | what runs in the page: cells of a notebook, each with what it needs |
| page/ | the page's own scripts: a worker, the buttons of the book, what a reader's browser keeps |
| editor/ | what page/editor.js is built from, by authors: CodeMirror from its packages, CUDA as in JupyterLab |

`make live` fetches the files and writes the book; from then on every `make course` writes one whose cells run. Such a
book needs a server, `make serve` or any other: browsers start no worker from plain files.
"""
