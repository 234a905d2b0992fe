"""Malformed messages: whoever receives one refuses it in the project's own terms, and names the sender."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import BoundError, HekatError, InputError, PartyStoppedError, ProtocolError, WireCorruptError
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.aggregator import AggregatorRun, run_aggregator
from hekat.protocol.horizontal.messages import StartMessage
from hekat.protocol.horizontal.party import run_party
from hekat.protocol.horizontal.settings import TrainingSettings
from hekat.protocol.secure_sum.agreement.messages import ClipMessage, RangeMessage
from hekat.protocol.secure_sum.paillier.messages import UpdateMessage
from hekat.protocol.secure_sum.plain.messages import PlainMeanMessage, PlainUpdateMessage
from hekat.protocol.secure_sum.settings import CodecSettings
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.paillier import Ciphertexts
from hekat.wire import body, from_bytes, to_bytes

TRAINING = TrainingSettings(algorithm="fedsgd", round_count=1, batch_rows=0, standardise=False)
DACIQ = CodecSettings(clipping="daciq")


class Altering:
    """A role's channel that alters each message of one type before it goes out."""

    def __init__(self, channel: RecordedChannel, message_type: type, change) -> None:
        self._channel, self._type, self._change = channel, message_type, change

    def __getattr__(self, name: str):
        return getattr(self._channel, name)

    def send(self, to: str, step: str, message) -> None:
        self._channel.send(to, step, self._change(message) if isinstance(message, self._type) else message)


def stop_of(rehearsal, sender: str, message_type: type, change) -> PartyStoppedError:
    settings = rehearsal.settings

    def play(channel):
        altering = Altering(channel, message_type, change)
        if sender == settings.aggregator:
            return run_aggregator(altering, settings, AggregatorRun(Stopwatch()))
        return run_party(altering, rehearsal.tables[sender], settings, rehearsal._party_run(sender, channel, None))

    rehearsal.stand_ins = {sender: play}
    with pytest.raises(PartyStoppedError) as caught:
        rehearsal.run()
    assert rehearsal.records == [], "nothing was learnt from a malformed message"
    return caught.value


def reshaped(key, shape):
    def change(message: UpdateMessage) -> UpdateMessage:
        found = from_bytes(message.ciphertexts, Ciphertexts, public_key=key)
        return UpdateMessage(
            ciphertexts=to_bytes(found.take(np.zeros(max(1, int(np.prod(shape))), int)).reshape(shape))
        )

    return change


@pytest.mark.parametrize("sender", ["a", "b"])
@pytest.mark.parametrize("shape", [(), (1, 1), (7,)])
def test_updates_of_another_shape(sender, shape, rehearse, tables_of, settings_of, key_pair) -> None:
    rehearsal = rehearse(settings_of(training=TRAINING), tables_of(1), exactness_check=False)
    stop = stop_of(rehearsal, sender, UpdateMessage, reshaped(key_pair.public, shape))
    assert stop.party == "hub"
    assert isinstance(stop.__cause__, InputError)
    # A first row of ciphertexts sets the size that the next party is held against.
    named = "b" if shape == (7,) else sender
    assert f"party {named} sent an update of another size" in str(stop)


RANGES = {
    "short minimum": lambda m: replace(m, minimum=m.minimum[:1]),
    "no tensors": lambda m: replace(m, minimum=m.minimum[:0], maximum=m.maximum[:0], sizes=m.sizes[:0]),
    "0-d": lambda m: replace(m, minimum=np.array(1.0), maximum=np.array(2.0)),
    "other sizes": lambda m: replace(m, sizes=m.sizes + 1),
    "crossed": lambda m: replace(m, minimum=m.maximum + 1.0),
    "infinite": lambda m: replace(m, maximum=m.maximum + np.inf),
    "not numbers": lambda m: replace(m, minimum=m.minimum * np.nan),
}


OTHER_TENSORS = ("no tensors", "other sizes")


@pytest.mark.parametrize("change", RANGES)
def test_ranges_that_cannot_be(change, rehearse, tables_of, settings_of) -> None:
    rehearsal = rehearse(settings_of(training=TRAINING, codec=DACIQ), tables_of(1), exactness_check=False)
    stop = stop_of(rehearsal, "b", RangeMessage, RANGES[change])
    assert (stop.party, type(stop.__cause__)) == ("hub", InputError if change not in OTHER_TENSORS else ProtocolError)
    assert "party b" in str(stop)
    assert "ranges" in str(stop)


BOUNDS = {
    "too few": lambda m: ClipMessage(alpha=m.alpha[:1]),
    "too many": lambda m: ClipMessage(alpha=np.append(m.alpha, 1.0)),
    "0-d": lambda m: ClipMessage(alpha=np.array(1.0)),
    "zero": lambda m: ClipMessage(alpha=m.alpha * 0),
    "negative": lambda m: ClipMessage(alpha=-m.alpha),
    "infinite": lambda m: ClipMessage(alpha=m.alpha + np.inf),
    "not numbers": lambda m: ClipMessage(alpha=m.alpha * np.nan),
}


@pytest.mark.parametrize("change", BOUNDS)
def test_clipping_bounds_that_cannot_be(change, rehearse, tables_of, settings_of) -> None:
    rehearsal = rehearse(settings_of(training=TRAINING, codec=DACIQ), tables_of(1), exactness_check=False)
    stop = stop_of(rehearsal, "hub", ClipMessage, BOUNDS[change])
    assert stop.party in ("a", "b", "c")
    assert isinstance(stop.__cause__, WireCorruptError)
    assert "the answer of hub to round-1" in str(stop)


def test_a_start_with_other_parties_than_the_jobs(rehearse, tables_of, settings_of) -> None:
    rehearsal = rehearse(settings_of(training=TRAINING), tables_of(1), exactness_check=False)
    stop = stop_of(rehearsal, "hub", StartMessage, lambda message: StartMessage(party_count=4))
    assert isinstance(stop.__cause__, WireCorruptError)
    assert "3 parties, as in the job" in str(stop)


PLAIN_UPDATES = {
    "fewer values": lambda m: replace(m, values=m.values[1:]),
    "0-d values": lambda m: replace(m, values=np.array(1.0)),
    "fewer counters": lambda m: replace(m, counters=m.counters[1:]),
    "narrow counters": lambda m: replace(m, counters=m.counters[:, :1]),
    "flat counters": lambda m: replace(m, counters=m.counters.ravel()),
    "no rows": lambda m: replace(m, weight=0),
    "too many rows": lambda m: replace(m, weight=65),
}


@pytest.mark.parametrize("change", PLAIN_UPDATES)
def test_updates_in_the_clear_that_cannot_be(change, rehearse, tables_of, settings_of) -> None:
    rehearsal = rehearse(settings_of(training=TRAINING, protection="none"), tables_of(1))
    stop = stop_of(rehearsal, "b", PlainUpdateMessage, PLAIN_UPDATES[change])
    assert (stop.party, type(stop.__cause__)) == ("hub", InputError)
    assert "party b sent" in str(stop)


PLAIN_MEANS = {
    "fewer values": lambda m: replace(m, values=m.values[1:]),
    "0-d values": lambda m: replace(m, values=np.array(1.0)),
    "fewer counters": lambda m: replace(m, counters=m.counters[1:]),
    "no rows": lambda m: replace(m, weight_sum=0),
    "too many rows": lambda m: replace(m, weight_sum=3 * 64 + 1),
}


@pytest.mark.parametrize("change", PLAIN_MEANS)
def test_means_in_the_clear_that_cannot_be(change, rehearse, tables_of, settings_of) -> None:
    rehearsal = rehearse(settings_of(training=TRAINING, protection="none"), tables_of(1))
    stop = stop_of(rehearsal, "hub", PlainMeanMessage, PLAIN_MEANS[change])
    assert stop.party in ("a", "b", "c")
    assert isinstance(stop.__cause__, HekatError)
    assert "the answer of hub to round-1" in str(stop)


def test_plain_counters_of_very_many_columns_travel(rehearse, settings_of, monkeypatch) -> None:
    """As of 3,300 columns and more, where a message may have as many items as it really may."""
    monkeypatch.setattr(body, "MAX_ITEM_COUNT", 3000)
    column_count = 40  # times 81 exponents: more items than a list in a message may then have
    rng = np.random.default_rng(1)
    names = tuple(f"x{number}" for number in range(column_count))
    tables = {
        name: Table(rng.normal(size=(4, column_count)), np.arange(4) % 2, names, name) for name in ("a", "b", "c")
    }
    settings = settings_of(training=replace(TRAINING, standardise=True), protection="none")
    found = rehearse(settings, tables).run().standardiser
    pooled = np.concatenate([table.features for table in tables.values()])
    assert np.allclose(found.spread, pooled.std(axis=0), rtol=1e-9)


@pytest.mark.parametrize(
    ("standardise", "what"), [(True, "the sum of row counts"), (False, "the sum of counter 'loss'")]
)
def test_plain_totals_that_cannot_be_are_refused(standardise, what, rehearse, tables_of, settings_of) -> None:
    """No rows at all, or a loss beyond every bound: a division by zero or a wild number would follow."""
    settings = settings_of(training=replace(TRAINING, standardise=standardise), protection="none")

    def change(message: PlainMeanMessage) -> PlainMeanMessage:
        counters = np.zeros_like(message.counters) if standardise else np.full_like(message.counters, 2**63)
        if standardise:
            counters[:-1, 0] = 3  # every power of two at three parties, and no rows
        return replace(message, counters=counters)

    stop = stop_of(rehearse(settings, tables_of(1)), "hub", PlainMeanMessage, change)
    assert isinstance(stop.__cause__, BoundError)
    assert what in str(stop)
