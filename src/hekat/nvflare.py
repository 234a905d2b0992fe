"""Over NVIDIA FLARE: `HekatRecipe("job.toml").run(env)`, and `protect(recipe, parties=[...])` for apps that exist.

Needs the extra `nvflare`; see docs/how_to/nvflare.md.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hekat.live.bring_role_page import bring_role_page

if TYPE_CHECKING:
    from hekat.launch.nvflare.engine_defaults import allow_hekat
    from hekat.launch.nvflare.protected.protect import ProtectedApp, protect
    from hekat.launch.nvflare.recipe import HekatRecipe

__all__ = ["HekatRecipe", "ProtectedApp", "allow_hekat", "protect"]

_MODULES = {
    "HekatRecipe": "hekat.launch.nvflare.recipe",
    "ProtectedApp": "hekat.launch.nvflare.protected.protect",
    "allow_hekat": "hekat.launch.nvflare.engine_defaults",
    "protect": "hekat.launch.nvflare.protected.protect",
}

bring_role_page()


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for. Raises ImportError with the cure where the engine is missing."""
    if name not in _MODULES:
        raise AttributeError(f"module 'hekat.nvflare' has no attribute {name!r}")
    if find_spec("nvflare") is None:
        raise ImportError(
            f"hekat.nvflare.{name} needs NVIDIA FLARE; expected the extra 'nvflare'; cure: pip install 'hekat[nvflare]'"
        )
    return getattr(import_module(_MODULES[name]), name)
