"""Models become one vector of floats and come back: NumPy and PyTorch, dtypes restored, integer tensors local."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.fedml_he import flatten, reshape


def numpy_model() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(41)
    return {
        "w": generator.normal(size=(3, 4)).astype(np.float32),
        "steps": np.array(7, np.int64),
        "half": generator.normal(size=5).astype(np.float16),
        "scalar": np.array(0.25, np.float32),
        "empty": np.zeros((0, 2), np.float32),
        "mask": np.array([True, False]),
    }


def test_a_numpy_model_comes_back_seed_41() -> None:
    model = numpy_model()
    vector, shape = flatten(model)
    assert (vector.dtype, vector.shape, shape.size) == (np.float32, (18,), 18)
    assert np.array_equal(vector[:12], model["w"].reshape(-1))
    for like in (shape, model):
        restored = reshape(vector, like)
        assert list(restored) == list(model)
        for name, value in model.items():
            assert (restored[name].dtype, restored[name].shape) == (value.dtype, value.shape)
            assert np.array_equal(restored[name], value)
            assert restored[name] is not value


def test_one_wide_tensor_makes_the_vector_wide() -> None:
    vector, shape = flatten({"a": np.ones(2, np.float32), "b": np.array([1 / 3])})
    assert vector.dtype == np.float64
    assert reshape(vector, shape)["b"][0] == 1 / 3
    assert reshape(vector, shape)["a"].dtype == np.float32


def test_a_float64_mean_goes_into_a_float32_model() -> None:
    _, shape = flatten({"a": np.zeros(2, np.float32)})
    assert reshape(np.array([0.1, 0.2]), shape)["a"].dtype == np.float32


def test_integer_tensors_are_those_of_the_client_itself() -> None:
    vector, _ = flatten(numpy_model())
    mine = numpy_model() | {"steps": np.array(9, np.int64)}
    assert reshape(vector, mine)["steps"] == 9


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ({}, "nothing to average"),
        ({"n": np.ones(2, np.int64)}, "nothing to average"),
        ({"z": np.ones(2, complex)}, "tensor 'z' cannot be averaged or kept"),
        ({"o": np.array([None])}, "tensor 'o'"),
        ({"w": np.ones(2, np.longdouble)}, "tensor 'w'"),
        ({"m": np.ma.masked_array([1.0, 2.0], [True, False])}, "tensor 'm'"),
        ({"l": [1.0, 2.0]}, "tensor 'l' .* got list"),
        ([1.0], "not a model"),
    ],
)
def test_what_is_no_model_is_refused_by_name(model: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        flatten(model)


@pytest.mark.parametrize("vector", [np.zeros(17), np.zeros((18, 1)), np.zeros(18, np.int64), [0.0] * 18])
def test_a_vector_that_does_not_fit_is_refused(vector: Any) -> None:
    with pytest.raises(InputError, match="expected a vector of 18 floats"):
        reshape(vector, numpy_model())


def test_a_value_that_does_not_fit_its_dtype_is_refused_by_name() -> None:
    vector, shape = flatten(numpy_model())
    vector[12] = 1e6
    with pytest.raises(InputError, match="does not fit tensor 'half'; expected finite values of float16"):
        reshape(vector, shape)


@pytest.mark.long
def test_numpy_models_need_no_torch() -> None:
    code = (
        "import sys, numpy as np; sys.modules['torch'] = None;"
        "from hekat.fedml_he import flatten, reshape;"
        "v, s = flatten({'a': np.ones(3)}); reshape(v, s)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_torch_model_comes_back() -> None:
    torch = pytest.importorskip("torch", reason="needs hekat[torch]")
    torch.manual_seed(42)
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).to(torch.bfloat16)
    vector, shape = flatten(module)
    state = module.state_dict()
    assert vector.dtype == np.float32
    assert shape.kept.keys() == {"1.num_batches_tracked"}
    restored = reshape(vector, module)
    assert list(restored) == list(state)
    for name, value in state.items():
        assert (restored[name].dtype, restored[name].shape) == (value.dtype, value.shape)
        assert torch.equal(restored[name], value)
    module.load_state_dict(restored)
    vector[0] = 1.0
    assert not torch.equal(reshape(vector, shape)["0.weight"], state["0.weight"])


def test_torch_tensors_that_need_gradients_or_are_not_dense() -> None:
    torch = pytest.importorskip("torch", reason="needs hekat[torch]")
    vector, _ = flatten({"p": torch.nn.Parameter(torch.ones(2, dtype=torch.float64))})
    assert vector.dtype == np.float64
    for tensor in (torch.ones(2, 2).to_sparse(), torch.ones(2, dtype=torch.complex64)):
        with pytest.raises(InputError, match="tensor 's' cannot be averaged"):
            flatten({"s": tensor})
    with pytest.raises(InputError, match="does not fit tensor 'h'"):
        reshape(np.array([1e6]), {"h": torch.ones(1, dtype=torch.float16)})
