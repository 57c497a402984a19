"""A picture's words say no number that who looks at it does not meet: in the picture, in what its cell or one above
prints, or in the sentences beside it."""

import re

import pytest

from tests.lessons.reading import cells_of, text_of

BOUND = (
    "00_start_here",
    "01_mainloop",
    "02_producer_consumer",
    "03_double_buffer",
    "04_tensor_cores",
    "05_three_stage",
    "06_complete_gemm",
    "07_hopper",
    "08_never_a_pause",
    "09_your_own_kernel",
    "10_attention",
    "11_tensor_memory",
)
"""Timelines of other lessons say medians in their words that stand nowhere else."""
PLACE = 32
"""Numbers up to it count rows, lanes and banks."""
BESIDE = 2
"""Cells above and below whose text belongs to a picture."""
SVG = "image/svg+xml"
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
DRAWN = re.compile(r"<text[^>]*>(.*?)</text>", re.DOTALL)
DRAWN_AS_ROWS = re.compile(r" Serving this block, [^.]*\.")
"""Of a modelled timeline: black rows show it, by their lengths."""
WITHIN = re.compile(r"<[^>]*>")


def numbers(text: str) -> set[str]:
    return {number.strip(",").replace(",", "") for number in NUMBER.findall(text)}


def only_in_words(cells: list[dict]) -> list[str]:
    """Numbers of pictures' words that stand nowhere else, with the cell's id."""
    found, printed = [], ""
    for at, cell in enumerate(cells):
        printed += " ".join("".join(each.get("text", "")) for each in cell.get("outputs", ()))
        for output in cell.get("outputs", ()):
            if SVG not in output.get("data", {}):
                continue
            drawn = WITHIN.sub("", " ".join(DRAWN.findall("".join(output["data"][SVG]))))
            beside = " ".join(map(text_of, cells[max(at - BESIDE, 0) : at + BESIDE + 1]))
            words = DRAWN_AS_ROWS.sub("", output["metadata"][SVG]["alt"])
            said = numbers(words) - numbers(f"{drawn} {beside} {printed}")
            found += [f"{cell['id']}: {number}" for number in sorted(said) if float(number) > PLACE]
    return found


@pytest.mark.parametrize("name", BOUND)
def test_a_pictures_words_say_no_number_that_stands_nowhere_else(name):
    assert only_in_words(cells_of(name)) == []


def test_a_number_that_only_the_words_have_is_found():
    def cell(alt):
        picture = {"data": {SVG: "<text>a turn: 1,524</text>"}, "metadata": {SVG: {"alt": alt}}}
        return {"id": "seen", "source": "x", "outputs": [picture, {"text": "math 1188"}]}

    words = {"id": "words", "source": "The wait is gone, 48 cycles are left."}
    assert only_in_words([cell("a turn: 1,524; math 1,188, wait 48"), words]) == []
    assert only_in_words([cell("a turn: 1,524; copy 66"), words]) == ["seen: 66"]
