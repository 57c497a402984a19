"""README's first picture is what the simulator says today, and README says the same in words."""

from tools.author import marked, report_picture


def test_the_picture_is_the_report_of_today():
    _, alt = report_picture.picture()
    page = report_picture.README.read_text(encoding="utf-8")
    why = "run `python -m tools.author.report_picture`"
    assert marked.between(page, "report", f"\n{report_picture.line(alt)}\n") == page, why
    drawn = (report_picture.ROOT / report_picture.FILE).read_text(encoding="utf-8")
    assert f"<title>{alt}</title>" in drawn, why
    assert "prefers-color-scheme:dark" in drawn


def test_it_stands_in_the_first_screen_and_names_both_lines_of_a_race():
    page = report_picture.README.read_text(encoding="utf-8")
    before, _, _ = page.partition(report_picture.FILE)
    assert len(before.split()) < 120
    source, hazard = report_picture.report()
    assert hazard.kind == "read-after-write" and "__syncthreads() is missing" in hazard.message
    assert "tile[255 - t]" in source.splitlines()[hazard.line - 1]
