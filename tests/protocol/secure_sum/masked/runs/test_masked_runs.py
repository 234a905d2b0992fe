"""Runs without trouble: every opener, party count, value size and clipping against the float mean and plain runs."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hekat.errors import InputError, PartyStoppedError, PolicyError, StateError
from hekat.protocol.horizontal.settings import TrainingSettings
from hekat.protocol.secure_sum.settings import CodecSettings

OPENINGS = ("committee", "authority", "shared")
FEDAVG = TrainingSettings(algorithm="fedavg", round_count=3, batch_rows=8, local_epochs=2)
FEDSGD = TrainingSettings(algorithm="fedsgd", round_count=3, batch_rows=0, learning_rate=0.3)
ADAM = TrainingSettings(algorithm="fedsgd", round_count=3, batch_rows=8, learning_rate=0.05, optimiser="adam")
CASES = {
    "committee-fedavg-adaptive": ("committee", FEDAVG, CodecSettings()),
    "authority-fedavg-adaptive-stochastic": ("authority", FEDAVG, CodecSettings(rounding="stochastic")),
    "shared-fedsgd-daciq": ("shared", FEDSGD, CodecSettings(clipping="daciq")),
    "committee-fedsgd-daciq-stochastic": (
        "committee",
        FEDSGD,
        CodecSettings(clipping="daciq", rounding="stochastic"),
    ),
    "committee-adam-fixed": ("committee", ADAM, CodecSettings(clipping="fixed", alpha=2.0)),
}


def plain(settings, rehearse_masked):
    """The same run without protection; it keeps no state."""
    return rehearse_masked(replace(settings, protection="none", authority=None), exactness_check=False).run()


@pytest.mark.long_cases(
    "authority-fedavg-adaptive-stochastic",
    "committee-fedsgd-daciq-stochastic",
    "committee-adam-fixed",
    "committee-fedavg-adaptive",
)
@pytest.mark.parametrize("case", CASES)
def test_every_sum_is_within_the_stated_bound_of_the_float_one(case, rehearse_masked, masked_settings) -> None:
    opening, training, codec = CASES[case]
    settings = masked_settings(5, opening, training=training, codec=codec)
    rehearsal = rehearse_masked(settings)
    state = rehearsal.run()
    checks = rehearsal.exactness_check.checks
    assert [check.step for check in checks] == ["standardise/mean", "standardise/variance"] + [
        f"round-{number}" for number in (1, 2, 3)
    ]
    assert all(0 < check.largest_error <= check.bound for check in checks)
    assert rehearsal.lost == []
    assert [record.party_count for record in rehearsal.records] == [5, 5, 5]
    assert [saved.rounds_done for saved in rehearsal.saved] == [1, 2, 3]
    floats = plain(settings, rehearse_masked)
    assert np.allclose(state.standardiser.mean, floats.standardiser.mean, atol=1e-7)
    assert np.allclose(state.standardiser.spread, floats.standardiser.spread, rtol=1e-6)
    if training is not ADAM and not any(record.clipped_count for record in rehearsal.records):
        # Each round is off by its own bound; what gradients make of that is of second order.
        drift = 4 * sum(check.bound for check in checks[2:])
        for name, values in floats.parameters.items():
            assert np.abs(state.parameters[name] - values).max() <= drift, name


@pytest.mark.quick_values
@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("party_count", [2, 3, 8])
def test_any_number_of_parties(opening, party_count, rehearse_masked, masked_settings, expect_step) -> None:
    settings = masked_settings(party_count, opening)
    rehearsal = rehearse_masked(settings)
    expect_step(rehearsal.run(), settings.parties)
    (record,), (check,) = rehearsal.records, rehearsal.exactness_check.checks
    assert record.party_count == party_count
    assert 0 < check.largest_error <= check.bound


@pytest.mark.parametrize(
    ("opening", "value_bits"),
    [("committee", bits) for bits in (1, 8, 12, 16, 24, 32)] + [("authority", 24), ("shared", 32)],
)
def test_any_size_of_values(opening, value_bits, rehearse_masked, masked_settings) -> None:
    rehearsal = rehearse_masked(
        masked_settings(3, opening, codec=CodecSettings(value_bits=value_bits, clipping="fixed", alpha=0.5))
    )
    rehearsal.run()
    (check,) = rehearsal.exactness_check.checks
    assert 0 < check.largest_error <= check.bound
    # Half a step between levels for each of the three parties, over 73 rows of weight_max 64.
    half_step = 0.5 / max(1, 2**value_bits - 2)
    assert check.bound == pytest.approx(half_step * 3 * 64 / 73, rel=1e-6)


@pytest.mark.parametrize("party_count", [5, 8])
def test_any_other_set_of_parties_would_give_another_step(party_count, masked_tables, float_step, expect_step) -> None:
    """What the tests of losses stand on: the tolerance tells sets of parties apart."""
    tables = masked_tables()
    everyone = tuple(tables)[:party_count]
    for left_out in everyone:
        rest = [name for name in everyone if name != left_out]
        state = SimpleNamespace(parameters=float_step(rest, tables))
        expect_step(state, rest)
        with pytest.raises(AssertionError):
            expect_step(state, everyone)


@pytest.mark.long
def test_a_resumed_run_goes_on_with_later_upload_numbers(rehearse_masked, masked_settings) -> None:
    settings = masked_settings(training=replace(FEDAVG, standardise=False))
    whole = rehearse_masked(settings)
    state = whole.run()
    assert {states.uploads.next_value for states in whole.upload_states.values()} == {3}
    resumed = rehearse_masked(settings, resume_from=whole.saved[0])
    again = resumed.run()
    assert {states.uploads.next_value for states in resumed.upload_states.values()} == {5}
    assert whole.saved[0].rounds_done == 1
    assert [check.step for check in resumed.exactness_check.checks] == ["round-2", "round-3"]
    # Nearest rounding and exact sums: the same bytes, although every upload differs.
    for name, values in state.parameters.items():
        assert values.tobytes() == again.parameters[name].tobytes()


def test_two_parties_have_to_be_allowed_and_no_lane_is_anything_but_balanced(masked_settings) -> None:
    with pytest.raises(PolicyError, match="learn each other's update"):
        replace(masked_settings(2), allow_two_parties=False)
    with pytest.raises(InputError, match="balanced"):
        masked_settings(codec=CodecSettings(layout="offset"))


@pytest.mark.parametrize("role", ["c", "notary"])
def test_without_a_state_folder_nobody_takes_part(role, rehearse_masked, masked_settings) -> None:
    rehearsal = rehearse_masked(masked_settings(3, "authority"))
    rehearsal.upload_states = {name: state for name, state in rehearsal.upload_states.items() if name != role}
    with pytest.raises(PartyStoppedError) as caught:
        rehearsal.run()
    assert caught.value.party == role
    assert isinstance(caught.value.__cause__, StateError)
