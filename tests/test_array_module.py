"""What arrays and tensors are taken for, and how they come in from other libraries."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hekat
from hekat.array_module import array_module, as_array, copy_to_host, device_name, on_host
from hekat.errors import EngineError, InputError


class DeviceTensor:
    """What is known of a tensor elsewhere: the device it says it lies on."""

    def __init__(self, kind: int, index: int = 0, dtype: str = "torch.float32") -> None:
        self.kind, self.index, self.dtype = kind, index, dtype
        self.detached = False

    def detach(self) -> DeviceTensor:
        copy = DeviceTensor(self.kind, self.index, self.dtype)
        copy.detached = True
        return copy

    def float(self) -> DeviceTensor:
        copy = DeviceTensor(self.kind, self.index)
        copy.detached = self.detached
        return copy

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, self.index


class FakeCupyArray:
    def __init__(self, tensor: DeviceTensor) -> None:
        self.tensor = tensor
        self.device = SimpleNamespace(id=tensor.index)

    def get(self) -> str:
        return "on the host"


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = SimpleNamespace(ndarray=FakeCupyArray, from_dlpack=FakeCupyArray)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def test_lists_numbers_and_host_arrays_are_numpys() -> None:
    for x in ([1.0], 1.0, np.float32(1), np.zeros(2), np.ma.masked_array([1])):
        assert array_module(x) is np
        assert on_host(x)
        assert device_name(x) is None
    x = np.zeros(2)
    assert as_array(x) is x
    assert copy_to_host(x) is x


def test_cupy_arrays_are_told_by_their_class(cupy: Any) -> None:
    x = FakeCupyArray(DeviceTensor(2))
    assert array_module(x) is cupy
    assert not on_host(x)
    assert as_array(x) is x
    assert copy_to_host(x) == "on the host"


@pytest.mark.parametrize("kind", [2, 13])
def test_a_tensor_on_a_gpu_becomes_an_array_of_its_memory(cupy: Any, kind: int) -> None:
    tensor = DeviceTensor(kind, 3)
    assert device_name(tensor) == "cuda:3"
    array = as_array(tensor)
    assert isinstance(array, FakeCupyArray)
    assert array.tensor.detached
    assert as_array(DeviceTensor(kind, 3, "torch.bfloat16")).tensor.dtype == "torch.float32"


def test_a_tensor_on_a_gpu_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(EngineError, match=r"needs CuPy[\s\S]*hekat\[cuda13\]"):
        as_array(DeviceTensor(2))


def test_a_tensor_on_another_kind_of_device(cupy: Any) -> None:
    with pytest.raises(InputError, match=r"cannot be read[\s\S]*\.cpu\(\)"):
        as_array(DeviceTensor(8))


def test_what_only_speaks_dlpack() -> None:
    class Exported:
        def __init__(self) -> None:
            self.array = np.arange(6.0).reshape(2, 3)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.array.__dlpack_device__()

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

    x = Exported()
    assert np.shares_memory(as_array(x), x.array)


def test_an_engine_elsewhere_is_refused(cupy: Any, paillier_keys: Any) -> None:
    key = paillier_keys[512][0].public
    with pytest.raises(EngineError, match=r"does not reach[\s\S]*'cuda:1'"):
        hekat.array(DeviceTensor(2, 1), key=key, engine="cpu")
    with pytest.raises(EngineError, match="does not reach"):
        hekat.array([1.0], key=key) + DeviceTensor(2, 1)


def test_torch_tensors_of_the_cpu(paillier_keys: Any) -> None:
    torch = pytest.importorskip("torch", reason="needs hekat[torch]")
    values = torch.linspace(-3, 3, 25, dtype=torch.float64).reshape(5, 5)
    shared = as_array(values)
    values[0, 0] = 9.0
    assert shared[0, 0] == 9.0  # the same memory
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        tensor = values.clone().to(dtype).requires_grad_().T
        assert np.array_equal(as_array(tensor), tensor.detach().to(torch.float64).numpy())
        assert as_array(tensor).itemsize == (4 if dtype == torch.bfloat16 else dtype.itemsize)
    with pytest.raises(InputError, match="cannot be read"):
        as_array(torch.eye(3).to_sparse())
    keys = paillier_keys[512][0]
    x = hekat.array(values.to(torch.bfloat16).requires_grad_(), key=keys.public)
    assert np.array_equal(x.decrypt(keys.private), values.to(torch.bfloat16).to(torch.float64).numpy())


def test_neither_cupy_nor_torch_is_imported() -> None:
    program = "import sys, hekat.encrypted_array; assert not {'cupy', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
