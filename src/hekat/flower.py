"""Flower apps whose updates are summed encrypted: `ClientApp(mods=[protected])`, `Protected(FedAvg(), parties=[...])`.

Needs the extra `flower`; see docs/how_to/flower.md.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hekat.live.bring_role_page import bring_role_page

if TYPE_CHECKING:
    from hekat.launch.flower.mod import protected
    from hekat.launch.flower.strategy import Protected

__all__ = ["Protected", "protected"]

_MODULES = {"Protected": "hekat.launch.flower.strategy", "protected": "hekat.launch.flower.mod"}

bring_role_page()


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for. Raises ImportError with the cure where the engine is missing."""
    if name not in _MODULES:
        raise AttributeError(f"module 'hekat.flower' has no attribute {name!r}")
    if find_spec("flwr") is None:
        raise ImportError(
            f"hekat.flower.{name} needs Flower; expected the extra 'flower'; cure: pip install 'hekat[flower]'"
        )
    return getattr(import_module(_MODULES[name]), name)
