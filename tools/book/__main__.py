"""`python -m tools.book [00 03 ...]`: a book of the committed outputs in build/preview, without running a lesson."""

import sys

from course_lib.lessons import sources
from hiding_latency.run import committed
from tools.book.build import write_book
from tools.install import ROOT
from tools.live import fetch

if __name__ == "__main__":
    every = sources.every_notebook(sources.NOTEBOOKS)
    chosen = [path for path in every if path.name.startswith(tuple(sys.argv[1:]) or "")]
    out = ROOT / "build" / "preview"
    out.parent.mkdir(exist_ok=True)
    print("\n".join(write_book([*map(committed, chosen)], "as committed", out, live=not fetch.missing())))
    print(f"Read the pages: {(out / 'index.html').relative_to(ROOT)}")
