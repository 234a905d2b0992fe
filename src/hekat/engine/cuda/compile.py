"""Kernels compiled at first use: source and options into machine code for one architecture, by NVRTC."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hekat.engine.cuda.kernel_cache import KernelCache, find_cache
from hekat.errors import EngineError

KERNELS = Path(__file__).parent / "kernels"
OPTIONS = ("--std=c++17",)
_LOG_LINES = 12


class Compiler:
    """Compiles kernels/<source>.cu for one architecture; keeps what it compiled in memory and in `kernel_cache`.

    `nvrtc` is cupy.cuda.nvrtc, or a module with the same functions.
    """

    def __init__(self, nvrtc: Any, capability: str, kernel_cache: KernelCache | None = None) -> None:
        """For a GPU of compute capability `capability`, such as "90".

        Raises EngineError where NVRTC cannot compile for it.
        """
        self._nvrtc = nvrtc
        self._version = _read_version(nvrtc)
        self.architecture = choose_architecture(capability, nvrtc.getSupportedArchs(), self._version)
        self._cache = find_cache() if kernel_cache is None else kernel_cache
        self._kept: dict[tuple[str, tuple[str, ...]], bytes] = {}
        self._lock = threading.Lock()

    def compile(self, source: str, options: Sequence[str]) -> bytes:
        """The machine code (cubin) of kernels/<source>.cu. Raises EngineError with the compiler's first lines."""
        wanted = source, tuple(options)
        with self._lock:
            kernel = self._kept.get(wanted)
            if kernel is None:
                name = self._name(*wanted)
                kernel = self._cache.load(name)
                if kernel is None:
                    kernel, _ = compile_source(self._nvrtc, *wanted, self.architecture)
                    self._cache.store(name, kernel)
                self._kept[wanted] = kernel
            return kernel

    def describe(self) -> dict[str, str]:
        """For `hekat doctor`."""
        return {
            "kernels": f"compiled for {self.architecture} by NVRTC {'.'.join(map(str, self._version))} at first use",
            "kernel cache": self._cache.describe(),
        }

    def _name(self, source: str, options: tuple[str, ...]) -> str:
        """The name of a file in the cache; it covers everything that the machine code depends on."""
        made_of = repr((source, options, self.architecture, self._version, OPTIONS, _digest_sources()))
        return f"{source}-{hashlib.sha256(made_of.encode()).hexdigest()}.cubin"


def compile_source(
    nvrtc: Any, source: str, options: Sequence[str], architecture: str, *, report: bool = False
) -> tuple[bytes, str]:
    """Machine code of kernels/<source>.cu and the compiler's log; with `report`, of registers and memory too.

    Raises EngineError with the log's first lines.
    """
    headers = {name: text for name, text in read_sources().items() if name.endswith(".cuh")}
    # By name, not by path: so sources can include nothing else, and no path gets into the machine code.
    program = nvrtc.createProgram(
        read_sources()[f"{source}.cu"].decode(),
        f"{source}.cu",
        list(headers.values()),
        [name.encode() for name in headers],
    )
    arguments = [f"-arch={architecture}", *OPTIONS, *options, *(["--ptxas-options=-v"] if report else [])]
    try:
        try:
            nvrtc.compileProgram(program, arguments)
        except nvrtc.NVRTCError as error:
            log = nvrtc.getProgramLog(program)
            raise EngineError(
                f"the kernel {source} does not compile",
                expected=f"code that NVRTC accepts with {' '.join(arguments)}",
                got="; ".join(_first_lines(log)) or str(error),
                cure="report this with the output of `hekat doctor`; engine 'cpu' works without it",
            ) from error
        # CuPy leaves out the last byte as the end of a string; in machine code this byte is a zero of a header.
        return bytes(nvrtc.getCUBIN(program)) + b"\0", str(nvrtc.getProgramLog(program))
    finally:
        nvrtc.destroyProgram(program)


def choose_architecture(capability: str, supported: Sequence[int], version: tuple[int, int]) -> str:
    """The architecture to compile for, for a GPU of `capability`: that itself, or the next older one that the GPU runs.

    A GPU runs code with its own major number and a minor number up to its own. Raises EngineError where none fits.
    """
    wanted = int(capability)
    fitting = [known for known in supported if known // 10 == wanted // 10 and known <= wanted]
    if not fitting:
        raise EngineError(
            "this GPU and this NVRTC do not go together",
            expected="an NVRTC that compiles for " + f"sm_{wanted}",
            got=f"NVRTC {version[0]}.{version[1]}, for " + ", ".join(f"sm_{known}" for known in supported),
            cure=f"pip install --upgrade nvidia-cuda-nvrtc{'-cu12' if version[0] == 12 else ''}"
            if wanted > max(supported)
            else "use engine 'cpu', or an older CUDA that still knows this GPU",
        )
    return f"sm_{max(fitting)}"


@cache
def read_sources() -> Mapping[str, bytes]:
    """All files of kernels/, by name."""
    return {path.name: path.read_bytes() for path in sorted(KERNELS.iterdir()) if path.suffix in (".cu", ".cuh")}


@cache
def _digest_sources() -> str:
    return hashlib.sha256(repr(sorted(read_sources().items())).encode()).hexdigest()


def _read_version(nvrtc: Any) -> tuple[int, int]:
    try:
        major, minor = nvrtc.getVersion()
    except Exception as error:
        # CuPy passes on the errors of the library loader: ImportError, OSError or RuntimeError.
        raise EngineError(
            "the compiler of GPU kernels cannot be loaded",
            expected="NVRTC, the library libnvrtc",
            got=f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}",
            cure="pip install nvidia-cuda-nvrtc for CUDA 13, nvidia-cuda-nvrtc-cu12 for CUDA 12",
        ) from error
    return int(major), int(minor)


def _first_lines(log: str) -> list[str]:
    """The lines about errors and the lines below each, without the warnings before them."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    first = next((i for i, line in enumerate(lines) if "error" in line), 0)
    return lines[first : first + _LOG_LINES]
