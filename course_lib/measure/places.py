"""Where a line of a source stands, whatever its comments: by this, records find it again."""

from cupy_or_sim.keys import canonical


def lines_at(source: str) -> dict[int, int]:
    """{letters before a line, without comments and white space: its number}. Comments may move a line, but not this
    place of it. Of lines at one place the last has the text."""
    lines = source.splitlines(keepends=True)
    return {len(canonical("".join(lines[:at]))): at + 1 for at in range(len(lines))}
