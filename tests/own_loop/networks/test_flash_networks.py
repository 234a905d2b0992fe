"""FLASH's five networks: parameters as published, a forward and backward pass, and examples that run and learn."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs hekat[torch]")

FOLDER = Path(__file__).parents[3] / "examples" / "flash"
# Parameters and float buffers as torchvision counts them, for 1000 classes; of the LSTM as the measured one.
NETWORKS = {
    "mlp": ("Mlp", 101_770, 0),
    "lstm": ("CharacterLstm", 4_025_330, 0),
    "densenet169": ("DenseNet169", 14_149_480, 158_400),
    "resnet50": ("ResNet50", 25_557_032, 53_120),
    "vgg16": ("Vgg16", 138_357_544, 0),
}
IMAGE_NETWORKS = ("densenet169", "resnet50", "vgg16")


def make(name: str, device: str) -> Any:
    maker = runpy.run_path(str(FOLDER / f"{name}.py"))[NETWORKS[name][0]]
    with torch.device(device):
        torch.manual_seed(3)
        return maker()


def rows_of(name: str, device: str) -> tuple[Any, Any]:
    """Two rows of inputs and labels."""
    if name == "lstm":
        return torch.zeros((2, 7), dtype=torch.long, device=device), torch.ones((2, 7), dtype=torch.long, device=device)
    shape = (2, 1, 28, 28) if name == "mlp" else (2, 3, 64, 64)
    return torch.rand(shape, device=device), torch.ones(2, dtype=torch.long, device=device)


@pytest.mark.long_cases("lstm")
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_has_the_published_number_of_parameters(name: str) -> None:
    module = make(name, "meta")
    _, parameters, buffers = NETWORKS[name]
    assert sum(one.numel() for one in module.parameters()) == parameters
    assert sum(one.numel() for one in module.buffers() if one.is_floating_point()) == buffers


@pytest.mark.parametrize(
    ("name", "key", "shape"),
    [
        ("resnet50", "layer3.0.downsample.0.weight", (1024, 512, 1, 1)),
        ("resnet50", "layer4.2.bn3.running_var", (2048,)),
        ("densenet169", "features.denseblock4.denselayer32.conv2.weight", (32, 128, 3, 3)),
        ("densenet169", "features.transition2.conv.weight", (256, 512, 1, 1)),
        ("vgg16", "features.28.weight", (512, 512, 3, 3)),
        ("vgg16", "classifier.6.bias", (1000,)),
    ],
)
def test_tensors_have_the_names_and_shapes_of_published_weights(name: str, key: str, shape: tuple[int, ...]) -> None:
    assert tuple(make(name, "meta").state_dict()[key].shape) == shape


@pytest.mark.long_cases("resnet50", "densenet169")
@pytest.mark.parametrize("name", NETWORKS)
def test_shapes_go_forward_and_backward(name: str) -> None:
    module = make(name, "meta")
    check_passes(module, *rows_of(name, "meta"))


@pytest.mark.long
@pytest.mark.parametrize("name", IMAGE_NETWORKS)
def test_numbers_go_forward_and_backward(name: str) -> None:
    module = make(name, "cpu")
    loss = check_passes(module, *rows_of(name, "cpu"))
    assert 1.0 < loss < 20.0
    assert all(bool(one.grad.isfinite().all()) and bool(one.grad.any()) for one in module.parameters())


def check_passes(module: Any, inputs: Any, labels: Any) -> float:
    """The loss of one step's rows, after every parameter has a gradient of its shape."""
    scores = module(inputs)
    assert scores.shape[0] == 2
    assert scores.shape[2:] == labels.shape[1:]
    loss = torch.nn.functional.cross_entropy(scores, labels)
    loss.backward()
    assert all(one.grad is not None and one.grad.shape == one.shape for one in module.parameters())
    return 0.0 if loss.is_meta else loss.item()


# VGG-16 takes more memory than a test may; its passes are tested above.
@pytest.mark.long
@pytest.mark.parametrize("name", ["mlp", "lstm", "densenet169", "resnet50"])
def test_an_example_runs_and_learns(
    name: str, run_example: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    out = run_example(f"flash/{name}.py")
    assert f"{NETWORKS[name][1]:,} parameters, 3 parties" in out
    before, after = (float(found) for found in re.findall(r"(?:before|after): loss ([\d.]+)", out))
    assert after < before
    if name == "mlp":
        assert float(re.search(r"after: .*right ([\d.]+)%", out)[1]) > 90
