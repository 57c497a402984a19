"""What the compiler made in earlier runs of the tests: build/texts.

A folder of texts counts while the compiler and the room that calls it stay the same. `make long` compiles all anew, and
so do the tests that ask for the fixture `compiled_anew`.
"""

import hashlib
import os
import shutil
import time

from ptxsim.compiler import cache
from tests.rules import ROOT
from tests.sample import EVERY, REST

FOLDER = ROOT / "build" / "texts"
DAYS = 30
"""A text that is older is made anew: nobody may ask for it any more. So are those of another compiler; a run that began
before this one may still use them."""


def use() -> None:
    """For this process and those that it starts."""
    if (EVERY and not REST) or cache.REUSE in os.environ:
        return
    room = sorted((ROOT / "ptxsim" / "compiler").glob("*.py"))
    made_by = b"".join([cache.made_by().encode(), *(path.read_bytes() for path in room)])
    texts = FOLDER / hashlib.sha256(made_by).hexdigest()[:12]
    texts.mkdir(parents=True, exist_ok=True)
    for other in FOLDER.iterdir():
        if other != texts and time.time() - other.stat().st_mtime > DAYS * 24 * 3600:
            shutil.rmtree(other, ignore_errors=True)
    for text in texts.iterdir():
        if time.time() - text.stat().st_mtime > DAYS * 24 * 3600:
            text.unlink(missing_ok=True)
    os.environ[cache.REUSE] = str(texts)
