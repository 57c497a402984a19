"""An answer as a text, from the process that a learner's code runs in to the one that checks it.

What goes over is data: numbers, texts, arrays, what they are put together in, and of a kernel its source. A function
stays where it is, and its number goes over: who checks it asks for what it gives. Reading never runs anything, so that
nothing an answer does to Python, to the course or to this file reaches the check.
"""

import base64
import json
from collections.abc import Callable, Iterable
from typing import Any

FORM = "application/vnd.course-answer+json"
"""Of the output in which an answer is handed over."""
NUMBERS = "biuf"
"""Kinds of an array's numbers: NumPy's letters for truth values, whole numbers and others."""

_functions: list[Callable] = []
"""Where the learner's code runs: those that were handed over, by their numbers."""


def hand_over(value: object) -> None:
    """Show a value to who asked for it."""
    _show(pack(value))


def hand_over_result(number: int, arguments: str) -> None:
    """Show what one of the functions gives, or what it raises."""
    try:
        _show({"value": pack(_functions[number](*unpack(json.loads(arguments))))})
    except Exception as error:  # a learner's function may raise anything
        _show({"error": [type(error).__name__, str(error)]})


def _show(data: object) -> None:
    from IPython.display import display

    display({FORM: json.dumps(data)}, raw=True)


def pack(value: Any) -> object:
    """A value as JSON holds it."""
    if value is None or isinstance(value, bool | str):
        return value
    if hasattr(value, "dtype") and hasattr(value, "tobytes"):  # NumPy's, or an array of a GPU's memory
        return _packed_array(value.get() if hasattr(value, "get") else value)
    if isinstance(value, int | float):
        return value
    if hasattr(value, "code") and hasattr(value, "options"):
        parts = {"code": str(value.code), "name": str(value.name), "options": pack(tuple(value.options))}
        return {"kind": "kernel", **parts}
    if type(value).__name__ == "Launch":
        parts = ("tile", "threads", "shared_mem", "blocks")
        return {"kind": "launch", **{name: pack(getattr(value, name)) for name in parts}}
    if isinstance(value, dict):
        return {"kind": "dict", "items": [[pack(key), pack(each)] for key, each in value.items()]}
    if callable(value):
        _functions.append(value)
        return {"kind": "function", "number": len(_functions) - 1}
    if isinstance(value, Iterable):
        kind = next((kind for kind in (tuple, set) if isinstance(value, kind)), list)
        return {"kind": kind.__name__, "items": [pack(each) for each in value]}
    return {"kind": "other", "shown": repr(value)[:200]}


def _packed_array(value: Any) -> object:
    if value.dtype.kind not in NUMBERS:
        return pack(value.tolist())
    data = base64.b64encode(value.tobytes()).decode()
    return {"kind": "array", "dtype": value.dtype.str, "shape": list(value.shape), "data": data}


class Other:
    """Stands for a value that does not go over; it looks like that one, and is nothing."""

    def __init__(self, shown: str) -> None:
        self.shown = shown

    def __repr__(self) -> str:
        return self.shown


def unpack(data: Any, call: Callable[[int, tuple], object] | None = None) -> object:
    """The value of such a JSON. `call` asks a function: (number, arguments) -> what it gives. Raises ValueError,
    TypeError or KeyError where somebody has made it up, and compile_service's Refused at an option of a kernel that may
    name a file."""
    if not isinstance(data, dict):
        if isinstance(data, list):
            raise ValueError("a list without its kind")
        return data
    match data["kind"]:
        case "tuple" | "list" | "set" as kind:
            made = [unpack(each, call) for each in data["items"]]
            return {"tuple": tuple, "list": list, "set": set}[kind](made)
        case "dict":
            return {unpack(key, call): unpack(each, call) for key, each in data["items"]}
        case "array":
            return _array(str(data["dtype"]), [int(size) for size in data["shape"]], str(data["data"]))
        case "kernel":
            return _kernel(str(data["code"]), str(data["name"]), unpack(data["options"]))
        case "launch":
            return _launch({name: unpack(each) for name, each in data.items() if name != "kind"})
        case "function" if call:
            number = int(data["number"])
            return lambda *arguments: call(number, arguments)
        case "other":
            return Other(str(data["shown"]))
    raise ValueError("a kind that does not exist")


def _array(dtype: str, shape: list[int], data: str) -> object:
    import numpy as np

    numbers = np.dtype(dtype)
    if numbers.kind not in NUMBERS:
        raise ValueError("an array of something else than numbers")
    made = np.frombuffer(base64.b64decode(data, validate=True), numbers).reshape(shape).copy()
    return made if shape else made[()]


def _kernel(code: str, name: str, options: object) -> object:
    from cupy_or_sim.cupy_on_numpy import RawKernel
    from hiding_latency.compile_service.questions import check_options

    kept = tuple(map(str, options))
    check_options(kept)
    return RawKernel(code, name, kept)


def _launch(parts: dict) -> object:
    from cupy_or_sim import Launch

    return Launch(**parts)
