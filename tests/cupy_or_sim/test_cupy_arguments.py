"""What the stand-in does with arguments, sizes, names and options, beside what CuPy did with them on a GPU.

What arrives there arrives here. What CuPy refuses is refused, and what it takes and a kernel then reads as something
else is refused as well, in words. DIFFERENT has all that goes another way, each with its reason.
"""

import json
import re
from collections import Counter

import pytest

from tests.cupy_or_sim import cupy_arguments
from tests.cupy_or_sim.cupy_arguments import FILE

HOW_TO_RECORD = "run `python tests/cupy_or_sim/cupy_arguments.py` on a machine with a GPU"
STRICT, LENIENT, TAKEN = ("arrives", "refused"), ("refused", "arrives"), ("misread", "misread")
A_NUMBER = "(int|unsigned|long long|unsigned long long|short|unsigned short|signed char|unsigned char|bool)"
DIFFERENT = {
    # a number that arrives because all its bytes are 0, or by the bytes behind it
    rf"0\.0 for {A_NUMBER}|(0|False) for (float|double)|0\.0 for float": STRICT,
    r"(False|0|0\.0) for (half|a complex of (float|double))": STRICT,
    r"np\.float32\((1|-3)\) for a complex of float|(1\.5|float\('nan'\)|1e300) for a complex of double": STRICT,
    r"np\.float64\((1|-3)\) for a complex of double|np\.complex(64\(1\) for float|128\(1\) for double)": STRICT,
    # an array by value: NumPy's arrays are those of the GPU here, and of those a kernel would have the address
    r"np\.array\(\[?5\]?, \w+\) for .*": STRICT,
    # a time is no number
    r"np\.datetime64\(5, 's'\) for .*": STRICT,
    # the first numbers are right, and the rest lies behind the array
    r"array: broadcast": STRICT,
    # a pointer out of a float; an address, which NumPy's arrays have not
    r"0\.0 for a null pointer|.*array\.data(\.ptr)?\)? for its pointer": STRICT,
    # an argument that no parameter takes
    r"arguments: one more": STRICT,
    # sizes that are no whole numbers; bytes that CuPy cuts to 32 bits
    r"(grid|block) (\(2, 3\.0\)|\(np\.array\(2\),\))": STRICT,
    r"shared_mem (64\.0|np\.float32\(64\)|np\.array\(64\)|2\*\*40)|max_dynamic_\w+ 65536\.0": STRICT,
    # every optimisation off is another program
    r"options( of a module)?: debug": STRICT,
    # NumPy's arrays have neither
    r"get_global: (ndarray by keywords|set)": STRICT,
    # arrays of the host are those of the GPU here
    r"array: of the host.*": LENIENT,
    # the same bits with another sign
    rf"(-3|np\.int\d+\(-3\)|200|2\*\*31|2\*\*63) for {A_NUMBER}": TAKEN,
    # a struct is its bytes
    r"np\.u?int\d+\(.*\) for (half|a complex of float)|np\.float64\(.*\) for a complex of float": TAKEN,
    r"np\.complex128 for a struct|array: records": TAKEN,
    # bytes, and words without a sign, stand for anything; each part of a complex number
    r"array of \w+ for unsigned char\*|array of float\d+ for unsigned( short| long long)?\*": TAKEN,
    r"array of uint16 for half\*|array of uint32 for float\*|array of uint64 for double\*": TAKEN,
    r"array of complex64 for float\*|array of complex128 for double\*": TAKEN,
}
"""Names of cases: what became of them with CuPy, and here."""


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict[str, str]]:
    assert FILE.exists(), HOW_TO_RECORD
    return json.loads(FILE.read_text())["cases"]


@pytest.fixture(scope="module")
def here() -> dict[str, dict[str, str]]:
    cp = cupy_arguments.stand_in()
    return {name: cupy_arguments.outcome(case, cp) for name, case in cupy_arguments.cases()}


def short(found: dict[str, str]) -> str:
    return found["outcome"].split()[0]


def test_all_cases_are_recorded(recorded, here):
    assert recorded.keys() == here.keys(), HOW_TO_RECORD
    assert json.loads(FILE.read_text())["provenance"].keys() >= {"gpu", "cupy", "date"}


def test_the_stand_in_does_as_cupy(recorded, here):
    used, wrong = Counter(), []
    for name in recorded:
        found = here[name]
        both = short(recorded[name]), short(found)
        rule = next(
            (rule for rule in DIFFERENT if re.fullmatch(rule, name) and DIFFERENT[rule] == both), None
        )
        used[rule] += 1
        same = both[0] == both[1] != "misread" or both in (("misread", "refused"), ("crash", "refused"))
        if not same and rule is None:
            wrong.append(f"{name}: with CuPy {recorded[name]}, here {found}")
    assert not wrong, "\n".join(wrong)
    assert used.keys() >= DIFFERENT.keys(), "a rule that no case needs"


def test_a_refusal_says_what_is_wrong(here):
    """In words of the stand-in or of Python, and none is a mistake of its own."""
    for name, found in here.items():
        if short(found) == "refused":
            assert found["words"], name
            assert found["error"] in (
                "LaunchError",
                "CompileError",
                "TypeError",
                "ValueError",
                "AttributeError",
            ), name


def test_what_arrives_is_most(here):
    outcomes = Counter(map(short, here.values()))
    assert outcomes["arrives"] > 300 and not outcomes["crash"]
