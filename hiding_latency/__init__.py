"""The commands of the course: what `hiding-latency` calls where the course is installed, and `make` in a clone.

| file | one idea |
|---|---|
| places.py | where the lessons are, and where the learner's copies: in a clone, and with an installed course |
| copies.py | the copies, made and brought up to date |
| waiting.py | the cells that tell what a learner shall predict first |
| linked.py | pages to which lessons link, beside copies that lie alone |
| news.py | what a new version brings to an edited copy, cell by cell |
| safely.py | files that several processes use: one at a time, whole or not at all |
| packages.py | what an installed course consists of |
| lab.py, labconfig/ | the copies in JupyterLab, with the course's defaults and its extension |
| outcome.py | what came of a notebook that ran, and the table of all of them |
| kernels.py | the kernels that run them, and how one talks with them |
| run.py | notebooks executed, some at the same time |
| kept.py | notebooks as they ran, until something changes that a run depends on |
| lessons.py | which lessons run again, how many at once, and the table |
| compared.py | the copies run again by nbval, which compares what they print with what they show |
| serve.py | the book and a compile service for a room |
| compile_service/ | that service: who may ask for what, and a compiler that can open nothing |

Beside it stand `tools/install.py`, which makes `.venv` before there is any package, and `tools/course.py`, `make
course`, which runs the lessons from here and writes the book.
"""
