"""tools/hosts/environment.yml asks for what pyproject.toml asks for."""

import re
import tomllib

import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tests.rules import ROOT
from tests.tools.pinned import NVRTC_PARTS, lock, requirements

FILE = ROOT / "tools" / "hosts" / "environment.yml"
CONDA_NAMES = {"matplotlib-base": "matplotlib", "cupy": "cupy-cuda12x"}
"""Where conda-forge calls a package by another name than PyPI."""

OF_CUDA = ("cuda-version", "cuda-bindings", "cuda-nvrtc", "cuda-nvdisasm", "cuda-cudart-dev", "cuda-cccl")

CONDA_ONLY = {"python", "pip", *OF_CUDA}


def conda(text: str) -> dict[str, SpecifierSet]:
    """The packages of an environment.yml. conda's `=3.12` means any 3.12."""
    found = {}
    for line in yaml.safe_load(text)["dependencies"]:
        name, spec = re.fullmatch(r"([a-z0-9-]+)(.*)", line).groups()
        if re.match(r"=\d", spec):
            spec = "=" + spec if spec.endswith(".*") else f"={spec}.*"
        found[name] = SpecifierSet(spec)
    return found


def conda_disagreements(environment: dict[str, SpecifierSet]) -> list[str]:
    """Where an environment and pyproject.toml ask for different packages or different ranges."""
    asked = requirements("lab", "book", "dev", "cuda12")
    shared = {
        CONDA_NAMES.get(name, name): spec for name, spec in environment.items() if name not in CONDA_ONLY
    }
    pip_only = NVRTC_PARTS | {"cuda-toolkit", "nvidia-cuda-cccl-cu12", "nvidia-cuda-nvcc-cu12"}
    missing = sorted(set(asked) - pip_only - set(shared))
    extra = sorted(set(shared) - set(asked))
    ranges = [
        f"{name}: {shared[name]} here, {asked[name].specifier} in pyproject.toml"
        for name in shared
        if name in asked and shared[name] != asked[name].specifier
    ]
    return [f"{name} is missing" for name in missing] + [f"{name} is too much" for name in extra] + ranges


def test_environment_and_pyproject_ask_for_the_same():
    environment = conda(FILE.read_text(encoding="utf-8"))
    assert conda_disagreements(environment) == []
    assert all(str(spec) for name, spec in environment.items() if name != "pip"), "a package without a pin"
    assert {str(environment[name]) for name in OF_CUDA} == {"==12.9.*"}, "all of one CUDA"
    assert Version(lock()["nvidia-cuda-nvrtc-cu12"]) in environment["cuda-nvrtc"], "the one extra cuda12 has"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert Version(str(environment["python"])[2:-2]) in SpecifierSet(project["requires-python"])


def test_an_environment_that_disagrees_is_found():
    text = FILE.read_text(encoding="utf-8")
    for wrong in (
        text.replace("numpy>=2.1,<2.6", "numpy>=2.1,<2.7"),
        re.sub(r"\n  - nbval.*", "", text),
        text + "  - pandas>=2\n",
    ):
        assert len(conda_disagreements(conda(wrong))) == 1


def test_every_line_of_the_environment_says_why():
    lines = FILE.read_text(encoding="utf-8").splitlines()
    items = [line for line in lines if line.lstrip().startswith("- ")]
    assert items and [line for line in items if "#" not in line] == []


def test_conda_uses_one_channel_only():
    channels = yaml.safe_load(FILE.read_text(encoding="utf-8"))["channels"]
    assert channels == ["conda-forge", "nodefaults"]
