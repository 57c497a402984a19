"""`make judges`: what is worse than the last time, and what is there to be judged."""

import csv
import json
import re
from collections import Counter
from xml.etree import ElementTree

import pytest

from tests.rules import ROOT
from tools.author import judges, programs, suites
from tools.author.judges import Row


def test_what_got_worse_is_named():
    before = Row.of({"a": "right", "b": "missed", "c": "right"})
    assert before == Row(3, {"b": "missed"})
    assert Row.of({"a": "right", "b": "missed", "c": "right", "d": "right"}).worse_than(before) == []
    assert Row.of({"a": "false alarm", "b": "right"}).worse_than(before) == [
        "a: false alarm",
        "1 cases fewer",
    ]


def test_verdicts_of_tests():
    """Those that were skipped are no cases; one that fails as known is not right."""
    text = """<testsuites><testsuite>
    <testcase classname="tests.bugs.test_bugs" name="one[a]"/>
    <testcase classname="tests.bugs.test_bugs" name="two"><failure message="E&#10;more"/></testcase>
    <testcase classname="tests.bugs.test_bugs" name="three"><skipped type="pytest.skip"/></testcase>
    <testcase classname="tests.bugs.test_bugs" name="four"><skipped type="pytest.xfail"/></testcase>
    </testsuite></testsuites>"""
    assert judges._verdicts(ElementTree.fromstring(text)) == {
        "tests/bugs/test_bugs.py::one[a]": "right",
        "tests/bugs/test_bugs.py::two": "E",
        "tests/bugs/test_bugs.py::four": "known",
    }


def test_a_suite_that_is_not_there_has_no_row(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(judges, "RECORD", tmp_path / "judges.json")
    assert suites.indigo(tmp_path) is None and programs.public_programs(tmp_path, tmp_path) is None
    assert programs.planted_faults(tmp_path, tmp_path / "into") is None
    assert programs.in_repositories(tmp_path, tmp_path) is None
    monkeypatch.setattr("sys.argv", ["judges", str(tmp_path), "--only", "HiRace"])
    assert judges.main() == 0
    assert "| Indigo on HiRace's six graphs | not there | | - | |" in capsys.readouterr().out


@pytest.mark.parametrize(("found", "status"), [("right", 0), ("missed", 1)])
def test_what_got_worse_ends_with_1_and_is_not_kept(tmp_path, monkeypatch, capsys, found, status):
    monkeypatch.setattr(judges, "RECORD", tmp_path / "judges.json")
    monkeypatch.setattr(judges, "BY_TESTS", {})
    monkeypatch.setattr(judges, "OF_OTHERS", {"a suite": lambda folder: {"a": "right", "b": "missed"}})
    monkeypatch.setattr("sys.argv", ["judges"])
    assert judges.main() == 0
    monkeypatch.setattr(judges, "OF_OTHERS", {"a suite": lambda folder: {"a": found, "b": "right"}})
    assert judges.main() == status
    assert judges.recorded()["a suite"] == (Row(2, {}) if found == "right" else Row(2, {"b": "missed"}))
    said = capsys.readouterr().out
    assert "| a suite | 2 | 1 | 1 of 2 | 1 |" in said or found == "right"
    monkeypatch.setattr("sys.argv", ["judges", "--keep"])
    assert judges.main() == status
    assert judges.recorded()["a suite"] == Row.of({"a": found, "b": "right"})


def test_a_row_is_kept_before_the_next_one_is_judged(tmp_path, monkeypatch):
    """A suite takes half an hour: what ends the next one does not cost it."""

    def stopped(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(judges, "RECORD", tmp_path / "judges.json")
    monkeypatch.setattr(judges, "BY_TESTS", {})
    monkeypatch.setattr(judges, "OF_OTHERS", {"a suite": lambda folder: {"a": "right"}, "another": stopped})
    monkeypatch.setattr("sys.argv", ["judges"])
    with pytest.raises(KeyboardInterrupt):
        judges.main()
    assert judges.recorded() == {"a suite": Row(1, {})}


def test_a_test_of_two_rows_belongs_to_the_one_that_names_it_more_exactly():
    """Whichever rows are asked for: or a row would have more cases where another one was not."""
    of = {
        "tests/ptxsim/races/test_mutants.py::test_one": "mutants",
        "tests/ptxsim/races/test_sanitizer.py::test_one": "compute-sanitizer, 375 kernels",
        "tests/ptxsim/races/test_orders.py::test_one": "rules of races, units and orders",
        "tests/bugs/beside_sanitizer/test_pairs.py::test_one": "real bugs, before and after",
        "tests/bugs/test_bugs.py::test_one": "after public reports of bugs",
    }
    assert {case: judges.owner(case) for case in of} == of


def test_the_tests_of_each_row_are_there():
    missing = [
        path
        for paths in judges.BY_TESTS.values()
        for path in paths
        if not (ROOT / path.partition("::")[0]).exists()
    ]
    assert missing == []


def test_a_kernel_of_indigo_races_by_its_name():
    racing = [
        name
        for name in ("push_boundsBug", "push_boundsBug_atomicBug", "pull_cond", "pull_syncBug")
        if suites.RACING.search(name)
    ]
    assert racing == ["push_boundsBug_atomicBug", "pull_syncBug"]


def test_the_list_of_programs_is_read():
    found = {each.name: each for each in programs.listed()}
    assert len(found) == 91 and sum(each.ran for each in found.values()) == 77
    assert sum(each.findings for each in found.values()) == 46
    assert (
        found["transpose"].arguments == "-dimX=64 -dimY=64" and found["nw"].repository == "yuhc/gpu-rodinia"
    )


def test_each_kind_of_a_file_with_main_is_a_case(tmp_path, monkeypatch):
    folder = tmp_path / programs.TWELVE[0].replace("/", "+")
    folder.mkdir()
    for name, text in {
        "a": "int main() {}",
        "b": "int main (void) {}",
        "c": "int main() {}",
        "d": "void f();",
    }.items():
        (folder / f"{name}.cu").write_text(text)
    reports = {
        "a.cu": {"hazards": [{"kind": kind} for kind in ("leak", "leak", "race", "step-limit")]},
        "b.cu": {"hazards": []},
    }
    monkeypatch.setattr(
        programs, "_report", lambda folder, files, *rest: reports.get(files[0], programs.NOTHING)
    )
    assert programs.in_repositories(tmp_path, tmp_path) == {
        f"{folder.name}/a.cu: leak": "reported",
        f"{folder.name}/a.cu: race": "reported",
        f"{folder.name}/b.cu": "right",
        f"{folder.name}/c.cu": "right",
    }


def test_a_program_without_a_report_says_why(tmp_path):
    (tmp_path / "a.cu").write_text("int main( {}")
    said = programs._report(tmp_path, ["missing.cu"], [], tmp_path / "a.json", 60)
    assert said["hazards"] == [] and "missing.cu" in said["stopped"]
    assert (
        programs._report(tmp_path, ["a.cu"], [], tmp_path / "a.json", 0)["stopped"] == "no report after 0 s"
    )


def test_the_page_of_public_programs_counts_what_its_tables_have():
    page, listed = programs.PAGE.read_text(encoding="utf-8"), programs.listed()
    found = [each for each in listed if each.findings]
    assert f"{len(found)} programs have {sum(each.findings for each in found)} findings." in page
    assert page.startswith(f"# Public programs\n\n{len(listed)} whole programs")
    told = page.split("## What was found")[1].partition("\n## ")[0]
    assert [each.name for each in found if not each.found or each.name not in told] == []
    for repository in {each.repository for each in listed}:
        own = [each for each in listed if each.repository == repository]
        assert f"| {repository} | {len(own)} | {sum(each.ran for each in own)} |" in page
    stopped = page.split("## What did not run to its end")[1]
    left = [each.name for each in listed if not each.ran and each.repository != "karpathy/llm.c"]
    assert [name for name in left if name not in stopped] == []


def test_the_page_of_judges_counts_what_is_frozen():
    def frozen(name: str, part: str) -> int:
        return len(json.loads((ROOT / "tests" / "golden" / f"{name}.json").read_text(encoding="utf-8"))[part])

    page = (ROOT / "ptxsim" / "docs" / "judges.md").read_text(encoding="utf-8")
    assert f"| results of an H100 | {frozen('h100', 'cases') + frozen('newer_h100', 'cases'):,} |" in page
    assert f"| Nsight Compute's counters | {frozen('ncu_h100', 'kernels')} |" in page


def test_the_page_of_public_programs_counts_those_that_were_drawn():
    page = programs.PAGE.read_text(encoding="utf-8").partition("## Thirty more")[2]
    with programs.PAGE.with_name("drawn_programs.csv").open(encoding="utf-8", newline="") as file:
        drawn = list(csv.DictReader(file))
    rule = (ROOT / "research" / "thirty_more.py").read_text(encoding="utf-8")
    assert [each for each in drawn if f'"{each["repository"]}": "{each["commit"]}",' not in rule] == []
    at_first, now = (
        {each["file"] for each in drawn if each[when] == "yes"} for when in ("ran at first", "ran now")
    )
    words = " ".join(page.split())
    assert len(drawn) == 30 and at_first < now
    assert f"{len(at_first)} ran to their end at first, and {len(now)} do" in words
    others = [each for each in drawn if each["file"] not in now]
    assert [each["file"] for each in others if not each["why it did not run to its end"]] == []
    why = re.search(r"Of the others (\d+) are too long, (\d+) did not compile", words)
    assert why and sum(map(int, why.groups())) == len(others)
    found = [int(each["findings"]) for each in drawn if each["findings"] != "0"]
    assert f"{len(found)} programs have {sum(found)} findings, all true" in words
    said = Counter(each["own word"] for each in drawn if each["file"] in now)
    assert (
        f"Of the {len(now)}, {said['passes']} check themselves and pass, {said['seen to be right']} print numbers seen "
        f"to be right, {said['checks nothing']} check nothing, {said['rightly says that it failed']} rightly say"
    ) in words  # fmt: skip


def test_the_page_of_public_programs_counts_those_that_were_tried_from_outside():
    page = programs.PAGE.read_text(encoding="utf-8").partition("## Fifty-six more")[2].partition("\n## ")[0]
    with programs.PAGE.with_name("tried_programs.csv").open(encoding="utf-8", newline="") as file:
        tried = list(csv.DictReader(file))
    words, what = " ".join(page.split()), Counter(each["what became of it"] for each in tried)
    with_option = [each for each in tried if each["option"]]
    findings = [int(each["findings"]) for each in tried if each["findings"] != "0"]
    for said in (
        f"{len(tried)} of them were run again",
        f"{what['ran']} ran to their end, {what['ran'] - len(with_option)} of them as they are, ",
        f" as they are, {len(with_option)} with an option",
        f"{what['too long']} are too long",
        f"what {what['not there']} needs is not there, told by name; {what['did not compile']} compiles nowhere",
        f"{len(findings)} programs have {sum(findings)} findings, all true",
    ):
        assert said in words, said
    assert [each["program"] for each in with_option if f"`{each['option']}`" not in page] == []


def test_the_page_of_tcgen05_tells_of_its_public_kernels_what_their_rows_have():
    docs = ROOT / "ptxsim" / "docs"
    with (docs / "tcgen05_kernels.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    page = (
        (docs / "tcgen05.md")
        .read_text(encoding="utf-8")
        .partition("## Public kernels")[2]
        .partition("\n## ")[0]
    )
    of = Counter(each["kernel"].partition("'s ")[0] for each in rows)
    assert of == {"learn-cuda": 12, "DeepGEMM": 2, "CUTLASS": 4}
    names = {each["kernel"].partition("<")[0] for each in rows}
    assert sum(name.startswith("learn-cuda") for name in names) == 9
    assert page.lstrip().startswith("Nine of [gau-nernst/learn-cuda]") and "in twelve\nforms" in page
    wrong = {each["kernel"]: each["right"] for each in rows if each["right"] not in ("4 of 4", "yes")}
    assert all(re.search(r"matmul_v[12]_", name) for name in wrong)
    assert set(wrong.values()) == {"3 of 4"} and "but for v1 and v2: in 3 of the 4" in page
    assert "of four orders of warps [one hangs]" in (ROOT / "notebooks" / "11_tensor_memory.ipynb").read_text(
        "utf-8"
    )
    found = dict.fromkeys(each["findings"] for each in rows if each["findings"] != "none")
    assert re.findall(r"^\* `([a-z-]+)`, in", page, re.MULTILINE) == [
        "deadlock",
        "exited-block",
        "missing-proxy-fence",
    ]
    assert found.keys() == {"deadlock", "exited-block", "missing-proxy-fence"}
