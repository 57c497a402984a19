"""`make news`: what a new version brings to an edited copy is shown, and taken over cell by cell."""

import json

import pytest

from hiding_latency import copies, news, places
from tests.hiding_latency.test_copies import NAME, cell, cell_sources, write

FIRST = {"title": "# A lesson", "one": "k = 1", "two": "m = 2", "three": "n = None"}


class Course:
    """A lesson whose cells have ids, and a learner with a copy."""

    def __init__(self, root) -> None:
        self.root, self.copy = root, root / "my_lessons" / NAME
        self.publish("1.0.0", FIRST)
        self.update()

    def publish(self, version: str, cells: dict[str, str]) -> None:
        (self.root / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')
        made = [
            cell(text, "markdown" if name == "title" else "code", id=name) for name, text in cells.items()
        ]
        write(self.root / "notebooks" / NAME, *made)

    def edit(self, **texts: str | None) -> None:
        """Change cells of the copy by their ids; None deletes one, and an id that is not there is a new cell."""
        notebook = json.loads(self.copy.read_text())
        known = {each["id"]: each for each in notebook["cells"]}
        for name, text in texts.items():
            if name not in known:
                notebook["cells"].append(cell(text, id=name))
            elif text is None:
                notebook["cells"].remove(known[name])
            else:
                known[name]["source"] = text
        self.copy.write_text(json.dumps(notebook))

    def update(self) -> list[str]:
        return copies.update(places.clone(self.root))

    def news(self, *arguments: str) -> int:
        lesson, *more = [*arguments, None]
        return news.main(places.clone(self.root), lesson, more[1:-1])

    def listed(self) -> list[tuple[str, str]]:
        found = news._changes(places.clone(self.root), NAME, self.root / "notebooks" / NAME)
        return [(each.kind, each.name) for each in found]


@pytest.fixture
def course(tmp_path) -> Course:
    return Course(tmp_path)


def test_who_changed_a_cell_is_known(course):
    course.edit(three="n = 3", two="m = 'mine'", mine="x = 0")
    assert course.listed() == [], "what the learner wrote is no news"
    course.publish("1.1.0", FIRST | {"one": "k = 11", "two": "m = 22", "four": "new = 4"})
    course.update()
    assert course.listed() == [("changed", "one"), ("both", "two"), ("new", "four")]


def test_what_waits_is_said_in_a_sentence(course, capsys):
    course.news()
    assert capsys.readouterr().out == "No lesson has anything new for a copy in my_lessons.\n"
    course.edit(two="m = 'mine'")
    course.publish("1.1.0", FIRST | {"two": "m = 22"})
    course.news()
    assert capsys.readouterr().out == (
        f"my_lessons/{NAME}: the new lesson differs from your copy in a cell; "
        f"make news NEWS={NAME} shows it and changes nothing yet.\n"
    )


def test_a_copy_that_nobody_changed_waits_for_make_lab(course, capsys):
    course.publish("1.1.0", FIRST | {"two": "m = 22"})
    course.news()
    course.news("01")
    assert capsys.readouterr().out == (
        "my_lessons: make lab brings a new lesson in place of a copy that you did not change.\n"
        "01: you did not change your copy; make lab brings the new lesson.\n"
    )
    assert "You had not changed it" in course.update()[-1]


def test_what_is_gone_and_what_the_learner_deleted(course):
    course.edit(one=None, two="m = 'mine'")
    fewer = {name: text for name, text in FIRST.items() if name in ("title", "one")}
    course.publish("1.1.0", fewer)
    assert course.listed() == [("gone", "three")], "an edited cell and a deleted one stay as they are"
    course.publish("1.2.0", fewer | {"one": "k = 11"})
    assert course.listed() == [("new", "one"), ("gone", "three")]


def test_cells_are_taken_over_one_by_one(course, capsys):
    course.edit(two="m = 'mine'", mine="x = 0")
    course.publish("1.1.0", FIRST | {"one": "k = 11", "between": "b = 0", "two": "m = 22"})
    course.update()
    before = course.copy.read_text()
    assert course.news("01") == 0 and course.copy.read_text() == before
    said = capsys.readouterr().out
    assert (
        "1. The cell `k = 11` is another one now; you had not changed it.\n     -k = 1\n     +k = 11" in said
    )
    assert "2. The cell `m = 22` is another one now, and you changed it: yours stays, below." in said

    assert course.news("01", "--take", "2", "3") == 0
    assert "01_first.before-1.1.0.ipynb" in capsys.readouterr().out
    assert (course.copy.with_name("01_first.before-1.1.0.ipynb")).read_text() == before
    after = ["# A lesson", "k = 1", "m = 22", "m = 'mine'", "n = None", "b = 0", "x = 0"]
    assert sorted(cell_sources(course.copy)) == sorted(after)
    assert cell_sources(course.copy)[2:4] == ["m = 22", "m = 'mine'"]
    assert course.listed() == [("changed", "one")], "what was taken is no news any more"

    assert course.news(NAME, "--take", "all") == 0
    assert cell_sources(course.copy)[1] == "k = 11" and course.listed() == []
    assert course.news() == 0 and "No lesson has anything new" in capsys.readouterr().out
    ids = [each["id"] for each in json.loads(course.copy.read_text())["cells"]]
    assert len(set(ids)) == len(ids)


def test_a_copy_of_an_older_course_has_no_hashes_and_nothing_is_lost(course):
    known = json.loads((course.copy.parent / copies.GIVEN).read_text())
    del known["cells"]
    (course.copy.parent / copies.GIVEN).write_text(json.dumps(known))
    course.edit(two="m = 'mine'")
    course.publish("1.1.0", FIRST | {"one": "k = 11"})
    assert course.listed() == [("differs", "one"), ("differs", "two")]
    assert course.news("01", "--take", "all") == 0
    assert cell_sources(course.copy) == ["# A lesson", "k = 11", "k = 1", "m = 2", "m = 'mine'", "n = None"]


def test_a_number_that_is_not_there_changes_nothing(course, capsys):
    course.edit(two="m = 'mine'")
    course.publish("1.1.0", FIRST | {"one": "k = 11"})
    before = course.copy.read_text()
    assert course.news("01", "--take", "1", "7") == 2
    assert "there is no change 7" in capsys.readouterr().err and course.copy.read_text() == before
    assert course.news("05") == 0 and "nothing new" in capsys.readouterr().out


def test_without_a_copy_or_with_a_broken_one_nothing_is_said(course):
    course.publish("1.1.0", FIRST | {"one": "k = 11"})
    course.copy.write_text("{")
    assert course.listed() == []
    course.copy.unlink()
    assert news.edited(places.clone(course.root)) == {}
