"""Comments move no record."""

from course_lib.measure.places import lines_at


def test_a_comment_moves_a_line_and_not_its_place():
    before = 'extern "C"\nint a;\n\nint b;  // two\n}'
    after = 'extern "C"   // of\n// a file\nint a;\nint\tb;\n}'
    texts = [text.splitlines() for text in (before, after)]
    one, other = lines_at(before), lines_at(after)
    assert list(one) == list(other)
    assert [texts[0][at - 1][:5] for at in one.values()] == ["exter", "int a", "int b", "}"]
    assert [texts[1][at - 1][:3] for at in other.values()] == ["ext", "int", "int", "}"]
