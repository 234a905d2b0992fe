"""Training that masks a part of every update: one mask at all parties, the rest in the clear, and the same model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hekat.errors import PartyStoppedError, ProtocolError
from hekat.privacy import Mask, MaskRules
from hekat.protocol.horizontal.selective_settings import SelectiveSettings
from hekat.protocol.horizontal.settings import HorizontalSettings, ModelSettings, TrainingSettings
from hekat.protocol.horizontal.training import agreed_mask
from hekat.protocol.secure_sum.masked.messages import ClearBlockMessage

# Weights of an mlp of 3 columns, 4 hidden values and one logit: 12 + 4 + 4 + 1.
WEIGHTS = 21
TRAINING = TrainingSettings(algorithm="fedavg", round_count=3, batch_rows=8, learning_rate=0.2, seed=5)


def _settings(masked_settings: Any, selective: SelectiveSettings | None, **others: Any) -> HorizontalSettings:
    training = others.pop("training", TRAINING)
    made = masked_settings(3, training=training, model=ModelSettings(name="mlp", hidden=(4,), seed=2), **others)
    return replace(made, selective=selective)


def _part(fraction: float, **others: Any) -> SelectiveSettings:
    rules = MaskRules(fraction, **{key: others.pop(key) for key in ("always", "never", "groups") if key in others})
    return SelectiveSettings(rules, **others)


@pytest.fixture
def clear_levels(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many values each party's clear blocks held, block by block."""
    counts: list[int] = []
    before = ClearBlockMessage.__init__

    def noting(self: Any, levels: bytes) -> None:
        before(self, levels)
        counts.append(len(levels) // 2)

    monkeypatch.setattr(ClearBlockMessage, "__init__", noting)
    return counts


@pytest.mark.quick_cases("values")
@pytest.mark.parametrize(
    "selective", [_part(0.3), _part(0.5, groups="rows", refresh=2, mode="exact")], ids=["values", "rows"]
)
def test_the_model_is_the_one_of_full_masking(
    selective: SelectiveSettings, rehearse_masked: Any, masked_settings: Any
) -> None:
    """Both parts are levels of one quantiser, and each sum is exact."""
    full = rehearse_masked(_settings(masked_settings, None)).run()
    found = rehearse_masked(_settings(masked_settings, selective)).run()
    assert found.mask is not None
    assert found.mask.value_count == WEIGHTS
    assert found.losses == full.losses
    assert all(np.array_equal(found.parameters[name], values) for name, values in full.parameters.items())


def test_so_many_values_go_in_the_clear_and_layers_that_are_named_do_not(
    rehearse_masked: Any, masked_settings: Any, clear_levels: list[int]
) -> None:
    selective = _part(0.3, always=("layer_2.*",), never=("layer_1.bias",))
    state = rehearse_masked(_settings(masked_settings, selective)).run()
    assert state.mask.chosen_count == 7  # ceil(0.3 * 21)
    assert state.mask.chosen("layer_2.weight").all()
    assert not state.mask.chosen("layer_1.bias").any()
    assert set(clear_levels) == {WEIGHTS - 7}


@pytest.mark.long
def test_control_variates_are_masked_as_their_weights_are(
    rehearse_masked: Any, masked_settings: Any, clear_levels: list[int]
) -> None:
    training = replace(TRAINING, algorithm="scaffold", round_count=1)
    rehearse_masked(_settings(masked_settings, _part(0.3), training=training)).run()
    assert set(clear_levels) == {2 * (WEIGHTS - 7)}


@pytest.mark.long
def test_the_mask_is_agreed_on_anew_as_often_as_the_job_says(
    rehearse_masked: Any, masked_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups: list[str] = []
    agree = agreed_mask.AgreedMask._agree

    def noting(self: Any, group: str, *others: Any) -> Mask:
        groups.append(group)
        return agree(self, group, *others)

    monkeypatch.setattr(agreed_mask.AgreedMask, "_agree", noting)
    training = replace(TRAINING, round_count=5)
    rehearse_masked(_settings(masked_settings, _part(0.3, refresh=2), training=training)).run()
    assert sorted(groups) == sorted(["mask", "mask-3", "mask-5"] * 3)


def _other_mask(party: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of the mask that `party` masks by is another one."""
    of_update = agreed_mask.AgreedMask.of_update

    def deviating(self: Any, mask: Mask) -> Mask:
        found = of_update(self, mask)
        if self._aggregation._channel.party != party:
            return found
        chosen = {name: found.chosen(name) for name in found.sizes}
        flags = chosen["layer_1.weight"]
        flags[[np.flatnonzero(flags)[0], np.flatnonzero(~flags)[0]]] = False, True
        return Mask.from_arrays(chosen)

    monkeypatch.setattr(agreed_mask.AgreedMask, "of_update", deviating)


def test_a_party_with_one_other_bit_is_left_out_and_told(
    rehearse_masked: Any, masked_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _other_mask("c", monkeypatch)
    settings = replace(_settings(masked_settings, _part(0.3)), parties=tuple("abcde"))
    rehearsal = rehearse_masked(settings, exactness_check=False)
    rehearsal.run()
    assert rehearsal.lost_names == ["c"]
    assert "with another model, mask, bounds or counters than most" in rehearsal.reasons
    assert [record.party_count for record in rehearsal.records] == [4, 4, 4]


@pytest.mark.long
def test_a_mask_belongs_to_the_model_that_a_run_goes_on_from(rehearse_masked: Any, masked_settings: Any) -> None:
    settings = _settings(masked_settings, _part(0.3))
    first = rehearse_masked(settings)
    first.run()
    after_one = first.saved[0]
    assert rehearse_masked(settings, resume_from=after_one).run().losses == first.saved[-1].losses
    flipped = replace(after_one, mask=~after_one.mask)
    again = rehearse_masked(settings, exactness_check=False)
    run_of = again._party_run

    def party_run(name: str, *others: Any) -> Any:
        run = run_of(name, *others)
        state = flipped if name == "b" else after_one
        return replace(run, local=replace(run.local, resume_from=state.copy()))

    again.resume_from, again._party_run = after_one, party_run
    with pytest.raises((PartyStoppedError, ProtocolError)):
        again.run()
