"""`EmulatedDevice`: what `hekat.engine.cuda.device.Device` asks for, with kernels compiled by g++ and run one by one.

Arrays of the device are of a class of their own that does not mix with arrays of the host, as on a GPU.
"""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import hekat.engine.cuda

KERNELS = Path(hekat.engine.cuda.__file__).parent / "kernels"
HEADERS = Path(__file__).parent
ROOT = Path(__file__).parents[4]
COMPILER = ("g++", "-std=c++17", "-O2", "-march=native", "-fPIC", "-shared", "-x", "c++")
# Pragmas are the GPU compiler's; a loop that runs at least once is beyond g++'s sight.
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-maybe-uninitialized")


class EmulatedArray(np.ndarray):
    """Memory of an emulated device: host arrays do not mix with it."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        _refuse_host_arrays(inputs)
        arguments = [_plain(x) for x in inputs]
        if out is not None:
            _refuse_host_arrays(out)
            kwargs["out"] = tuple(_plain(x) for x in out)
        result = getattr(ufunc, method)(*arguments, **kwargs)
        return out[0] if out is not None else _emulated(result)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        _refuse_host_arrays(args)
        return _emulated(function(*_plain(args), **_plain(kwargs)))

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return NAMESPACE


class _Namespace:
    """NumPy's functions, with results on the emulated device."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if isinstance(found, type) or not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            if name not in ("asarray", "array", "ascontiguousarray"):
                _refuse_host_arrays(args)
            return _emulated(found(*_plain(args), **_plain(kwargs)))

        return call


NAMESPACE = _Namespace()


class EmulatedDevice:
    """A device named `emulated:INDEX`. Implements `hekat.engine.cuda.device.Device`."""

    xp = NAMESPACE

    def __init__(self, index: int = 0) -> None:
        self.name = f"emulated:{index}"

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> EmulatedArray:
        # What was never written shows.
        array = np.empty(shape, dtype)
        array.view(np.uint8).fill(0xA5)
        return array.view(EmulatedArray)

    def upload(self, host: Any) -> EmulatedArray:
        assert type(host) is np.ndarray, "only host arrays are uploaded"
        return np.array(host, order="C").view(EmulatedArray)

    def download(self, array: Any) -> Any:
        assert self.owns(array), "only device arrays are downloaded"
        return np.array(array.view(np.ndarray), order="C")

    def publish(self, array: Any) -> Any:
        return array

    def owns(self, array: Any) -> bool:
        return isinstance(array, EmulatedArray)

    def run_groups(self, kernel: str, options: Sequence[str], group_count: int, threads: int, *parameters: Any) -> None:
        source, name = kernel.split("/")
        run = getattr(build(source, tuple(options)), f"run_{name}")
        run(ctypes.c_uint64(group_count), _words(parameters))

    def run_blocks(
        self,
        kernel: str,
        options: Sequence[str],
        block_count: int,
        threads: int,
        shared_bytes: int,
        *parameters: Any,
    ) -> None:
        source, name = kernel.split("/")
        run = getattr(build(source, tuple(options)), f"run_{name}")
        run(*(ctypes.c_uint64(n) for n in (block_count, threads, shared_bytes)), _words(parameters))

    def describe(self) -> dict[str, str]:
        return {"device": "emulated"}


@cache
def build(source: str, options: tuple[str, ...]) -> ctypes.CDLL:
    """The library of kernels/<source>.cu compiled with `options`; kept in build/ as long as no source changes."""
    text = b"".join(path.read_bytes() for path in sorted([*KERNELS.iterdir(), *HEADERS.glob("*.hpp")]))
    command = [*COMPILER, *WARNINGS, f'-DHEKAT_EMULATED_LANE="{HEADERS / "emulated_lane.hpp"}"', *options]
    key = hashlib.sha256(text + repr(command).encode()).hexdigest()[:24]
    folder = ROOT / "build" / "emulated-kernels"
    library = folder / f"{source}-{key}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as own:
            made = Path(own) / "kernels.so"
            subprocess.run([*command, str(KERNELS / f"{source}.cu"), "-o", str(made)], check=True)
            made.replace(library)  # whole or not at all, though several processes may build it
    return ctypes.CDLL(str(library))


def _words(parameters: Sequence[Any]) -> Any:
    values = []
    for parameter in parameters:
        if isinstance(parameter, np.ndarray):
            assert isinstance(parameter, EmulatedArray), "kernels take device arrays"
            assert parameter.flags.c_contiguous, "kernels take contiguous arrays"
            values.append(parameter.ctypes.data)
        else:
            values.append(int(parameter))
    return (ctypes.c_uint64 * len(values))(*values)


def _refuse_host_arrays(values: Any) -> None:
    for value in values:
        if isinstance(value, (list, tuple)):
            _refuse_host_arrays(value)
        elif type(value) is np.ndarray and value.ndim:
            raise TypeError("a host array where the device wants one of its own")


def _plain(value: Any) -> Any:
    if isinstance(value, EmulatedArray):
        return value.view(np.ndarray)
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(x) for x in value)
    if isinstance(value, dict):
        return {key: _plain(x) for key, x in value.items()}
    return value


def _emulated(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.view(EmulatedArray)
    if isinstance(value, tuple):
        return tuple(_emulated(x) for x in value)
    return value
