"""The small library that the notebooks lean on. What a name needs is loaded when the name is first used."""

from importlib import import_module

# At once, because importing a room of the same name later would put the module in the place of the function.
from .profile import profile
from .sass import sass
from .timeline import timeline

_ROOMS = {
    "cp": "device",
    "OPTIONS": "device",
    "show_env": "device",
    "simulate": "report",
    "Gemm": "gemm",
    "benchmark": "bench",
    "progress": "bench",
    "kernel_source": "lessons",
    "edited": "lessons",
    "show_diff": "lessons",
    "check_exercise": "exercises",
    "score": "exercises",
    "HazardError": "simulator",
}
__all__ = ["profile", "sass", "timeline", *_ROOMS]


def __getattr__(name: str) -> object:
    if name not in _ROOMS:
        raise AttributeError(f"course_lib has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f".{_ROOMS[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
