"""`make wheelhouse` brings what the installer asks for later."""

import pytest
from packaging.requirements import Requirement

from tests.tools.pinned import lock
from tools import install
from tools.classroom import wheelhouse


def test_a_wheelhouse_has_what_the_installer_asks_for_by_name():
    *ours, _, _, _ = asked = wheelhouse.wanted()
    assert [each.partition("[")[0] for each in ours] == ["./ptxsim", "./matmul", "."]
    others = {Requirement(line).name for line in asked[len(ours) :]}
    assert others == {"setuptools", "pip", "uv"} and others <= set(lock())


@pytest.mark.parametrize("stamp", ["", "x none", "x cuda13 browser", "x none classroom"])
def test_a_wheelhouse_has_what_a_teacher_installs_later(monkeypatch, stamp):
    """`make classroom` asks nobody else once there is one."""
    monkeypatch.setattr(wheelhouse, "stamp_of", lambda venv: stamp)
    extras = wheelhouse.wanted()[2].removeprefix(".[").removesuffix("]").split(",")
    assert extras.count("classroom") == 1
    assert set(extras) >= {*install.ALWAYS, *stamp.split()[1:]} - {"none"}
