"""A compiler's PTX as it is kept: under the name of its kernel, with the source that it was made from."""

import hashlib
import re
from pathlib import Path

FOLDER = Path(__file__).parent
PTX = FOLDER / "ptx"


def keep(name: str, ptx: str, source: str, compiler: str) -> None:
    """Write `ptx` to `ptx/NAME.ptx`. Its first line names the compiler and the source; folders of the machine go."""
    ptx = re.sub(r'(\.file\s+\d+\s+)"[^"]*"', rf'\1"{Path(source).name}"', ptx)
    debug = ptx.find("\t.section\t.debug_")
    ptx = re.sub(r"[ \t]+$", "", ptx if debug < 0 else ptx[:debug], flags=re.M).rstrip("\n\0")
    first = f"// {compiler}, from {Path(source).name} {digest(Path(source))}"
    (PTX / f"{name}.ptx").write_text(f"{first}\n{ptx}\n")


def digest(source: Path) -> str:
    return hashlib.sha256(source.read_bytes()).hexdigest()[:16]
