"""An aggregator that gives out another sum, another number, or another outcome: parties find out, and nothing opens."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.errors import AlteredSumError, HekatError, InputError, ProtocolError, SealError, StateError
from hekat.protocol.horizontal.settings import ModelSettings
from hekat.protocol.secure_sum.masked import aggregator as masked_aggregator
from hekat.protocol.secure_sum.masked import slot_stream
from hekat.protocol.secure_sum.masked.messages import (
    BeginMessage,
    DealtMessage,
    MaskedBlockMessage,
    OpenedMessage,
    OutcomeMessage,
    ReleasedMessage,
    SumBlockMessage,
    UploadCounterMessage,
)
from hekat.protocol.secure_sum.masked.upload_state import MAX_SKIPPED
from hekat.scheme.lattice import Accumulator

OPENINGS = ("committee", "authority", "shared")


def causes(rehearsal) -> set[type]:
    return {type(error.__cause__) for error in rehearsal.lost}


# --- sums ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def three_blocks(masked_settings, monkeypatch):
    """Settings of three parties whose sum takes three blocks of one chunk each."""
    monkeypatch.setattr(slot_stream, "BLOCK_SLOTS", 1)
    return masked_settings(3, model=ModelSettings("mlp", hidden=(2000,), seed=4))


def on_block(number, change):
    """Alters the block of that number, from 0, of every sum at every party: `change(block)` gives a list of blocks."""
    seen: dict[tuple[str, str], int] = {}

    def changed(to, step, message):
        if not isinstance(message, SumBlockMessage):
            return None
        index = seen[to, step] = seen.get((to, step), -1) + 1
        if index != number:
            return None
        return [(step, SumBlockMessage(written)) for written in change(message.written)]

    return changed


def swap_first_blocks():
    held: dict[tuple[str, str], SumBlockMessage] = {}

    def changed(to, step, message):
        if not isinstance(message, SumBlockMessage):
            return None
        if (to, step) not in held:
            held[to, step] = message
            return []
        if held[to, step] is not None:
            first, held[to, step] = held[to, step], None
            return [(step, message), (step, first)]
        return None

    return changed


def count_one_more(written: bytes) -> list[bytes]:
    """Delta added to the first coefficient, whose lower lane counts: nothing else than the count changes."""
    # A16-16 writes a sum's coefficients in 44 bits, in units of 2^6; its Delta is 1023.
    first = int.from_bytes(written[:8], "little")
    field = ((first & (1 << 44) - 1) + 16) % (1 << 44)
    return [(first >> 44 << 44 | field).to_bytes(8, "little") + written[8:]]


BLOCKS = {
    "dropped": lambda: on_block(1, lambda written: []),
    "the last dropped": lambda: on_block(2, lambda written: []),
    "twice": lambda: on_block(0, lambda written: [written, written]),
    "reordered": swap_first_blocks,
    "truncated": lambda: on_block(1, lambda written: [written[:-1]]),
    "empty": lambda: on_block(1, lambda written: [b""]),
    "too long": lambda: on_block(2, lambda written: [written + b"\0"]),
    "zeros": lambda: on_block(1, lambda written: [bytes(len(written))]),
    "another count": lambda: on_block(1, count_one_more),
}


@pytest.mark.parametrize("change", BLOCKS)
def test_blocks_of_another_sum_are_found_out(change, three_blocks, play) -> None:
    rehearsal, watch, error = play(BLOCKS[change](), settings=three_blocks)
    assert error is not None
    assert watch.opened_at == []
    assert rehearsal.records == []
    assert rehearsal.packing.ciphertext_count == 3


def test_the_three_blocks_open_when_nobody_meddles(three_blocks, play) -> None:
    rehearsal, watch, error = play(lambda *message: None, settings=three_blocks)
    assert error is None
    assert watch.opened_at == ["a", "b", "c"]
    assert rehearsal.exactness_check.checks[0].largest_error <= rehearsal.exactness_check.checks[0].bound
    assert len(watch.senders_of(MaskedBlockMessage)) == 9


@pytest.mark.quick_values
@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("added", [[0, 0, 2, 3, 4], [0, 1, 2, 3], [0, 1, 2, 3, 4, 4], [0] * 5])
def test_a_sum_of_others_than_the_stated_parties_does_not_open(
    added, opening, play, masked_settings, monkeypatch
) -> None:
    """The update of b left out, that of a twice, one more than there are, or that of a five times."""

    class Dishonest(Accumulator):
        __slots__ = ("_received",)

        def add(self, written):
            received = [*getattr(self, "_received", ()), written]
            self._received = received
            if len(received) == 5:
                for index in added:
                    super().add(received[index])

    monkeypatch.setattr(masked_aggregator, "Accumulator", Dishonest)
    rehearsal, watch, error = play(lambda *message: None, settings=masked_settings(5, opening))
    assert isinstance(error.__cause__, AlteredSumError)
    assert "the sum of round-1 is not the sum of the uploads" in str(error)
    assert watch.senders_of(OpenedMessage) == []
    assert watch.senders_of(DealtMessage) == list("abcde"), "and nothing is masked anew for it"
    assert rehearsal.records == []


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_sum_that_did_not_open_stands_for_nobody(opening, play, masked_settings) -> None:
    def changed(to, step, message):
        if isinstance(message, SumBlockMessage):
            return SumBlockMessage(bytes(len(message.written)))
        return OutcomeMessage(stands=True) if isinstance(message, OutcomeMessage) else None

    rehearsal, watch, error = play(changed, settings=masked_settings(5, opening))
    assert error is not None
    assert isinstance(error.__cause__, AlteredSumError)
    assert watch.senders_of(OpenedMessage) == []
    assert rehearsal.records == []


# --- numbers ---------------------------------------------------------------------------------------------------------


def begin_with(number):
    def changed(to, step, message):
        if isinstance(message, BeginMessage) and step.startswith("round-2"):
            return replace(message, number=number)
        return None

    return changed


@pytest.fixture
def two_rounds(masked_settings):
    settings = masked_settings(5)
    return replace(settings, training=replace(settings.training, round_count=2))


@pytest.mark.parametrize(
    ("number", "cause", "words"),
    [
        (0, StateError, "is used already"),
        (-1, InputError, "no number of a counter"),
        (2 + MAX_SKIPPED, ProtocolError, "far above the last"),
        (2**63 - 2, ProtocolError, "far above the last"),
    ],
)
def test_a_number_that_cannot_be_begins_nothing(number, cause, words, play, two_rounds) -> None:
    rehearsal, watch, error = play(begin_with(number), settings=two_rounds)
    assert error is not None
    assert causes(rehearsal) == {cause}
    assert words in rehearsal.reasons
    assert watch.senders_of(DealtMessage, "round-2") == []
    assert rehearsal.records == [], "round 2 is dealt for before round 1 is opened"
    assert {state.uploads.next_value for state in rehearsal.upload_states.values()} == {1}, "no number is gone for it"


def test_messages_of_another_number_never_come(play, two_rounds) -> None:
    """The number that parties are told is not the one that the aggregator goes on with."""
    rehearsal, watch, error = play(begin_with(7), settings=two_rounds)
    assert error is not None
    assert watch.senders_of(ReleasedMessage, "round-2") == []
    assert rehearsal.records == [], "round 2 is dealt for before round 1 is opened"


def test_another_step_than_the_parties_are_at_is_refused(play, masked_settings) -> None:
    def changed(to, step, message):
        return replace(message, step="round-2") if isinstance(message, BeginMessage) and message.step else None

    rehearsal, watch, error = play(changed, settings=masked_settings(5))
    assert error is not None
    assert "began another sum" in rehearsal.reasons
    assert watch.senders_of(DealtMessage) == []


@pytest.mark.parametrize("stated", [-1, MAX_SKIPPED + 1, 2**63 - 2])
def test_a_party_cannot_use_up_the_numbers_of_the_others(stated, play, masked_settings) -> None:
    def changed(to, step, message):
        return UploadCounterMessage(stated) if isinstance(message, UploadCounterMessage) else None

    rehearsal, _, error = play(changed, role="d", settings=masked_settings(5))
    assert isinstance(error.__cause__, InputError)
    assert "party d states an upload number that cannot be" in str(error)
    assert {state.uploads.next_value for state in rehearsal.upload_states.values()} == {0}


def test_parties_that_were_away_are_waited_for_in_numbers(play, masked_settings) -> None:
    """One that used more numbers than the others, in other runs, sets the next one for all."""

    def changed(to, step, message):
        return UploadCounterMessage(40) if isinstance(message, UploadCounterMessage) else None

    rehearsal, _, error = play(changed, role="d", settings=masked_settings(5))
    assert error is None
    assert {state.uploads.next_value for state in rehearsal.upload_states.values()} == {41}


# --- on the way ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["dealers", "included", "sum", "outcome"])
def test_a_message_sent_twice_is_noticed(part, play, two_rounds) -> None:
    """The parties read one; the second stands in the way of the next, whose place in the sequence it took."""

    def changed(to, step, message):
        return [(step, message)] * 2 if step.endswith(f"upload-0/{part}") else None

    rehearsal, _, error = play(changed, settings=two_rounds)
    assert isinstance(error, HekatError)
    assert SealError in causes(rehearsal)
