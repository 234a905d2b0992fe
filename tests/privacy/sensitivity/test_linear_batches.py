"""Linear layers on one vector a row are summed a batch at a time, and others are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.privacy.sensitivity.nets import assert_maps_equal, conv_net, map_by_definition, one_hot, pictures, torch

from hekat.privacy.sensitivity import module_source, sensitivity_map
from hekat.privacy.sensitivity.directions import Directions
from hekat.privacy.sensitivity.module_source import ModuleSource


def _rows(*shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(3))


class _Mixed(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Takes the mean over the batch off each row."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.out = torch.nn.Linear(4, 3)

    def forward(self, rows: Any) -> Any:
        hidden = torch.tanh(self.layer(rows))
        return self.out(hidden - 0.5 * hidden.mean(dim=0))


class _Twice(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Uses a layer's weight beside the layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.out = torch.nn.Linear(4, 3)

    def forward(self, rows: Any) -> Any:
        return self.out(torch.tanh(self.layer(rows)) @ self.layer.weight)


class _Recurrent(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Calls one layer twice."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.out = torch.nn.Linear(4, 3)

    def forward(self, rows: Any) -> Any:
        return self.out(torch.tanh(self.layer(torch.tanh(self.layer(rows)))))


def _mlp() -> Any:
    return torch.nn.Sequential(
        torch.nn.Linear(4, 6), torch.nn.ReLU(inplace=True), torch.nn.Dropout(), torch.nn.Linear(6, 3)
    )


def _sequence() -> Any:
    layers = torch.nn.Linear(2, 3), torch.nn.Flatten(), torch.nn.Linear(6, 3)
    return torch.nn.Sequential(torch.nn.Unflatten(1, (2, 2)), *layers)


@pytest.mark.parametrize(
    ("make", "at_once"), [(_mlp, True), (_Mixed, False), (_Twice, False), (_Recurrent, False), (_sequence, False)]
)
def test_a_batch_at_once_where_it_gives_the_same(make: Any, at_once: bool) -> None:
    torch.manual_seed(2)
    net, rows, labels = make(), _rows(7, 4), torch.arange(7) % 3
    source = ModuleSource(net, rows, labels, None, Directions("exact", 0))
    assert (len(source._parts[0].layers) == 2 and source._batch_rows > 1) == at_once
    source.add_rows(np.arange(7))
    found = {name: values / 7 for name, values in source.sums().items()}
    assert_maps_equal(found, map_by_definition(net, rows, one_hot(labels), torch.eye(3).expand(7, 3, 3)))


@pytest.mark.parametrize("mode", ["random", "exact"])
def test_the_linear_layers_of_other_nets_make_no_gradient(mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Convolutions have one a row, and the layer behind them none: the map is the one of gradients alone."""
    net, (rows, labels) = conv_net(), pictures(6)
    source = ModuleSource(net, rows, labels, None, Directions(mode, 0))
    assert [layer.names for part in source._parts for layer in part.layers] == [("7.weight", "7.bias")]
    assert source._batch_rows == 1
    found = sensitivity_map(net, rows, labels, mode=mode).tensors
    monkeypatch.setattr(module_source, "linear_layers_of", lambda module, weights: ())
    assert_maps_equal(found, sensitivity_map(net, rows, labels, mode=mode).tensors)


class _Turned(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Uses its layer on one vector of a row, but of rows from 100 on at two positions."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, rows: Any) -> Any:
        return self.layer(torch.stack([rows, -rows], 1)).sum(dim=1) if (rows > 100).any() else self.layer(rows)


def test_a_row_that_uses_the_layer_otherwise_is_taken_by_itself() -> None:
    torch.manual_seed(2)
    net, rows, labels = _Turned(), _rows(7, 4), torch.arange(7) % 3
    rows[5] += 200
    source = ModuleSource(net, rows, labels, None, Directions("exact", 0))
    assert source._parts[0].layers
    source.add_rows(np.arange(7))
    found = {name: values / 7 for name, values in source.sums().items()}
    assert_maps_equal(found, map_by_definition(net, rows, one_hot(labels), torch.eye(3).expand(7, 3, 3)))


def test_batches_and_single_rows_draw_the_same_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(2)
    net, rows, labels = _mlp(), _rows(20, 4), torch.arange(20) % 3
    at_once = sensitivity_map(net, rows, labels).tensors
    monkeypatch.setattr(module_source, "BATCH_ROWS", 3)
    assert_maps_equal(sensitivity_map(net, rows, labels).tensors, at_once)
    monkeypatch.setattr(module_source, "linear_layers_of", lambda module, weights: ())
    assert_maps_equal(sensitivity_map(net, rows, labels).tensors, at_once)
