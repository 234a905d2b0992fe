"""A training run on an emulated GPU, alone and beside the processor: the model is the one that the processor trains."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.engine import select
from hekat.engine.cuda.engine import CudaEngine


@pytest.fixture
def with_a_gpu(workplace, monkeypatch):
    """The workplace on a machine with one GPU, `cuda:0`."""

    def make(name: str, single_tenant: bool) -> CudaEngine:
        assert name == "cuda:0"
        return CudaEngine(EmulatedDevice(), single_tenant=single_tenant)

    monkeypatch.setattr(select, "_make_cuda", make)
    monkeypatch.setattr(select, "_instance", cache(select._instance.__wrapped__))
    return workplace


def models_of(workplace) -> list[dict[str, np.ndarray]]:
    """The trained parameters of each run, oldest first."""
    found = []
    for folder in sorted(workplace.folders()):
        with np.load(folder / "model.npz") as model:
            found.append({name: model[name] for name in model.files})
    return found


@pytest.mark.parametrize(
    ("protection", "engine"),
    [
        ("lattice", "cuda:0"),
        pytest.param("paillier", "cuda:0", marks=pytest.mark.long),
        pytest.param("lattice", "cpu+cuda:0", marks=pytest.mark.long),
        pytest.param("paillier", "cpu+cuda:0", marks=pytest.mark.long),
    ],
)
def test_the_model_is_the_one_that_the_processor_trains(with_a_gpu, monkeypatch, protection, engine):
    if protection == "paillier":
        with_a_gpu.use_paillier()
        with_a_gpu.shorten()
    for name in ("cpu", engine):
        monkeypatch.setenv("HEKAT_ENGINE", name)
        answer = with_a_gpu.run()
        assert answer.code == 0, answer.err
    by_cpu, by_gpu = models_of(with_a_gpu)
    assert by_cpu.keys() == by_gpu.keys()
    for name, values in by_cpu.items():
        np.testing.assert_array_equal(by_gpu[name], values, strict=True)
    names = [json.loads((folder / "summary.json").read_text())["engine"]["name"] for folder in with_a_gpu.folders()]
    assert sorted(names) == sorted(["cpu", engine.replace("cuda", "emulated")])
