"""The lessons as notebooks in the browser: a JupyterLite site.

| file | one idea |
|---|---|
| kernel.toml | what a notebook's kernel needs besides the files of ../pyodide.toml |
| lock.py | what Pyodide reads of packages, the course's wheel among them |
| __main__.py | the site |
| environment.py | an environment with JupyterLite in it |
| requirements.in, requirements.txt | its packages: those that are asked for, and all with their hashes |
"""
