"""Functions say how much they use of the machine, the launch or the decoder that they get (ptxsim/lanes.py): they use
nothing else of it, and the real ones have all of it."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from types import ModuleType, SimpleNamespace
from typing import Protocol, get_type_hints

import pytest

import ptxsim
from ptxsim.lanes import Lanes, Launched
from ptxsim.machine.decode import Decoder
from ptxsim.machine.machine import Machine
from ptxsim.memory import Indexed
from ptxsim.observe.recorder import Recorder
from tests.ptxsim.small_kernels import run_on_numbers

MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(ptxsim.__path__, "ptxsim.")
    if not module.name.endswith("__main__")
]
TYPED = ("machine", "decoder")
ABOVE = (
    "ptxsim.launch",
    "ptxsim.clock",
    "ptxsim.machine.machine",
)  # who makes machines; their protocols are others
Face = dict[str, object]
"""Member -> its type; None for a method."""


def is_protocol(kind: object) -> bool:
    return isinstance(kind, type) and getattr(kind, "_is_protocol", False) and kind is not Protocol


def face(kind: type) -> Face:
    found: Face = get_type_hints(kind)
    for base in kind.__mro__:
        if is_protocol(base):
            for name, member in vars(base).items():
                if isinstance(member, property):
                    found.setdefault(name, get_type_hints(member.fget)["return"])
                elif inspect.isfunction(member) and not name.startswith("_"):
                    found.setdefault(name, None)
    return found


# --------------------------------------------------------------------------- who uses what


class Uses(ast.NodeVisitor):
    """What the functions of a file use of parameters with a protocol as their type, and is not in it."""

    def __init__(self, known: dict[str, object]) -> None:
        """`known`: the names of the module."""
        self.known = known
        faces = [face(kind) for kind in known.values() if is_protocol(kind)]
        self.any_face: Face = {name: kind for each in faces for name, kind in each.items()}
        self.names: list[dict[str, Face | None]] = [{}]
        self.outside: list[str] = []

    def face_of(self, node: ast.AST) -> Face | None:
        if isinstance(node, ast.Name):
            return self.names[-1].get(node.id)
        if not isinstance(node, ast.Attribute):
            return None
        if ast.unparse(node) == "self.machine":
            return self.names[-1].get("self.machine")
        kind = (self.face_of(node.value) or {}).get(node.attr)
        return face(kind) if is_protocol(kind) else None

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        made = getattr(self.known.get(node.name), "__init__", None)
        kind = get_type_hints(made).get("machine") if inspect.isfunction(made) else None
        self.names.append({"self.machine": face(kind) if is_protocol(kind) else None})
        self.generic_visit(node)
        self.names.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        kinds = {each.arg: self.known.get(getattr(each.annotation, "id", "")) for each in node.args.args}
        faces = {name: face(kind) if is_protocol(kind) else None for name, kind in kinds.items()}
        self.names.append(self.names[-1] | faces)
        self.generic_visit(node)
        self.names.pop()

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """It has no types: its machine is one of those that the file knows."""
        faces = {each.arg: self.any_face if each.arg in TYPED else None for each in node.args.args}
        self.names.append(self.names[-1] | faces)
        self.generic_visit(node)
        self.names.pop()

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            for to, of in zip(target.elts, node.value.elts) if several else [(target, node.value)]:
                if isinstance(to, ast.Name):
                    self.names[-1][to.id] = self.face_of(of)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        known = self.face_of(node.value)
        if known is not None and node.attr not in known:
            self.outside.append(f"line {node.lineno}: {ast.unparse(node)}")
        self.generic_visit(node)


def outside(text: str, known: dict[str, object]) -> list[str]:
    uses = Uses(known)
    uses.visit(ast.parse(text))
    return uses.outside


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_functions_use_only_what_their_types_say(module: ModuleType):
    assert outside(inspect.getsource(module), vars(module)) == []


@pytest.mark.parametrize(
    "text",
    [
        "def f(machine: Lanes):\n    machine.shadow",
        "def f(machine: Lanes):\n    machine.launch.grid",
        "def f(machine: Lanes):\n    launch = machine.launch\n    launch.code.blocks",
        "def f(machine: Lanes):\n    def g(x):\n        a, b = machine, 1\n        return a.R",
        "def f():\n    return lambda machine: machine.jump(0, None)",
        "class Recorder:\n    def f(self):\n        self.machine.R",
        "class Recorder:\n    def f(self):\n        machine = self.machine\n        machine.launch.grid",
    ],
)
def test_what_a_type_does_not_say_is_found(text):
    assert len(outside(text, {"Lanes": Lanes, "Recorder": Recorder})) == 1


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_machines_and_decoders_have_types(module: ModuleType):
    functions = [n for n in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(n, ast.FunctionDef)]
    named = [(f, each) for f in functions for each in f.args.args if each.arg in (*TYPED, "m", "d")]
    assert [f"{f.name}({each.arg})" for f, each in named if each.annotation is None] == []


# --------------------------------------------------------------------------- the real ones have it all


def lacks(value: object, kind: type) -> list[str]:
    """What `value` lacks of a protocol, or has with other parameters."""
    found = []
    for name, inner in face(kind).items():
        if not hasattr(value, name):
            found.append(f"{kind.__name__}.{name}")
        elif is_protocol(inner):
            found += lacks(getattr(value, name), inner)
        elif inner is None:
            wanted = list(inspect.signature(getattr(kind, name)).parameters)[1:]
            if list(inspect.signature(getattr(value, name)).parameters) != wanted:
                found.append(f"{kind.__name__}.{name}({', '.join(wanted)})")
    return found


def test_a_machine_is_all_that_the_rooms_ask_for(monkeypatch):
    rooms = [module for module in MODULES if not module.__name__.startswith(ABOVE)]
    kinds = {kind for module in rooms for kind in vars(module).values() if is_protocol(kind)}
    of_machine = {kind for kind in kinds if Lanes in kind.__mro__}
    of_decoder = {kind for kind in kinds if kind.__name__ == "Operands"}
    inner = {kind for each in kinds for kind in face(each).values() if is_protocol(kind)}
    found, run = [], Machine.run

    def checked(machine: Machine) -> None:
        found.extend(missing for kind in of_machine for missing in lacks(machine, kind))
        found.extend(
            missing for kind in of_decoder for missing in lacks(Decoder(machine.launch.code, 0), kind)
        )
        found.append("looked")
        run(machine)

    monkeypatch.setattr(Machine, "run", checked)
    run_on_numbers("out[t] = in[t];")
    assert found == ["looked"]
    assert kinds == of_machine | of_decoder | inner | {Indexed}, "Indexed: of what a compiler lays out"


def test_what_is_missing_is_found():
    assert "Launched.budget" in lacks(SimpleNamespace(threads=1), Launched)
    other = SimpleNamespace(
        where=lambda pc: None,
        is_barrier=lambda at: None,
        program=None,
        meeting_points={},
        in_async_proxy=(),
        uses_async_proxy=False,
        first_guesses={},
        masks_by_chance={},
        order_matters=False,
        waits=(),
        looked_at=(),
        flow=None,
        parted=[],
        locks=(),
        leaves_no_trace=lambda block: None,
    )
    assert lacks(other, face(Launched)["code"]) == ["Decoded.is_barrier(pc)"]
