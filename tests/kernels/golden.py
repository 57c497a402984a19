"""Results of the test kernels on a real GPU, frozen in tests/golden/ by tests/golden/record.py."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from .case import Case

FOLDER = Path(__file__).parent.parent / "golden"
HOW_TO_RECORD = "run `python tests/golden/record.py` on a machine with an H100"


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
        return Golden(content["provenance"], content["cases"], dict(stored))


def save(folder: Path, golden: Golden, gpu: str = "h100") -> None:
    """Write both files into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(case)}" for name, case in golden.cases.items())
    text = f'{{"provenance": {json.dumps(golden.provenance, indent=1)},\n"cases": {{\n{lines}\n}}}}\n'
    (folder / f"{gpu}.json").write_text(text, encoding="utf-8")
    np.savez_compressed(folder / f"{gpu}.npz", **golden.arrays)


def entry(case: Case, outputs: list[int], prints: str, fingerprint: str) -> dict:
    """What the .json file keeps about one case."""
    return {"fingerprint": fingerprint, "exact": case.exact, "outputs": outputs, "prints": prints}
