"""Rounds of a sample of the parties under protection `lattice`: the model, losses, and a run that is resumed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import ChannelError, PartyStoppedError
from hekat.model import make_model
from hekat.protocol.secure_sum.agreement.messages import RangeMessage
from hekat.protocol.secure_sum.masked.messages import (
    DealtMessage,
    MaskedBlockMessage,
    ReleasedMessage,
    SumBeginMessage,
)
from hekat.protocol.secure_sum.participation import Participation
from hekat.protocol.secure_sum.settings import CodecSettings

NAMES = tuple("abcdefghij")
JOB_DIGEST = bytes(32)
# A round is off by at most half a level of 16 bits a party, times weight_max over the sample's rows and the rate.
ROUND_TOLERANCE = 1.5e-4


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    rng = np.random.default_rng(5)
    direction = rng.normal(size=3)
    found = {}
    for name, rows in zip(NAMES, (24, 19, 40, 17, 31, 22, 20, 28, 35, 18), strict=True):
        features = rng.normal(size=(rows, 3))
        labels = (features @ direction + 0.3 * rng.normal(size=rows) > 0).astype(np.int64)
        found[name] = Table(features, labels, ("u", "v", "w"), name)
    return found


@pytest.fixture
def sampled(masked_settings):
    """Settings of jobs in which a part of the parties trains in each of some rounds of gradient descent."""

    def make(party_count, participation=0.5, *, opening="committee", rounds=3, min_parties=0, **others):
        settings = masked_settings(3, opening, **others)
        training = replace(settings.training, round_count=rounds, participation=participation, min_parties=min_parties)
        return replace(settings, parties=NAMES[:party_count], training=training)

    return make


def sample_of(settings, number):
    return Participation(settings.sums, JOB_DIGEST).parties_in(f"round-{number}")


def expected_model(settings, tables, parties_by_round):
    """Gradient descent in floats, each round over the rows of that round's parties alone."""
    model = make_model("logistic", 3, 2)
    parameters = model.init(0)
    for parties in parties_by_round:
        chosen = [tables[party] for party in parties]
        gradients = [model.loss_and_gradient(parameters, table.features, table.labels)[1] for table in chosen]
        rows = np.array([len(table) for table in chosen])
        parameters = {
            name: values
            - settings.training.learning_rate
            * sum(count * gradient[name] for count, gradient in zip(rows, gradients, strict=True))
            / rows.sum()
            for name, values in parameters.items()
        }
    return parameters


def assert_trained_by(rehearsal, state, tables, parties_by_round):
    wanted = expected_model(rehearsal.settings, tables, parties_by_round)
    for name, values in wanted.items():
        assert np.abs(state.parameters[name] - values).max() < ROUND_TOLERANCE * len(parties_by_round), name


@pytest.mark.quick_cases("5-0.6-committee", "7-0.5-authority", "10-0.5-shared")
@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
@pytest.mark.parametrize(("party_count", "participation"), [(5, 0.6), (7, 0.5), (10, 0.5)])
def test_the_model_is_the_mean_of_the_sampled_parties_alone(
    opening, party_count, participation, sampled, tables, rehearse_masked
) -> None:
    settings = sampled(party_count, participation, opening=opening)
    rehearsal = rehearse_masked(settings, tables={name: tables[name] for name in settings.parties})
    state = rehearsal.run()
    samples = [sample_of(settings, number) for number in (1, 2, 3)]
    assert len(set(samples)) > 1
    assert_trained_by(rehearsal, state, tables, samples)
    assert [record.party_count for record in rehearsal.records] == [settings.sample_size] * 3
    assert [record.row_count for record in rehearsal.records] == [
        sum(len(tables[party]) for party in sample) for sample in samples
    ]
    assert rehearsal.lost == []
    assert len(rehearsal.exactness_check.checks) == 3


@pytest.mark.long
@pytest.mark.parametrize("clipping", ["adaptive", "daciq"])
def test_bounds_are_of_the_sample_and_the_same_everywhere(clipping, sampled, tables, play) -> None:
    """With a standardiser, of all parties, and the exponents of the first sample."""
    settings = sampled(7, codec=CodecSettings(clipping=clipping))
    settings = replace(settings, training=replace(settings.training, standardise=True))
    rehearsal, watch, error = play(
        lambda to, step, message: None, settings=settings, tables={name: tables[name] for name in settings.parties}
    )
    assert error is None
    assert [record.party_count for record in rehearsal.records] == [4, 4, 4]
    senders = watch.senders_of(RangeMessage, "round-2/")
    assert senders == (list(sample_of(settings, 2)) if clipping == "daciq" else [])
    assert set(watch.senders_of(DealtMessage, "standardise/mean")) == set(settings.parties)
    assert set(watch.senders_of(MaskedBlockMessage, "round-1/")) == set(sample_of(settings, 1))


def test_who_is_not_sampled_sends_nothing_of_its_own_but_releases(sampled, tables, rehearse_masked, meddle) -> None:
    sent = []

    def watch(to, step, message):
        sent.append((step.split("/")[0], type(message)))
        return [(step, message)]

    settings = sampled(10, rounds=2)
    away = next(name for name in settings.parties[:7] if name not in sample_of(settings, 2))
    rehearsal = rehearse_masked(settings, tables=tables, meddlers={away: meddle(watch)})
    rehearsal.run()
    kinds = [kind for step, kind in sent if step == "round-2"]
    assert not {DealtMessage, MaskedBlockMessage} & set(kinds)
    # It is a member, and releases to all.
    assert kinds.count(ReleasedMessage) == 1


def test_who_is_not_sampled_does_not_train(sampled, tables, rehearse_masked, monkeypatch) -> None:
    from hekat.protocol.horizontal.training import loop as training

    trained = []
    original = training.local_update

    def count(model, parameters, features, labels, *others, **more):
        trained.append(len(labels))
        return original(model, parameters, features, labels, *others, **more)

    monkeypatch.setattr(training, "local_update", count)
    settings = sampled(7, rounds=1)
    rehearse_masked(settings, tables={name: tables[name] for name in settings.parties}).run()
    assert sorted(trained) == sorted(len(tables[party]) for party in sample_of(settings, 1))


def test_a_party_that_is_not_sampled_says_so_in_its_ledger(sampled, tables, rehearse_masked, tmp_path) -> None:
    settings = sampled(7, rounds=1)
    tables = {name: tables[name] for name in settings.parties}
    rehearse_masked(settings, tables=tables, ledger_folder=tmp_path).run()
    for party in settings.parties:
        said = "not in the sample of this round" in (tmp_path / f"{party}.jsonl").read_text()
        assert said == (party not in sample_of(settings, 1))


# --- losses ------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_sampled_party_that_is_lost_is_left_out_and_not_replaced(sampled, tables, rehearse_masked, leave_at) -> None:
    """Five of ten, and four are enough."""
    settings = sampled(10, rounds=3)
    samples = [sample_of(settings, number) for number in (1, 2, 3)]
    lost = samples[1][-1]
    rehearsal = rehearse_masked(settings, tables=tables, hooks={lost: leave_at("round-2")})
    state = rehearsal.run()
    assert rehearsal.lost_names == [lost]
    left = [samples[0], *(tuple(party for party in sample if party != lost) for sample in samples[1:])]
    assert_trained_by(rehearsal, state, tables, left)
    assert [record.party_count for record in rehearsal.records] == [len(parties) for parties in left]


def test_a_party_that_is_lost_while_it_is_not_sampled_costs_the_round_nothing(sampled, tables, rehearse_masked) -> None:
    settings = sampled(10, rounds=2)
    samples = [sample_of(settings, number) for number in (1, 2)]
    away = next(name for name in settings.parties if name not in samples[1])
    rehearsal = rehearse_masked(settings, tables=tables, rehearsed_dropouts={away: 2})
    state = rehearsal.run()
    assert rehearsal.lost_names == [away]
    assert "left in the middle of round-2, as was asked for" in rehearsal.reasons
    assert_trained_by(rehearsal, state, tables, samples)


@pytest.mark.long
def test_fewer_than_min_parties_end_the_run_and_the_missing_are_named(
    sampled, tables, rehearse_masked, leave_at
) -> None:
    settings = sampled(10, rounds=3, min_parties=5)
    sample = sample_of(settings, 2)
    rehearsal = rehearse_masked(settings, tables=tables, hooks={sample[0]: leave_at("round-2", "deal")})
    with pytest.raises(PartyStoppedError) as caught:
        rehearsal.run()
    told = str(caught.value)
    assert f"too few parties are left for round-2; expected at least 5 of {', '.join(sample)}" in told
    assert f"got 4, lost: {sample[0]} (in step round-2/" in told
    assert rehearsal.saved[-1].rounds_done == 1
    resumed = rehearse_masked(settings, tables=tables, resume_from=rehearsal.saved[-1])
    assert_trained_by(resumed, resumed.run(), tables, [sample_of(settings, number) for number in (1, 2, 3)])


# --- resumed runs ------------------------------------------------------------------------------------------------


def stop_after_releases(rehearse_masked, meddle, settings, tables, step, **others):
    """A run whose aggregator goes down when all members have released, and none of the sum is sent."""

    def outgoing(to, name, message):
        if isinstance(message, SumBeginMessage) and name.startswith(f"{step}/"):
            raise ChannelError("the machine goes down")
        return [(name, message)]

    rehearsal = rehearse_masked(settings, tables=tables, meddlers={"hub": meddle(outgoing)}, **others)
    with pytest.raises(PartyStoppedError, match="the machine goes down"):
        rehearsal.run()
    return rehearsal


@pytest.mark.long_cases("committee")
@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_a_round_that_was_released_for_is_resumed_with_the_same_sample(
    opening, sampled, tables, rehearse_masked, meddle
) -> None:
    settings = sampled(7, opening=opening)
    tables = {name: tables[name] for name in settings.parties}
    first = stop_after_releases(rehearse_masked, meddle, settings, tables, "round-2")
    again = rehearse_masked(settings, tables=tables, resume_from=first.saved[-1])
    state = again.run()
    assert first.sessions != again.sessions
    assert again.lost == []
    assert_trained_by(again, state, tables, [sample_of(settings, number) for number in (1, 2, 3)])


@pytest.mark.long
def test_a_sampled_party_that_is_back_is_left_out_of_the_round_that_was_released_without_it(
    sampled, tables, rehearse_masked, meddle, leave_at
) -> None:
    settings = sampled(10, rounds=2)
    samples = [sample_of(settings, number) for number in (1, 2)]
    lost = samples[1][0]
    hooks = {lost: leave_at("round-2")}
    first = stop_after_releases(rehearse_masked, meddle, settings, tables, "round-2", hooks=hooks)
    again = rehearse_masked(settings, tables=tables, resume_from=first.saved[-1])
    state = again.run()
    assert again.lost_names == [lost]
    assert "round-2 was released for without its update in an earlier run" in again.reasons
    assert_trained_by(again, state, tables, [samples[0], samples[1][1:]])


@pytest.mark.long
def test_a_job_that_is_run_anew_has_the_same_samples_and_sums(sampled, tables, rehearse_masked) -> None:
    """With the state of the first run kept, members would open no other sets: there are none."""
    settings = sampled(7)
    tables = {name: tables[name] for name in settings.parties}
    first = rehearse_masked(settings, tables=tables).run()
    again = rehearse_masked(settings, tables=tables)
    second = again.run()
    assert again.lost == []
    for name, values in first.parameters.items():
        np.testing.assert_array_equal(values, second.parameters[name])
