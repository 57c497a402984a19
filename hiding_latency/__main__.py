"""`hiding-latency`: the lessons on this machine, without a clone; and the book for a room."""

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from hiding_latency import compared, lab, news, places, serve
from hiding_latency.packages import brings


def main(typed: Sequence[str] | None = None) -> int:
    """Do what is asked; the exit status."""
    words = list(sys.argv[1:] if typed is None else typed)
    end = words.index("--") if "--" in words else len(words)
    asked = parser().parse_args(words[:end])
    if asked.command == "serve":
        return serve.main(asked)
    place = places.here(asked.folder)
    if asked.command == "lab":
        lab.main(place, words[end + 1 :])
    if asked.command == "update":
        lab.bring(place)
    if asked.command == "news":
        return news.main(place, asked.lesson, asked.take)
    if asked.command == "test":
        lab.bring(place)
        return compared.main(place.folder, asked.lesson)
    if asked.command == "course":
        if find_spec("nbclient") is None:
            print(f"What runs notebooks is not installed here: {brings('learn')} brings it.", file=sys.stderr)
            return 2
        # it imports what runs notebooks
        from hiding_latency import lessons

        return lessons.main(place, asked.again)
    return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="hiding-latency", description="A course on hiding latency on NVIDIA GPUs."
    )
    commands = made.add_subparsers(required=True, dest="command", metavar="COMMAND")
    for name, about in {
        "lab": "open your copies of the lessons in JupyterLab, made and brought up to date; options behind -- go there",
        "update": "make your copies, or bring them up to date; what you wrote stays",
        "news": "show what a new version of a lesson brings to a copy that you edited, and take it over",
        "test": "run your copies and compare what they print with what they show",
        "course": "run all lessons as they came, and print one table",
    }.items():
        command = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
        command.add_argument("folder", nargs="?", help="the folder of your copies; my_lessons if not given")
        if name == "test":
            command.add_argument(
                "--lesson", nargs="+", default=[], metavar="NN", help="these only, such as 02 03"
            )
        if name == "news":
            command.add_argument("--lesson", metavar="NN", help="a number, or the name of a copy")
            command.add_argument(
                "--take", nargs="+", default=[], metavar="N", help="changes to take over, or: all"
            )
        if name == "course":
            command.add_argument("--again", action="store_true", help="also those in which nothing changed")
    serve.add_to(commands)
    return made


if __name__ == "__main__":
    sys.exit(main())
