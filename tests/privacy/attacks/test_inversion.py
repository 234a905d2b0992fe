"""Attacks on small nets: rows come back, the naive attacker fails, and a pinned one that fails when it weakens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_sample_image

from hekat.errors import InputError
from hekat.privacy import Mask, MaskRules, choose_mask, sensitivity_map
from hekat.privacy.attacks import (
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
from hekat.privacy.attacks.trial import Attacker, attack_rows

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


@pytest.mark.parametrize("cut", [torch.round, torch.Tensor.detach], ids=["rounded", "detached"])
@pytest.mark.parametrize("are_read", [True, False])
def test_a_module_without_gradients_by_its_rows_is_refused_and_not_called_safe(cut: Any, are_read: bool) -> None:
    class Cut(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.top = torch.nn.Linear(10, 4)

        def forward(self, rows: Any) -> Any:
            return self.top(cut(rows))

    model, row = AttackedModel(Cut()), row_of(10)
    update = model.gradient(row, torch.tensor([2]))
    seen = VisibleUpdate.adaptive(update, random_mask(update, 0.1))
    reading = LabelReading.known([2], 4) if are_read else LabelReading.unread(4)
    with pytest.raises(InputError, match="the module is without gradients by its rows"):
        invert(deep_leakage(step_count=20), model, seen, reading, row_shape=(10,))


def test_a_start_without_slopes_is_no_reason_to_refuse() -> None:
    """A dead ReLU at one first guess: another one finds the way."""
    model = AttackedModel(torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU(), torch.nn.Linear(1, 2)))
    with torch.no_grad():
        model.module[0].weight.fill_(1.0)
        model.module[0].bias.fill_(-0.5)
        model.module[2].weight.copy_(torch.tensor([[1.0], [-1.0]]))
    label = torch.tensor([0])
    assert [model.moves_with(torch.tensor([[value]]), label) for value in (0.2, 0.8)] == [False, True]
    update = model.gradient(torch.tensor([[0.9]]), label)
    seen = VisibleUpdate.adaptive(update, random_mask(update, 0.0))
    attack = inverting_gradients(step_count=1, restart_count=30)
    found = invert(attack, model, seen, LabelReading.known([0], 2), row_shape=(1,))
    assert np.isfinite(found.objective)


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


def crops_of_a_photograph() -> Any:
    """17 crops of scikit-learn's temple, from 0 to 1, shape (17, 3, 32, 32)."""
    whole = torch.from_numpy(load_sample_image("china.jpg").copy()).permute(2, 0, 1).float() / 255
    crops = [whole[None, :, 5 * number :, 15 * number :][..., :320, :320] for number in range(17)]
    return torch.cat([torch.nn.functional.interpolate(crop, size=(32, 32), mode="area") for crop in crops])


def similarity_at_a_tenth(attacker: Attacker, step_count: int) -> float:
    """SSIM of what DLG finds on the published LeNet where the tenth that a map ranks first is masked, seeds fixed."""
    from hekat.privacy.attacks.picture_scores import as_picture, score_picture

    rows, shape = crops_of_a_photograph(), (3, 32, 32)
    model = AttackedModel(leaky_lenet(seed=0))
    found = sensitivity_map(model.module, rows[1:], torch.arange(16) % 10, row_count=16)
    trial = attack_rows(
        deep_leakage(picture_shape=shape, step_count=step_count, restart_count=1),
        model,
        rows[:1],
        torch.tensor([3]),
        choose_mask(found, MaskRules(0.1)),
        attacker=attacker,
    )
    assert trial.reading.labels == (3,)
    assert trial.rows is not None
    return score_picture(as_picture(rows[0].numpy(), shape), as_picture(trial.rows, shape))["ssim"]


@pytest.mark.long
def test_a_tenth_masked_by_map_stops_no_adaptive_attacker() -> None:
    pytest.importorskip("skimage", reason="needs hekat[attacks]")
    pytest.importorskip("sewar", reason="needs hekat[attacks]")
    assert similarity_at_a_tenth("adaptive", 500) > 0.6


@pytest.mark.long
def test_a_tenth_masked_by_map_stops_the_naive_attacker() -> None:
    pytest.importorskip("skimage", reason="needs hekat[attacks]")
    pytest.importorskip("sewar", reason="needs hekat[attacks]")
    assert similarity_at_a_tenth("naive", 200) < 0.1
