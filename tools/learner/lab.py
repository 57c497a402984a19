"""Bring the learner's copies up to date and open them in JupyterLab. `make lab` calls this.

Lab's root is this repository, so that links from a lesson to the headers and notes work; the lessons themselves, which
stay as they are, are not listed there. What is given on the command line goes to JupyterLab.
"""

import os
import sys
from pathlib import Path
from urllib.parse import quote

from course_lib.exercises.logbook import FILE, Progress, entries
from tools.learner import copies


def command(root: Path, more: list[str]) -> list[str]:
    """How JupyterLab is started."""
    return [
        *(sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root}"),
        f"--LabApp.default_url=/lab/tree/{quote(copies.last_used(root))}",
        *(f"--ContentsManager.hide_globs={name}" for name in ("notebooks", "__pycache__", "*.egg-info")),
        # Versions are pinned, so it asks no server for newer ones.
        "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
        # A teacher's .venv has nbgrader, whose form grader looks for a course here and warns: it is elsewhere.
        "--ServerApp.jpserver_extensions=nbgrader.server_extensions.formgrader=False",
        *(["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),  # in a container
        *more,
    ]


def environment() -> dict[str, str]:
    """What JupyterLab is started with: the defaults of tools/learner/labconfig, which a learner's own settings beat,
    and the extension in tools/lab_extension."""
    here = Path(__file__).parent
    more = {"JUPYTER_CONFIG_PATH": here, "JUPYTER_PATH": here.parent / "lab_extension"}
    own = {name: [os.environ[name]] if os.environ.get(name) else [] for name in more}
    return os.environ | {name: os.pathsep.join([*own[name], str(path)]) for name, path in more.items()}


def progress(root: Path) -> str:
    """One line: how much is solved."""
    from course_lib.exercises.answers import exercises

    states = Progress(entries(root / copies.FOLDER / FILE), list(exercises())).states()
    solved = list(states.values()).count("solved")
    return f"Solved so far: {solved} of {len(states)} exercises." if solved else ""


def main(more: list[str]) -> None:
    root = copies.ROOT
    try:
        said = [*copies.update(root), progress(root)]
    except OSError as error:
        sys.exit(
            f"{copies.FOLDER} cannot be used: {error}. It holds your copies of the lessons and must be a folder "
            "that you can write. What is in it was not changed."
        )
    except KeyboardInterrupt:
        sys.exit("\nStopped. Run it again: every file is whole.")
    print(*filter(None, said), sep="\n", flush=True)
    os.execve(sys.executable, command(root, more), environment())


if __name__ == "__main__":
    main(sys.argv[1:])
