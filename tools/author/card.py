"""The quick-reference card, one page of A4: `python -m tools.author.card` writes assets/card.svg and assets/card.pdf.

Nothing on it is typed in twice: code is cut out of the lessons' kernels, layouts are computed by the simulator's own
rules and by running the course's functions in it, and targets are those of the checklist.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

import numpy as np

from course_lib import OPTIONS, Gemm, course_header, lesson_kernel, simulate
from course_lib.lessons import sources
from cupy_or_sim import style
from cupy_or_sim.cupy_on_numpy import RawKernel
from instruments import checklist
from instruments.checklist import Item
from instruments.evidence import FLOP_PER_CLOCK, WGMMA_FLOP_PER_CLOCK
from ptxsim.gpus import H100, REGISTERS, SHARED_BY_DEFAULT, SUB_CORES, WARP
from ptxsim.instructions.tensor import fragment
from ptxsim.launch import MAX_REGISTERS
from ptxsim.observe.counters import BANKS

ASSETS = Path(__file__).resolve().parents[2] / "assets"
A4 = 8.27, 11.69  # inches
LEFT, RIGHT, LEFT_WIDTH, RIGHT_WIDTH = 0.4, 4.5, 3.95, 3.37  # the columns, in inches
CODE, SMALL, WORDS, HEADING = 6.4, 6.8, 7.4, 9.0  # points
LEFT_LETTERS, RIGHT_LETTERS = 73, 62  # of a line of code
LINE = 1.32 / 72  # inches from one line to the next, for each point of its letters
CELL = 0.155, 0.13  # inches
ALT = "Quick-reference card: pipeline, ring, launch, fragments, ldmatrix, swizzle, Hopper's ring, targets."
SHADES = ("#ffffff", "#d9d9d9", "#bfbfbf", "#ededed")
"""Of the registers of a fragment: greys, which a printer keeps apart."""


# --------------------------------------------------------------------------- what stands on it


def cut(source: str, first: str, last: str, indent: int = 0) -> str:
    """The lines from the one with `first` to the one with `last`, without the macros of the timelines, indented anew.

    Raises ValueError when a line is not there."""
    lines = re.sub(r"TRACE_(BEGIN|END)\([^)]*\); *", "", source).splitlines()
    begin = next((n for n, line in enumerate(lines) if first in line), None)
    end = next((n for n, line in enumerate(lines) if last in line and begin is not None and n >= begin), None)
    if end is None:
        raise ValueError(f"no line with {first!r} and, behind it, {last!r}")
    kept = "\n".join(line.rstrip() for line in lines[begin : end + 1] if line.strip())
    return textwrap.indent(textwrap.dedent(kept), " " * indent)


def fitting(code: str, widest: int) -> str:
    """CUDA code in lines of at most `widest` characters: a comment may move above its line, and a line is broken behind
    a comma or a bracket."""
    lines = []
    for line in code.splitlines():
        text, mark, words = (part.rstrip() for part in line.partition("//"))
        margin = " " * (len(line) - len(line.lstrip()))
        line = f"{text}  //{words}" if mark and text else line
        if mark and text and len(line) > widest:
            lines.append(f"{margin}//{words}")
            line = text
        while len(line) > widest:
            at = max(line.rfind(end, 0, widest) + len(end) for end in (", ", "("))
            lines.append(line[:at].rstrip())
            line = f"{margin}        {line[at:]}"
        lines.append(line)
    return "\n".join(lines)


def codes() -> dict[str, str]:
    """Title -> code, cut out of the lessons."""
    ring = sources.kernel_source("05_three_stage", "ring")
    buffers = sources.kernel_source("03_double_buffer", "two_buffers")
    cells = {cell.get("id"): "".join(cell["source"]) for cell in sources._cells("06_parts_of_matmul")}
    tile = course_header("mma_tile.cuh")
    pipeline = (
        cut(ring, "auto issue", "commit_group"), "};",
        cut(ring, "k_tile < STAGES - 1", "multiply(sum, a, b)"), "    }", "}",
    )  # fmt: skip
    double = (
        cut(buffers, "issue(0);", "issue(k_tile + 1)"), "    // ... sums += a * b of buffer k_tile % 2", "}",
    )  # fmt: skip
    return {
        "Pipeline: a ring of STAGES slots (lesson 05)": fitting("\n".join(pipeline), LEFT_LETTERS),
        "Double buffer (lesson 03)": fitting("\n".join(double), LEFT_LETTERS),
        "Launch, any M and N (lesson 06, Python)": cut(
            cells["ex1-solution"], "TM, TN, TK = tile", "shared_mem ="
        ),
        "ldmatrix.x4: the address that a lane names (04)": fitting(
            cut(tile, "const __half* a_row", "lane / 8 % 2"), RIGHT_LETTERS
        ),
    }


def hopper() -> tuple[str, str]:
    """What the producer and what each consumer does for a k-tile, cut out of lesson 08."""
    roles = sources.kernel_source("08_never_a_pause", "roles")
    producer = cut(roles, "int slot = k_tile % SLOTS", "load_rows(TN") + "\n}"
    consumer = cut(roles, "mbarrier_wait(&s.full", "mbarrier_arrive(&s.empty")
    return fitting(producer, LEFT_LETTERS), fitting(consumer, RIGHT_LETTERS)


def turns(stages: int, count: int = 4) -> list[tuple[int, ...]]:
    """Of each turn of the ring: k-tile multiplied, its slot, k-tile whose copy starts, its slot, groups that may be on
    their way at the wait. Played with groups, as `commit_group` and `wait_group` count them."""
    committed, rows = list(range(stages - 1)), []
    for turn in range(count):
        newer = len(committed) - 1 - committed.index(turn)  # committed after the group of this k-tile
        begins = turn + stages - 1
        committed.append(begins)
        rows.append((turn, turn % stages, begins, begins % stages, newer))
    return rows


def swizzle(halves: int) -> np.ndarray:
    """Where `swizzled<halves>` puts chunk c of row r, in chunks from the row's beginning: [r, c], of 8 rows."""
    chunks = halves // 8
    source = f"""#include <course/mma_tile.cuh>
extern "C" __global__ void places(int* out)
{{
    int row = threadIdx.x / {chunks}, chunk = threadIdx.x % {chunks};
    out[threadIdx.x] = (swizzled<{halves}>(row, chunk) - row * {halves}) / 8;
}}"""
    out = np.full(8 * chunks, -1, np.int32)
    report = simulate(RawKernel(source, "places", options=OPTIONS), (1,), (8 * chunks,), (out,))
    assert report.ok, report
    return out.reshape(8, chunks)


def held(operand: str) -> tuple[np.ndarray, np.ndarray]:
    """Of mma.m16n8k16: the lane and the register that hold each pair of neighbours of a row; B as it lies, N x K."""
    rows, columns = fragment(operand, 16)[:: -1 if operand == "B" else 1]
    lanes = np.full((rows.max() + 1, columns.max() // 2 + 1), -1)
    registers = lanes.copy()
    for (lane, element), row in np.ndenumerate(rows):
        at = row, columns[lane, element] // 2
        assert lanes[at] in (-1, lane), "two neighbours belong to one lane"
        lanes[at], registers[at] = lane, element // 2
    return lanes, registers


def named(code: str) -> list[str]:
    """For A and for B, by eight lanes: the rows and the chunk that they name in an `ldmatrix.x4`, in words.

    Evaluates the expressions that stand in the code."""
    found = []
    for row, chunk in re.findall(r"swizzled<TK>\((.+?), 2 \* step \+ (.+?)\);", " ".join(code.split())):
        words = []
        for first in range(0, WARP, 8):
            at = [
                tuple(eval(text.replace("/", "//"), {"lane": lane}) for text in (row, chunk))
                for lane in range(first, first + 8)
            ]
            assert len({c for _, c in at}) == 1 and [r - at[0][0] for r, _ in at] == list(range(8))
            words.append(
                f"lanes {first}-{first + 7} → r{first // 8}: rows {at[0][0]}-{at[7][0]}, chunk {at[0][1]}"
            )
        found.append("\n".join(words))
    return found


def targets() -> tuple[Item, ...]:
    """The checklist's items, of one of the lessons' kernels: only what does not depend on the kernel is shown."""
    kernel, launch = lesson_kernel("04_tensor_cores", "one_stage")
    return checklist(Gemm(4096, 4096, 4096, "float16"), kernel, launch).items


# --------------------------------------------------------------------------- the page


class Page:
    """A figure of A4 on which things are placed in inches from the top left. What is written returns where it ends."""

    def __init__(self) -> None:
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=A4, facecolor="white")

    def text(self, x: float, y: float, text: str, size: float = WORDS, **look) -> float:
        for line in text.split("\n"):
            y += size * LINE
            shown = line.replace("$", r"\$")
            self.figure.text(x / A4[0], 1 - y / A4[1], shown, fontsize=size, color="black", **look)
        return y + 0.02

    def heading(self, x: float, y: float, width: float, text: str) -> float:
        from matplotlib.lines import Line2D

        y = self.text(x, y, text, HEADING, weight="bold") + 0.03
        across = [x / A4[0], (x + width) / A4[0]]
        self.figure.add_artist(Line2D(across, [1 - y / A4[1]] * 2, color="black", linewidth=0.8))
        return y + 0.03

    def code(self, x: float, y: float, text: str) -> float:
        return self.text(x, y, text, CODE, family="DejaVu Sans Mono")

    def cells(self, x: float, y: float, texts: np.ndarray, shades: np.ndarray) -> float:
        """A grid of small boxes, each with a text and one of SHADES."""
        from matplotlib.patches import Rectangle

        height, width = texts.shape
        across, down = width * CELL[0], height * CELL[1]
        place = x / A4[0], 1 - (y + down) / A4[1], across / A4[0], down / A4[1]
        axes = self.figure.add_axes(place, xlim=(0, width), ylim=(height, 0))
        axes.axis("off")
        for (row, column), text in np.ndenumerate(texts):
            look = {"facecolor": SHADES[shades[row, column]], "edgecolor": "black", "linewidth": 0.35}
            axes.add_patch(Rectangle((column, row), 1, 1, clip_on=False, **look))
            middle = {"ha": "center", "va": "center", "fontsize": 5.8, "color": "black"}
            axes.text(column + 0.5, row + 0.54, f"{text}", **middle)
        return y + down

    def table(self, x: float, y: float, places: tuple[float, ...], rows: list[tuple]) -> float:
        """Rows of texts at `places` from x, the first row bold."""
        for number, row in enumerate(rows):
            for place, text in zip(places, row, strict=True):
                self.text(x + place, y, f"{text}", SMALL, weight="normal" if number else "bold")
            y += SMALL * LINE
        return y + 0.04


def card():
    """The page as a figure."""
    page = Page()
    page.text(LEFT, 0.24, "Hiding latency on one page", 15, weight="bold")
    page.text(LEFT, 0.53, f"C = A @ B.T, halves in, float32 sums, on an {H100.name}. Lessons 03 to 07.")
    y = max(_left(page, 0.79), _right(page, 0.79)) + 0.06
    _targets(page, _hopper(page, y) + 0.04)
    return page.figure


def _left(page: Page, y: float) -> float:
    """Loops and launch."""
    pipeline, double, launch, _ = codes().items()
    y = page.code(LEFT, page.heading(LEFT, y, LEFT_WIDTH, pipeline[0]), pipeline[1]) + 0.02
    words = (
        "Every turn commits a group, also an empty one: the wait counts groups.\n"
        "One barrier is enough: k-tile t is complete, and the slot of t - 1 is free."
    )
    y = page.text(LEFT, y, words, SMALL) + 0.08
    y = page.heading(LEFT, y, LEFT_WIDTH, "The ring: which slot, which wait")
    header = ("turn t", "math in slot", "copy starts: k-tile → slot", "wait_group<n>")
    rows = [(t, s, f"{k} → {slot}", n) for t, s, k, slot, n in turns(3)]
    y = page.table(LEFT, y, (0, 0.6, 1.5, 3.05), [header, *rows]) + 0.03
    header = ("slots", "n", "ring: a copy may take", "issue, then wait: a copy may take")
    rows = [(s, turns(s)[0][-1], _k_tiles(s - 1), _k_tiles(s - 2)) for s in (2, 3, 4)]
    y = page.table(LEFT, y, (0, 0.4, 0.7, 2.15), [header, *rows]) + 0.06
    y = page.code(LEFT, page.heading(LEFT, y, LEFT_WIDTH, double[0]), double[1]) + 0.08
    y = page.code(LEFT, page.heading(LEFT, y, LEFT_WIDTH, launch[0]), launch[1]) + 0.02
    words = (
        f"tile: of a block, warp: of a warp. Above {SHARED_BY_DEFAULT:,} bytes first\n"
        f"kernel.max_dynamic_shared_size_bytes = shared_mem (at most {H100.shared_block:,})."
    )
    return page.text(LEFT, y, words, SMALL)


def _right(page: Page, y: float) -> float:
    """Layouts."""
    y = page.heading(RIGHT, y, RIGHT_WIDTH, "Fragments of mma.m16n8k16")
    y = page.text(RIGHT, y, "Which lane holds two neighbours of a row. Below: (rows, columns).", SMALL) + 0.04
    x, ends = RIGHT, []
    for operand, title in (("A", "A (m, k)"), ("C", "C (m, n)"), ("B", "B (n, k)")):
        lanes, registers = held(operand)
        low = page.cells(x, page.text(x, y, title, SMALL, weight="bold") + 0.02, lanes, registers)
        ends.append(page.text(x, low + 0.02, _registers(operand, registers), 6.0))
        x += lanes.shape[1] * CELL[0] + 0.14
    y = max(ends) + 0.1
    title, code = list(codes().items())[-1]
    y = page.code(RIGHT, page.heading(RIGHT, y, RIGHT_WIDTH, title), code) + 0.02
    for x, letter, words in zip((RIGHT, RIGHT + 1.72), "AB", named(code), strict=True):
        end = page.text(x, y, f"{letter}, first k-step\n{words}", 6.0)
    words = "Row i of each 8 x 8 comes to lanes 4 i to 4 i + 3, two halves each."
    y = page.text(RIGHT, end, words, SMALL) + 0.1
    y = page.heading(RIGHT, y, RIGHT_WIDTH, "Swizzle: where chunk c (8 halves) of row r lies")
    for x, halves in ((RIGHT, 64), (RIGHT + 1.75, 32)):
        places = swizzle(halves)
        top = page.text(x, y, f"rows of {halves} halves", SMALL, weight="bold")
        for c in range(places.shape[1]):
            low = page.text(x + 0.17 + (c + 0.5) * CELL[0], top, f"c{c}", 5.4, ha="center")
        end = page.cells(x + 0.17, low, places, np.zeros_like(places))
        for r in range(8):
            page.text(x, low + r * CELL[1] - 0.005, f"r{r}", 5.4)
    y = page.text(RIGHT, end + 0.04, "One chunk of eight rows lies in eight groups of banks.", SMALL) + 0.1
    y = page.heading(RIGHT, y, RIGHT_WIDTH, f"An SM of an {H100.name}")
    rates = " and ".join(f"{rate:g} TB/s from {name}" for name, rate in H100.ceilings.memory.items())
    ceilings = (
        f"Ceiling of {dtype}: {value:g} TFLOP/s\n({source})."
        for dtype, (value, source) in H100.ceilings.math.items()
    )
    return page.text(
        RIGHT, y,
        f"{H100.warps} warps, {H100.blocks} blocks; {SUB_CORES} sub-cores: each starts an instruction a cycle\n"
        f"{REGISTERS:,} registers, at most {MAX_REGISTERS} a thread\n"
        f"{H100.shared:,} bytes of shared memory, {H100.reserved:,} less for each block\n"
        f"FLOP in a cycle: {FLOP_PER_CLOCK['tensor']} of mma.sync, {WGMMA_FLOP_PER_CLOCK} of wgmma, "
        f"{FLOP_PER_CLOCK['fma']} of float32\n"
        f"Bytes in a cycle: {4 * BANKS} of shared memory; {_of_an_sm('L2'):.0f} from L2, if all SMs load\n"
        + "\n".join([*ceilings, f"Measured: {rates}."]),
        SMALL,
    )  # fmt: skip


def _hopper(page: Page, y: float) -> float:
    """The ring of full and empty barriers, side by side: who fills a slot, who empties it."""
    title = "Hopper's ring (07): the producer waits for empty slots, two consumers for full ones"
    y = page.heading(LEFT, y, RIGHT + RIGHT_WIDTH - LEFT, title)
    return max(page.code(x, y, code) for x, code in zip((LEFT, RIGHT), hopper(), strict=True))


def _targets(page: Page, y: float) -> None:
    """What a kernel should reach."""
    y = page.heading(LEFT, y, RIGHT + RIGHT_WIDTH - LEFT, "Targets on an H100, beside those in print")
    rows = [(item.name, item.target.partition(", with")[0], item.printed) for item in targets()]
    half = (len(rows) + 1) // 2
    header = ("item", "target", "in print")
    page.table(LEFT, y, (0, 0.84, 2.18), [header, *rows[:half]])
    page.table(RIGHT - 0.1, y, (0, 0.84, 2.05), [header, *rows[half:]])


def _of_an_sm(memory: str) -> float:
    """Bytes in a cycle of one SM, of the rate of a roofline."""
    return H100.ceilings.memory[memory] * 1e6 / H100.sms / H100.rates.clock_mhz


def _k_tiles(math: int) -> str:
    return f"the math of {math} k-tile{'s' * (math != 1)}" if math else "no time: it is waited for at once"


def _registers(operand: str, registers: np.ndarray) -> str:
    """Which part of the matrix each register, or pair of floats, is."""
    words = []
    for register in np.unique(registers):
        rows, pairs = np.nonzero(registers == register)
        name = f"{operand.lower()}{2 * register},{2 * register + 1}"
        words.append(f"{name}: ({rows.min()}-{rows.max()}, {2 * pairs.min()}-{2 * pairs.max() + 1})")
    return "\n".join(words)


@style.styled
def write(folder: Path) -> None:
    """Write both files. The same page gives the same bytes: no date, and no compression, which has versions."""
    from matplotlib import rc_context

    with rc_context({"pdf.compression": 0, "svg.hashsalt": "card"}):
        figure = card()
        figure.savefig(folder / "card.svg", format="svg", metadata={"Title": ALT, "Date": None})
        figure.savefig(folder / "card.pdf", format="pdf", metadata={"Title": ALT, "CreationDate": None})


def main() -> int:
    write(ASSETS)
    print(f"card.svg, card.pdf: {ALT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
