"""Tables that are made stand in a page between two marks, `<!-- NAME: begin -->` and `<!-- NAME: end -->`."""

from pathlib import Path

from ptxsim.ground import whole


def between(text: str, name: str, table: str) -> str:
    """The text with the table between the two marks of that name. Raises ValueError where they are not there."""
    begin, end = (f"<!-- {name}: {which} -->" for which in ("begin", "end"))
    before, found, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found and found_end):
        raise ValueError(f"the page needs the lines {begin} and {end} where the table shall stand")
    return f"{before}{begin}\n{table}\n{end}{after}"


def write(page: Path, name: str, table: str) -> None:
    """Put the table into the page, which is whole at every moment. Raises ValueError, with the page's name."""
    try:
        text = between(page.read_text(encoding="utf-8"), name, table)
    except ValueError as error:
        raise ValueError(f"{page.name}: {error}") from None
    whole.write(page, text)
