"""A release: its tag, its versions and its changelogs agree; a step of its workflow runs here, or is named."""

import re
import shutil
import subprocess

import pytest
import yaml

from tests.rules import ROOT
from tools import release
from tools.author import dry_run

WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
TAG = f"v{release.project(ROOT, '.')['version']}"


@pytest.fixture
def root(tmp_path):
    """What a release reads, with a book."""
    for folder in release.FOLDERS:
        (tmp_path / folder).mkdir(exist_ok=True)
        for name in ("pyproject.toml", "CHANGELOG.md"):
            shutil.copy(ROOT / folder / name, tmp_path / folder / name)
    (tmp_path / "build" / "course").mkdir(parents=True)
    (tmp_path / "build" / "course" / "index.html").touch()
    return tmp_path


def test_this_version_could_be_released(root):
    assert release.wrong(root, TAG) == []


def test_what_stands_in_the_way_is_said(root):
    assert "pyproject.toml has" in release.wrong(root, "v0.0.1")[0]
    (root / "build" / "course" / "index.html").unlink()
    text = (root / "ptxsim" / "CHANGELOG.md").read_text()
    (root / "ptxsim" / "CHANGELOG.md").write_text(text.replace("## ", "## 99.1.0\n\n## ", 1))
    said = release.wrong(root, TAG)
    assert len(said) == 2 and "ptxsim/CHANGELOG.md begins with 99.1.0" in said[0] and "no book" in said[1]


def test_the_notes_have_what_is_new_of_each_package_and_of_no_older_version(root):
    with (root / "ptxsim" / "CHANGELOG.md").open("a", encoding="utf-8") as file:
        file.write("\n## 1.2.0\n\nWhat was new then.\n")
    notes = release.notes(root)
    names = [release.project(root, folder)["name"] for folder in release.FOLDERS]
    assert re.findall(r"^## (\S+)", notes, re.MULTILINE) == names
    assert "Ten lessons" in notes and "What was new then." not in notes


def test_nothing_is_published_that_was_not_tested():
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    assert jobs["image"]["needs"] == "packages" and set(jobs["publish"]["needs"]) == {"packages", "image"}
    runs = [step["run"] for step in jobs["packages"]["steps"] if "run" in step]
    order = [
        next(n for n, run in enumerate(runs) if what in run)
        for what in (".ci/run", "make course", "make release")
    ]
    assert order == sorted(order)
    processors = {each["processor"] for each in jobs["image"]["strategy"]["matrix"]["include"]}
    last = jobs["publish"]["steps"][-2]["run"]
    assert processors == {"amd64", "arm64"} and all(f"-{processor}" in last for processor in processors)


def test_each_step_is_a_shells_and_only_those_that_publish_are_not_run():
    left = [(step, dry_run.why_not(step, [])) for _, step in dry_run.steps(WORKFLOW)]
    for step, _ in left:
        if "run" in step:
            text = dry_run._CONTEXT.sub("x", step["run"])
            assert subprocess.run(["bash", "-n", "-c", text]).returncode == 0, text
    reasons = [reason.partition("@")[0] for _, reason in left if reason]
    assert {reason for reason in reasons if not reason.startswith("uses")} == {"needs docker", "needs gh"}
    assert sum(not reason for _, reason in left) == 6
    targets = re.search(r"^\.PHONY:(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    assert set(re.findall(r"run: make (\w+)", WORKFLOW.read_text())) <= set(targets)


def test_a_dry_run_says_what_ran_what_failed_and_what_was_left_out(tmp_path, capfd):
    workflow = tmp_path / "a.yml"
    workflow.write_text(
        """
jobs:
  one:
    steps:
      - uses: actions/checkout@v4
      - run: test -f here && echo "$GITHUB_REF_NAME" > "$RUNNER_TEMP/tag"
      - run: cat "$RUNNER_TEMP/tag"
      - run: docker push x
      - run: echo long
  two:
    steps:
      - run: "false | true"
"""
    )
    git = ["git", "-c", "user.name=x", "-c", "user.email=x"]
    (tmp_path / "here").touch()
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    assert dry_run.main(workflow, ["echo long"], tmp_path) == 1
    said = capfd.readouterr().out
    ends = [line.split("  ")[-1].strip() for line in said.splitlines() if line.startswith(("one ", "two "))]
    assert [re.sub(r", \d+ s", "", end) for end in ends] == [
        "uses actions/checkout@v4",
        "ran",
        "ran",
        "needs docker",
        "left out",
        "FAILED",
    ]
    assert TAG in said
