"""The text of a table is read as it is written, and one that is malformed is refused in words."""

import re

import pytest

from tests.lessons.tables import right_answers, variants, wrong_answers

WAIT = "    wait_all();\n"


def test_a_change_is_in_a_line_or_of_lines():
    table = wrong_answers(
        """
03.2
    no barrier: all parts: have arrived
        -     __syncthreads();
    two slots: on its way
        i % 2 -> i % 3
        <2> ->

        - $WAIT
        -
        -     multiply(${ACC}s…
        +     multiply(a -> b…
        -     f();

        -     g();
        + $WAIT

03.3
    anything: b|c
        -(-M // TM) -> $ACC * 2
""",
        WAIT=WAIT,
        ACC="acc",
    )
    assert table == {
        "03.2": [
            ("no barrier", [("    __syncthreads();\n", "")], "all parts: have arrived"),
            (
                "two slots",
                [
                    ("i % 2", "i % 3"),
                    ("<2>", ""),
                    ("    wait_all();\n\n    multiply(accs", "    multiply(a -> b"),
                    ("    f();\n", ""),
                    ("    g();\n", WAIT),
                ],
                "on its way",
            ),
        ],
        "03.3": [("anything", [("-(-M // TM)", "acc * 2")], "b|c")],
    }


def test_a_right_answer_has_no_words_and_a_variant_no_exercise():
    assert right_answers("01.1\n    bits\n        % 2 -> & 1") == {"01.1": [("bits", [("% 2", "& 1")])]}
    assert variants("no wait: hazard|wrong\n    wait(); ->") == [("no wait", "wait();", "", "hazard|wrong")]
    assert variants("no word:\n    a -> b") == [("no word", "a", "b", "")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("    a -> b", "'    a -> b' has no headline above it"),
        ("no wait: hazard\n  a -> b", "'  a -> b': four blanks further in than its headline"),
        ("no wait: hazard\n     a -> b", "' a -> b' of 'no wait: hazard' is no change"),
        ("no wait: hazard\n    a, b", "'a, b' of 'no wait: hazard' is no change: write `old -> new`"),
        ("no wait: hazard\n    -a\n    +b", "'-a' of 'no wait: hazard' is no change"),
        ("no wait: hazard\n    + b", "'+ b' of 'no wait: hazard' is no change"),
        ("no wait: hazard\n    -> b", "'-> b' of 'no wait: hazard' is no change"),
        ("no wait: hazard", "'no wait: hazard' names no text that is replaced"),
        ("no wait: hazard\n    - …\n    + b", "'no wait: hazard' names no text that is replaced"),
        ("no wait: hazard\n    - a…\n    - b", "'no wait: hazard': only the last line may end in …"),
        ("no wait: hazard\n    - $WAIT", "no text is called WAIT"),
        ("no wait: hazard\n    a ->\n    b ->", "'no wait' has 2 changes; a variant of a kernel has one"),
        ("no wait\n    a ->", "'no wait': a colon must follow what is wrong, and then the words"),
    ],
)
def test_a_malformed_case_is_refused(text, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        variants(text)


def test_an_exercise_stands_once():
    with pytest.raises(ValueError, match=r"05\.1 stands here twice"):
        right_answers("05.1\n    a\n        1 -> 2\n05.1\n    b\n        1 -> 3")
