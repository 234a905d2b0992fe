"""Hekat: federated learning across organisations with every update encrypted."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hekat import bigint, lattice, paillier, rsa
    from hekat.encrypted_array import array
    from hekat.job.granted_budgets import site_budgets
    from hekat.own_loop import Party, SplitGuest, SplitHost, federate, federate_split, start_adapters

    __version__: str

_OWN_LOOP = ("Party", "SplitGuest", "SplitHost", "federate", "federate_split", "start_adapters")
__all__ = [
    "Party",
    "SplitGuest",
    "SplitHost",
    "__version__",
    "array",
    "bigint",
    "federate",
    "federate_split",
    "lattice",
    "paillier",
    "rsa",
    "site_budgets",
    "start_adapters",
]


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for, so that `import hekat` stays fast."""
    value: Any
    if name == "__version__":
        value = _installed_version()
    elif name == "array":
        value = import_module("hekat.encrypted_array").array
    elif name == "site_budgets":
        value = import_module("hekat.job.granted_budgets").site_budgets
    elif name in _OWN_LOOP:
        value = getattr(import_module("hekat.own_loop"), name)
    elif name in __all__:
        value = import_module(f"hekat.{name}")
    else:
        raise AttributeError(f"module 'hekat' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _installed_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hekat")
    except PackageNotFoundError:
        return "0+source"
