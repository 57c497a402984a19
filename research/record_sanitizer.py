"""Run mutants of the test kernels, and the known-wrong ones, under compute-sanitizer on a GPU; freeze what it finds.

    python -m research.record_sanitizer select SUSPECTS     chooses them, in the simulator; needs no GPU
    python -m research.record_sanitizer record SUSPECTS     needs CuPy and `compute-sanitizer`

SUSPECTS is a file of JSON between the two. What would hang is left out; rows of kernels that are as they were stay. The
result, sanitizer_h100.json, goes to the folder that the environment variable OUT names, else to tests/golden.
"""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.kernels import hopper_lessons
from tests.kernels.case import Case, WrongCase, array_of, mismatch
from tests.kernels.cases import HOPPER, WRONG
from tests.kernels.golden import FOLDER
from tests.kernels.to_mutate import by_name, groups
from tests.ptxsim.races import mutate_hopper
from tests.ptxsim.races.mutate import RULES, Mutant, fingerprint, mutants
from tools.author.frozen import on_gpu, provenance

FILE = FOLDER / "sanitizer_h100.json"
TOOLS = {  # racecheck twice: pairs of places, and single hazards with their kind (too many to print them all)
    "racecheck": ["--tool", "racecheck", "--racecheck-report", "analysis", "--print-limit", "1000"],
    "hazards": ["--tool", "racecheck", "--racecheck-report", "hazard", "--print-limit", "400"],
    "memcheck": ["--tool", "memcheck", "--print-limit", "50"],
    "synccheck": ["--tool", "synccheck", "--print-limit", "50"],
    "initcheck": ["--tool", "initcheck", "--print-limit", "50"],
}
WORKERS = 12
BATCH = {"racecheck": 8, "hazards": 1, "memcheck": 8, "synccheck": 8, "initcheck": 8}
"""Kernels in one process; one that ends with an error of the GPU has it for itself."""
TIMEOUT = 12, 6  # seconds for a process, and for each kernel in it

ENDLESS = {"deadlock", "step-limit", "barrier-count"}
MOST = 3  # mutants of one rule and kernel; of the rules for indices only one
KERNELS = {  # and those of the lessons from 02 on, see `tried`
    "gemm_async_1_stages_k40", "gemm_async_3_stages_k40", "gemm_pipeline_api", "copy_sizes", "copy_own",
    "gemm_fp32_64x64x16", "gemm_tiled_half", "transpose_padded", "block_sum", "block_sum_last_warp",
    "inclusive_scan", "scan_two_buffers", "stencil_1d", "stencil_2d", "bitonic_sort", "exit_before_barrier",
    "softmax", "shared_vectors", "producer_consumer", "fp32_s1_k3", "fp32_s3_k5", "fp16_s3_k5",
}  # fmt: skip

LESSON_RULES = ("drop barrier", "drop wait", "wait for one less", "other stage", "other buffer")
"""One mutant of each of these rules for a lesson's kernel."""


@dataclass(frozen=True)
class Suspect:
    """A mutant to run, an unchanged kernel, or a known-wrong one.

    `name` is that of its kernel, by which findings are told apart; `ends_early`: it has a process for itself.
    """

    kernel: str
    case: str
    mutant: str
    fingerprint: str
    kernel_fingerprint: str
    source: str
    name: str
    ends_early: bool


def select() -> list[Suspect]:
    """What ends, by the simulator: mutants, unchanged kernels, known-wrong ones; the same list each time."""
    found: list[Suspect] = []
    todo = [(group, cases[0], mutants, tried(group)) for group, cases in groups().items() if tried(group)]
    for case in hopper_lessons.CASES:
        whole = case in (hopper_lessons.CASES[0], hopper_lessons.CASES[-1])  # all of its rules, and right
        todo.append((case.name, case, mutate_hopper.mutants, dict.fromkeys(mutate_hopper.RULES, int(whole))))
    for group, case, mutants_of, left in todo:
        found.append(suspect(group, case, unchanged(case), len(found)))
        for mutant in mutants_of(case.source):
            if left[mutant.rule] and (one := suspect(group, case, mutant, len(found))):
                left[mutant.rule] -= 1
                found.append(one)
    found += [
        suspect(case.name, case, unchanged(case), len(found) + i)
        for i, case in enumerate(case for theme in HOPPER for case in theme.CASES)
    ]
    for case in WRONG:
        if one := suspect(f"wrong.{case.name}", case, unchanged(case), len(found)):
            found.append(one)
    return found


def unchanged(case: Case | WrongCase) -> Mutant:
    return Mutant("unchanged", "unchanged", 0, case.source)


def tried(group: str) -> dict[str, int]:
    """How many mutants of each rule; none for a kernel that is left out."""
    rules = [*RULES, "shift index"]
    if group in KERNELS:
        return {rule: 1 if rule in ("shift index", "drop bounds check") else MOST for rule in rules}
    if group.startswith("lesson."):
        return {rule: int(rule in LESSON_RULES) for rule in rules}
    return {}


def suspect(group: str, case: Case | WrongCase, mutant: Mutant, number: int) -> Suspect | None:
    """None for a mutant that does not compile, does not end, or is the same program as the kernel."""
    from ptxsim import CompileError, compile, launch
    from ptxsim.races.hazards import BAD_ADDRESS, FATAL

    old = kernel_name(case)
    name = f"{old}_m{number}"
    source, unchanged = (renamed(text, old, name) for text in (mutant.source, case.source))
    try:
        kernel = compile(source, name, case.options)
    except CompileError:
        return None
    original = compile(unchanged, name, case.options)
    if mutant.rule != "unchanged" and instructions(kernel.ptx) == instructions(original.ptx):
        return None
    report = launch(kernel, case.grid, case.block, case.make(), shared_mem=case.shared_mem, max_steps=400_000)
    kinds = {hazard.kind for hazard in report.hazards}
    if kinds & ENDLESS:
        return None
    prints = [fingerprint(text, case.options) for text in (mutant.source, case.source)]
    hangs = mutant.rule in mutate_hopper.RULES  # perhaps: at an mbarrier a GPU waits for ever
    alone = hangs or bool(kinds & (FATAL | BAD_ADDRESS | {"barrier-divergence", "warp-mask"}))
    return Suspect(group, case.name, mutant.name, *prints, source, name, alone)


def renamed(source: str, old: str, new: str) -> str:
    return re.sub(rf"\b{old}\b(?!\.cuh)", new, source)  # a header may have the kernel's name


def kernel_name(case: Case | WrongCase) -> str:
    return case.name if isinstance(case, WrongCase) else case.kernel


def case_of(one: Suspect) -> Case | WrongCase:
    if one.kernel.startswith("wrong."):
        return next(case for case in WRONG if case.name == one.case)
    return by_name(one.case)


def read(file: str) -> list[Suspect]:
    return [Suspect(**row) for row in json.loads(Path(file).read_text(encoding="utf-8"))]


def instructions(ptx: str) -> str:
    return re.sub(r"^\s*(?:\.loc|//).*\n", "", ptx, flags=re.M)


# ---- inside the sanitizer


def launch_all(file: str, numbers: list[int]) -> None:
    """Launch these suspects, one after the other; prints whether the numbers were right."""
    import cupy as cp

    cp.cuda.set_allocator(None)  # an allocation for each array, so that memcheck knows where it ends
    suspects = read(file)
    for number in numbers:
        one = suspects[number]
        print(f"\n@@@ begin {one.name}", flush=True)
        try:
            wrong = run(cp, case_of(one), one)
        except Exception as error:
            print(f"\n@@@ error {one.name} {error}", flush=True)
        else:
            print(f"\n@@@ {'wrong' if wrong else 'right'} {one.name}", flush=True)


def run(cp, case: Case | WrongCase, one: Suspect) -> bool:
    """Whether the numbers were wrong; nobody knows of a known-wrong kernel what they should be."""
    args = case.make()
    kernel = cp.RawModule(code=one.source, options=(*case.options, "-lineinfo")).get_function(one.name)
    if case.shared_mem > 48 * 1024:
        kernel.max_dynamic_shared_size_bytes = case.shared_mem
    device, passed = on_gpu(args)
    kernel(case.grid, case.block, passed, shared_mem=case.shared_mem)
    cp.cuda.Device().synchronize()
    if isinstance(case, WrongCase):
        return False
    expected = case.reference(case.make())
    orders = {index: "C" if array_of(args[index]).flags.c_contiguous else "F" for index in expected}
    return any(
        mismatch(case, index, array, device[index].get().reshape(array.shape, order=orders[index]))
        for index, array in expected.items()
    )


# ---- around it


def sanitize(sanitizer: str, file: str, tool: str, numbers: list[int]) -> str:
    """What the tool prints about these suspects."""
    launch = [sys.executable, __file__, "launch", file, *map(str, numbers)]
    command = [sanitizer, *TOOLS[tool], "--show-backtrace", "no", *launch]
    with tempfile.TemporaryFile() as out:  # not a pipe, which a process that hangs would keep open
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            process.wait(TIMEOUT[0] + TIMEOUT[1] * len(numbers))
            late = ""
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the sanitizer, and the kernel that it watches
            late = "\n@@@ timeout"
        out.seek(0)
        return out.read().decode(errors="replace") + late


def part(text: str, kernel: str) -> str:
    """What was printed while this kernel ran."""
    found = re.search(rf"@@@ begin {kernel}\n(.*?)(?=@@@ begin|@@@ done|\Z)", text, re.DOTALL)
    return found[1] if found else ""


NO_FINDING = (
    r"^$|SUMMARY|COMPUTE-SANITIZER|Program hit (?:cuda|CUDA)|process didn't terminate|application returned an"
)


def findings(text: str) -> list[dict]:
    """The sanitizer's records: what, at which source lines (as many as it names), how often."""
    counted: dict[tuple, int] = {}
    for record in records(text):
        lines = tuple(int(n) for n in re.findall(r"\.cu:(\d+)", "\n".join(record)))
        words = re.sub(r" at \S*__shared__ 0x[0-9a-f]+.*| at .* in \S+\.cu:\d+.*", "", record[0]).strip()
        if not re.search(NO_FINDING, words):
            counted[words, lines[:2]] = counted.get((words, lines[:2]), 0) + 1
    return [{"text": words, "lines": list(lines), "count": n} for (words, lines), n in counted.items()]


def records(text: str) -> list[list[str]]:
    """Each begins with a line that is not indented behind the ========= of the sanitizer."""
    found: list[list[str]] = []
    for line in text.splitlines():
        body = line.removeprefix("=========")
        if body != line and body.strip():
            if body.startswith("     ") and found:
                found[-1].append(body.strip())
            else:
                found.append([body.strip()])
    return found


def ending(text: str, kernel: str) -> str:
    """right, wrong (numbers), error (of the GPU), or nothing: it did not end."""
    match = re.search(rf"@@@ (right|wrong|error) {kernel}\b", text)
    return match[1] if match else "nothing"


def record(file: str) -> None:
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    version = re.search(
        r"Version (\S+)", subprocess.run([sanitizer, "--version"], capture_output=True, text=True).stdout
    )
    suspects, known = read(file), frozen()
    out = Path(os.environ.get("OUT") or Path(__file__).parent)
    out.mkdir(parents=True, exist_ok=True)
    new = {number: one for number, one in enumerate(suspects) if key(asdict(one)) not in known}
    outputs = run_all(sanitizer, file, new)
    table = [
        entry(one, {tool: outputs[tool, number] for tool in TOOLS})
        if number in new
        else known[key(asdict(one))]
        for number, one in enumerate(suspects)
    ]
    facts = {**provenance(), "compute-sanitizer": version[1]}
    lines = ",\n".join(json.dumps(row) for row in table)
    text = f'{{"provenance": {json.dumps(facts, indent=1)},\n"mutants": [\n{lines}\n]}}\n'
    (out / "sanitizer_h100.json").write_text(text, encoding="utf-8")
    if "OUT" in os.environ:
        with gzip.open(out / "sanitizer_raw.txt.gz", "wt") as raw:
            raw.write("\n".join(f"### {tool} {n}\n{text}" for (tool, n), text in outputs.items()))
    lost = [row["mutant"] for row in table if "nothing" in row["ends"].values()]
    print(f"{len(table)} kernels, {len(new)} of them new; not ended: {lost}")


def frozen() -> dict[tuple, dict]:
    """The rows that are there already, by what they are of."""
    if not FILE.is_file():
        return {}
    return {key(row): row for row in json.loads(FILE.read_text(encoding="utf-8"))["mutants"]}


def key(row: dict) -> tuple:
    return tuple(row[name] for name in ("kernel", "case", "mutant", "fingerprint", "kernel_fingerprint"))


def run_all(sanitizer: str, file: str, suspects: dict[int, Suspect]) -> dict[tuple[str, int], str]:
    """(tool, number of the suspect) -> what was printed about it."""
    safe = [number for number, one in suspects.items() if not one.ends_early]
    alone = [[number] for number, one in suspects.items() if one.ends_early]
    tasks = [
        (tool, batch)
        for tool, size in BATCH.items()
        for batch in [*(safe[i : i + size] for i in range(0, len(safe), size)), *alone]
    ]
    outputs: dict[tuple[str, int], str] = {}

    def work(todo: list) -> None:
        with ThreadPoolExecutor(WORKERS) as pool:
            texts = pool.map(lambda task: sanitize(sanitizer, file, *task), todo)
            for (tool, batch), text in zip(todo, texts, strict=True):
                outputs.update({(tool, number): part(text, suspects[number].name) for number in batch})

    work(tasks)
    work([  # a batch that broke half-way: those kernels once more, each alone
        (tool, [number])
        for tool, batch in tasks
        for number in batch
        if len(batch) > 1 and ending(outputs[tool, number], suspects[number].name) in ("nothing", "error")
    ])  # fmt: skip
    return outputs


def entry(one: Suspect, texts: dict[str, str]) -> dict:
    """One row of the frozen table."""
    return {
        "kernel": one.kernel,
        "case": one.case,
        "mutant": one.mutant,
        "fingerprint": one.fingerprint,
        "kernel_fingerprint": one.kernel_fingerprint,
        "ends": {tool: ending(text, one.name) for tool, text in texts.items()},
        **{tool: findings(text) for tool, text in texts.items()},
    }


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["select", file]:
            Path(file).write_text(json.dumps([asdict(one) for one in select()]), encoding="utf-8")
        case ["record", file]:
            record(file)
        case ["launch", file, *numbers]:  # inside the sanitizer
            launch_all(file, [int(number) for number in numbers])
        case _:
            sys.exit(__doc__)
