"""The page's JavaScript without a browser: what a link or a launch may bring in any number."""

import json
import subprocess

import pytest

from tools.live.bytecode import node
from tools.live.site import HERE

STAND_IN = """
class Box {
  constructor() { this.parts = []; }
  append(...parts) { this.parts.push(...parts); }
  replaceChildren(...parts) { this.parts = parts; }
  addEventListener() {}
}
globalThis.window = globalThis;
globalThis.document = {
  currentScript: { src: "live.js", dataset: {} }, createElement: () => new Box(), addEventListener() {},
};
globalThis.Option = Box;
"""
TRIED = """
console.log(input("args", "\\n".repeat(190_000)).rows, input("args", "a").rows);
const { src } = shownOutput({ output_type: "display_data", data: { "image/svg+xml": "ü".repeat(500_000) } });
console.log(src.length, atob(src.split(",")[1]).length);
const report = new Box();
put(report, Array.from({ length: 300_000 }, () => new Box()));
console.log(report.parts.length);
"""


KEPT = """
const storage = new Map();
globalThis.localStorage = new Proxy({
  getItem: (key) => storage.get(key) ?? null,
  setItem: (key, text) => storage.set(key, text),
  removeItem: (key) => storage.delete(key),
}, { ownKeys: () => [...storage.keys()], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }) });
"""
MINE = """
const said = [], say = (...what) => said.push(what);
let mine = new Mine("02_x/e1", "given");
mine.write("first"); mine.write("first, longer"); mine.putBack(); mine.write("second");
mine = new Mine("02_x/e1", "given");
say(mine.text, mine.isOfOlder, mine.hasMore);
mine.putBack(); say(mine.text ?? "as given", mine.hasMore);
mine.showNext(); say(mine.text); mine.showNext(); say(mine.text, mine.hasMore);
mine = new Mine("02_x/e1", "given anew");
say(mine.text, mine.isOfOlder);
mine.write("given anew"); say(mine.text ?? "as given"); mine.showNext(); say(mine.text);
new Mine("02_x/gone", "old").write("of a cell that went\\nsecond line");
new Mine("exercises/02_x/e1", "old").write("of another notebook");
const copy = { cells: [
  { id: "e1", source: ["given anew"], outputs: ["kept"] }, { id: "e2", source: ["as it was"], outputs: ["kept"] },
] };
const home = withTexts(copy, textsOf("02_x"));
say(...home.cells.map(({ source, outputs }) => [source, outputs]));
new Mine("02_x/e3", "given").write("given"); say(kept.read("02_x/e3"));
localStorage.setItem("hiding-latency/02_x/bad", "{"); say(new Mine("02_x/bad", "given").text ?? "as given");
const here = new Mine("02_x/two", "given"), there = new Mine("02_x/two", "given");
here.write("here"); there.hear(); there.write("there"); here.hear(); here.write("here, longer"); there.hear();
say(here.text, there.text, there.texts.length);
noteProgress('{"exercise": "03.4", "solved": true}\\n{"exercise": "03.1", "solved": false}\\nbroken\\n');
noteProgress('{"exercise": "03.4", "solved": false}\\n{"exercise": "03.1", "solved": false}\\n');
say(states(["03.4", "03.1", "03.2"]), progressLines().split("\\n").length);
globalThis.localStorage = { getItem() { throw new Error("forbidden"); } };
const none = new Mine("02_x/e1", "given");
none.write("mine"); say(none.text, kept.works, textsOf("02_x"));
for (const each of said) console.log(JSON.stringify(each));
"""


@pytest.mark.skipif(node() is None, reason="Node is not installed")
def test_a_text_of_a_reader_is_never_lost_and_goes_home_in_its_cell():
    scripts = [(HERE / "page" / name).read_text(encoding="utf-8") for name in ("mine.js", "live.js")]
    text = "\n".join([STAND_IN, KEPT, *scripts, MINE])
    ran = subprocess.run([node(), "-"], input=text, capture_output=True, encoding="utf-8", timeout=60)
    said = [json.loads(line) for line in ran.stdout.splitlines()]
    assert said == [
        ["second", False, True],
        ["as given", True],
        ["second"],
        ["first, longer", False],
        ["first, longer", True],
        ["as given"],
        ["second"],
        [
            [["second"], []],
            [["as it was"], ["kept"]],
            [
                [
                    "# Yours: this version of the lesson has not the cell in which you wrote it.\n",
                    "of a cell that went\n",
                    "second line",
                ],
                [],
            ],
        ],
        [None],
        ["as given"],
        ["here, longer", "there", 2],
        [{"03.4": "solved", "03.1": "tried", "03.2": "open"}, 4],
        ["mine", False, {}],
    ], ran.stderr


READ = r"""
const said = (...what) => console.log(JSON.stringify(what));
said(...kernelsOf(`// __global__ void none(int)
template <int N> __device__ float helper(float x) { return x; }
extern "C" __global__ void __launch_bounds__(128, 2) __cluster_dims__(2, 1, 1) mine(const float* in, float *out, int n)
{ helper<3>(in[0]); }
__global__
__launch_bounds__(64)
void other(void) {}`));
said(argumentsOf("const float* __restrict__ in, __half *out, unsigned int n, long long m"));
said(...["", "Box b", "float** rows"].map(argumentsOf));
const starts = [{ title: "a", name: "a", source: "x" }, { title: "a: no wait", name: "a", source: "y" }];
said(...[
  { title: "a: no wait", name: "a", source: "z" }, { name: "a", source: "y" }, { name: "a", source: "z" },
].map((content) => startOf(starts, content).title));
said(readText('{"name": "a", "source": "", "launch": {"kind": "plain", "grid": "1", "block": "1", "args": ""}}')?.name);
said(readText('{"name": 7}'), readText("{"));
"""


@pytest.mark.skipif(node() is None, reason="Node is not installed")
def test_a_pasted_kernel_brings_its_name_and_arguments_and_a_link_what_it_began_with():
    names = ("links.js", "mine.js", "live.js", "playground.js")
    scripts = [(HERE / "page" / name).read_text(encoding="utf-8") for name in names]
    text = "\n".join([STAND_IN, *scripts, READ])
    ran = subprocess.run([node(), "-"], input=text, capture_output=True, encoding="utf-8", timeout=60)
    assert [json.loads(line) for line in ran.stdout.splitlines()] == [
        [
            {"name": "mine", "parameters": "const float* in, float *out, int n"},
            {"name": "other", "parameters": "void"},
        ],
        ["float32 64 arange\nfloat16 64 zeros\nuint32 = 64\nint64 = 64"],
        ["", "", ""],
        ["a: no wait", "a: no wait", "your own"],
        ["a"],
        [None, None],
    ], ran.stderr


@pytest.mark.skipif(node() is None, reason="Node is not installed")
def test_so_many_lines_and_outputs_as_there_are_find_their_place():
    """The lines of a link that unpacks to 190,000 were arguments of one call: more than a browser takes."""
    scripts = [
        (HERE / "page" / name).read_text(encoding="utf-8") for name in ("mine.js", "live.js", "playground.js")
    ]
    text = "\n".join([STAND_IN, *scripts, TRIED])
    ran = subprocess.run([node(), "-"], input=text, capture_output=True, encoding="utf-8", timeout=60)
    assert ran.stdout.splitlines() == ["20 3", "1333362 1000000", "300000"], ran.stderr
