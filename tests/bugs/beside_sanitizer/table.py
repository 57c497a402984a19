"""ptxsim/docs/real_bugs.csv: `python -m tests.bugs.beside_sanitizer.table` prints it, a test compares."""

import csv
import io
import json
import re
from pathlib import Path

import ptxsim
from tests.bugs.beside_sanitizer.pairs import PAIRS, Pair

RECORD = json.loads((Path(__file__).parents[2] / "golden" / "real_bugs_h200.json").read_text())
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
SITES = {
    "DeepEP": "deepseek-ai/DeepEP", "DeepGEMM": "deepseek-ai/DeepGEMM", "CUTLASS": "NVIDIA/cutlass",
    "TransformerEngine": "NVIDIA/TransformerEngine", "FlashKDA": "MoonshotAI/FlashKDA", "Fuser": "NVIDIA/Fuser",
    "TileOPs": "tile-ai/TileOPs", "tilelang": "tile-ai/tilelang", "sglang": "sgl-project/sglang",
    "humming": "inclusionAI/humming", "cudnn-frontend": "NVIDIA/cudnn-frontend", "mlxcel": "lablup/mlxcel",
    "llama.cpp": "ggml-org/llama.cpp",
}  # fmt: skip


def report(pair: Pair) -> tuple[str, str, str]:
    """The project with the number of the report, its address, and the state of its mend."""
    project, number, state = re.fullmatch(r"(\S+) #(\d+), (.*)", pair.where).groups()
    return f"{project} #{number}", f"https://github.com/{SITES[project]}/issues/{number}", state


def by_simulator(pair: Pair) -> str:
    """The kinds that it reports of the faulty one, in its first order."""
    kernel = ptxsim.compile(pair.source, "k", pair.options(False))
    found = ptxsim.launch(kernel, (pair.grid,), pair.block, pair.arguments())
    return ", ".join(dict.fromkeys(hazard.kind for hazard in found.hazards)) or "-"


def by_tools(pair: Pair, form: str) -> str:
    """Those of compute-sanitizer's tools that report something."""
    row = RECORD["pairs"][pair.name][form]
    return (
        ", ".join(tool for tool in TOOLS if row[tool]["findings"] or row[tool]["summary"] == "hangs") or "-"
    )


def alone(pair: Pair) -> str:
    """How the faulty one ends without a tool."""
    said = RECORD["pairs"][pair.name]["faulty"]["alone"]
    wrong = re.match(r"wrong numbers in (\d+)", said)
    return wrong[1] if wrong else "hangs" if said == "hangs" else "ends with an error"


def rows() -> list[tuple[str, ...]]:
    """Of each pair: its report, what it is, and who finds it."""
    return [
        (*report(pair), pair.fault, alone(pair), by_tools(pair, "faulty"), by_simulator(pair))
        for pair in PAIRS
    ]


def table() -> str:
    file = io.StringIO()
    header = ("bug", "report", "state", "what it is", "wrong runs of 200", "compute-sanitizer", "ptxsim")
    csv.writer(file, lineterminator="\n").writerows([header, *rows()])
    return file.getvalue()


if __name__ == "__main__":
    print(table(), end="")
