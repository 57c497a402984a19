"""Results of the test kernels on a real GPU, frozen in tests/golden/ by tools/author/frozen.py."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from tests.kernels.case import Case
from tests.rules import ROOT

FOLDER = ROOT / "tests" / "golden"
HOW_TO_RECORD = "run `python -m tools.author.frozen` on a machine with an H100"


@dataclass(frozen=True)
class Golden:
    """Frozen results, with their provenance: GPU, driver, versions, date."""

    provenance: dict[str, str]
    cases: dict[str, dict]
    arrays: dict[str, np.ndarray]

    def outputs(self, name: str) -> dict[int, np.ndarray]:
        """{index of argument: array} of one case."""
        return {index: self.arrays[key(name, index)] for index in self.cases[name]["outputs"]}


def key(name: str, index: int) -> str:
    """The name of one array in the .npz file."""
    return f"{name}/{index}"


@cache
def load(gpu: str = "h100") -> Golden | None:
    """The frozen results, or None when there are none yet."""
    facts, arrays = FOLDER / f"{gpu}.json", FOLDER / f"{gpu}.npz"
    if not facts.is_file():
        return None
    content = json.loads(facts.read_text(encoding="utf-8"))
    with np.load(arrays) as stored:
        kept = dict(stored)
    kept |= {name: kept[first] for name, first in content["equal"].items()}
    return Golden(content["provenance"], content["cases"], kept)


def save(folder: Path, golden: Golden, gpu: str = "h100") -> None:
    """Write both files into `folder`. Of arrays that are equal bit for bit only the first one is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    firsts: dict[tuple, str] = {}
    equal = {}
    for name, array in golden.arrays.items():
        first = firsts.setdefault((array.shape, array.dtype.str, array.tobytes()), name)
        equal |= {name: first} if first != name else {}
    kept = {name: array for name, array in golden.arrays.items() if name not in equal}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(case)}" for name, case in golden.cases.items())
    facts = json.dumps(golden.provenance, indent=1), json.dumps(equal, indent=1)
    text = f'{{"provenance": {facts[0]},\n"equal": {facts[1]},\n"cases": {{\n{lines}\n}}}}\n'
    (folder / f"{gpu}.json").write_text(text, encoding="utf-8")
    np.savez_compressed(folder / f"{gpu}.npz", **kept)


def entry(case: Case, outputs: list[int], prints: str, fingerprint: str) -> dict:
    """What the .json file keeps about one case."""
    return {"fingerprint": fingerprint, "exact": case.exact, "outputs": outputs, "prints": prints}
