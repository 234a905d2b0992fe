"""Rounds of a sample of the parties under `paillier` and `none`: the model, the layouts, and what is sent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import PartyStoppedError, WireCorruptError
from hekat.ledger import RecordedChannel
from hekat.model import make_model
from hekat.protocol.horizontal.settings import TrainingSettings
from hekat.protocol.secure_sum.paillier.messages import SumMessage, UpdateMessage
from hekat.protocol.secure_sum.participation import Participation
from hekat.protocol.secure_sum.settings import CodecSettings

NAMES = tuple("abcdefg")
TRAINING = TrainingSettings(
    algorithm="fedsgd", round_count=2, batch_rows=0, learning_rate=0.5, standardise=False, participation=0.5
)
FIXED = CodecSettings(clipping="fixed", alpha=4.0)


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    rng = np.random.default_rng(8)
    direction = rng.normal(size=3)
    found = {}
    for name, rows in zip(NAMES, (24, 19, 40, 17, 31, 22, 20), strict=True):
        features = rng.normal(size=(rows, 3))
        labels = (features @ direction + 0.3 * rng.normal(size=rows) > 0).astype(np.int64)
        found[name] = Table(features, labels, ("u", "v", "w"), name)
    return found


def samples_of(settings):
    samples = Participation(settings.sums, bytes(32))
    return [samples.parties_in(f"round-{number}") for number in range(1, settings.training.round_count + 1)]


def descend(tables, samples, rate=0.5):
    """Gradient descent in floats, each round over the rows of its sample alone."""
    model = make_model("logistic", 3, 2)
    parameters = model.init(0)
    for sample in samples:
        chosen = [tables[party] for party in sample]
        gradients = [model.loss_and_gradient(parameters, table.features, table.labels)[1] for table in chosen]
        rows = sum(len(table) for table in chosen)
        parameters = {
            name: values
            - rate * sum(len(t) * gradient[name] for t, gradient in zip(chosen, gradients, strict=True)) / rows
            for name, values in parameters.items()
        }
    return parameters


@pytest.mark.quick_cases("balanced-adaptive-5", "offset-daciq-7", "two_sign_bits-fixed-5", "none-7")
@pytest.mark.parametrize("party_count", [5, 7])
@pytest.mark.parametrize(
    ("protection", "codec"),
    [
        ("none", FIXED),
        ("paillier", FIXED),
        ("paillier", replace(FIXED, layout="two_sign_bits")),
        ("paillier", CodecSettings(layout="offset", clipping="daciq")),
        ("paillier", CodecSettings()),
    ],
    ids=["none", "balanced-fixed", "two_sign_bits-fixed", "offset-daciq", "balanced-adaptive"],
)
def test_the_model_is_the_mean_of_the_sampled_parties_alone(
    protection, codec, party_count, tables, rehearse, settings_of
) -> None:
    training = replace(TRAINING, participation=0.6 if party_count == 5 else 0.5)
    settings = settings_of(training=training, codec=codec, protection=protection, parties=NAMES[:party_count])
    chosen = {name: tables[name] for name in settings.parties}
    run = rehearse(settings, chosen)
    state = run.run()
    samples = samples_of(settings)
    assert len(set(samples)) == 2
    # Fitted bounds cut something off. Without that each sum is off by half a level of 16 bits a party.
    tolerance = 1e-12 if protection == "none" else 1e-3 if codec.clipping == "fixed" else 0.05
    for name, values in descend(tables, samples).items():
        assert np.abs(state.parameters[name] - values).max() < tolerance, name
    assert [record.party_count for record in run.records] == [settings.sample_size] * 2
    assert [record.row_count for record in run.records] == [sum(len(tables[p]) for p in s) for s in samples]
    if protection == "paillier":
        assert [check.step for check in run.exactness_check.checks] == ["round-1", "round-2"]
        assert all(check.largest_error <= check.bound for check in run.exactness_check.checks)


@pytest.mark.long
def test_a_standardiser_is_of_all_parties(tables, rehearse, settings_of) -> None:
    settings = settings_of(training=replace(TRAINING, standardise=True), protection="none", parties=NAMES)
    state = rehearse(settings, tables).run()
    rows = np.concatenate([table.features for table in tables.values()])
    np.testing.assert_allclose(state.standardiser.mean, rows.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(state.standardiser.spread, rows.std(axis=0), rtol=1e-6)


def test_who_is_not_sampled_encrypts_and_sends_nothing(tables, rehearse, settings_of, monkeypatch) -> None:
    sent, original = [], RecordedChannel.send

    def send(channel, to, step, message):
        if isinstance(message, UpdateMessage):
            sent.append((step, channel.party))
        return original(channel, to, step, message)

    monkeypatch.setattr(RecordedChannel, "send", send)
    settings = settings_of(training=TRAINING, codec=FIXED, parties=NAMES)
    rehearse(settings, tables).run()
    wanted = [
        (f"round-{number}/update", party) for number, sample in enumerate(samples_of(settings), 1) for party in sample
    ]
    assert sorted(sent) == sorted(wanted)


def test_a_lane_has_room_for_the_sample_and_no_more(tables, rehearse, settings_of) -> None:
    """Of four addends a lane is a bit narrower than of seven."""
    lane_bits = []
    for participation in (0.5, 1.0):
        training = replace(TRAINING, participation=participation)
        run = rehearse(settings_of(training=training, codec=FIXED, parties=NAMES), tables)
        run.run()
        lane_bits.append(run.packing.lane_bits)
    assert lane_bits[0] < lane_bits[1]


@pytest.mark.parametrize("count", [3, 7])
def test_a_sum_of_another_number_of_updates_is_refused(count, tables, rehearse, settings_of, monkeypatch) -> None:
    original = RecordedChannel.send

    def send(channel, to, step, message):
        if isinstance(message, SumMessage):
            message = replace(message, addend_count=count)
        return original(channel, to, step, message)

    monkeypatch.setattr(RecordedChannel, "send", send)
    with pytest.raises(PartyStoppedError, match="of 4 parties") as caught:
        rehearse(settings_of(training=TRAINING, codec=FIXED, parties=NAMES), tables).run()
    assert isinstance(caught.value.__cause__, WireCorruptError)


@pytest.mark.parametrize("protection", ["none", "paillier"])
def test_a_failing_party_ends_the_run_sampled_or_not(protection, tables, rehearse, settings_of) -> None:
    settings = settings_of(training=TRAINING, codec=FIXED, protection=protection, parties=NAMES)
    sample = samples_of(settings)[0]
    for name in (sample[0], next(name for name in NAMES if name not in sample)):

        def fail(channel):
            raise WireCorruptError("broken here")

        with pytest.raises(PartyStoppedError, match=f"party '{name}' stopped"):
            rehearse(settings, tables, stand_ins={name: fail}).run()
