"""The book without a browser: what stands in its pages, from two small lessons."""

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest

from course_lib.lessons import sources
from course_lib.measure import records
from course_lib.timelines.timeline_chart import LOOKS
from hiding_latency import places, run
from hiding_latency.outcome import outcome
from ptxsim.front.launch import MAX_REGISTERS
from ptxsim.gpus import H100, REGISTERS, WARP, WARPGROUP
from ptxsim.ground import tensor_map
from ptxsim.observe.counters import BANKS, SECTOR
from tests.rules import ROOT
from tools.author import figures, sittings
from tools.book import about, build, cuda_lines, excerpts, front, glossary, glyphs, lesson
from tools.book.cuda_lexer import PythonWithCuda
from tools.book.pages import Page, pages_of

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">\n<circle r="9" fill="blue"/>\n</svg>\n'
CUDA = 'kernel = r"""\n__global__ void scale(float* x) { x[threadIdx.x] *= 2.0f; }\n"""'


def first_lesson() -> nbformat.NotebookNode:
    """A cell of every kind that the book has to bring over."""
    v4 = nbformat.v4
    picture = v4.new_output("display_data", {"image/png": PNG, "text/plain": "words"})
    picture.metadata = {"image/png": {"alt": "A red dot & more"}}
    sharp = v4.new_output("display_data", {"image/svg+xml": SVG, "text/plain": "words"})
    sharp.metadata = {"image/svg+xml": {"alt": "A blue dot"}}
    report = v4.new_output(
        "execute_result", {"text/html": "<pre>a report</pre>", "text/plain": "r"}, execution_count=1
    )
    line = "__global__ void scale(float* x) { x[threadIdx.x] *= 2.0f; }"
    named = f'<a href="#cuda-line/scale/9" title="race">9</a>  <b>{line}</b>'
    late = v4.new_output("display_data", {"text/html": f"<pre>{named}</pre>", "text/plain": "r"})
    cells = [
        v4.new_markdown_cell("# 00 · A\n\nA warp runs; another warp too. `warp` `warp(1)` [a barrier](01_b.ipynb)\n\n"
                             "* Sitting 1 · X: 20 minutes. Words.\n* Optional · Y: 5 minutes."),
        v4.new_markdown_cell("# Sitting 1 · X\n\n## Step\n\n[header](../cupy_or_sim/include/course/tile.cuh), "
                             "[notes](../docs/tuning.md), [card](../assets/card.pdf)"),
        v4.new_code_cell("draw()", outputs=[picture, sharp], metadata={"tags": ["hide-input"]}),
        v4.new_code_cell(CUDA, metadata={"tags": ["kernel"]}, outputs=[report]),
        v4.new_markdown_cell("<details><summary>Hint</summary>\n\nThe hint.\n</details>"),
        v4.new_markdown_cell("<details><summary>Solution</summary>\n\nA fragment.\n</details>",
                             metadata={"tags": ["solution"]}),
        v4.new_markdown_cell("A fragment."),
        v4.new_code_cell("mine = None", metadata={"tags": ["predict"]}),
        v4.new_code_cell("score([('q', mine, 4)])", metadata={"tags": ["hide-input"]},
                         outputs=[v4.new_output("stream", text="q: it is 4\n")]),
        v4.new_markdown_cell("# Optional · Y\n\nMore."),
        v4.new_code_cell("simulate()", outputs=[late]),
    ]  # fmt: skip
    return v4.new_notebook(cells=cells)


def book(folder: Path) -> tuple[Path, list[str]]:
    """A book of two lessons and one notebook of exercises, and what Sphinx remarked."""
    second = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# 01 · B\n\n[A](00_a.ipynb)")])
    more = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# More\n\n[A](../00_a.ipynb)")])
    named = {"00_a": first_lesson(), "01_b": second, "exercises/00_a": more}
    outcomes = [outcome(name, notebook, 1.0, []) for name, notebook in named.items()]
    outcomes[1] = outcome("01_b", second, 1.0, ["the kernel <died> by itself"])
    return folder / "book", build.write_book(outcomes, "simulator", folder / "book")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    out, remarks = book(tmp_path_factory.mktemp("book"))
    assert remarks == []
    return out


@pytest.fixture(scope="module")
def chapter(pages):
    """The page before the sittings."""
    return (pages / "notebooks" / "00_a.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sitting(pages):
    return (pages / "notebooks" / "00_a-1.html").read_text(encoding="utf-8")


class Addresses(HTMLParser):
    """What a page loads, what it links to, the ids it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded, self.links, self.ids = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.ids.add(named.get("id"))
        where = self.links if tag == "a" else self.loaded
        where += [named[name] for name in ("href", "src") if named.get(name)]


def test_no_link_is_dead_and_nothing_comes_from_elsewhere(pages):
    found = {
        path: Addresses(path.read_text(encoding="utf-8"))
        for path in pages.rglob("*.html")
        if "_static" not in path.parts
    }
    assert len(found) > 6
    for path, page in found.items():
        assert [address for address in page.loaded if urlsplit(address).scheme not in ("", "data")] == []
        for address in page.links + page.loaded:
            parts = urlsplit(address)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{path.name}: {address}"
            if parts.fragment and target in found:
                assert unquote(parts.fragment) in found[target].ids, f"{path.name}: {address}"
        assert "Content-Security-Policy" in path.read_text(encoding="utf-8")


def test_links_lead_to_lessons_headers_and_notes(sitting):
    for address in ("../cupy_or_sim/include/course/tile.cuh.html", "../docs/tuning.html"):
        assert f'href="{address}"' in sitting
    assert re.search(r'href="\.\./_downloads/\w+/card\.pdf"', sitting)


def test_figures_keep_their_description(sitting):
    assert re.findall(r'<img alt="([^"]*)"', sitting) == ["A red dot &amp; more", "A blue dot"]
    assert base64.b64decode(PNG)


def test_solutions_and_drawing_code_are_folded(sitting):
    folds = re.findall(r"<details[^>]*>", sitting.partition("<article")[2])
    assert len(folds) == 5 and not any(" open" in fold for fold in folds)
    assert '<details class="solution">' in sitting, "print leaves these out"
    assert re.search(r'<details class="[^"]*\babove-input\b', sitting)


def test_a_fold_says_what_is_in_it(sitting):
    assert re.findall(r"Show [a-z ]+|Hide [a-z ]+", sitting)[:2] == [
        "Show the code that draws this",
        "Hide the code that draws this",
    ]
    kernel = nbformat.v4.new_code_cell(CUDA, metadata={"tags": ["kernel", "hide-input"]})
    assert lesson.folded(kernel) == "the kernel"
    assert lesson.folded(nbformat.v4.new_code_cell("1", metadata={"tags": ["hide-input"]})) == "the code"


def test_what_is_to_be_predicted_is_folded_and_its_code_has_a_fold_of_its_own(sitting):
    code, came_out = sitting.split('<details class="admonition hide below-input">')
    assert "Show the code<" in code and "it is 4" not in code
    came_out, below = came_out.split("</details>", 1)
    assert came_out.count("What came out") == 2 and "q: it is 4" in came_out and "it is 4" not in below


def test_the_contents_have_a_place_for_teachers_and_exercises_stand_below_their_lesson(pages):
    front = (pages / "index.html").read_text(encoding="utf-8")
    contents = re.findall(r'class="caption[^>]*><span[^>]*>([^<]*)', front)
    assert list(dict.fromkeys(contents)) == ["Lessons", "Beside the lessons", "For teachers"]
    assert (pages / "docs" / "instructor.html").is_file()


def test_what_is_inside_the_course_lies_behind_one_entry(pages):
    front = (pages / "index.html").read_text(encoding="utf-8")
    at_the_top = re.findall(r'class="toctree-l1[^>]*><a[^>]*href="([^"]*)"', front)
    assert "inside.html" in at_the_top and "docs/glossary.html" in at_the_top
    assert not {"docs/house.html", "CONTRIBUTING.html"} & {*at_the_top}
    inside = (pages / "inside.html").read_text(encoding="utf-8").partition("<article")[2]
    assert 'href="docs/house.html"' in inside and 'href="CONTRIBUTING.html"' in inside


def test_each_file_is_a_page_of_the_book(pages):
    assert not [path for path in pages.rglob("*.html") if "{%" in path.read_text(encoding="utf-8")]


def test_a_lesson_is_a_page_a_sitting(chapter, sitting):
    for page, title in (chapter, "00 · A"), (sitting, "Sitting 1 · X"):
        assert re.findall(r"<h1>(?!Hiding)([^<]*)", page.partition("<article")[2]) == [title]
    assert "<h2>Step" in sitting
    assert 'href="00_a-1.html"><span' in chapter.partition("<article")[2], (
        "the list of sittings leads to them"
    )
    lessons = chapter.partition("Beside the lessons")[0]
    contents = re.findall(r'class="toctree-l2[^"]*"><a[^>]*href="([^"]*)"[^>]*>([^<]*)', lessons)
    assert contents == [
        ("00_a-1.html", "Sitting 1 · X (20 min)"),
        ("00_a-2.html", "Optional · Y (5 min)"),
        ("exercises/00_a.html", "More exercises"),
    ]
    assert re.findall(r'class="(left-prev|right-next)"\s+href="([^"]*)"', sitting) == [
        ("left-prev", "00_a.html"),
        ("right-next", "00_a-2.html"),
    ]


@pytest.mark.parametrize("path", sources.notebooks(sources.NOTEBOOKS), ids=lambda path: path.stem)
def test_every_sitting_that_a_lesson_promises_has_its_page(path):
    """What stands above a sitting's heading in the same cell is the last thing on the page before."""
    notebook = nbformat.read(path, as_version=4)
    first, *others = pages_of(notebook, path.stem)
    promised = [title for title, _ in sittings.PROMISED.findall(first.notebook.cells[0].source)]
    assert [page.title for page in others] == promised and promised
    assert all(page.notebook.cells[0].source.startswith(f"# {page.title}\n") for page in others)
    for page in (first, *others[:-1]):
        assert not sittings.HEADING.search(page.notebook.cells[-1].source)
    text = "\n\n".join(cell.source for page in (first, *others) for cell in page.notebook.cells)
    assert text == "\n\n".join(cell.source for cell in notebook.cells), "no word is lost"


def test_a_line_in_a_report_leads_to_the_line_of_the_kernel(pages, sitting):
    later = (pages / "notebooks" / "00_a-2.html").read_text(encoding="utf-8")
    (address,) = re.findall(r'<a href="(00_a-1.html#line-[^"]*)" title="race">9</a>', later)
    identified = re.search(rf'<span id="{address.partition("#")[2]}">(.*)', sitting)
    assert "__global__" in identified[1], "by its text: the number is of an edited kernel"


@pytest.mark.parametrize(
    ("kernel", "line", "text", "found"),
    [
        ("late", 3, "", ("late", 3)),
        ("late", 5, "  twice;", ("late", 4)),
        ("late", 1, "  twice;", ("late", 2)),
        ("late", 9, "  a part;", ("part", 2)),
        ("late", 9, "  nowhere;", None),
        ("unknown", 1, "", None),
    ],
)
def test_which_line_is_meant(kernel, line, text, found):
    page = Page("00_a", "", nbformat.v4.new_notebook())
    texts = {
        "early": 'e = r"""\n__global__ void late() {}\n"""',
        "part": 'p = r"""\n  a part;\n"""',
        "late": 'l = r"""\n  twice;\n__global__ void late() {\n  twice;\n}"""',
    }
    above = [cuda_lines.Listing(page, at, source.splitlines()) for at, source in enumerate(texts.values())]
    got = cuda_lines.place(above, kernel, line, text)
    assert (got and ([*texts][got[0].cell], got[1])) == found


@pytest.mark.parametrize(
    ("text", "above", "made", "level"),
    [
        ("# A\n\n# B\n## C", 0, "# A\n\n## B\n### C", 3),
        ("## C", 0, "# C", 1),
        ("#### D", 2, "### D", 3),
        ("```\n# a comment\n```", 2, "```\n# a comment\n```", 2),
    ],
)
def test_headings_stand_below_the_title(text, above, made, level):
    assert lesson.below_title(text, above) == (made, level)


def test_cuda_is_coloured_as_cuda(sitting):
    tokens = {text: str(kind) for kind, text in PythonWithCuda().get_tokens(CUDA + "\nx = 1")}
    assert "Keyword" in tokens["__global__"] and "Builtin" in tokens["threadIdx"]
    assert re.search(r'<span class="k\w*">__global__</span>', sitting)
    assert "".join(text for _, text in PythonWithCuda().get_tokens(CUDA)).strip() == CUDA


@pytest.mark.parametrize(
    "text",
    ["__global__ void k(int* x) {}", "__device__ int one()", "int k = __syncthreads_count(1)", "int k = 1;"],
)
def test_any_word_of_cuda_makes_a_string_a_kernel(text):
    tokens = {part: str(kind) for kind, part in PythonWithCuda().get_tokens(f'k = r"""\n{text}\n"""')}
    assert tokens["int"] == "Token.Keyword.Type"


def test_a_gap_is_marked():
    for text in 'k = r"""\nint n = threadIdx.x + ____;\n"""', "my_answer = ____":
        assert "Token.Name.Gap" in [
            str(kind) for kind, part in PythonWithCuda().get_tokens(text) if part == "____"
        ]


def test_python_strings_stay_python():
    tokens = {text.strip(): str(kind) for kind, text in PythonWithCuda().get_tokens('x = """only words"""')}
    assert "String" in tokens["only words"]


def test_the_first_use_of_a_word_leads_to_the_glossary(chapter, sitting):
    links = [
        re.findall(r'<a class="word[^>]*#term-([\w-]+)"[^>]*>([^<]*)', page) for page in (chapter, sitting)
    ]
    once = "once on each page, not in links, code or solutions"
    assert links == [[("warp", "warp")], [("fragment", "fragment")]], once
    assert sitting.index(">fragment</a>") > sitting.index('details class="solution"')


def test_words_are_found_whole_and_in_the_plural():
    words = glossary.Words(glossary.entries("bank · a\n: A.\n\nbank conflict, clash · b\n: B.\n"))
    found = words.first_uses("Banks, a bank conflict, embankment, bank-wise, clashes, bank.", seen := set())
    assert [("Banks, a bank conflict"[begin:end], entry.anchor) for begin, end, entry in found] == [
        ("Banks", "term-bank"),
        ("bank conflict", "term-bank-conflict"),
    ]
    assert len(seen) == 2


def test_every_word_of_the_glossary_has_its_chinese_and_is_used():
    text = glossary.FILE.read_text(encoding="utf-8")
    entries = glossary.entries(text)
    assert len(entries) >= 60 and text.count(" · ") == len(entries)
    names = [entry.forms[0].lower() for entry in entries]
    assert names == sorted(names)
    for entry in entries:
        assert re.search(r"[\u4e00-\u9fff]", entry.chinese), entry.forms
        assert len(re.findall(r"[.?](?= |$)", entry.meaning)) <= 3, entry.forms
    prose = "\n".join(
        cell.source
        for path in sources.with_kernels(sources.NOTEBOOKS)
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "markdown"
    )
    seen: set[str] = set()
    glossary.Words(entries).first_uses(prose.replace("`", " "), seen)
    assert {entry.anchor for entry in entries} - seen == set()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("bank", f"One of the {BANKS} columns of shared memory, each 4 bytes wide"),
        ("lane", f"numbered 0 to {WARP - 1}"),
        ("occupancy", f"({H100.warps} on an H100)"),
        ("register", f"at most {MAX_REGISTERS} of 4 bytes each, out of {REGISTERS:,} on an SM"),
        ("sector", f"{SECTOR} bytes, the smallest piece"),
        ("SM", f"An H100 has {H100.sms}"),
        ("tensor map", f"{tensor_map.BYTES} bytes, passed to the kernel"),
        ("warp", f"{WARP} neighbouring threads"),
        ("warpgroup", f"{WARPGROUP * WARP} threads"),
        ("wavefront", f"at most {4 * BANKS} bytes"),
    ],
)
def test_numbers_of_the_glossary_are_those_of_the_simulator(word, said):
    (entry,) = (
        each for each in glossary.entries(glossary.FILE.read_text(encoding="utf-8")) if each.forms[0] == word
    )
    assert said in entry.meaning


def test_a_voice_reads_chinese_as_chinese(pages):
    page = (pages / "docs/glossary.html").read_text(encoding="utf-8")
    assert '128-byte swizzle · <span lang="zh"' in page
    chinese = re.findall(r'<span lang="zh"[^>]*>([^<]+)</span>', page)
    assert chinese == [entry.chinese for entry in glossary.entries(glossary.FILE.read_text(encoding="utf-8"))]


def test_the_front_page_says_what_there_is(pages):
    page = (pages / "index.html").read_text(encoding="utf-8")
    assert "More exercises" in page and 'href="notebooks/exercises/00_a.html"' in page
    assert "the kernel &lt;died&gt; by itself" in page and "kernels: simulator" in page
    rows = re.findall(r"<tr.*?</tr>", page, re.DOTALL)
    marked = [row for row in rows if 'class="failed"' in row]
    assert len(marked) == 1 and "01_b.html" in marked[0], "the row of the lesson that failed"
    assert "passed" not in page.partition("<article")[2].partition("</article")[0]


def test_durations_are_those_of_the_sittings():
    path = sources.notebooks(sources.NOTEBOOKS)[0]
    minutes = sum(part.promise for part in sittings.sittings(path) if part.title.startswith("Sitting"))
    assert front.duration(path) == f"{minutes} minutes, 2 sittings"
    said = [front.duration(path) for path in sources.notebooks(sources.NOTEBOOKS)]
    assert not any(" 1 sittings" in one for one in said)


def test_the_pictures_of_lessons_copy_before_they_compute_and_have_the_colours_of_the_timelines():
    for lesson_number, rows in glyphs.PIPELINES.items():
        assert len({len(row) for row in rows}) == 1, lesson_number
        first = {letter: min(row.find(letter) for row in rows if letter in row) for letter in "cm"}
        assert first["c"] < first["m"], lesson_number
    colours = set(re.findall(r'fill="(#\w+)"', glyphs.glyph("07")))
    assert colours == {LOOKS[phase][0] for phase in ("copy", "math", "epilogue")}
    assert glyphs.PIPELINES.keys() == {path.stem[:2] for path in sources.notebooks(sources.NOTEBOOKS)}


def test_the_first_page_says_of_what_kernel_on_what_and_when_its_pictures_were_recorded(pages):
    page = (pages / "index.html").read_text(encoding="utf-8")
    entries = figures.recorded_timelines()
    assert set(entries) == set(figures.PICTURES.values())
    assert set(figures.compared()) == set(figures.COMPARED)
    for entry in entries.values():
        size = " x ".join(map(str, entry["shape"]))
        assert (
            f"{size} {entry['dtype']}, one block on each SM, recorded on an {entry['gpu']}, {entry['date']}."
            in page
        )
        assert f"{entry['gpu'].removeprefix('NVIDIA ')}, {entry['date']})" in (ROOT / "README.md").read_text()


def test_the_first_page_has_the_speeds_of_the_records(pages):
    page = (pages / "index.html").read_text(encoding="utf-8")
    record = json.loads(records.files()[0].read_text(encoding="utf-8"))
    measured = figures.measured(record)
    shown = [row for row, _ in figures.steps(measured)]
    bars = [float(part) for part in re.findall(r"--part:([\d.]+)", page)]
    most = max(row.entry["tflops"] for row in shown)
    assert bars == [pytest.approx(row.entry["tflops"] / most, abs=1e-3) for row in shown]
    assert (
        f"The steps: {shown[0].tflops} to {shown[-1].tflops} TFLOP/s" in page
        and record["provenance"]["date"] in page
    )
    best = front.best(measured)
    assert "" not in best and best["01"].kernel == "mainloop"
    assert f"<p>{best['01'].share}<br> <code" in page, "in the row of lesson 01"


def test_a_book_that_fails_leaves_the_one_that_is_there(tmp_path, monkeypatch):
    out = tmp_path / "book"
    out.mkdir()
    (out / "index.html").write_text("of yesterday")

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "run_sphinx", stopped)
    with pytest.raises(KeyboardInterrupt):
        build.write_book([], "simulator", out)
    assert (out / "index.html").read_text() == "of yesterday"
    out.rename(tmp_path / "book.old")  # stopped between the two moves
    with pytest.raises(KeyboardInterrupt):
        build.write_book([], "simulator", out)
    assert (out / "index.html").read_text() == "of yesterday"
    monkeypatch.undo()
    monkeypatch.setattr(build.sys, "executable", "false")
    with pytest.raises(build.BookError):
        build.write_book([], "simulator", out)
    assert (out / "index.html").read_text() == "of yesterday"


def test_exercises_of_one_title_stand_beside_each_other_and_colabs_cell_is_not_shown():
    made = lesson.chapter(run.read(sources.NOTEBOOKS / "exercises" / "02_producer_consumer.ipynb"), "x")
    found = [
        token.markup
        for cell in made.cells
        if cell.cell_type == "markdown"
        for token in lesson.headings(cell.source)
    ]
    assert found == ["#", "##", "##", "##", "##"]
    assert not any("google.colab" in cell.source for cell in made.cells)


def test_a_page_says_what_it_is_and_when_it_was_made(chapter):
    (described,) = re.findall(r'<meta name="description" content="([^"]*)">', chapter)
    assert described == "A warp runs; another warp too. warp warp(1) a barrier"
    assert f'<meta property="og:description" content="{described}">' in chapter
    assert '<meta property="og:title" content="00 · A">' in chapter
    release = places.version_of(ROOT)
    assert re.search(
        rf'class="colophon">Hiding latency {re.escape(release)} · made on <time>\d\d \w+ \d{{4}}<', chapter
    )


def test_links_to_the_repository_appear_with_its_address(chapter):
    assert about.repository() == "" and "Edit this page" not in chapter, "it is not published yet"
    page, file = "notebooks/02_producer_consumer-2", "notebooks/02_producer_consumer.ipynb"
    there = "https://github.com/owner/course"
    assert about.links("", page) == [] and about.links(there, "search") == []
    assert [words for words, _ in about.links(there, "docs/glossary")] == [
        "Edit this page",
        "Report a mistake",
    ]
    assert dict(about.links(there, page)) == {
        "Edit this page": f"{there}/edit/main/{file}",
        "Report a mistake": f"{there}/issues/new?title={file}",
        "Open in Colab": f"https://colab.research.google.com/github/owner/course/blob/main/{file}",
        "Open in Binder": f"https://mybinder.org/v2/gh/owner/course/main?urlpath=lab/tree/{file}",
    }
    assert len(about.links("https://example.org/course", page)) == 2, "neither host reads from there"


def test_a_description_is_made_of_whole_sentences():
    assert about.shortened("Short. Here.") == "Short. Here."
    assert about.shortened(f"One. {'word ' * 50}end.") == "One."
    assert len(about.shortened("word " * 50)) <= about.LONGEST and about.shortened("word " * 50).endswith(
        "word …"
    )


def test_the_numbers_of_a_kernels_lines_are_those_of_reports(sitting):
    numbers = re.findall(r'class="linenos">\s*(\d+)', sitting)
    assert numbers == ["1", "2", "3"], "a kernel's lines only, from the one with its quotes"


def test_the_search_page_has_the_text_of_each_section(pages):
    data = (pages / "_static" / excerpts.DATA).read_text(encoding="utf-8")
    found = json.loads(data.removeprefix("window.EXCERPTS = ").rstrip(";\n"))
    assert "A warp runs; another warp too." in str(found["notebooks/00_a"])
    by_title = {title: (anchor, prose, code) for anchor, title, prose, code in found["notebooks/00_a-1"]}
    assert "x[threadIdx.x] *= 2.0f" in by_title["Step"][2] and "a report" not in str(by_title)
    assert f'id="{by_title["Step"][0]}"' in (pages / "notebooks" / "00_a-1.html").read_text(encoding="utf-8")
    assert excerpts.DATA in (pages / "search.html").read_text(encoding="utf-8")
    assert excerpts.DATA not in (pages / "index.html").read_text(encoding="utf-8")
