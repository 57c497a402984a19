"""Sample with Nsight Compute where the warps of the lessons' kernels wait, on this machine's GPU, and freeze it by
source line and reason, as `bubbles` reads it: stalls_h100.json.

    python tests/golden/record_stalls.py
    python tests/golden/record_stalls.py PAGE.csv gpu=NAME date=DAY driver=VERSION nvrtc=VERSION

It needs CuPy and `ncu`. The second form reads what `ncu --page source --csv` printed of one launch of each kernel, in
the order of the lessons; NVRTC here must make the same machine code, to which the lines belong. The file goes to the
folder that the environment variable OUT names, else next to this script.
"""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from course_lib import Gemm, kernel_source
from course_lib.check.job import Job
from course_lib.measure import records, samples
from tests.lessons import DTYPES, GEMMS, kernel
from tools.author.frozen import provenance

HERE = Path(__file__).parent
FILE = "stalls_h100.json"
SIZE = 4096
ARCH = "sm_90"


def jobs() -> dict[tuple[str, str], Job]:
    """(notebook, kernel): the product of each lesson kernel whose speed is recorded, in the lessons' order."""
    found = {}
    for (notebook, name), launch in GEMMS.items():
        gemm = Gemm(SIZE, SIZE, SIZE, DTYPES[notebook])
        job = Job(kernel(kernel_source(notebook, name), name), gemm, launch)
        if records.find("speeds", records.kernel_key(job)):
            found[notebook, name] = job
    return found


def recorded(of: dict[tuple[str, str], Job], pages: Iterable[Sequence[samples.Row]]) -> dict[str, dict]:
    """{key of the measurement: notebook, kernel, and what `samples.entry` keeps} of a page for each kernel."""
    return {
        records.kernel_key(job): {"notebook": notebook, "kernel": name, **samples.entry(job, rows, ARCH)}
        for ((notebook, name), job), rows in zip(of.items(), pages, strict=True)
    }


def main() -> None:
    of = jobs()
    if sys.argv[1:]:
        pages = [rows for _, rows in samples.pages(Path(sys.argv[1]).read_text(encoding="utf-8"))]
        about = dict(word.split("=", 1) for word in sys.argv[2:])
    else:
        pages, about = [samples.sampled(job) for job in of.values()], provenance()
    folder = Path(os.environ.get("OUT", HERE))
    rows = [f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in recorded(of, pages).items()]
    text = f'{{"provenance": {json.dumps(about)},\n"kernels": {{\n' + ",\n".join(rows) + "\n}}\n"
    (folder / FILE).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
