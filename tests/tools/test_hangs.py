"""docs/hangs.md: its kernels, checked by its commands, print what it says; and its words are the simulator's."""

import re
import shlex

import pytest

from ptxsim.__main__ import main
from ptxsim.races.hazards import WORDS
from tests.rules import ROOT

PAGE = (ROOT / "docs" / "hangs.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(
    r"```cuda\n(.*?)```.*?```sh\npython -m ptxsim (.*?)\n```\s+```text\n(.*?)```", PAGE, re.DOTALL
)


@pytest.mark.parametrize(("source", "command", "printed"), EXAMPLES, ids=["race", "hang"])
def test_the_report_is_what_the_command_prints(source, command, printed, tmp_path, monkeypatch, capsys):
    words = shlex.split(command)
    (tmp_path / words[1]).write_text(source)
    monkeypatch.chdir(tmp_path)
    assert main(words) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == printed.splitlines()[0]
    assert [line for line in printed.splitlines() if line not in shown] == [], (
        "lines may be left out, no more"
    )


def test_the_barrier_that_the_page_names_puts_the_ring_right(tmp_path, monkeypatch):
    source, command, _ = EXAMPLES[0]
    name = shlex.split(command)[1]
    (tmp_path / name).write_text(source.replace("127 - t];\n", "127 - t];\n        __syncthreads();\n"))
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)) == 0


def test_the_table_has_the_words_of_reports():
    said = re.findall(r"^\|.*\| (`.*?) \|$", PAGE, re.MULTILINE)
    words = re.findall(r"`([\w-]+)`", " ".join(said))
    assert len(words) > 10 and set(words) <= WORDS
