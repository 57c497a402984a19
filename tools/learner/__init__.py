"""What a learner calls by `make`.

| file | one idea |
|---|---|
| copies.py | the copies in my_lessons/, made and brought up to date |
| news.py | `make news`: what a new version brings to an edited copy, cell by cell |
| outcome.py | what came of a notebook that ran, and the table of all of them |
| run.py | notebooks executed, some at the same time |
| kept.py | notebooks as they ran, until something changes that a run depends on |
| lab.py, labconfig/ | `make lab`: the copies in JupyterLab, with the course's defaults and `tools/lab_extension` |

Beside the rooms stand `tools/install.py`, which makes `.venv` for all of them and runs before there is any package, and
`tools/course.py`, `make course`, which calls this room and the book.
"""
