"""The only place an engine is chosen: by name, by HEKAT_ENGINE, or the default; for this machine's tenancy."""

from __future__ import annotations

import os
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache

from hekat.engine.interface import Engine
from hekat.engine.tenancy import is_single_tenant
from hekat.errors import EngineError

DEFAULT_ENGINE = "cpu"
ENGINE_VARIABLE = "HEKAT_ENGINE"
READY = "ready"


def get_engine(name: str | None = None) -> Engine:
    """The engine `name`; None asks the variable HEKAT_ENGINE, then takes `cpu`. One instance per process and tenancy.

    Raises EngineError for an unknown name, for an engine that is not available, and for a malformed variable; never
    falls back to another.
    """
    what = "there is no such engine"
    if name is None:
        name = os.environ.get(ENGINE_VARIABLE) or DEFAULT_ENGINE
        what = f"{ENGINE_VARIABLE} names no engine"
    if name not in _MAKERS:
        close = get_close_matches(name.lower(), _MAKERS, n=1, cutoff=0.5)
        raise EngineError(
            what,
            expected=" or ".join(_MAKERS),
            got=repr(name),
            cure=f"did you mean {close[0]!r}?" if close else f"use {DEFAULT_ENGINE!r}",
        )
    return _instance(name, is_single_tenant())


def available_engines() -> dict[str, str]:
    """Every engine's name, with `ready` or the reason it is not."""
    found = {}
    for name in _MAKERS:
        try:
            _instance(name, is_single_tenant())
        except EngineError as error:
            found[name] = error.what
        else:
            found[name] = READY
    return found


@cache
def _instance(name: str, single_tenant: bool) -> Engine:
    return _MAKERS[name](single_tenant)


def _make_cpu(single_tenant: bool) -> Engine:
    try:
        from hekat.engine.cpu import CpuEngine
    except ImportError as error:
        raise EngineError(
            f"engine 'cpu' is not available: the native core cannot be loaded ({error})",
            expected="the compiled module hekat._native",
            cure="build it with `make build`, or reinstall hekat; HEKAT_ENGINE=reference works without it, slowly",
        ) from error
    return CpuEngine(single_tenant=single_tenant)


def _make_reference(single_tenant: bool) -> Engine:
    from hekat.engine.reference import ReferenceEngine

    return ReferenceEngine(single_tenant=single_tenant)


_MAKERS: dict[str, Callable[[bool], Engine]] = {"cpu": _make_cpu, "reference": _make_reference}
