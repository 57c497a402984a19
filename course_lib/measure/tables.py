"""A table under its heading, as text and as HTML: names on the left, numbers right-aligned, rows of one line."""

import html
from collections.abc import Sequence

Table = Sequence[Sequence[str]]  # the headings of the columns, then the rows


def as_text(heading: Sequence[str], table: Table) -> str:
    """The lines of the heading, then those of the table."""
    widths = [max(map(len, column)) for column in zip(*table)]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in table
    )
    return "\n".join([*heading, *lines])


def as_html(heading: Sequence[str], table: Table) -> str:
    """The heading as the caption. Names of columns have two lines at most, rows have one: Lab and the book would
    break them anywhere."""

    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"

    escaped = [[html.escape(cell) for cell in row] for row in table]
    lines = [line([name.replace(" ", "<br>", 1) for name in header], "th") for header in escaped[:1]]
    lines += [line(row, "td") for row in escaped[1:]]
    caption = "<br>".join(map(html.escape, heading))
    return (
        '<table style="white-space: nowrap; font-variant-numeric: tabular-nums">'
        f'<caption style="white-space: normal">{caption}</caption>{"".join(lines)}</table>'
    )
