"""Bring the learner's copies up to date and open them in JupyterLab: `make lab`, `hiding-latency lab`.

In a clone Lab's root is the repository, so that links from a lesson to the headers and notes work; the lessons
themselves, which stay as they are, are not listed there. Elsewhere it is the folder of the copies.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from course_lib.exercises.logbook import FILE, Progress, entries
from hiding_latency import copies, places
from hiding_latency.packages import brings
from hiding_latency.places import Place

EXTENSION = places.ROOT / "tools" / "lab_extension"
"""In a clone; an installed course has it where JupyterLab looks."""
MISSING = "JupyterLab is not installed here, only the course's library"


def command(place: Place, more: list[str]) -> list[str]:
    """How JupyterLab is started."""
    opened = copies.last_used(place).relative_to(place.root).as_posix()
    return [
        *(sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={place.root}"),
        f"--LabApp.default_url=/lab/tree/{quote(opened)}",
        *(f"--ContentsManager.hide_globs={name}" for name in ("notebooks", "__pycache__", "*.egg-info")),
        # Versions are pinned, so it asks no server for newer ones.
        "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
        # What its parts say of themselves is for those who write them; the address to open is said all the same.
        "--Application.log_level=WARN",
        # A teacher's .venv has nbgrader, whose form grader looks for a course here and warns: it is elsewhere.
        "--ServerApp.jpserver_extensions=nbgrader.server_extensions.formgrader=False",
        *(["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),  # in a container
        *more,
    ]


def environment() -> dict[str, str]:
    """What JupyterLab is started with: the defaults of labconfig/, which a learner's own settings beat, and in a clone
    the course's extension."""
    more = {"JUPYTER_CONFIG_PATH": Path(__file__).parent, "JUPYTER_PATH": EXTENSION}
    own = {name: [os.environ[name]] if os.environ.get(name) else [] for name in more}
    return os.environ | {name: os.pathsep.join([*own[name], str(path)]) for name, path in more.items()}


def progress(folder: Path) -> str:
    """One line: how much is solved."""
    from course_lib.exercises.answers import exercises

    try:
        states = Progress(entries(folder / FILE), list(exercises())).states()
    except OSError as error:
        return f"{folder.name}/{FILE} cannot be read ({error.strerror}), so what is solved is not known."
    solved = list(states.values()).count("solved")
    return f"Solved so far: {solved} of {len(states)} exercises." if solved else ""


def bring(place: Place) -> None:
    """Bring the copies up to date, and say what there is to say. Ends here when that cannot be done."""
    try:
        said = [*copies.update(place), progress(place.folder)]
    except OSError as error:
        sys.exit(
            f"{place.folder.name} cannot be used: {error}. It holds your copies of the lessons and must be a folder "
            "that you can write. What is in it was not changed."
        )
    except KeyboardInterrupt:
        sys.exit("\nStopped. Run it again: every file is whole.")
    print(*filter(None, said), sep="\n", end="\n" if any(said) else "", flush=True)


def main(place: Place, more: list[str]) -> None:
    """Bring the copies up to date, and become JupyterLab."""
    bring(place)
    if find_spec("jupyterlab") is None:
        sys.exit(f"{MISSING}: {brings('learn')} brings it.")
    os.execve(sys.executable, command(place, more), environment())
