"""The quick-reference card, one page of A4: `python -m tools.author.card` writes assets/card.pdf.

Nothing on it is typed in twice: code is cut out of the lessons' kernels, layouts are computed by the simulator's own
rules and by running the course's functions in it, and targets are those of the checklist.
"""

import hashlib
import re
import textwrap
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from course_lib import OPTIONS, Gemm, course_header, lesson_kernel, simulate
from course_lib.instruments import checklist
from course_lib.instruments.checklist import Item
from course_lib.instruments.evidence import FLOP_PER_CLOCK, WGMMA_FLOP_PER_CLOCK
from course_lib.lessons import sources
from cupy_or_sim import style
from cupy_or_sim.cupy_on_numpy import RawKernel
from ptxsim import fragment
from ptxsim.gpus import BANKS, H100, MAX_REGISTERS, REGISTERS, SHARED_BY_DEFAULT, SUB_CORES, WARP

CARD = Path(__file__).resolve().parents[2] / "assets" / "card.pdf"
A4 = 8.27, 11.69  # inches
LEFT, RIGHT, LEFT_WIDTH, RIGHT_WIDTH = 0.4, 4.5, 3.95, 3.37  # the columns, in inches
CODE, SMALL, WORDS, HEADING = 6.4, 6.8, 7.4, 9.0  # points
LEFT_LETTERS, RIGHT_LETTERS = 73, 62  # of a line of code
LINE = 1.32 / 72  # inches from one line to the next, for each point of its letters
CELL = 0.155, 0.13  # inches
TITLE = "Quick-reference card: pipeline, ring, launch, fragments, ldmatrix, swizzle, Hopper's ring, attention, targets."
SHADES = ("#ffffff", "#d9d9d9", "#bfbfbf", "#ededed")
"""Of the registers of a fragment: greys, which a printer keeps apart."""


def cut(source: str, first: str, last: str) -> str:
    """The lines from the one with `first` to the one with `last`, without the macros of the timelines and their indent.

    Raises ValueError when a line is not there."""
    lines = re.sub(r"TRACE_(BEGIN|END)\([^)]*\); *", "", source).splitlines()
    begin = next((n for n, line in enumerate(lines) if first in line), None)
    end = next((n for n, line in enumerate(lines) if last in line and begin is not None and n >= begin), None)
    if end is None:
        raise ValueError(f"no line with {first!r} and, behind it, {last!r}")
    return textwrap.dedent("\n".join(line.rstrip() for line in lines[begin : end + 1] if line.strip()))


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


def pipeline() -> str:
    """The ring of lesson 05."""
    ring = sources.kernel_source("05_three_stage", "ring")
    fill, turn = (
        cut(ring, "auto issue", "commit_group"),
        cut(ring, "k_tile < STAGES - 1", "multiply(sum, a, b)"),
    )
    return fitting(f"{fill}\n}};\n{turn}\n    }}\n}}", LEFT_LETTERS)


def double_buffer() -> str:
    loop = cut(sources.kernel_source("03_double_buffer", "two_buffers"), "issue(0);", "issue(k_tile + 1)")
    return fitting(f"{loop}\n    // ... sums += a * b of buffer k_tile % 2\n}}", LEFT_LETTERS)


def computed_launch() -> str:
    """In Python, from the solution of lesson 06."""
    cells = {cell.get("id"): "".join(cell["source"]) for cell in sources._cells("06_parts_of_matmul")}
    return cut(cells["ex1-solution"], "TM, TN, TK = tile", "shared_mem =")


def ldmatrix() -> str:
    """The addresses that a lane names, from the course's header."""
    return fitting(cut(course_header("mma_tile.cuh"), "const __half* a_row", "lane / 8 % 2"), RIGHT_LETTERS)


def hopper() -> tuple[str, str]:
    """What the producer and what each consumer does for a k-tile, of lesson 08."""
    roles = sources.kernel_source("08_never_a_pause", "roles")
    producer = cut(roles, "int slot = k_tile % SLOTS", "load_rows(TN") + "\n}"
    consumer = cut(roles, "mbarrier_wait(&s.full", "mbarrier_arrive(&s.empty")
    return fitting(producer, LEFT_LETTERS), fitting(consumer, RIGHT_LETTERS)


def ahead() -> str:
    """A turn of attention, of lesson 10, without the waits for slots."""
    kernel = sources.kernel_source("10_attention", "ahead")
    turn = cut(kernel, "start_scores(scores, s.Q[mine], s.K[slot])", "pack(weights, scores);")
    return fitting("\n".join(line for line in turn.splitlines() if "mbarrier" not in line), LEFT_LETTERS)


def turns(stages: int, count: int = 4) -> list[tuple[int, int, int, int, int]]:
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
    return checklist(kernel, Gemm(4096, 4096, 4096, "float16"), launch).items


# --------------------------------------------------------------------------- the page


class Column:
    """A column of a page of A4: what is written comes below what is there. Inches, from the top left."""

    def __init__(self, figure: Figure, x: float, y: float, width: float = 0) -> None:
        self.figure, self.x, self.y, self.width = figure, x, y, width

    def beside(self, across: float) -> "Column":
        """Another that begins at this height."""
        return Column(self.figure, self.x + across, self.y)

    def text(self, text: str, size: float = WORDS, gap: float = 0, **look) -> None:
        for line in text.split("\n"):
            self.y += size * LINE
            place = self.x / A4[0], 1 - self.y / A4[1]
            self.figure.text(*place, line.replace("$", r"\$"), fontsize=size, color="black", **look)
        self.y += 0.02 + gap

    def heading(self, text: str) -> None:
        self.text(text, HEADING, 0.03, weight="bold")
        across = [self.x / A4[0], (self.x + self.width) / A4[0]]
        self.figure.add_artist(Line2D(across, [1 - self.y / A4[1]] * 2, color="black", linewidth=0.8))
        self.y += 0.03

    def code(self, text: str, gap: float = 0) -> None:
        self.text(text, CODE, gap, family="DejaVu Sans Mono")

    def cells(self, texts: np.ndarray, shades: np.ndarray) -> None:
        """A grid of small boxes, each with a text and one of SHADES."""
        height, width = texts.shape
        across, down = width * CELL[0], height * CELL[1]
        self.y += down
        place = self.x / A4[0], 1 - self.y / A4[1], across / A4[0], down / A4[1]
        axes = self.figure.add_axes(place, xlim=(0, width), ylim=(height, 0))
        axes.axis("off")
        for (row, column), text in np.ndenumerate(texts):
            look: dict = {"facecolor": SHADES[shades[row, column]], "edgecolor": "black", "linewidth": 0.35}
            axes.add_patch(Rectangle((column, row), 1, 1, clip_on=False, **look))
            middle: dict = {"ha": "center", "va": "center", "fontsize": 5.8, "color": "black"}
            axes.text(column + 0.5, row + 0.54, f"{text}", **middle)

    def table(self, places: tuple[float, ...], *rows: tuple, gap: float) -> None:
        """Rows of texts at `places` from the left, the first row bold."""
        for number, row in enumerate(rows):
            for place, text in zip(places, row, strict=True):
                self.beside(place).text(f"{text}", SMALL, weight="normal" if number else "bold")
            self.y += SMALL * LINE
        self.y += gap


@style.styled
def card() -> Figure:
    """The page."""
    figure = Figure(figsize=A4, facecolor="white")
    Column(figure, LEFT, 0.24).text("Hiding latency on one page", 15, weight="bold")
    what = f"C = A @ B.T, halves in, float32 sums, on an {H100.name}. Lessons 03 to 07, and 10."
    Column(figure, LEFT, 0.53).text(what)
    left, right = Column(figure, LEFT, 0.79, LEFT_WIDTH), Column(figure, RIGHT, 0.79, RIGHT_WIDTH)
    _loops(left)
    _layouts(right)
    foot = Column(figure, LEFT, max(left.y, right.y) + 0.06, RIGHT + RIGHT_WIDTH - LEFT)
    _hopper(foot)
    _targets(foot)
    return figure


def _loops(page: Column) -> None:
    """Loops and launch."""
    page.heading("Pipeline: a ring of STAGES slots (lesson 05)")
    page.code(pipeline(), gap=0.02)
    page.text("Every turn commits a group, also an empty one: the wait counts groups.", SMALL, -0.02)
    page.text("One barrier is enough: k-tile t is complete, and the slot of t - 1 is free.", SMALL, 0.05)
    page.heading("The ring: which slot, which wait")
    header = ("turn t", "math in slot", "copy starts: k-tile → slot", "wait_group<n>")
    rows = [(t, s, f"{k} → {slot}", n) for t, s, k, slot, n in turns(3)]
    page.table((0, 0.6, 1.5, 3.05), header, *rows, gap=0.07)
    header = ("slots", "n", "ring: a copy may take", "issue, then wait: a copy may take")
    slots = [(s, turns(s)[0][-1], _k_tiles(s - 1), _k_tiles(s - 2)) for s in (2, 3, 4)]
    page.table((0, 0.4, 0.7, 2.15), header, *slots, gap=0.1)
    page.heading("Double buffer (lesson 03)")
    page.code(double_buffer(), gap=0.05)
    page.heading("Launch, any M and N (lesson 06, Python)")
    page.code(computed_launch(), gap=0.02)
    page.text(f"tile: of a block, warp: of a warp. Above {SHARED_BY_DEFAULT:,} bytes first", SMALL, -0.02)
    page.text(
        f"kernel.max_dynamic_shared_size_bytes = shared_mem (at most {H100.shared_block:,}).", SMALL, 0.05
    )
    page.heading("Attention, one product ahead (lesson 10)")
    page.beside(3.02).text("A larger maximum:\nsum and O times\n2^(old - new).", SMALL)
    page.code(ahead())


def _layouts(page: Column) -> None:
    """Who holds what, and where it lies; what an SM has."""
    page.heading("Fragments of mma.m16n8k16")
    page.text("Which lane holds two neighbours of a row. Below: (rows, columns).", SMALL, gap=0.04)
    parts, across = [], 0.0
    for operand, title in (("A", "A (m, k)"), ("C", "C (m, n)"), ("B", "B (n, k)")):
        lanes, registers = held(operand)
        part = page.beside(across)
        part.text(title, SMALL, gap=0.02, weight="bold")
        part.cells(lanes, registers)
        part.y += 0.02
        part.text(_registers(operand, registers), 6.0)
        parts.append(part)
        across += lanes.shape[1] * CELL[0] + 0.14
    page.y = max(part.y for part in parts) + 0.1
    page.heading("ldmatrix.x4: the address that a lane names (04)")
    page.code(ldmatrix(), gap=0.02)
    for across, letter, words in zip((0, 1.72), "AB", named(ldmatrix()), strict=True):
        part = page.beside(across)
        part.text(f"{letter}, first k-step\n{words}", 6.0)
    page.y = part.y
    page.text("Row i of each 8 x 8 comes to lanes 4 i to 4 i + 3, two halves each.", SMALL, gap=0.1)
    page.heading("Swizzle: where chunk c (8 halves) of row r lies")
    for across, halves in ((0, 64), (1.75, 32)):
        part = page.beside(across)
        _swizzle(part, halves)
    page.y = part.y + 0.04
    page.text("One chunk of eight rows lies in eight groups of banks.", SMALL, gap=0.1)
    page.heading(f"An SM of an {H100.name}")
    flop, memory = {**FLOP_PER_CLOCK, "wgmma": WGMMA_FLOP_PER_CLOCK}, H100.ceilings.memory
    from_l2 = memory["L2"] * 1e6 / H100.sms / H100.clock_mhz
    lines = (
        f"{H100.warps} warps, {H100.blocks} blocks; {SUB_CORES} sub-cores: each starts an instruction a cycle",
        f"{REGISTERS:,} registers, at most {MAX_REGISTERS} a thread",
        f"{H100.shared:,} bytes of shared memory, {H100.reserved:,} less for each block",
        f"FLOP in a cycle: {flop['tensor']} of mma.sync, {flop['wgmma']} of wgmma, {flop['fma']} of float32",
        f"Bytes in a cycle: {4 * BANKS} of shared memory; {from_l2:.0f} from L2, if all SMs load",
        *(
            f"Ceiling of {dtype}: {value:g} TFLOP/s\n({of})."
            for dtype, (value, of) in H100.ceilings.math.items()
        ),
        f"Measured: {' and '.join(f'{rate:g} TB/s from {name}' for name, rate in memory.items())}.",
    )
    page.text("\n".join(lines), SMALL)


def _swizzle(page: Column, halves: int) -> None:
    """Eight rows of so many halves."""
    places = swizzle(halves)
    page.text(f"rows of {halves} halves", SMALL, weight="bold")
    for c in range(places.shape[1]):
        name = page.beside(0.17 + (c + 0.5) * CELL[0])
        name.text(f"c{c}", 5.4, ha="center")
    page.y = name.y
    for r in range(8):
        Column(page.figure, page.x, page.y + r * CELL[1] - 0.005).text(f"r{r}", 5.4)
    grid = page.beside(0.17)
    grid.cells(places, np.zeros_like(places))
    page.y = grid.y


def _hopper(page: Column) -> None:
    """The ring of full and empty barriers, side by side: who fills a slot, who empties it."""
    page.heading("Hopper's ring (07): the producer waits for empty slots, two consumers for full ones")
    both = page.beside(0), page.beside(RIGHT - LEFT)
    for part, code in zip(both, hopper(), strict=True):
        part.code(code)
    page.y = max(part.y for part in both) + 0.04


def _targets(page: Column) -> None:
    """What a kernel should reach."""
    page.heading("Targets on an H100, beside those in print")
    rows = [(item.name, item.target.partition(", with")[0], item.printed) for item in targets()]
    half = (len(rows) + 1) // 2
    header = ("item", "target", "in print")
    page.beside(0).table((0, 0.84, 2.18), header, *rows[:half], gap=0)
    page.beside(RIGHT - 0.1 - LEFT).table((0, 0.84, 2.05), header, *rows[half:], gap=0)


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


def written(figure: Figure) -> list[str]:
    """All texts of the page."""
    return [
        text.get_text() for texts in (figure.texts, *(axes.texts for axes in figure.axes)) for text in texts
    ]


def stamp(figure: Figure) -> str:
    """A hash of the texts and of where they stand; the file keeps it, so that a test can tell an old one."""
    places = [text.get_position() for text in figure.texts]
    return hashlib.sha256(f"{places} {written(figure)}".encode()).hexdigest()


if __name__ == "__main__":
    page = card()
    with rc_context({"pdf.fonttype": 42}):
        page.savefig(CARD, metadata={"Title": TITLE, "Keywords": stamp(page), "CreationDate": None})
    print(f"card.pdf: {TITLE}")
