"""The page's JavaScript without a browser: what a link or a launch may bring in any number."""

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
const editor = new Editor("\\n".repeat(190_000), "", () => {});
console.log(editor.numbers.parts.length, editor.area.rows);
console.log(input("args", "\\n".repeat(190_000)).rows, input("args", "a").rows);
const { src } = shownOutput({ output_type: "display_data", data: { "image/svg+xml": "ü".repeat(500_000) } });
console.log(src.length, atob(src.split(",")[1]).length);
const report = new Box();
put(report, Array.from({ length: 300_000 }, () => new Box()));
console.log(report.parts.length);
"""


@pytest.mark.skipif(node() is None, reason="Node is not installed")
def test_so_many_lines_and_outputs_as_there_are_find_their_place():
    """The lines of a link that unpacks to 190,000 were arguments of one call: more than a browser takes."""
    scripts = [(HERE / "page" / name).read_text(encoding="utf-8") for name in ("live.js", "playground.js")]
    text = "\n".join([STAND_IN, *scripts, TRIED])
    ran = subprocess.run([node(), "-"], input=text, capture_output=True, encoding="utf-8", timeout=60)
    assert ran.stdout.splitlines() == ["190001 190001", "20 3", "1333362 1000000", "300000"], ran.stderr
