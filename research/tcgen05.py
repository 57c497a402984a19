"""All that ptxsim/docs/tcgen05.md tells, again: `python -m research.tcgen05 FOLDER`, where FOLDER holds gau-nernst's
learn-cuda, DeepGEMM and cutlass at the commits of that page.

Its tables of public kernels, then the tests that hold the public mistakes, the rules and each bit of the descriptors.
"""

import os
import subprocess
import sys
from pathlib import Path

from research import tcgen05_kernels, tcgen05_libraries

TESTS = (
    "tests/bugs/test_bugs.py",
    "tests/ptxsim/units/test_launch_control.py",
    "tests/ptxsim/instructions/test_tcgen05_frozen.py",
    *(str(path) for path in Path("tests/ptxsim/units").glob("test_tensor_*.py")),
)


def main(folder: Path) -> int:
    tcgen05_kernels.main(folder / "learn-cuda")
    tcgen05_libraries.main(folder)
    every = {**os.environ, "COURSE_EVERY_CASE": "1"}
    return subprocess.run([sys.executable, "-m", "pytest", "-q", *TESTS], env=every).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
