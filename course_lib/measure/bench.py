"""How fast kernels are: measured now on a GPU, replayed from `assets/measurements/` elsewhere, or modelled."""

from collections.abc import Iterable, Mapping

import numpy as np

from cupy_or_sim import limits, style, timing
from cupy_or_sim.given import check_labelled

from ..check.job import Job
from ..check.problem import Problem
from . import charts, records, runs
from .model import NOT_FOLLOWED, by_machine_code, trust
from .results import Results
from .rows import Row, has_speed


def benchmark(
    gemm: Problem, kernels: Mapping[str, tuple], model: bool = False, base: str | None = None
) -> Results:
    """Compare kernels with each other and with their peer (cuBLAS, of a product) on one problem.

    `kernels` is {label: (kernel, launch)}, in the order of the lesson. On a GPU every kernel is timed now; elsewhere,
    and of a kernel whose launch does not fit the GPU, the records of exactly these kernels are shown.
    `model`: what the simulator's clock says of the kernels, without a peer, on every machine: of an H100, or of the
    GPU here where `make calibrate` has measured it. A kernel whose addresses or branches depend on data has no
    model, and its row says so.
    `base`: the label that gains are counted from; without it each row's gain is over the row before.
    """
    check_labelled(kernels)
    if base is not None and base not in kernels:
        raise ValueError(f"base={base!r} is none of the kernels: {', '.join(kernels)}")
    if not kernels or gemm.peer in kernels:
        raise ValueError(
            f"give at least one kernel, none with the label {gemm.peer!r}: that row comes by itself"
        )
    launches = dict(kernels)
    entries: list[tuple[str, dict | None]]
    if model:
        entries = [(label, _modelled(job)) for label, job in _jobs(gemm, launches).items()]
    else:
        here = {label: launched for label, launched in launches.items() if limits.runs_here(*launched)}
        elsewhere = {label: launches[label] for label in launches if label not in here}
        entries = _beside_peer(
            gemm, launches, _recorded(gemm, elsewhere), _measured(gemm, here) if here else {}
        )
    itemsize = np.dtype(gemm.dtype).itemsize
    rows: list[Row] = []
    for label, entry in entries:
        tile = launches[label][1].tile if label in launches else None
        gpu = entry and entry.get("gpu")
        measured = [row for row in rows if row.tflops and row.gpu == gpu and base in (None, row.label)]
        before = measured[-1] if tile and measured else Row("")
        if entry and "tflops" in entry:
            rows.append(_row(label, entry, tile, before, itemsize, gemm.peer))
        else:
            rows.append(Row(label, peer=gemm.peer, **(entry or {})))
    M, N, K = gemm.M, gemm.N, gemm.K
    intensity = 2 * M * N * K / (itemsize * (M * K + N * K + M * N))
    return Results(gemm.title, f"{gemm.dtype}, {gemm.layout}", tuple(rows), intensity)


def so_far(*results: Results) -> None:
    """Draw how far the kernels of several lessons came: each as a fraction of its peer in its own run."""
    shown = [
        (each.title, [row for row in each.rows if not row.is_peer and row.of_peer and has_speed(row)])
        for each in results
    ]
    if any(rows for _, rows in shown):
        style.show(*charts.fractions([(title, rows) for title, rows in shown if rows]))
    else:
        print(f"Nothing to draw. {results[0].rows[0].origin}.")


def _beside_peer(
    gemm: Problem, labels: Iterable[str], *found: Mapping[str, dict | None]
) -> list[tuple[str, dict | None]]:
    """(label, entry) of each kernel, and behind them of the peer in each run that they are of. Each run gets an origin
    of its own."""
    kernels = {label: next((some[label] for some in found if label in some), None) for label in labels}
    known = [entry for some in found if (entry := some.get(gemm.peer))]
    of_runs, taken = [], set()
    for number, run in enumerate(runs.by_run(entry for entry in kernels.values() if entry), 1):
        peer = dict(runs.peer_of(run, known, gemm.flops))
        if _origin(run[0]) in taken:
            for entry in (*run, peer):
                entry["run"] = f", run {number}"
        taken.add(_origin(run[0]))
        of_runs.append(peer)
    rows: list[dict | None] = [*of_runs] or [known[0] if known else None]
    return [*kernels.items(), *((gemm.peer, entry) for entry in rows)]


def _origin(entry: dict) -> str:
    return f"{entry['origin']} {entry['gpu']}, {entry['date']}{entry.get('run', '')}"


def _keys(gemm: Problem, launches: dict[str, tuple]) -> dict[str, str]:
    keys = {label: records.kernel_key(job) for label, job in _jobs(gemm, launches).items()}
    return keys | {gemm.peer: records.peer_key(gemm)}


def _jobs(gemm: Problem, launches: dict[str, tuple]) -> dict[str, Job]:
    return {label: Job(kernel, gemm, launch) for label, (kernel, launch) in launches.items()}


def _measured(gemm: Problem, launches: dict[str, tuple]) -> dict[str, dict]:
    """An entry for each kernel and for the peer, measured now; in record mode they are kept, if the peer is there."""
    keys, entries = _keys(gemm, launches), timing.measure(gemm, launches)
    about = {gemm.peer: gemm.record(), **{k: records.about(job) for k, job in _jobs(gemm, launches).items()}}
    if "tflops" in entries[gemm.peer]:
        records.remember("speeds", {keys[k]: {"label": k, **about[k], **entries[k]} for k in keys})
    return {label: {"origin": "measured now on"} | entry for label, entry in entries.items()}


def _recorded(gemm: Problem, launches: dict[str, tuple]) -> dict[str, dict | None]:
    """An entry for each kernel and for the peer, as recorded; None where there is no record."""
    found = {label: records.find("speeds", key) for label, key in _keys(gemm, launches).items()}
    return {label: entry and entry | {"origin": "recorded on"} for label, entry in found.items()}


def _modelled(job: Job) -> dict:
    """An entry from the simulator's clock; in place of a date how far to trust it. Where it has none, why not."""
    try:
        launch = by_machine_code(job)
    except NOT_FOLLOWED as why:
        return {"origin": f"no model: {str(why).partition(chr(10))[0]}"}
    gemm, us = job.gemm, 1000 * launch.ms
    speed = {"tflops": gemm.flops / us / 1e6, "median_us": us, "p10_us": us, "p90_us": us}
    return {"gpu": launch.gpu.name, "origin": "model of an", "date": trust(launch), **speed}


def _row(label: str, entry: dict, tile: tuple | None, before: Row, itemsize: int, peer: str) -> Row:
    """One row. Blocks of tile_m x tile_n read M N K (1/tile_m + 1/tile_n) numbers for 2 M N K FLOP."""
    its = entry.get("peer_tflops")
    return Row(
        label,
        _origin(entry),
        peer=peer,
        **{
            name: entry[name] for name in entry.keys() & Row.__dataclass_fields__.keys() - {"label", "origin"}
        },
        of_peer=entry["tflops"] / its if its else None,
        intensity=2 / (itemsize * (1 / tile[0] + 1 / tile[1])) if tile else None,
        gain=entry["tflops"] / before.tflops if before.tflops else None,
        over=before.label,
    )
