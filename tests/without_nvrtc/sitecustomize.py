"""With this folder on PYTHONPATH, Python starts as on macOS: there are no packages of NVIDIA's."""

import importlib.metadata
import sys

sys.modules["cuda"] = None
_version = importlib.metadata.version


def version(name: str) -> str:
    if name.startswith(("nvidia-", "cuda-")):
        raise importlib.metadata.PackageNotFoundError(name)
    return _version(name)


importlib.metadata.version = version
