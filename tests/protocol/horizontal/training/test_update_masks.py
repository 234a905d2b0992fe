"""Masks of updates of PyTorch modules: statistics always, embeddings whole, weights as the map of all parties says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hekat.errors import InputError
from hekat.model.torch_model import TorchModel
from hekat.privacy import Mask, MaskRules
from hekat.protocol.horizontal.selective_settings import SelectiveSettings
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.agreed_mask import AgreedMask
from hekat.protocol.horizontal.training.standardise import Standardiser
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.horizontal.training.training_state import TrainingState
from hekat.protocol.secure_sum.aggregation import Alone
from hekat.protocol.stopwatch import Stopwatch

torch = pytest.importorskip("torch", reason="needs hekat[torch]")
ROWS = np.random.default_rng(5).integers(0, 6, size=(12, 2)).astype(float)
LABELS = np.arange(12) % 2


class Words(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Mean of two words' vectors, normalised, and a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(6, 4)
        self.norm = torch.nn.BatchNorm1d(4)
        self.out = torch.nn.Linear(4, 2)

    def forward(self, rows: Any) -> Any:
        return self.out(self.norm(self.table(rows.long()).mean(dim=1)))


def _agreed(rules: MaskRules) -> tuple[Mask, TrainingState]:
    """The mask of an update, and the state with the mask of its weights, at a party alone."""
    model = TorchModel("words", Words, column_count=2, class_count=2)
    settings = HorizontalSettings(
        ("a", "b", "c"), "hub", ("no", "yes"), weight_max=20, selective=SelectiveSettings(rules, mode="exact")
    )
    trained = TrainedTensors.of(model)
    masks = AgreedMask(Alone(), model, trained, settings, Stopwatch(), is_fold=False)
    state = TrainingState(model.init(3), {}, Standardiser(np.zeros(2), np.ones(2)))
    found = masks.before(1, state, ROWS, LABELS)
    assert found is not None
    again = masks.before(2, state, ROWS, LABELS)
    assert again is found
    return found, state


def test_statistics_are_masked_always_and_embeddings_whole() -> None:
    # 24 values of the table, 8 of the normalisation, 10 of the layer.
    found, state = _agreed(MaskRules(0.6))
    assert state.mask is not None
    assert sorted(state.mask.sizes) == ["norm.bias", "norm.weight", "out.bias", "out.weight", "table.weight"]
    assert state.mask.chosen_count == 26
    assert found.chosen("table.weight").all()
    assert found.chosen("norm.running_mean").all()
    assert found.chosen("norm.running_var").all()
    assert found.chosen_count == 26 + 8


def test_a_part_that_embeddings_do_not_fit_in_is_refused_with_the_least_that_does() -> None:
    with pytest.raises(InputError, match="embeddings among them") as caught:
        _agreed(MaskRules(0.1))
    assert "mask a part of 0.5715 or more" in str(caught.value)
    exposed, _ = _agreed(MaskRules(0.1, expose_embeddings=True))
    assert not exposed.chosen("table.weight").all()


def test_a_mask_is_made_anew_before_the_rounds_that_the_job_says() -> None:
    selective = replace(SelectiveSettings(MaskRules(0.5)), refresh=3)
    assert [number for number in range(1, 9) if selective.is_due(number)] == [1, 4, 7]
    assert [selective.group_before(number) for number in (1, 4)] == ["mask", "mask-4"]
    assert [number for number in range(1, 9) if SelectiveSettings(MaskRules(0.5)).is_due(number)] == [1]
