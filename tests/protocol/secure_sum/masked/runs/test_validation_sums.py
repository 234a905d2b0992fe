"""Validation under protection `lattice`: every way of opening, parties that are lost, and runs that are resumed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import ChannelError, PartyStoppedError
from hekat.model import evaluate
from hekat.protocol.horizontal.sums_ahead import plan_sums
from hekat.protocol.horizontal.training.local_run import build_model
from hekat.protocol.horizontal.training.validation import FINAL_STEP, hold_out
from hekat.protocol.horizontal.validation_settings import ValidationSettings
from hekat.protocol.secure_sum.masked.messages import DealersMessage, SumBeginMessage
from hekat.protocol.secure_sum.settings import CodecSettings

HALF = ValidationSettings(hold_out=0.5)


@pytest.fixture
def validated(masked_settings):
    """Settings of some parties with rows held out and that many rounds."""

    def make(party_count=5, opening="committee", *, round_count=2, **training):
        settings = masked_settings(party_count, opening)
        training = replace(settings.training, round_count=round_count, **training)
        return replace(settings, training=training, validation=HALF, codec=CodecSettings())

    return make


@pytest.fixture
def stop_at(rehearse_masked, meddle):
    """Plays a run whose aggregator goes down in the last validation, as soon as it would send such a message."""

    def play(settings, kind, **others):
        def outgoing(to, name, message):
            if isinstance(message, kind) and name.startswith(f"{FINAL_STEP}/"):
                raise ChannelError("the machine goes down")
            return [(name, message)]

        rehearsal = rehearse_masked(settings, meddlers={"hub": meddle(outgoing)}, **others)
        with pytest.raises(PartyStoppedError, match="the machine goes down"):
            rehearsal.run()
        return rehearsal

    return play


def assert_pooled(final, state, settings, tables, parties) -> None:
    """The metrics are those of the held-out rows of these parties."""
    held = [hold_out(tables[party], settings)[1] for party in parties]
    features = np.concatenate([table.features for table in held])
    labels = np.concatenate([table.labels for table in held])
    model = build_model(settings, features.shape[1])
    expected = evaluate(model, state.parameters, state.standardiser.apply(features), labels)
    assert final["rows"] == len(labels)
    assert final["accuracy"] == expected["accuracy"]
    assert final["log_loss"] == pytest.approx(expected["log_loss"], rel=1e-13)
    assert abs(final["auc"] - expected["auc"]) <= final["auc_error"] + 1e-12


@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_every_way_of_opening_validates(opening, validated, rehearse_masked, masked_tables) -> None:
    settings, tables = validated(opening=opening), masked_tables()
    rehearsal = rehearse_masked(settings)
    state = rehearsal.run()
    assert rehearsal.lost == []
    assert_pooled(rehearsal.records[1].validation, rehearsal.saved[0], settings, tables, settings.parties)
    assert_pooled(state.validation.final, state, settings, tables, settings.parties)
    # The last packing that is told of is that of an update, not of the validation after it.
    assert rehearsal.packing.lane_count > 4


@pytest.mark.parametrize(("step", "part"), [("round-2", "sign"), ("round-2", "open"), (FINAL_STEP, "deal")])
def test_rows_of_a_lost_party_are_left_out(step, part, validated, rehearse_masked, masked_tables, leave_at) -> None:
    settings, tables = validated(5), masked_tables()
    rehearsal = rehearse_masked(settings, hooks={"c": leave_at(step, part)})
    state = rehearsal.run()
    left = [party for party in settings.parties if party != "c"]
    assert rehearsal.lost_names == ["c"]
    assert_pooled(state.validation.final, state, settings, tables, left)
    in_second = left if (step, part) == ("round-2", "sign") else settings.parties
    assert_pooled(rehearsal.records[1].validation, rehearsal.saved[0], settings, tables, in_second)


def test_the_last_validation_is_a_group_of_its_own_in_every_run(validated) -> None:
    settings = validated(round_count=3)
    assert plan_sums(settings).ahead == ("round-1", "round-2", "round-3", "validation")
    assert plan_sums(settings, 3).ahead == ("validation",)
    assert plan_sums(replace(settings, validation=ValidationSettings()), 3).ahead == ()


@pytest.mark.long
@pytest.mark.parametrize("kind", [DealersMessage, SumBeginMessage])
def test_a_run_that_stops_in_the_last_validation_is_resumed_for_it(
    kind, validated, stop_at, rehearse_masked, masked_tables
) -> None:
    """Before and after members released; after the stop rule ended training early."""
    settings = validated(round_count=9, patience=1, min_improvement=1e9)
    first = stop_at(settings, kind)
    ended = first.saved[-1]
    assert ended.finished
    assert ended.rounds_done == 2
    assert ended.validation.final is None
    resumed = rehearse_masked(settings, resume_from=ended)
    state = resumed.run()
    assert resumed.records == []
    assert resumed.lost == []
    assert_pooled(state.validation.final, state, settings, masked_tables(), settings.parties)
    assert [saved.sums_done for saved in resumed.saved] == [3]


@pytest.mark.long
def test_a_last_validation_that_was_released_for_keeps_its_parties(
    validated, stop_at, rehearse_masked, masked_tables, leave_at
) -> None:
    """Released without e in one run; in the next one e is back, and is left out of this sum."""
    settings, tables = validated(5), masked_tables()
    first = stop_at(settings, SumBeginMessage, hooks={"e": leave_at(FINAL_STEP, "deal")})
    resumed = rehearse_masked(settings, resume_from=first.saved[-1])
    state = resumed.run()
    assert resumed.lost_names == ["e"]
    assert_pooled(state.validation.final, state, settings, tables, settings.parties[:-1])


@pytest.mark.long
def test_a_resumed_run_equals_one_that_was_not_interrupted(validated, rehearse_masked, tmp_path) -> None:
    settings = validated(4, round_count=3, patience=2, min_improvement=0.0)
    whole = rehearse_masked(settings)
    state = whole.run()
    for number, earlier in enumerate(whole.saved[:-1]):
        again = rehearse_masked(settings, resume_from=earlier, state_folder=tmp_path / f"after-{number}").run()
        assert again.validation.by_round == state.validation.by_round
        assert again.validation.final == state.validation.final
        np.testing.assert_array_equal(again.validation.edges, state.validation.edges)
        for name, values in state.parameters.items():
            assert values.tobytes() == again.parameters[name].tobytes()


@pytest.mark.long
def test_where_a_round_is_of_a_sample_scores_are_summed_at_the_end_alone(
    validated, rehearse_masked, masked_tables
) -> None:
    """Sums of scores over changing parties would tell how many rows of a class each of them holds out."""
    settings = validated(8)
    settings = replace(settings, training=replace(settings.training, participation=0.5))
    rehearsal = rehearse_masked(settings)
    state = rehearsal.run()
    for record in rehearsal.records:
        assert set(record.validation) == {"rows", "accuracy", "log_loss"}
        assert record.party_count == 4
    assert_pooled(state.validation.final, state, settings, masked_tables(), settings.parties)
