"""What one cites is this version."""

import tomllib

import yaml

from tests.rules import ROOT


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert cited["version"] == project["version"]
    assert (ROOT / "README.md").read_text(encoding="utf-8").startswith(f"# {cited['title']}\n")
    assert cited["license"] in project["license"]
