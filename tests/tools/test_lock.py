"""requirements.lock: names and versions, for all that pyproject.toml asks for."""

import re
import sys
import sysconfig
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.rules import ROOT
from tests.tools.pinned import NVRTC_PARTS, OURS, lock, pins, requirements
from tools import install


def disagreements(asked: dict[str, Requirement], pinned: dict[str, str]) -> list[str]:
    """Requirements without a pin, or with a pin outside their range."""
    found = []
    for name, requirement in asked.items():
        if name not in pinned:
            found.append(f"{name} is not in the lock")
        elif pinned[name] not in requirement.specifier:
            found.append(f"{name}: {pinned[name]} is not {requirement.specifier}")
    return found


def test_the_lock_serves_every_requirement():
    asked = requirements(
        "lab", "book", "dev", "browser", "classroom", "nvcc", "compilers", "cuda12"
    ) | requirements("cuda13")
    asked.pop("cuda-toolkit")  # its version differs between the extras, which pin it themselves
    assert disagreements(asked, lock()) == []
    for extra in ("cuda12", "cuda13"):
        assert re.fullmatch(r"==[\d.]+", str(requirements(extra)["cuda-toolkit"].specifier))


def test_a_lock_that_disagrees_is_found():
    asked = {"numpy": Requirement("numpy>=2.1,<2.6"), "nbval": Requirement("nbval==0.11.*")}
    assert disagreements(asked, {"numpy": "2.4.6", "nbval": "0.11.0"}) == []
    assert disagreements(asked, {"numpy": "2.6.0", "nbval": "0.11.0"}) == ["numpy: 2.6.0 is not <2.6,>=2.1"]
    assert disagreements(asked, {"numpy": "2.4.6"}) == ["nbval is not in the lock"]


def test_the_lock_holds_names_and_versions_only():
    wrong = ("numpy", "numpy>=2", "numpy==2.4.6 --hash=sha256:00", "-e .", "numpy @ file:x", "--index-url x")
    for line in (*wrong, "six==1\nsix==1"):
        with pytest.raises(ValueError):
            pins(line)


def installed() -> dict[str, str]:
    """What pip finds in this environment."""
    here = sysconfig.get_path("purelib")  # setuptools, once it is imported, finds what it brings along, too
    return {canonicalize_name(each.name): each.version for each in distributions(path=[here])}


def test_the_lock_is_complete():
    """Every package that `make` has put into this environment is pinned, at the version that is there."""
    stamp = Path(sys.prefix) / "course-installed"
    if not stamp.exists() or stamp.read_text().split()[0] != install.fingerprint(ROOT):
        pytest.skip("this environment was not made by `make` from this lock")
    others = {*OURS, "cuda-toolkit"} | ({"setuptools"} - set(requirements("dev")))
    there = {name: version for name, version in installed().items() if name not in others}
    assert {name: lock().get(name) for name in there} == there


def test_build_requirement_is_the_pinned_one():
    for folder in OURS.values():
        settings = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))
        assert settings["build-system"]["requires"] == [f"setuptools=={lock()['setuptools']}"], folder


def test_nvrtc_is_asked_for_only_where_it_has_wheels():
    asked = requirements()
    there = {("linux", "x86_64"), ("linux", "aarch64"), ("win32", "AMD64")}
    for host in there | {("darwin", "arm64"), ("darwin", "x86_64"), ("linux", "riscv64")}:
        named = dict(zip(("sys_platform", "platform_machine"), host))
        assert {asked[name].marker.evaluate(named) for name in NVRTC_PARTS} == {host in there}, host
    assert all(requirement.marker is None for name, requirement in asked.items() if name not in NVRTC_PARTS)


def test_nvcc_is_of_the_compilers_release():
    more = requirements("nvcc").keys() - requirements().keys()
    assert more and {lock()[name] for name in more} == {lock()["nvidia-cuda-nvrtc"]}


def test_a_learners_environment_has_no_tests_no_browser_and_no_nbgrader():
    for_others = set(requirements("dev", "browser", "classroom")) - set(requirements("lab", "book"))
    assert for_others >= {"pytest", "nbval", "ruff", "playwright", "nbgrader"}


def test_extra_cuda12_takes_out_what_it_replaces():
    assert set(install.CUDA13_ONLY) == NVRTC_PARTS - {"cuda-bindings", "nvidia-cuda-nvdisasm"}
