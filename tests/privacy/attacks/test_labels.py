"""Labels read off a last layer: of one row at every mask that leaves its row a value, of batches, of one logit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hekat.privacy import Mask
from hekat.privacy.attacks import AttackedModel, LabelReading, LastLayer, VisibleUpdate, read_label, read_labels
from hekat.privacy.attacks.rank_one import complete_rank_one

torch = pytest.importorskip("torch", reason="needs hekat[torch]")

CLASSES = 10


def net(class_count: int = CLASSES, *, bias: bool = True) -> AttackedModel:
    torch.manual_seed(3)
    hidden = torch.nn.Linear(6, 12)
    return AttackedModel(torch.nn.Sequential(hidden, torch.nn.ReLU(), torch.nn.Linear(12, class_count, bias=bias)))


def last(model: AttackedModel) -> LastLayer:
    layer = LastLayer.of(model)
    assert layer is not None
    return layer


def seen_at(
    model: AttackedModel, labels: list[int], share: float, *, whole_rows: tuple[int, ...] = (), seed: int = 1
) -> tuple[VisibleUpdate, dict[str, Any]]:
    """What is visible of one gradient where random values, and whole rows of the last layer, are masked."""
    rows = torch.rand(len(labels), 6, generator=torch.Generator().manual_seed(seed))
    update = model.gradient(rows, torch.tensor(labels))
    dice = np.random.default_rng(seed)
    chosen = {name: dice.random(tuple(values.shape)) < share for name, values in update.items()}
    for name in ("2.weight", "2.bias"):
        if name in chosen:
            chosen[name][list(whole_rows)] = True
    return VisibleUpdate.adaptive(update, Mask.from_arrays(chosen)), update


@pytest.mark.quick_values
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.7])
@pytest.mark.parametrize("bias", [True, False])
def test_the_label_of_one_row_is_read_at_any_share_of_hidden_values(share: float, bias: bool) -> None:
    model = net(bias=bias)
    for label in range(CLASSES):
        seen, _ = seen_at(model, [label], share, seed=label)
        assert read_label(last(model), seen) == LabelReading.known([label], CLASSES)


def test_a_whole_hidden_row_names_the_label() -> None:
    model = net()
    seen, _ = seen_at(model, [4], 0.1, whole_rows=(4,))
    assert read_label(last(model), seen).labels == (4,)


def test_several_whole_hidden_rows_are_its_candidates() -> None:
    model = net()
    seen, _ = seen_at(model, [4], 0.1, whole_rows=(1, 4, 7))
    assert read_label(last(model), seen) == LabelReading(None, (1, 4, 7), CLASSES)


def test_a_hidden_layer_leaves_every_class() -> None:
    model = net()
    seen, _ = seen_at(model, [4], 0.0, whole_rows=tuple(range(CLASSES)))
    assert read_label(last(model), seen) == LabelReading.unread(CLASSES)


@pytest.mark.parametrize("label", [0, 1])
def test_one_logit_tells_its_label(label: int) -> None:
    model = net(1)
    seen, _ = seen_at(model, [label], 0.3)
    assert read_label(last(model), seen) == LabelReading.known([label], 2)


def test_a_batch_of_other_labels_is_read() -> None:
    model = net()
    seen, _ = seen_at(model, [8, 2, 5], 0.1)
    assert read_labels(last(model), seen, 3).labels == (2, 5, 8)


def test_repeated_labels_of_a_batch_are_repeated() -> None:
    model = net()
    seen, _ = seen_at(model, [2, 2, 2], 0.1)
    assert read_labels(last(model), seen, 3).labels == (2, 2, 2)


def test_masked_values_of_the_last_layer_follow_from_visible_ones() -> None:
    model = net()
    seen, update = seen_at(model, [6], 0.5, whole_rows=(9,))
    full = last(model).complete(seen)
    assert full.compared["2.weight"][:9].all()
    assert not full.compared["2.weight"][9].any()
    assert torch.allclose(full.values["2.weight"][:9], update["2.weight"][:9], atol=1e-6)
    assert torch.equal(full.compared["0.weight"], seen.compared["0.weight"])


def test_a_module_that_ends_in_no_dense_layer_has_no_last_one() -> None:
    assert LastLayer.of(AttackedModel(torch.nn.Conv2d(1, 2, 3))) is None
    norm = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    assert LastLayer.of(AttackedModel(norm)) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_matrix_of_rank_one_is_filled(seed: int) -> None:
    dice = np.random.default_rng(seed)
    whole = np.outer(dice.standard_normal(9), dice.standard_normal(14))
    visible = dice.random(whole.shape) < 0.6
    visible[4], visible[:, 6] = False, False
    found = complete_rank_one(whole, visible)
    assert np.allclose(found.filled[found.known], whole[found.known], atol=1e-8)
    assert not found.known_rows[4]
    assert not found.known_columns[6]
    assert found.known.sum() == 8 * 13


def test_nothing_visible_fills_nothing() -> None:
    found = complete_rank_one(np.ones((3, 2)), np.zeros((3, 2), dtype=bool))
    assert not found.known.any()
    assert not found.filled.any()
