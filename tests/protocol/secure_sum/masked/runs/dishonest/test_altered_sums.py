"""Sums that open with the right secrets and are not the uploads' sum: the first one ends the run, and the job's runs.

Whether such a sum is within what honest parties could make hangs on what they sent. The old way said so to whoever
altered it and masked the same update anew, up to three times a step in each run: it is played here as well.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from hekat.errors import AlteredSumError, BoundError, StateError
from hekat.protocol.secure_sum.masked.altered_record import AlteredRecord
from hekat.protocol.secure_sum.masked.messages import (
    DealtMessage,
    OpenedMessage,
    OutcomeMessage,
    SumBlockMessage,
    UploadMessage,
)
from hekat.protocol.secure_sum.masked.opening import opening_schemes as opening_schemes
from hekat.protocol.secure_sum.masked.party import MaskedAggregation
from hekat.scheme.lattice import SETS, Decryptor

OPENINGS = ("committee", "authority", "shared")
LEVEL = 2**15 - 1
REACH = 5 * LEVEL
JOB_DIGEST = bytes(32)


def add_levels(written: bytes, slot_count: int, levels: int) -> bytes:
    """A written sum of A16-16, of one block, whose last value is so many levels higher."""
    form = SETS["A16-16"].form
    bits, dropped = form.sum_field_bits[0], form.sum_dropped_bits
    lane, index = divmod(slot_count, form.last_used(slot_count))
    whole = int.from_bytes(written, "little")
    old = whole >> (bits * index) & ((1 << bits) - 1)
    added = form.delta * levels << (form.slot_bits * lane)
    new = (((old << dropped) + added) % form.ring.modulus + (1 << dropped >> 1)) >> dropped
    return (whole + (new - old << (bits * index))).to_bytes(len(written), "little")


class Search:
    """An aggregator that looks for the last value of the sum: what it adds opens only where that is at most `guess`.

    It asks `victim` alone, and says that nothing stands, so that the same update comes again.
    """

    def __init__(self, victim: str = "c") -> None:
        self.low, self.high = -REACH, REACH
        self.answers: list[bool] = []
        self._victim, self._lane_count = victim, 0

    @property
    def guess(self) -> int:
        return (self.low + self.high) // 2

    def change(self, to, step, message):
        if isinstance(message, SumBlockMessage) and to == self._victim:
            return SumBlockMessage(add_levels(message.written, self._lane_count, REACH - self.guess))
        return OutcomeMessage(stands=False) if isinstance(message, OutcomeMessage) else None

    def take(self, sender, step, message):
        if isinstance(message, UploadMessage):
            self._lane_count = message.lane_count
        if isinstance(message, OpenedMessage) and sender == self._victim:
            self.answers.append(message.opened)
            if message.opened:
                self.high = self.guess
            else:
                self.low = self.guess
        return replace(message, opened=False) if isinstance(message, OpenedMessage) else None


def retry_silently(monkeypatch) -> None:
    """The old way: a sum that does not open is told to the aggregator, and the update is masked anew."""
    original = MaskedAggregation._unmask

    def unmask(*others):
        try:
            return original(*others)
        except BoundError:
            return None

    monkeypatch.setattr(MaskedAggregation, "_unmask", unmask)


@pytest.mark.parametrize("opening", OPENINGS)
def test_the_first_altered_sum_that_does_not_open_ends_the_run(
    opening, play, rehearse_masked, masked_settings, tmp_path
) -> None:
    search = Search()
    search.high = 3 * -REACH  # so that nothing in range opens
    settings = masked_settings(5, opening)
    _, watch, error = play(search.change, take=search.take, settings=settings, exactness_check=False)
    assert error.party == "c", "whom it was shown, and nobody is accused"
    assert isinstance(error.__cause__, AlteredSumError)
    assert "the aggregator altered it; or a party uploaded what it had not dealt" in str(error)
    assert search.answers == [], "it is told of no outcome that it could repeat"
    assert watch.senders_of(DealtMessage) == list("abcde"), "and nothing is masked a second time"
    # It cannot begin to count anew.
    with pytest.raises(StateError, match="was altered in an earlier run, in round-1"):
        rehearse_masked(settings)
    note = AlteredRecord(tmp_path / "state" / "c", JOB_DIGEST).path
    assert f"It is noted in {note}; who removes that file" in str(error)
    with pytest.raises(StateError, match=f"remove {note}, which belongs to this job alone"):
        rehearse_masked(settings)
    note.unlink()
    rehearse_masked(settings).run()


@pytest.mark.parametrize("silent", [True, False], ids=["the old way", "the new way"])
def test_a_party_that_uploads_beyond_its_lanes_asks_once(silent, play, masked_settings, monkeypatch) -> None:
    """Whether the sum is in range hangs on the others' values where d adds what is nearly all of the range."""
    original = MaskedAggregation._mask

    class Beyond:
        """Blocks of which the last value is far beyond what a party may have."""

        def __init__(self, stream) -> None:
            self._stream = stream

        def __getattr__(self, name: str):
            return getattr(self._stream, name)

        def blocks(self, *others):
            for block in self._stream.blocks(*others):
                block[-1] = 2 * REACH
                yield block

    def mask(aggregation, leg, parameters, stream, *others):
        dishonest = aggregation._channel.party == "d"
        return original(aggregation, leg, parameters, Beyond(stream) if dishonest else stream, *others)

    monkeypatch.setattr(MaskedAggregation, "_mask", mask)
    monkeypatch.setattr(sys.modules["hekat.scheme.lattice.encrypt"], "check_levels", lambda *others: None)
    if silent:
        retry_silently(monkeypatch)
    _, watch, error = play(lambda *message: None, settings=masked_settings(5), exactness_check=False)
    assert isinstance(error.__cause__, AlteredSumError) is not silent
    assert watch.senders_of(OpenedMessage) == (list("abcde") * 3 if silent else [])
    assert watch.senders_of(DealtMessage) == list("abcde") * (3 if silent else 1)


def test_the_ledger_of_whoever_found_it_says_what_was_found(play, masked_settings, tmp_path) -> None:
    search = Search()
    search.high = 3 * -REACH
    play(search.change, take=search.take, settings=masked_settings(5), exactness_check=False, ledger_folder=tmp_path)
    words = "the sum of round-1 is not the sum of the uploads"
    assert [name for name in "abcde" if words in (tmp_path / f"{name}.jsonl").read_text()] == ["c"]


def test_releases_that_do_not_fit_are_told_before_anything_of_the_sum_is_looked_at(
    play, masked_settings, monkeypatch
) -> None:
    """The same altered sum, and a release that does not fit: the answer cannot hang on the sum."""

    def fail(*others):
        raise AssertionError("the sum was looked at")

    monkeypatch.setattr(Decryptor, "decrypt", fail)
    monkeypatch.setattr(opening_schemes, "open_sum", lambda *others: _no_sum())
    search = Search()
    _, watch, error = play(search.change, take=search.take, settings=masked_settings(5), exactness_check=False)
    assert "the sum of round-1 does not open" in str(error)
    assert watch.senders_of(OpenedMessage) == list("abcde") * 3
    assert search.answers == [False] * 3


def _no_sum():
    raise BoundError("the releases do not open to a sum of secrets")


# --- the note on disk ------------------------------------------------------------------------------------------------


def test_a_note_is_of_one_job(tmp_path) -> None:
    noted, other = AlteredRecord(tmp_path, JOB_DIGEST), AlteredRecord(tmp_path, bytes([7]) * 32)
    noted.check()
    assert not noted.path.exists()
    noted.note("round-3")
    other.check()
    other.note("validation/final")
    for one, step in ((noted, "round-3"), (other, "validation/final")):
        with pytest.raises(StateError, match=f"in {step}"):
            one.check()
    assert noted.path.stat().st_mode & 0o777 == 0o600
    # What the cure says takes one job's note away.
    noted.path.unlink()
    noted.check()
    with pytest.raises(StateError):
        other.check()


@pytest.mark.parametrize("change", ["empty", "another title", "another job", "no step", "cut short", "no text"])
def test_a_damaged_note_is_not_taken_for_an_empty_one(change, tmp_path) -> None:
    noted = AlteredRecord(tmp_path, JOB_DIGEST)
    noted.note("round-3")
    data = noted.path.read_bytes()
    content = {
        "empty": b"",
        "another title": data.replace(b"sum 1", b"sum 2"),
        "another job": data.replace(b"job 0", b"job 1"),
        "no step": data.replace(b"round-3", b""),
        "cut short": data[:-1],
        "no text": b"\xff" + data,
    }[change]
    noted.path.write_bytes(content)
    with pytest.raises(StateError, match="is damaged"):
        noted.check()
    assert noted.path.read_bytes() == content
