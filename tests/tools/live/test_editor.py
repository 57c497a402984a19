"""The editor of the live pages, as it ships. What it does is seen in a browser: tests/browser/test_live.py."""

import hashlib
import json
import re

from tests.rules import ROOT

HERE = ROOT / "tools" / "live" / "editor"
PAGE = ROOT / "tools" / "live" / "page"


def test_what_ships_was_made_from_these_sources():
    said = [line.split() for line in (HERE / "made_from.sha256").read_text(encoding="utf-8").splitlines()]
    assert len(said) == 8
    other = [name for made, name in said if hashlib.sha256((ROOT / name).read_bytes()).hexdigest() != made]
    assert other == [], "run `bash tools/live/editor/build.sh`, or a reader gets the old one"


def test_every_package_is_pinned_by_its_hash_and_none_by_an_address():
    lock = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: each for name, each in lock["packages"].items() if name}
    assert all(each["integrity"].startswith("sha512-") for each in packages.values())
    files = [path for path in HERE.rglob("*") if path.is_file()]
    assert not [path for path in files if re.search(r"https?://", path.read_text(encoding="utf-8"))]


def test_the_licence_of_each_package_in_it_comes_along():
    lock = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))
    told = (PAGE / "editor.licences.txt").read_text(encoding="utf-8")
    named = dict(re.findall(r"^(\S+) (\d\S+) \(MIT\)$", told, re.MULTILINE))
    assert {"@codemirror/view", "@codemirror/state", "@lezer/cpp", "style-mod"} <= named.keys()
    assert all(
        lock["packages"][f"node_modules/{name}"]["version"] == version for name, version in named.items()
    )
    assert told.count("Permission is hereby granted") >= len(named)
