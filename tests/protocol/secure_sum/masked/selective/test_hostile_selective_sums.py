"""Parties and an aggregator that deviate in a sum that a mask leaves in the clear in part."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import AlteredSumError, ChannelError, PartyStoppedError
from hekat.privacy.mask import Mask
from hekat.protocol.secure_sum.masked import slot_stream
from hekat.protocol.secure_sum.masked.blocks.clear_levels import ClearForm, ClearSum
from hekat.protocol.secure_sum.masked.messages import (
    ClearBlockMessage,
    ClearSumBlockMessage,
    MaskedBlockMessage,
    OpenedMessage,
    ReleasedMessage,
    StatementMessage,
    SumBeginMessage,
    UploadMessage,
)

from .conftest import make_mask, make_settings, request_of

MASK = make_mask()
CLEAR_COUNT = (~MASK).chosen_count


def one_bit_off(mask: Mask) -> Mask:
    bits = mask.packed_bits.copy()
    bits[3] ^= 1
    return Mask(mask.sizes, bits)


def moved_by_one(mask: Mask) -> Mask:
    """As many chosen coordinates, one of them elsewhere."""
    chosen = np.unpackbits(mask.packed_bits, bitorder="little")[: mask.value_count]
    first, other = np.flatnonzero(chosen)[0], np.flatnonzero(chosen == 0)[-1]
    chosen[[first, other]] = chosen[[other, first]]
    moved = Mask(mask.sizes, np.packbits(chosen, bitorder="little"))
    assert moved.chosen_count == mask.chosen_count
    return moved


def ask(party, mask=MASK):
    return [request_of(party, mask=mask)]


# --- a mask that differs ---------------------------------------------------------------------------------------------


@pytest.mark.long_cases("moved", "whole")
@pytest.mark.parametrize(
    "other",
    [one_bit_off(MASK), moved_by_one(MASK), Mask.everything(MASK.sizes), None],
    ids=["one bit", "moved", "whole", "none"],
)
def test_a_party_with_another_mask_is_left_out_by_name_before_it_sends_anything(other, sum_up) -> None:
    sums = sum_up(make_settings(5), lambda party: ask(party, other if party == "d" else MASK))
    assert sums.lost_names == ["d"]
    assert "or with another model, mask, bounds or counters than most" in sums.reasons
    assert sums.aggregates["a"][0].parties == ("a", "b", "c", "e")
    assert not [1 for sender, _, message in sums.seen["hub"].received if sender == "d" and hasattr(message, "levels")]


@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_an_aggregator_that_passes_over_a_mask_that_differs_opens_nothing(opening, sum_up, monkeypatch) -> None:
    """It takes each party's announcement for the first one's: the members, or the parties, see what d signed."""
    monkeypatch.setattr(
        "hekat.protocol.secure_sum.masked.aggregator._form_of_upload",
        lambda message: (message.step, message.lane_count),
    )
    monkeypatch.setattr("hekat.protocol.secure_sum.masked.aggregator.check_statement", lambda *others, **named: None)
    other = moved_by_one(MASK)
    with contextlib.suppress(PartyStoppedError):
        sum_up(make_settings(5, opening), lambda party: ask(party, other if party == "d" else MASK))
    sums = sum_up.found[-1]
    assert len(sums.seen["hub"].senders_of(ClearBlockMessage)) == 5
    assert not sums.seen["hub"].opened_at
    assert not sums.seen["hub"].senders_of(ReleasedMessage)
    assert not sums.aggregates


# --- a party that deviates --------------------------------------------------------------------------------------------


def levels_of(form: ClearForm, count: int, value: int) -> bytes:
    return form.write_levels(np.full(count, value, np.int32))


FORM = ClearForm(16)
UPLOADS = {
    "out of range": lambda message: replace(message, levels=np.full(CLEAR_COUNT, -(2**15), "<i2").tobytes()),
    "too few": lambda message: replace(message, levels=message.levels[:-2]),
    "too many": lambda message: replace(message, levels=message.levels + bytes(2)),
    "of another width": lambda message: replace(message, levels=message.levels + message.levels),
    "none": lambda message: replace(message, levels=b""),
}


@pytest.mark.long_cases("too few", "of another width", "none")
@pytest.mark.parametrize("kind", UPLOADS)
def test_levels_that_cannot_be_cost_their_party_its_place(kind, sum_up) -> None:
    def change(to, step, message):
        return UPLOADS[kind](message) if isinstance(message, ClearBlockMessage) else None

    sums = sum_up(make_settings(5), ask, changes={"c": change})
    assert sums.lost_names == ["c"]
    assert "no level" in sums.reasons or "in the clear of another size" in sums.reasons
    assert sums.aggregates["a"][0].parties == ("a", "b", "d", "e")


def test_levels_within_range_that_are_not_the_signed_ones_are_refused(sum_up) -> None:
    """The digests of blocks in the clear are in what a party signs."""

    def change(to, step, message):
        if isinstance(message, ClearBlockMessage):
            return ClearBlockMessage(levels_of(FORM, CLEAR_COUNT, 7))
        return None

    sums = sum_up(make_settings(5), ask, changes={"c": change})
    assert sums.lost_names == ["c"]
    assert "its statement is not of what it sent" in sums.reasons


def test_blocks_in_another_order_are_refused(sum_up, monkeypatch) -> None:
    """Blocks of one size in another order, and one in the clear ahead of the masked ones."""
    monkeypatch.setattr(slot_stream, "BLOCK_SLOTS", 40)
    for kinds in ((ClearBlockMessage,), (MaskedBlockMessage, ClearBlockMessage)):
        held: list = []

        def swap(to, step, message, kinds=kinds, held=held):
            if isinstance(message, kinds) and len(held) < 2:
                held.append((step, message))
                if len(held) == 2:
                    return held[::-1]
                return []
            return None

        def delay(to, step, message, held=held):
            """The first masked block comes after the first one in the clear."""
            if isinstance(message, MaskedBlockMessage) and not held:
                held.append((step, message))
                return []
            if isinstance(message, ClearBlockMessage) and len(held) == 1:
                held.append(message)
                return [(step, message), held[0]]
            return None

        sums = sum_up(make_settings(5), ask, changes={"c": swap if len(kinds) == 1 else delay})
        assert sums.lost_names == ["c"]
        assert sums.aggregates["a"][0].parties == ("a", "b", "d", "e")


def test_an_announcement_beyond_the_tensors_is_refused(sum_up) -> None:
    def change(to, step, message):
        return replace(message, clear_count=10**9) if isinstance(message, UploadMessage) else None

    sums = sum_up(make_settings(5), ask, changes={"c": change})
    assert sums.lost_names == ["c"]
    assert "of a size that the announced tensors do not give" in sums.reasons


def test_an_upload_is_in_both_parts_or_in_none(sum_up) -> None:
    """What a party sent in the clear before its statement fails is in no sum."""

    def change(to, step, message):
        return replace(message, signature=bytes(64)) if isinstance(message, StatementMessage) else None

    sums = sum_up(make_settings(5), ask, changes={"c": change})
    assert sums.lost_names == ["c"]
    left = sum_up(make_settings(5), lambda party: ask(party), hooks={"c": _leave})
    for name, values in left.aggregates["a"][0].mean.items():
        assert np.array_equal(values, sums.aggregates["a"][0].mean[name])


def _leave(step: str, part: str) -> None:
    if part == "upload":
        raise ChannelError("gone")


# --- an aggregator that deviates --------------------------------------------------------------------------------------


def altered(by: int, victims: str = "c"):
    """Sums in the clear that are off by so much, told to some parties."""

    def change(to, step, message):
        if not isinstance(message, ClearSumBlockMessage) or to not in victims:
            return None
        fields = FORM.read_fields(message.sums, CLEAR_COUNT, 5) + np.uint64(by)
        return ClearSumBlockMessage(FORM.write_sums(FORM.sums_of(fields, 5), 5))

    return change


def stopped_by(settings, sum_up, change, requests=ask) -> BaseException:
    with pytest.raises(PartyStoppedError) as raised:
        sum_up(settings, requests, changes={"hub": change})
    return raised.value


SIZE = FORM.sum_bytes(CLEAR_COUNT, 5)


@pytest.mark.parametrize("sums", [b"", bytes(SIZE - 1), bytes(SIZE + 1), b"\xff" * SIZE])
def test_what_is_no_sum_of_so_many_levels_ends_the_run(sums, sum_up) -> None:
    def change(to, step, message):
        return ClearSumBlockMessage(sums) if isinstance(message, ClearSumBlockMessage) and to == "c" else None

    error = stopped_by(make_settings(5), sum_up, change)
    assert isinstance(error.__cause__, AlteredSumError)
    assert error.party == "c"


def test_a_sum_that_is_altered_for_one_party_leaves_it_out_of_the_next(sum_up) -> None:
    """Within range nothing shows at once; what the party takes for granted is another thing from then on."""

    def two(party):
        return [request_of(party, "round-1", MASK), request_of(party, "round-2", MASK)]

    sums = sum_up(make_settings(5), two, changes={"hub": altered(3)})
    assert sums.lost_names == ["c"]
    assert "another model, mask, bounds or counters" in sums.reasons
    assert sums.aggregates["a"][1].parties == ("a", "b", "d", "e")


@pytest.mark.quick_cases("committee-c", "authority-abcde", "shared-c")
@pytest.mark.parametrize("victims", ["c", "abcde"])
@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_sums_that_are_checked_cannot_be_altered_in_the_clear(opening, victims, sum_up) -> None:
    error = stopped_by(make_settings(5, opening, check_sum=True), sum_up, altered(3, victims))
    assert isinstance(error.__cause__, AlteredSumError)
    assert "the sum that was committed to" in str(error.__cause__.__cause__)


def test_a_commitment_to_another_sum_in_the_clear_does_not_help(sum_up, monkeypatch) -> None:
    """The aggregator alters the sum before it commits: then the inner products of the uploads show it."""

    class OneMore(ClearSum):
        def add(self, blocks):
            super().add(blocks)
            if self.addend_count == 5:
                self._sums[-1] += 1

    monkeypatch.setattr("hekat.protocol.secure_sum.masked.aggregator.ClearSum", OneMore)
    error = stopped_by(make_settings(5, check_sum=True), sum_up, lambda *message: None)
    assert isinstance(error.__cause__, AlteredSumError)
    assert "the inner products of the uploads" in str(error.__cause__.__cause__)


def test_an_opening_that_fails_is_made_again_with_both_parts(sum_up) -> None:
    """Releases that do not fit at first: nothing of the clear sum is read, and both parts are sent once more."""
    failed = []

    def change(to, step, message):
        if isinstance(message, SumBeginMessage) and "upload-0/" in step:
            failed.append(to)
            return replace(message, releases={}, signatures={})
        return None

    settings = make_settings(5)
    sums = sum_up(settings, ask, changes={"hub": change})
    assert sorted(failed) == list("abcde")
    whole = sum_up(settings, lambda party: [request_of(party)])
    for party in settings.parties:
        for name, values in whole.aggregates[party][0].mean.items():
            assert np.array_equal(values, sums.aggregates[party][0].mean[name])
    hub = sums.seen["hub"]
    assert len(hub.senders_of(ClearBlockMessage)) == 10
    assert [message.opened for _, _, message in hub.received if isinstance(message, OpenedMessage)] == [False] * 5 + [
        True
    ] * 5
    assert len(hub.senders_of(ReleasedMessage)) == 10
