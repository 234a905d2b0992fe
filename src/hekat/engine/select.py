"""The only place that chooses an engine: by name, by HEKAT_ENGINE, or the default; for this machine's tenancy."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache, partial
from typing import TYPE_CHECKING

from hekat.engine.interface import Engine
from hekat.engine.tenancy import is_single_tenant
from hekat.errors import EngineError

if TYPE_CHECKING:
    from hekat.engine.cuda.device import Device

DEFAULT_ENGINE = "cpu"
GPU_PREFIX = "cuda:"
ALL_GPUS = "cuda:all"
JOIN = "+"
FIRST_GPU = "cuda:0"
ENGINE_VARIABLE = "HEKAT_ENGINE"
READY = "ready"
_GPU_NAME = re.compile(r"cuda(?::(0|[1-9][0-9]{0,2}))?")
# Threads that ask for an engine get the same one.
_lock = threading.Lock()


def get_engine(name: str | None = None) -> Engine:
    """The engine `name`; None asks the variable HEKAT_ENGINE, then takes `cpu`. One instance per process and tenancy.

    GPUs are `cuda:0`, `cuda:1` and so on; `cuda` is `cuda:0`. Several names joined by + are one engine that spreads
    batches over them, the same engine in any order; `cuda:all` stands for all GPUs. Raises EngineError for an unknown
    name, for an engine that is not available, for an engine named twice, and for a malformed variable; never falls back
    to another engine.
    """
    what = "there is no such engine"
    if name is None:
        name = os.environ.get(ENGINE_VARIABLE) or DEFAULT_ENGINE
        what = f"{ENGINE_VARIABLE} names no engine"
    if name == ALL_GPUS or JOIN in name:
        return _find(_join_names(name, what))
    return _find(_check_name(name, what))


def _check_name(name: str, what: str) -> str:
    """The full name of one engine. Raises EngineError, opening with `what`, where there is none of that name."""
    gpu = _GPU_NAME.fullmatch(name)
    if gpu is None and name not in _MAKERS:
        known = (*_MAKERS, FIRST_GPU)
        close = (
            [FIRST_GPU] if name.lower().startswith("gpu") else get_close_matches(name.lower(), known, n=1, cutoff=0.5)
        )
        raise EngineError(
            what,
            expected=" or ".join(known),
            got=repr(name),
            cure=f"did you mean {close[0]!r}?" if close else f"use {DEFAULT_ENGINE!r}",
        )
    return name if gpu is None else f"{GPU_PREFIX}{gpu[1] or 0}"


def _join_names(names: str, what: str) -> str:
    """The full names of several engines, in one canonical order; for a single GPU its name alone."""
    found: list[str] = []
    for name in names.split(JOIN):
        found += _gpu_names() if name == ALL_GPUS else [_check_name(name, what)]
    twice = sorted({name for name in found if found.count(name) > 1})
    if twice:
        raise EngineError(
            "an engine is named twice", expected="each engine once", got=names[:80], cure=f"leave out one {twice[0]}"
        )
    if "reference" in found:
        raise EngineError(
            "engine 'reference' computes alone: it is the specification",
            expected="cpu and GPUs",
            got=names[:80],
            cure=f"use {DEFAULT_ENGINE!r} in its place, or reference alone",
        )
    return JOIN.join(sorted(found, key=lambda name: (name.startswith(GPU_PREFIX) and 1 + _index_of(name), name)))


def available_engines() -> dict[str, str]:
    """Every engine's name, with `ready` or the reason it is not. Where there is no GPU, `cuda:0` says why."""
    found = {}
    for name in (*_MAKERS, *_gpu_names()):
        try:
            _find(name)
        except EngineError as error:
            found[name] = error.what
        else:
            found[name] = READY
    return found


def _gpu_names() -> list[str]:
    """The names of the GPUs that the driver shows, and of the first where it shows none."""
    from hekat.engine.cuda.availability import find_driver

    try:
        count = find_driver().device_count
    except EngineError:
        count = 0
    return [f"{GPU_PREFIX}{index}" for index in range(max(count, 1))]


def _find(name: str) -> Engine:
    with _lock:
        return _instance(name, is_single_tenant())


@cache
def _instance(name: str, single_tenant: bool) -> Engine:
    if JOIN in name:
        from hekat.engine.spread.engine import SpreadEngine

        # The same instances as for their own names, so that a device's memory and tables count once.
        return SpreadEngine([_instance(member, single_tenant) for member in name.split(JOIN)])
    return _MAKERS.get(name, partial(_make_cuda, name))(single_tenant)


def _make_cpu(single_tenant: bool) -> Engine:
    try:
        from hekat.engine.cpu import CpuEngine
    except ImportError as error:
        raise _refuse_without_native_core("cpu", error) from error
    return CpuEngine(single_tenant=single_tenant)


def _make_reference(single_tenant: bool) -> Engine:
    from hekat.engine.reference import ReferenceEngine

    return ReferenceEngine(single_tenant=single_tenant)


def _make_cuda(name: str, single_tenant: bool) -> Engine:
    from hekat.engine.cuda.availability import check_device

    # Checked before the packages, which a machine without a GPU lacks.
    check_device(_index_of(name))
    try:
        from hekat.engine.cuda.engine import CudaEngine
    except ImportError as error:
        raise _refuse_without_native_core(name, error) from error
    return CudaEngine(_device(name), single_tenant=single_tenant)


@cache
def _device(name: str) -> Device:
    """One for each GPU, shared by all callers, so that its memory is counted once."""
    try:
        from hekat.engine.cuda.cupy_device import CupyDevice
    except ImportError as error:
        raise EngineError(
            f"engine {name!r} is not available: CuPy cannot be imported ({error})",
            expected="CuPy 14 and the libraries it needs",
            cure="pip install --force-reinstall 'hekat[cuda13]', or 'hekat[cuda12]' for a driver of CUDA 12",
        ) from error
    return CupyDevice(_index_of(name))


def _index_of(name: str) -> int:
    return int(name.removeprefix(GPU_PREFIX))


def _refuse_without_native_core(name: str, error: ImportError) -> EngineError:
    return EngineError(
        f"engine {name!r} is not available: the native core cannot be loaded ({error})",
        expected="the compiled module hekat._native",
        cure="build it with `make build`, or reinstall hekat; HEKAT_ENGINE=reference works without it, slowly",
    )


_MAKERS: dict[str, Callable[[bool], Engine]] = {"cpu": _make_cpu, "reference": _make_reference}
