"""What a job with differential privacy may not ask for beside it, and what its noise follows from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hekat.errors import InputError
from hekat.privacy import MaskRules
from hekat.protocol.horizontal.privacy_settings import PrivacySettings
from hekat.protocol.horizontal.selective_settings import SelectiveSettings
from hekat.protocol.horizontal.settings import HorizontalSettings, ModelSettings, TrainingSettings
from hekat.protocol.horizontal.validation_settings import ValidationSettings
from hekat.protocol.secure_sum.settings import CodecSettings

ROWS = PrivacySettings(unit="row", clip=1.0, delta=1e-5, noise=1.0, divisor=100)
TRAINING = TrainingSettings(algorithm="fedsgd", standardise=False)


def _settings(privacy: PrivacySettings = ROWS, **changes: Any) -> HorizontalSettings:
    job: dict[str, Any] = {
        "parties": ("a", "b", "c", "d", "e"),
        "aggregator": "hub",
        "classes": ("no", "yes"),
        "weight_max": 64,
        "training": TRAINING,
        "codec": CodecSettings(value_bits=24),
        "privacy": privacy,
    }
    return HorizontalSettings(**{**job, **changes})


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"protection": "none"}, "protection.kind"),
        ({"protection": "paillier"}, "protection.kind"),
        ({"opening": "shared"}, "protection.kind"),
        ({"training": replace(TRAINING, standardise=True)}, "training.standardise"),
        ({"training": replace(TRAINING, algorithm="fedavg")}, "training.algorithm"),
        ({"training": replace(TRAINING, algorithm="lbfgs")}, "training.algorithm"),
        ({"training": replace(TRAINING, error_feedback=True)}, "training.error_feedback"),
        ({"training": replace(TRAINING, keep=0.5)}, "training.keep"),
        ({"training": replace(TRAINING, batch_rows=8)}, "training.batch_rows"),
        ({"selective": SelectiveSettings(MaskRules(0.1))}, "protection.masked"),
        ({"validation": ValidationSettings(hold_out=0.2)}, "validation.hold_out"),
        ({"validation": ValidationSettings(folds=3)}, "validation.folds"),
        ({"codec": CodecSettings(clipping="daciq")}, "codec.clipping"),
        ({"codec": CodecSettings(rounding="stochastic")}, "codec.rounding"),
        ({"codec": CodecSettings(alpha=1.0)}, "codec.alpha"),
        ({"codec": CodecSettings(max_norm=1.0)}, "codec.max_norm"),
        ({"fills": ("mean",)}, "columns"),
        ({"found": ("town",)}, "columns"),
    ],
)
def test_what_sums_exactly_is_refused_by_name(changes: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, match=f"setting {name} refused in a job with differential privacy"):
        _settings(**changes)


def test_states_of_a_party_are_refused_for_whole_updates_too() -> None:
    party = PrivacySettings(unit="party", clip=1.0, delta=1e-3, noise=1.0)
    assert _settings(party, training=replace(TRAINING, algorithm="fedavg")).privacy == party
    for algorithm in ("scaffold", "lbfgs"):
        with pytest.raises(InputError, match=r"training\.algorithm"):
            _settings(party, training=replace(TRAINING, algorithm=algorithm))


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"unit": "person"}, "unit"),
        ({"clip": 0.0}, "clip"),
        ({"clip": float("nan")}, "clip"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"noise": None}, "noise"),
        ({"epsilon": 3.0}, "noise"),
        ({"divisor": None}, "divisor"),
        ({"neighbours": "add-remove"}, "neighbours"),
        ({"batches": "shuffled"}, "batches"),
        ({"sampling": 0.1}, "sampling"),
        ({"batches": "poisson-secret"}, "sampling"),
        ({"batches": "poisson-secret", "sampling": 1.5}, "sampling"),
        ({"unit": "party", "batches": "poisson-secret", "sampling": 0.1}, "batches"),
        ({"moments": {"age": (1.0, 0.0)}}, "moments.age"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(changes: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, match=rf"setting privacy\.{name} refused"):
        replace(ROWS, **changes)


@pytest.mark.parametrize("colluders", [0, 4, 9])
def test_a_coalition_leaves_somebody_whose_noise_counts(colluders: int) -> None:
    """Sums of five parties may have four: three of these may join the reader at most, who is one of them."""
    with pytest.raises(InputError, match=r"privacy\.colluders"):
        _settings(replace(ROWS, colluders=colluders))


def test_delta_for_parties_is_below_one_over_them() -> None:
    with pytest.raises(InputError, match=r"privacy\.delta"):
        _settings(PrivacySettings(unit="party", clip=1.0, delta=0.25, noise=1.0))


def test_the_claims_coalition_is_all_but_two_of_the_smallest_sum() -> None:
    plan = _settings().plan_privacy(10)
    assert plan is not None
    assert plan.colluders == 2
    assert plan.mechanism.honest == 2
    assert plan.claimed.noise == 1.0
    assert plan.at_one.noise == pytest.approx((3 / 2) ** 0.5)
    assert plan.claimed.value_count == 11  # and the loss
    fewer = _settings(training=replace(TRAINING, min_parties=5)).plan_privacy(10)
    assert fewer is not None
    assert fewer.mechanism.honest == 2
    assert fewer.colluders == 3


def test_noise_follows_from_a_wanted_epsilon() -> None:
    pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")
    from hekat.privacy.accounting import epsilon_of

    wanted = _settings(replace(ROWS, noise=None, epsilon=2.0), training=replace(TRAINING, round_count=7))
    plan = wanted.plan_privacy(10)
    assert plan is not None
    assert 1.98 < epsilon_of({plan.claimed: 7}, 1e-5) <= 2.0


def test_lanes_that_cannot_hold_the_noise_name_the_bits_that_can() -> None:
    narrow = _settings(codec=CodecSettings(value_bits=8))
    with pytest.raises(InputError, match="lanes of 8 bits cannot hold the noise") as refused:
        narrow.plan_privacy(1000)
    bits = int(refused.value.cure.removeprefix("set codec.value_bits = "))
    assert _settings(codec=CodecSettings(value_bits=bits)).plan_privacy(1000) is not None


def test_columns_take_public_moments_by_name() -> None:
    privacy = replace(ROWS, moments={"age": (50.0, 20.0)})
    mean, spread = privacy.moments_of(("height", "age"))
    assert mean.tolist() == [0.0, 50.0]
    assert spread.tolist() == [1.0, 20.0]
    with pytest.raises(InputError, match="no column 'age'"):
        privacy.moments_of(("height",))


def test_exact_jobs_have_no_noise() -> None:
    assert _settings(privacy=None).plan_privacy(10) is None
    assert ModelSettings().own_l2 == 0
