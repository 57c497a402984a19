"""What a learner calls by `make`.

| file | one idea |
|---|---|
| copies.py | the copies in my_lessons/, made and brought up to date |
| course.py | `make course`: every lesson run, the book written, one table |
| kept.py | notebooks as they ran, until something changes that a run depends on |
| lab.py, labconfig/ | `make lab`: the copies in JupyterLab, with the course's defaults and `tools/lab_extension` |

`tools/install.py`, which makes `.venv` for every room, stands above them: it runs before there is any package.
"""
