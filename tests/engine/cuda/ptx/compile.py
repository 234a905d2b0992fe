"""CUDA sources into PTX, by NVRTC or nvcc, whichever is there."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from hekat.engine.cuda.compile import OPTIONS

from ..emulation.device import KERNELS, ROOT
from .program import Entry, parse

ARCHITECTURE = "compute_90"


@cache
def compile_entries(source: Path, options: tuple[str, ...]) -> dict[str, Entry]:
    """The entries of a source; its PTX is kept in build/ as long as no source changes. Skips without a compiler."""
    compiler = _compiler()
    text = b"".join(path.read_bytes() for path in [source, *sorted(KERNELS.iterdir())])
    key = hashlib.sha256(text + repr((compiler, ARCHITECTURE, options)).encode()).hexdigest()[:24]
    kept = ROOT / "build" / "ptx" / f"{source.stem}-{key}.ptx"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        ptx = (_by_nvrtc if compiler == "nvrtc" else _by_nvcc)(source, options)
        with tempfile.NamedTemporaryFile("w", dir=kept.parent, delete=False) as own:
            own.write(ptx)
        Path(own.name).replace(kept)
    return parse(kept.read_text())


def _compiler() -> str:
    if importlib.util.find_spec("cupy"):
        return "nvrtc"
    if shutil.which("nvcc"):
        return "nvcc"
    pytest.skip("needs hekat[cuda13] (CuPy with NVRTC), or nvcc")


def _by_nvrtc(source: Path, options: tuple[str, ...]) -> str:
    from cupy.cuda import nvrtc

    program = nvrtc.createProgram(source.read_text(), source.name, (), ())
    flags = (*OPTIONS, f"-arch={ARCHITECTURE}", f"-I{KERNELS}", *options)
    try:
        nvrtc.compileProgram(program, flags)
    except nvrtc.NVRTCError as error:
        raise AssertionError(nvrtc.getProgramLog(program)) from error
    ptx = nvrtc.getPTX(program)
    return ptx.decode() if isinstance(ptx, bytes) else str(ptx)


def _by_nvcc(source: Path, options: tuple[str, ...]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "kernels.ptx"
        flags = (*OPTIONS, f"-arch={ARCHITECTURE}", f"-I{KERNELS}", *options)
        subprocess.run(["nvcc", "-ptx", *flags, str(source), "-o", str(made)], check=True)
        return made.read_text()
