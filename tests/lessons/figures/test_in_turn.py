"""Two consumers together and in turn, by the model: both with one K, and with the tensor cores below them."""

from course_lib import lesson_kernel, timeline
from course_lib.check.gemm import Gemm
from course_lib.notebooks.figures.lesson_08 import in_turn


def modelled(notebook, name):
    kernel, launch = lesson_kernel(notebook, name)
    return timeline(kernel, Gemm(4096, 4096, 4096, "float16"), launch, model=True)


def test_the_tensor_cores_rest_where_two_tiles_meet_and_not_where_consumers_take_turns():
    turns = modelled("08_ping_pong", "ping_pong")
    complete = modelled("08_never_a_pause", "complete")
    figure, words = in_turn(complete, turns)
    together, after = words.split("in turn: ")
    assert "complete, 4096 x 4096 x 4096" in together and "ping_pong, 4096 x 4096 x 4096" in after
    assert together.count("at work") == 2 and after.count("at work") == 1, (
        "no rest from one consumer to the other"
    )
    (begin, rests), (works, end) = complete.parts["seam"].spans["tensor cores"]
    assert f"tensor cores at work {begin} to {rests:,}, at work {works:,} to {end:,}" in together
    assert works - rests > 1000
    assert [[label.get_text() for label in axes.get_yticklabels()] for axes in figure.axes] == [
        ["consumer 0", "consumer 1", "tensor cores"]
    ] * 2
