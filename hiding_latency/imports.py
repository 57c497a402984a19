"""Imports in a learner's cells that name what has moved: rewritten, so that the old names need no home."""

import re

BESIDE = "course_lib.notebooks.figures"
MOVED = {"instruments": "course_lib.instruments", "compile_service": "hiding_latency.compile_service"}
"""A module's name of old -> its name now."""
ELSEWHERE = {
    "course_lib": ("body",),
    "cupy_or_sim": ("in_one_piece",),
    f"{BESIDE}.comparisons": (
        "bias_and_relu",
        "in_pieces",
        "layer_times",
        "noted",
        "persistent_times",
        "sms_at_work",
        "stream_k_times",
    ),
    f"{BESIDE}.full_unit": ("full_units",),
    f"{BESIDE}.k_block": ("k_block", "show_k_blocks"),
    f"{BESIDE}.loads_ahead": ("loads_ahead", "show_loads_ahead"),
    f"{BESIDE}.pauses": ("pause", "tile_of"),
    f"{BESIDE}.programs": ("run_program",),
    f"{BESIDE}.single": (
        "at_any_size",
        "check_finish",
        "parts",
        "product",
        "sectors_of_a_layer",
        "tried",
        "whole_numbers",
    ),
    f"{BESIDE}.tensor_share": ("tensor_shares",),
}
"""A module -> the names that it has of those of `instruments`."""
_HOME = {name: module for module, names in ELSEWHERE.items() for name in names}
_OLD = "|".join(MOVED)
_NAMES = re.compile(
    r"^([ \t]*)from (instruments|course_lib\.instruments) import (\([^()]*\)|[^\n#;()]*)", re.MULTILINE
)
_FROM = re.compile(rf"^([ \t]*from )({_OLD})(?=[. ])", re.MULTILINE)
_WHOLE = re.compile(rf"^([ \t]*)import ({_OLD})(?= as |[ \t]*(?:$|[;#]))", re.MULTILINE)


def renewed(text: str) -> str:
    """The text of a cell, its imports with today's names: `renewed("from instruments import sass")`."""
    text = _FROM.sub(lambda found: found[1] + MOVED[found[2]], _NAMES.sub(_apart, text))
    return _WHOLE.sub(
        lambda found: f"{found[1]}from {MOVED[found[2]].rpartition('.')[0]} import {found[2]}", text
    )


def _apart(found: re.Match[str]) -> str:
    """An import of names, a line for each module that has some of them; itself where all are in `instruments`."""
    listed = re.sub(r"#.*", "", found[3]).strip("() \t\n")
    names = [" ".join(name.split()) for name in listed.split(",") if name.strip()]
    homes = [_HOME.get(name.partition(" ")[0], MOVED["instruments"]) for name in names]
    if set(homes) <= {MOVED["instruments"]}:
        return found[0]
    lines = {home: [name for name, of in zip(names, homes) if of == home] for home in dict.fromkeys(homes)}
    said = "\n".join(f"{found[1]}from {home} import {', '.join(names)}" for home, names in lines.items())
    return said + " " * (found[3][-1:] == " ")
