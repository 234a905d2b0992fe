"""Two GPUs of a fake CuPy, whose streams are as late as they may be, and a device on one of them."""

from __future__ import annotations

import sys
from importlib import import_module

import numpy as np
import pytest
from tests.engine.cuda.cupy_device.fake_cupy import FakeGpus, view

from hekat.engine.cuda import availability

MODULE = "hekat.engine.cuda.cupy_device"


class FakeCompiler:
    def __init__(self, nvrtc, capability) -> None:
        self.capability = capability

    def compile(self, source: str, options) -> bytes:
        return f"{source} {' '.join(options)} {self.capability}".encode()

    def describe(self) -> dict[str, str]:
        return {"kernels": "compiled"}


@pytest.fixture(params=range(4))
def gpus(request, monkeypatch):
    """Two GPUs in several orders of work; `gpus.open(index)` is a device on one."""
    gpus = FakeGpus(request.param)
    monkeypatch.setitem(sys.modules, "cupy", gpus.module)
    monkeypatch.setattr(availability, "find_spec", lambda name: object())
    monkeypatch.setattr(availability, "find_driver", lambda load=None: availability.Driver((13, 0), gpus.count))
    monkeypatch.delenv("HEKAT_CUDA_MIB", raising=False)
    before = sys.modules.pop(MODULE, None)
    module = import_module(MODULE)
    monkeypatch.setattr(module, "Compiler", FakeCompiler)
    monkeypatch.setattr(module.atexit, "register", lambda function: function)
    gpus.open = module.CupyDevice
    gpus.kernels["copy"] = lambda to, source, size: np.copyto(view(to, size), view(source, size))
    yield gpus
    sys.modules.pop(MODULE, None)
    if before is not None:
        sys.modules[MODULE] = before


@pytest.fixture
def device(gpus):
    return gpus.open(0)
