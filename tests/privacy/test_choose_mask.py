"""Masks from maps: layers first, then the largest values or whole rows; rules that do not fit are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.privacy import MaskRules, SensitivityMap, choose_mask

MAP = SensitivityMap(
    {
        "table.weight": np.array([[0.0, 0.1], [0.2, 0.0]]),
        "layer.weight": np.array([[0.9, 0.01], [0.5, 0.5], [0.3, 0.2]]),
        "layer.bias": np.array([0.05, 0.05, 0.6]),
        "head.weight": np.array([[0.7, 0.02, 0.02]]),
    },
    row_count=8,
    mode="exact",
    embeddings=("table.weight",),
)


def _chosen(rules: MaskRules, found: SensitivityMap = MAP) -> dict[str, list[int]]:
    mask = choose_mask(found, rules)
    return {name: np.flatnonzero(mask.chosen(name)).tolist() for name in mask.sizes if mask.chosen(name).any()}


def test_embeddings_are_whole_and_the_rest_goes_to_the_largest_values() -> None:
    whole = {"table.weight": [0, 1, 2, 3]}
    assert _chosen(MaskRules(0.25)) == whole
    assert _chosen(MaskRules(0.45)) == whole | {"layer.weight": [0, 2], "layer.bias": [2], "head.weight": [0]}
    assert _chosen(MaskRules(1.0))["layer.weight"] == list(range(6))


def test_layer_rules_come_before_the_map() -> None:
    rules = MaskRules(0.5, always=("layer.bias",), never=("head.*",))
    assert _chosen(rules) == {"table.weight": [0, 1, 2, 3], "layer.bias": [0, 1, 2], "layer.weight": [0]}
    exposed = MaskRules(0.2, never=("table.*",), expose_embeddings=True)
    assert _chosen(exposed) == {"layer.weight": [0, 2], "layer.bias": [2], "head.weight": [0]}


def test_rows_are_chosen_whole_with_their_bias() -> None:
    rules = MaskRules(0.5, groups="rows")
    # Sums of rows of the layer: 0.96, 1.05, 1.1; of the head: 0.74. Four values are the table's.
    assert _chosen(rules) == {"table.weight": [0, 1, 2, 3], "layer.weight": [2, 3, 4, 5], "layer.bias": [1, 2]}
    turned = SensitivityMap(
        {name: values.T for name, values in MAP.tensors.items()}, 8, "exact", embeddings=MAP.embeddings, output_axis=1
    )
    assert _chosen(rules, turned) == {"table.weight": [0, 1, 2, 3], "layer.weight": [1, 2, 4, 5], "layer.bias": [1, 2]}
    alone = MaskRules(0.3, never=("layer.bias",), groups="rows", expose_embeddings=True)
    assert _chosen(alone) == {"layer.weight": [0, 1, 2, 3], "head.weight": [0, 1, 2]}


def test_a_kernel_is_a_row_of_a_convolution() -> None:
    values = np.zeros((3, 2, 2, 2))
    values[1, 1, 1, 0] = 1.0
    found = SensitivityMap(
        {"conv.weight": values, "conv.bias": np.array([0.0, 0.0, 0.5]), "number": np.array(0.75)}, 1, "exact"
    )
    mask = choose_mask(found, MaskRules(0.1, groups="rows"))
    assert mask.chosen_count == 9
    assert mask.chosen("conv.weight").reshape(3, 8).all(axis=1).tolist() == [False, True, False]
    assert choose_mask(found, MaskRules(0.34, groups="rows")).chosen("number").all()


@pytest.mark.parametrize(
    ("rules", "what"),
    [
        (MaskRules(0.1), "more values are to be masked always"),
        (MaskRules(0.5, always=("heads.*",)), "did you mean"),
        (MaskRules(0.5, never=("embedding",)), "no parameter matches"),
        (MaskRules(0.5, always=("layer.*",)), "mask a part of 0.8125 or more"),
        (MaskRules(0.5, never=("table.*",)), "embeddings would go in the clear"),
        (MaskRules(0.5, always=("head.*",), never=("h*",)), "always and never"),
        (MaskRules(0.9, never=("layer.weight",)), "too few values are left"),
    ],
)
def test_rules_that_do_not_fit_the_model_are_refused(rules: MaskRules, what: str) -> None:
    with pytest.raises(InputError, match=what):
        choose_mask(MAP, rules)


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.01, float("nan"), True, "0.1"])
def test_a_part_of_nothing_or_of_more_than_all_is_refused(fraction: Any) -> None:
    with pytest.raises(InputError, match="above 0, up to 1"):
        MaskRules(fraction)


def test_the_count_is_the_part_as_it_is_written() -> None:
    assert [MaskRules(0.7).count_of(10), MaskRules(0.1).count_of(88_648), MaskRules(1e-9).count_of(5)] == [7, 8865, 1]
    with pytest.raises(InputError, match="did you mean 'rows'"):
        MaskRules(0.5, groups="row")  # type: ignore[arg-type]
