"""A sweep on file, `sweeps/<gpu>.json`: the plan chosen for each problem, and the time of every plan tried."""

import json
from collections.abc import Iterable
from dataclasses import asdict

from .plans import Plan, Shape, plan_of

Times = dict[Plan, float]
Registers = dict[tuple, int]
"""(tile, slots) -> registers of a thread."""


def text(provenance: dict, chosen: dict[Shape, dict], times: dict[Shape, Times], others: dict) -> str:
    """JSON with a line for each problem. `chosen`: what `rows` gives; `others` are kept as they are."""
    tiles = list(dict.fromkeys((plan.tile, plan.warp) for each in times.values() for plan in each))
    lines = [f' "provenance": {json.dumps(provenance, indent=2)}']
    lines += [f' "{name}": {json.dumps(value)}' for name, value in others.items()]
    rows = [
        json.dumps({"shape": shape} | asdict(row["plan"]) | _numbers(row)) for shape, row in chosen.items()
    ]
    lines.append(' "plans": [\n  ' + ",\n  ".join(rows) + "\n ]")
    lines.append(f' "tiles": {json.dumps(tiles)}')
    sweep = {
        "x".join(map(str, shape)): [
            [tiles.index((plan.tile, plan.warp)), plan.stages, plan.split, plan.group, us]
            for plan, us in sorted(each.items(), key=lambda one: one[1])
        ]
        for shape, each in times.items()
    }
    compact = [f'  "{shape}": {json.dumps(rows, separators=(",", ":"))}' for shape, rows in sweep.items()]
    lines.append(' "sweep": {\n' + ",\n".join(compact) + "\n }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _numbers(row: dict) -> dict:
    return {name: value for name, value in row.items() if name != "plan"}


def chosen_of(record: dict) -> dict[Shape, dict]:
    """(M, N, K) -> {"plan": Plan, "us", "cublas_us", and "cutlass2_us" where CUTLASS was timed}."""
    numbers = ("us", "cublas_us", "cutlass2_us")
    return {
        tuple(row["shape"]): {"plan": plan_of(row)} | {name: row[name] for name in numbers if name in row}
        for row in record.get("plans", [])
    }


def times_of(record: dict) -> dict[Shape, Times]:
    """(M, N, K) -> {plan: microseconds}."""
    tiles = [((M, N, K), (rows, columns)) for (M, N, K), (rows, columns) in record.get("tiles", [])]
    return {
        shape_of(shape.split("x")): {
            Plan(tile, warp, stages, split, group): us
            for n, stages, split, group, us in rows
            for tile, warp in [tiles[n]]
        }
        for shape, rows in record.get("sweep", {}).items()
    }


def shape_of(numbers: Iterable[int | str]) -> Shape:
    """M, N and K."""
    M, N, K = map(int, numbers)
    return M, N, K


def registers_of(record: dict) -> Registers:
    return {(tuple(tile), stages): used for tile, stages, used in record.get("registers", [])}
