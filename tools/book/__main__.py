"""`python -m tools.book [00 03 ...]`: a book of the committed outputs in build/preview, without running a lesson."""

import sys

from course_lib.lessons import sources
from tools.book.build import write_book
from tools.learner import course
from tools.live import fetch

if __name__ == "__main__":
    every = sources.every_notebook(sources.NOTEBOOKS)
    chosen = [path for path in every if path.name.startswith(tuple(sys.argv[1:]) or "")]
    out = course.ROOT / "build" / "preview"
    out.parent.mkdir(exist_ok=True)
    names = [path.relative_to(sources.NOTEBOOKS).with_suffix("").as_posix() for path in chosen]
    outcomes = [course.outcome(name, course.read(path), 0.0, []) for name, path in zip(names, chosen)]
    print("\n".join(write_book(outcomes, "as committed", out, live=not fetch.missing())))
    print(f"Read the pages: {(out / 'index.html').relative_to(course.ROOT)}")
