"""Texts that somebody else wrote, as a terminal may show them: an exception, a file's name, a line of a source."""

KEPT = "\n\t\xa0\u202f"
"""Ends of lines, tabs, and the spaces at which no line breaks."""


def printable(text: object) -> str:
    """The text with each character that a terminal obeys, or that nobody sees, written out: `\\x1b` for ESC.

    A terminal takes some characters as orders: clear all, write over another line, write from the right.
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(each if each.isprintable() or each in KEPT else _written_out(each) for each in shown)


def printable_line(text: object) -> str:
    """The same in one line, for a table or a list: ends of lines and rows of spaces are one space."""
    return printable(" ".join(str(text).split()))


def _written_out(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
