"""Run here what a workflow would run on GitHub: `python -m tools.author.dry_run .github/workflows/release.yml`.

Each `run:` step of its jobs is run in a fresh clone of the last commit, in order, one job after the other, with the
variables that GitHub sets. What is not run is said with its reason: steps that use an action, programs that publish
(`docker`, `gh`), and steps that were named, `--but .ci/run`. Ends with 1 when a step failed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import yaml

from tools.install import ROOT

ELSEWHERE = ("docker", "gh")
"""Programs that publish: they are not run even where they are."""
_CONTEXT = re.compile(r"\$\{\{.*?\}\}")


def steps(workflow: Path) -> Iterator[tuple[str, dict]]:
    """(job, step) of a workflow, in order."""
    for job, about in yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].items():
        for step in about["steps"]:
            yield job, step


def why_not(step: dict, but: list[str]) -> str:
    """Why a step is not run here; "" when it is."""
    if "uses" in step:
        return f"uses {step['uses']}"
    needed = [name for name in ELSEWHERE if re.search(rf"(^|[|;&]\s*){name} ", step["run"], re.MULTILINE)]
    if needed:
        return f"needs {needed[0]}"
    return "left out" if any(text in step["run"] for text in but) else ""


def variables(folder: Path) -> dict[str, str]:
    """What GitHub sets: a tag of this version, and folders."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    (folder / "temp").mkdir()
    return {
        "CI": "true",
        "GIT_CONFIG_GLOBAL": str(folder / "gitconfig"),  # one's own settings stay as they are
        "GITHUB_WORKSPACE": str(folder / "work"),
        "GITHUB_REF_NAME": f"v{version}",
        "RUNNER_TEMP": str(folder / "temp"),
    }


def main(workflow: Path, but: list[str], root: Path = ROOT) -> int:
    """Run the steps and print a line for each; the exit status."""
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        subprocess.run(["git", "clone", "-q", root, folder / "work"], check=True)
        environment = os.environ | variables(folder)
        for job, step in steps(workflow):
            name = step.get("name") or step.get("run", "").partition("\n")[0] or step["uses"]
            reason = why_not(step, but)
            if not reason:
                begin = time.monotonic()
                bash = [
                    shutil.which("bash") or "bash",
                    "-e",
                    "-o",
                    "pipefail",
                    "-c",
                    _CONTEXT.sub("x", step["run"]),
                ]
                status = subprocess.run(bash, cwd=folder / "work", env=environment).returncode
                failed += status != 0
                reason = f"{'FAILED' if status else 'ran'}, {time.monotonic() - begin:.0f} s"
            print(f"{job:10} {name[:90]:92} {reason}", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Run the steps of a workflow here.")
    parser.add_argument("workflow", type=Path)
    parser.add_argument("--but", action="append", default=[], help="leave out steps in which this stands")
    asked = parser.parse_args()
    sys.exit(main(asked.workflow, asked.but))
