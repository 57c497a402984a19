"""What runs inside the page, and on any Python for its tests: `bridge.py` is what the worker calls.

| file | one idea |
|---|---|
| names.py | which names a cell reads and writes, and so which cells above it needs |
| notebook.py | a notebook's cells, each run in what the cells it needs made |
| outputs.py | what a cell prints and shows, as a notebook keeps it; a stand-in for IPython |
| elsewhere.py | texts that do not ship: who compiles them |
| blame.py | the reports with a hazard that came up while a cell ran |
| progress.py | what was solved and predicted, as in JupyterLab |
| playground.py | any kernel with its launch |
| bridge.py | questions and answers of the page, as JSON |
"""
