"""Sample with Nsight Compute where the warps of the lessons' kernels wait, on this machine's GPU, and freeze it by
source line and reason, as `bubbles` reads it: stalls_h100.json.

    python -m research.record_stalls
    python -m research.record_stalls PAGE.csv gpu=NAME date=DAY driver=VERSION nvrtc=VERSION

It needs CuPy and `ncu`. The second form reads what `ncu --page source --csv` printed of one launch of each kernel, in
the order of the lessons; NVRTC here must make the same machine code, to which the lines belong. The file goes to the
folder that the environment variable OUT names, else to tests/golden.
"""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from course_lib.check.job import Job
from course_lib.measure import records, samples
from tests.kernels.timed.lessons import STALLS, sampled
from tools.author.frozen import provenance

ARCH = "sm_90"


def recorded(of: dict[tuple[str, str], Job], pages: Iterable[Sequence[samples.Row]]) -> dict[str, dict]:
    """{key of the measurement: notebook, kernel, and what `samples.entry` keeps} of a page for each kernel."""
    return {
        records.kernel_key(job): {"notebook": notebook, "kernel": name, **samples.entry(job, rows, ARCH)}
        for ((notebook, name), job), rows in zip(of.items(), pages, strict=True)
    }


def main() -> None:
    of = sampled()
    if sys.argv[1:]:
        pages = [rows for _, rows in samples.pages(Path(sys.argv[1]).read_text(encoding="utf-8"))]
        about = dict(word.split("=", 1) for word in sys.argv[2:])
    else:
        pages, about = [samples.sampled(job) for job in of.values()], provenance()
    folder = Path(os.environ.get("OUT", STALLS.parent))
    rows = [f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in recorded(of, pages).items()]
    text = f'{{"provenance": {json.dumps(about)},\n"kernels": {{\n' + ",\n".join(rows) + "\n}}\n"
    (folder / STALLS.name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
