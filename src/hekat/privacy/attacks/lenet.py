"""The LeNet that gradient inversion is published on: smooth, with wide first weights, so that it tells the most."""

from __future__ import annotations

from typing import Any

from hekat.torch_library import import_torch

_CHANNELS, _KERNEL = 12, 5
_WIDEST = 0.5


def leaky_lenet(
    *,
    class_count: int = 100,
    picture_shape: tuple[int, int, int] = (3, 32, 32),
    strides: tuple[int, ...] = (2, 2, 1, 1),
    seed: int = 0,
) -> Any:
    """A torch.nn.Module of convolutions of 12 channels, sigmoids between, and one dense layer, weights U(-0.5, 0.5).

    Args:
        class_count: Outputs.
        picture_shape: (channels, height, width) of a row, sides divisible by the product of the strides.
        strides: One for each convolution.
        seed: Of the weights.

    Returns:
        With the defaults the net of FedML-HE's figures 13 and 14, 88,648 parameters.

    Examples:
        >>> from hekat.privacy.attacks import leaky_lenet
        >>> sum(tensor.numel() for tensor in leaky_lenet().parameters())
        88648

    Source: Zhu et al., Deep Leakage from Gradients (2019), section 4.1.
    """
    torch = import_torch()
    channels, height, width = picture_shape
    parts: list[Any] = []
    shrunk = 1
    unset = {"device": "meta"}  # PyTorch would draw weights of its own first
    for stride in strides:
        parts.append(torch.nn.Conv2d(channels, _CHANNELS, _KERNEL, stride=stride, padding=_KERNEL // 2, **unset))
        parts.append(torch.nn.Sigmoid())
        channels, shrunk = _CHANNELS, shrunk * stride
    features = channels * (height // shrunk) * (width // shrunk)
    module = torch.nn.Sequential(*parts, torch.nn.Flatten(), torch.nn.Linear(features, class_count, **unset))
    module.to_empty(device="cpu")
    dice = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in module.parameters():
            tensor.uniform_(-_WIDEST, _WIDEST, generator=dice)
    return module
