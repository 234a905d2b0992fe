"""Memory for large vectors: at a party its values and their mean, at the aggregator one sum and one upload."""

from __future__ import annotations

import hashlib
import tracemalloc
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hekat.protocol.secure_sum.aggregation import SumRequest
from hekat.protocol.secure_sum.masked.aggregator import MaskedSummation
from hekat.protocol.secure_sum.masked.group.group_parties import GroupParties
from hekat.protocol.secure_sum.masked.messages import (
    BeginMessage,
    DealtMessage,
    IncludedMessage,
    MaskedBlockMessage,
    OpenedMessage,
    OutcomeMessage,
    StatementMessage,
    SumBeginMessage,
    SumBlockMessage,
    UploadMessage,
)
from hekat.protocol.secure_sum.masked.opening.included import upload_digest_of
from hekat.protocol.secure_sum.masked.opening.shared import draw_salt, salt_digest
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext
from hekat.protocol.secure_sum.masked.party import MaskedAggregation
from hekat.protocol.secure_sum.masked.slot_stream import BLOCK_SLOTS
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.lattice import Accumulator, SecretSum, block_values, choose_parameters, generate_secret
from hekat.wire import to_bytes

SESSION = b"s" * 32
# A block's levels, bytes and sums, and what the engine keeps between calls.
CONSTANT_BYTES = 8 << 20


class Disk:
    """An aggregator, as one party sees it, that adds nothing and keeps blocks in a file: its sum is of one update."""

    def __init__(self, folder: Path, parameters) -> None:
        self.party, self.session_id = "a", SESSION
        self.ledger = SimpleNamespace(note=lambda *others: None)
        self._parameters = parameters
        self._path = folder / "blocks"
        self._sizes: list[tuple[int, int]] = []
        self._left = 0
        self.sent_bytes = 0

    def counting_as(self, step: str) -> nullcontext:
        return nullcontext()

    def send(self, to: str, step: str, message, timeout_s: float | None = None) -> bytes:
        if isinstance(message, MaskedBlockMessage):
            self._keep(message)
        return bytes(32)

    def _keep(self, message) -> None:
        form = self._parameters.form
        count = self._values_of(len(message.written), form)
        accumulator = Accumulator(self._parameters, count)
        accumulator.add(message.written)
        summed = b"".join(accumulator.write())
        with self._path.open("ab") as file:
            file.write(summed)
        self._sizes.append((len(summed), count))
        self.sent_bytes += len(message.written)

    def _values_of(self, byte_count: int, form) -> int:
        full = block_values(self._parameters, BLOCK_SLOTS)
        return full if byte_count == form.written_bytes(full) else self.slot_count % full

    def receive(self, sender: str, step: str, message_type: type, timeout_s: float | None = None):
        if message_type is SumBlockMessage:
            start = self._left
            size, _ = self._sizes.pop(0)
            self._left += size
            with self._path.open("rb") as file:
                file.seek(start)
                return SumBlockMessage(file.read(size))
        return {
            BeginMessage: BeginMessage("round-1", 0, ["a"]),
            IncludedMessage: IncludedMessage(bytes(32), "", {}, {}, {}, {}),
            SumBeginMessage: SumBeginMessage({}, {}),
            OutcomeMessage: OutcomeMessage(stands=True),
        }[message_type]

    def receive_digested(self, sender: str, step: str, message_type: type, timeout_s: float | None = None):
        return self.receive(sender, step, message_type, timeout_s), bytes(32)


class Alone:
    """The opening of a sum of one's own update."""

    members = ()
    key_fingerprint = b""

    def deal(self, leg, parameters):
        self._secret = generate_secret(parameters)
        self._coefficients = self._secret.coefficients.astype(np.int32)

    def take_secret(self, leg, opened=None):
        return self._secret

    def end_group(self) -> None:
        return None

    def close(self) -> None:
        return None

    def drop(self) -> None:
        return None

    def check_dealt(self, leg) -> None:
        return None

    def sign(self, leg, parameters, digest):
        return StatementMessage(digest, b"", b"")

    def check_included(self, leg, parameters, stated, commitment):
        return SimpleNamespace(parties=("a",))

    def release(self, leg, included) -> None:
        return None

    def check_releases(self, *others) -> None:
        return None

    def open(self, leg, parameters, *others):
        return SecretSum(parameters, self._coefficients, 1), []


def peak_of(work) -> int:
    """Bytes that `work()` had at once beside what was there before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def resident_bytes(name: str) -> int:
    """VmRSS, or its peak VmHWM, of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


@pytest.mark.long_cases("10000000")
@pytest.mark.parametrize("value_count", [1_000_000, 10_000_000])
def test_a_party_needs_its_values_their_mean_and_a_constant(value_count, masked_settings, tmp_path) -> None:
    settings = masked_settings(5).sums
    parameters = choose_parameters(16, 5)
    values = np.random.default_rng(8).uniform(-1, 1, value_count).astype(np.float32)
    channel = Disk(tmp_path, parameters)
    aggregation = MaskedAggregation(
        channel,
        settings,
        Alone(),
        SimpleNamespace(next_value=0, take=lambda number: None),
        Stopwatch(),
        digest_key=bytes(32),
    )
    found = []

    def work() -> None:
        channel.slot_count = value_count + 1  # the weight takes a lane
        found.append(aggregation.weighted_mean(SumRequest("round-1", {"w": values}, {"w": 1.0}, 64)))

    resident = resident_bytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    peak = peak_of(work)
    grown = resident_bytes("VmHWM") - resident
    (aggregate,) = found
    assert aggregate.mean["w"].dtype == np.float32
    assert np.abs(aggregate.mean["w"] - values).max() <= 0.5 / 32767 + 1e-7
    assert channel.sent_bytes > 2.8 * value_count
    assert peak <= values.nbytes + CONSTANT_BYTES, "the mean, and nothing else of that size"
    # The allocator keeps pages and the tracer needs some itself: a second constant for what the process shows.
    assert grown <= values.nbytes + 2 * CONSTANT_BYTES


class Senders:
    """Parties, as the aggregator sees them, that make up blocks as they are asked for them."""

    def __init__(self, parties: tuple[str, ...], parameters, slot_count: int) -> None:
        self.party, self.session_id = "hub", SESSION
        self.ledger = SimpleNamespace(note=lambda *others: None)
        self._parameters, self._lane_count = parameters, slot_count
        self._context = UploadContext(SESSION, 0, "round-1", parameters.name)
        self._salts = {party: draw_salt() for party in parties}
        self._sent = dict.fromkeys(parties, 0)
        self._digests: dict[str, list[bytes]] = {party: [] for party in parties}
        self.sum_bytes = 0

    def verify(self, *signed) -> bool:
        return True

    def send(self, to: str, step: str, message, timeout_s: float | None = None) -> None:
        if isinstance(message, SumBlockMessage):
            self.sum_bytes += len(message.written)

    def encoding_once(self, message: object):
        return nullcontext()

    def receive(self, sender: str, step: str, message_type: type, timeout_s: float | None = None):
        if message_type is DealtMessage:
            digest = salt_digest(self._context, sender, self._salts[sender])
            return DealtMessage(self._parameters.name, [digest], b"", b"")
        if message_type is UploadMessage:
            return UploadMessage("round-1", self._parameters.name, self._lane_count, bytes(32), b"", 0)
        if message_type is MaskedBlockMessage:
            block = block_values(self._parameters, BLOCK_SLOTS)
            count = min(block, self._lane_count - self._sent[sender])
            self._sent[sender] += count
            # The last block, which may be padded, is all zero but for its first byte.
            return MaskedBlockMessage(sender.encode() + bytes(self._parameters.form.written_bytes(count) - 1))
        if message_type is StatementMessage:
            return StatementMessage(upload_digest_of(self._digests[sender]), self._salts[sender], b"")
        return OpenedMessage(True, [])

    def receive_digested(self, sender: str, step: str, message_type: type, timeout_s: float | None = None):
        message = self.receive(sender, step, message_type, timeout_s)
        digest = hashlib.sha256(to_bytes(message)).digest()
        if message_type is MaskedBlockMessage:
            self._digests[sender].append(digest)
        return message, digest


@pytest.mark.long
@pytest.mark.parametrize("value_count", [10_000_000])
def test_the_aggregator_needs_one_sum_and_one_upload_however_many_parties(value_count, masked_settings) -> None:
    parameters = choose_parameters(16, 12)
    assert parameters == choose_parameters(16, 5)
    sum_bytes = 8 * parameters.form.field_count(value_count)
    upload_bytes = parameters.form.written_bytes(value_count)
    peaks = {}
    for party_count in (5, 12):
        parties = tuple("abcdefghijkl")[:party_count]
        settings = replace(masked_settings(3, "shared").sums, parties=parties)
        channel = Senders(parties, parameters, value_count)
        roster = Roster(channel, settings)
        summation = MaskedSummation(channel, settings, roster, Stopwatch(), GroupParties(roster, {}), 0)
        summation.bound_slots(value_count)
        peaks[party_count] = peak_of(lambda summation=summation: summation.serve("round-1"))
        assert channel.sum_bytes == party_count * parameters.form.written_sum_bytes(value_count)
    assert peaks[5] <= sum_bytes + upload_bytes + CONSTANT_BYTES
    assert abs(peaks[12] - peaks[5]) < (1 << 20)
