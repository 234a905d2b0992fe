"""Attacks on small nets: rows come back, the naive attacker fails, and a pinned one that fails when it weakens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_sample_image

from hekat.errors import InputError
from hekat.privacy import Mask
from hekat.privacy.attacks import (
    Attack,
    AttackedModel,
    LabelReading,
    LastLayer,
    LocalSteps,
    OneGradient,
    Reconstruction,
    VisibleUpdate,
    deep_leakage,
    invert,
    inverting_gradients,
    leaky_lenet,
    read_label,
)

torch = pytest.importorskip("torch", reason="needs hekat[torch]")


def smooth_net(inputs: int, class_count: int = 4) -> AttackedModel:
    torch.manual_seed(2)
    parts = [torch.nn.Linear(inputs, 24), torch.nn.Sigmoid(), torch.nn.Linear(24, class_count)]
    return AttackedModel(torch.nn.Sequential(*parts))


def random_mask(update: dict[str, Any], share: float, seed: int = 7) -> Mask:
    dice = np.random.default_rng(seed)
    return Mask.from_arrays({name: dice.random(tuple(values.shape)) < share for name, values in update.items()})


def row_of(size: int, count: int = 1, seed: int = 4) -> Any:
    return torch.rand(count, size, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_a_row_comes_back_from_what_a_random_mask_leaves(share: float) -> None:
    model, row = smooth_net(10), row_of(10)
    update = model.gradient(row, torch.tensor([2]))
    seen = VisibleUpdate.adaptive(update, random_mask(update, share))
    layer = LastLayer.of(model)
    assert layer is not None
    reading = read_label(layer, seen)
    attack = deep_leakage(step_count=100, restart_count=1)
    found = invert(attack, model, layer.complete(seen), reading, row_shape=(10,))
    assert found.labels == (2,)
    assert np.abs(found.rows - row.numpy()).max() < 0.02
    assert found.objectives == (found.objective,)


def test_the_naive_attacker_finds_another_row() -> None:
    model, row = smooth_net(10), row_of(10)
    update = model.gradient(row, torch.tensor([2]))
    seen = VisibleUpdate.naive(update, random_mask(update, 0.5))
    found = invert(
        deep_leakage(step_count=100, restart_count=1), model, seen, LabelReading.known([2], 4), row_shape=(10,)
    )
    assert np.abs(found.rows - row.numpy()).mean() > 0.1
    assert found.objective > 0.01


def test_a_label_that_nobody_reads_is_guessed_among_its_candidates() -> None:
    model, row = smooth_net(10), row_of(10)
    update = model.gradient(row, torch.tensor([2]))
    reading = LabelReading(None, (1, 2), 4)
    attack = deep_leakage(step_count=150, restart_count=2)
    found = invert(attack, model, VisibleUpdate.adaptive(update, random_mask(update, 0.0)), reading, row_shape=(10,))
    assert found.labels == (2,)
    assert np.abs(found.rows - row.numpy()).max() < 0.05


@pytest.mark.long_cases("local-steps")
@pytest.mark.parametrize("sent", [OneGradient(), LocalSteps(2, 0.1)], ids=["gradient", "local-steps"])
def test_adam_on_signs_lowers_the_cosine(sent: Any) -> None:
    model, row = smooth_net(6), row_of(6)
    labels = torch.tensor([1])
    update = sent.of(model, row, labels, differentiable=False)
    seen = VisibleUpdate.adaptive(update, random_mask(update, 0.1))
    found = invert(
        inverting_gradients(step_count=150, restart_count=1),
        model,
        seen,
        LabelReading.known([1], 4),
        row_shape=(6,),
        sent=sent,
    )
    assert found.objective < 1e-3
    assert np.abs(found.rows - row.numpy()).max() < 0.2


def test_the_same_seed_finds_the_same_and_progress_is_told() -> None:
    model, row = smooth_net(6), row_of(6)
    update = model.gradient(row, torch.tensor([1]))
    seen, told = VisibleUpdate.adaptive(update, random_mask(update, 0.1)), []
    attack = replace(deep_leakage(step_count=40, restart_count=2), restarts=replace(deep_leakage().restarts, enough=0))
    reading = LabelReading.known([1], 4)

    def run(seed: int) -> Reconstruction:
        return invert(
            attack, model, seen, reading, row_shape=(6,), seed=seed, tell=lambda start, step: told.append((start, step))
        )

    assert np.array_equal(run(1).rows, run(1).rows)
    assert not np.array_equal(run(1).objectives, run(2).objectives)
    assert (0, 0) in told
    assert (1, 20) in told


def test_labels_that_do_not_fit_the_rows_are_refused() -> None:
    model = smooth_net(6)
    update = model.gradient(row_of(6), torch.tensor([1]))
    seen = VisibleUpdate.adaptive(update, random_mask(update, 0.1))
    with pytest.raises(InputError, match="do not fit the rows"):
        invert(deep_leakage(), model, seen, LabelReading.known([1, 2], 4), row_shape=(6,))


def sample_picture(side: int) -> Any:
    """A crop of scikit-learn's flower, from 0 to 1, shape (1, 3, side, side)."""
    whole = torch.from_numpy(load_sample_image("flower.jpg")[60:380, 160:480].copy()).permute(2, 0, 1)[None].float()
    return torch.nn.functional.interpolate(whole / 255, size=(side, side), mode="area")


def similarity_at_a_tenth(attacker: str, attack: Attack) -> float:
    """SSIM of what DLG finds on the published LeNet where a tenth of the values is masked, seeds fixed."""
    from hekat.privacy.attacks.picture_scores import as_picture, score_picture

    row, shape = sample_picture(32), (3, 32, 32)
    model = AttackedModel(leaky_lenet(seed=0))
    update = model.gradient(row, torch.tensor([23]))
    mask = random_mask(update, 0.1)
    layer = LastLayer.of(model)
    assert layer is not None
    if attacker == "adaptive":
        seen = VisibleUpdate.adaptive(update, mask)
        reading = read_label(layer, seen)
        assert reading.labels == (23,)
        seen = layer.complete(seen)
    else:
        seen, reading = VisibleUpdate.naive(update, mask), LabelReading.known([23], 100)
    found = invert(attack, model, seen, reading, row_shape=shape)
    return score_picture(as_picture(row.numpy(), shape), as_picture(found.rows, shape))["ssim"]


@pytest.mark.long
def test_a_tenth_masked_stops_no_adaptive_attacker() -> None:
    pytest.importorskip("skimage", reason="needs hekat[attacks]")
    pytest.importorskip("sewar", reason="needs hekat[attacks]")
    attack = deep_leakage(picture_shape=(3, 32, 32), total_variation=1e-3, step_count=400, restart_count=1)
    assert similarity_at_a_tenth("adaptive", attack) > 0.6


@pytest.mark.long
def test_a_tenth_masked_stops_the_naive_attacker() -> None:
    pytest.importorskip("skimage", reason="needs hekat[attacks]")
    pytest.importorskip("sewar", reason="needs hekat[attacks]")
    attack = deep_leakage(box=None, step_count=200, restart_count=1)
    assert similarity_at_a_tenth("naive", attack) < 0.1
