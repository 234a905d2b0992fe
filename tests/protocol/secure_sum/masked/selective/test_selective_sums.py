"""Sums in the clear in part, as a mask says: the same means as of sums that are masked whole, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import ChannelError, InputError, PolicyError
from hekat.privacy.mask import Mask
from hekat.protocol.secure_sum.aggregation import Counter, SumRequest
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.protocol.secure_sum.masked import slot_stream
from hekat.protocol.secure_sum.masked.blocks.sum_streams import streams_of_request
from hekat.protocol.secure_sum.masked.messages import ClearBlockMessage, MaskedBlockMessage, UploadMessage

from .conftest import BOUNDS, WEIGHT_MAX, WEIGHTS, make_mask, make_settings, make_tensors, request_of

OPENINGS = ("committee", "authority", "shared")


def expect_alike(sums, whole, parties) -> None:
    for party in parties:
        for one, other in zip(sums.aggregates[party], whole.aggregates[party], strict=True):
            assert (one.weight_sum, one.counters, one.party_count) == (
                other.weight_sum,
                other.counters,
                other.party_count,
            )
            assert one.parties == other.parties
            for name, values in other.mean.items():
                assert one.mean[name].dtype == values.dtype
                assert np.array_equal(one.mean[name], values), "bit for bit"


@pytest.mark.quick_cases("committee-False", "authority-True", "shared-False")
@pytest.mark.parametrize("check_sum", [False, True])
@pytest.mark.parametrize("opening", OPENINGS)
def test_the_mean_is_the_one_of_a_sum_that_is_masked_whole(opening, check_sum, sum_up) -> None:
    settings = make_settings(5, opening, check_sum=check_sum)
    check = ExactnessCheck()
    sums = sum_up(settings, lambda party: [request_of(party, mask=make_mask())], exactness_check=check)
    expect_alike(sums, sum_up(settings, lambda party: [request_of(party)]), settings.parties)
    assert [one.step for one in check.checks] == ["round-1"]
    assert check.checks[0].largest_error <= check.checks[0].bound


@pytest.mark.parametrize("fraction", [0.0, 1.0])
def test_a_mask_of_nothing_and_of_everything(fraction, sum_up) -> None:
    settings = make_settings(3)
    sums = sum_up(settings, lambda party: [request_of(party, mask=make_mask(fraction))])
    expect_alike(sums, sum_up(settings, lambda party: [request_of(party)]), settings.parties)
    values = sum(values.size for values in make_tensors("a").values())
    (announced,) = {
        (message.lane_count, message.clear_count)
        for _, _, message in sums.seen["hub"].received
        if isinstance(message, UploadMessage)
    }
    head = announced[0] - (values if fraction else 0)
    assert announced == (head + values, 0) if fraction else (head, values)
    assert 0 < head < 10


def test_the_aggregator_gets_levels_and_nothing_of_where_they_lie(sum_up) -> None:
    """Levels of the same quantiser, the weight in them, in the order of the coordinates."""
    settings, mask = make_settings(3), make_mask()
    sums = sum_up(settings, lambda party: [request_of(party, mask=mask)])
    received = sums.seen["hub"].received
    for party in settings.parties:
        tensors, level = make_tensors(party), 2**15 - 1
        scaled = {name: values * (WEIGHTS[party] / WEIGHT_MAX) / BOUNDS[name] for name, values in tensors.items()}
        levels = {name: np.clip(np.rint(values * level), -level, level) for name, values in scaled.items()}
        sent = [message for sender, _, message in received if sender == party and hasattr(message, "levels")]
        got = np.frombuffer(b"".join(message.levels for message in sent), "<i2")
        assert np.abs(got - (~mask).gather(levels)).max() <= 1, "a product's last bit may round the other way"
    told = b"".join(bytes(str(message), "latin-1") for _, _, message in received)
    assert mask.digest(b"").hex().encode() not in told


@pytest.mark.long_cases("12-2", "16-2", "20-4")
@pytest.mark.parametrize(("value_bits", "size"), [(8, 1), (12, 2), (16, 2), (20, 4), (32, 4)])
def test_levels_take_whole_bytes(value_bits, size, sum_up) -> None:
    settings, mask = make_settings(3, codec={"value_bits": value_bits}), make_mask()
    sums = sum_up(settings, lambda party: [request_of(party, mask=mask)])
    expect_alike(sums, sum_up(settings, lambda party: [request_of(party)]), settings.parties)
    sizes = {len(message.levels) for _, _, message in sums.seen["hub"].received if hasattr(message, "levels")}
    assert sizes == {size * (~mask).chosen_count}


@pytest.mark.parametrize("check_sum", [False, True])
def test_several_blocks_of_both_kinds(check_sum, sum_up, monkeypatch) -> None:
    monkeypatch.setattr(slot_stream, "BLOCK_SLOTS", 50)
    settings = make_settings(3, check_sum=check_sum)
    sums = sum_up(settings, lambda party: [request_of(party, mask=make_mask())])
    expect_alike(sums, sum_up(settings, lambda party: [request_of(party)]), settings.parties)
    kinds = [type(message) for sender, _, message in sums.seen["hub"].received if sender == "a"]
    clear = [kind for kind in kinds if kind is ClearBlockMessage]
    assert len(clear) == -(-(~make_mask()).chosen_count // 50) > 2
    assert kinds.index(ClearBlockMessage) > max(i for i, kind in enumerate(kinds) if kind is MaskedBlockMessage)


class Streamed:
    """A tensor in pieces; its mean comes in two parts."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values.reshape(-1)
        self.shape, self.size = values.shape, values.size
        self.mean = np.full(values.size, np.nan)

    def read(self, start: int, stop: int) -> np.ndarray:
        return self._values[start:stop]

    def write_mean(self, start: int, mean: np.ndarray) -> None:
        self.mean[start : start + mean.size] = mean

    def write_mean_at(self, start: int, chosen: np.ndarray, mean: np.ndarray) -> None:
        self.mean[start : start + chosen.size][chosen] = mean


def test_streamed_tensors_take_both_parts_of_their_mean(sum_up) -> None:
    settings, mask = make_settings(3), make_mask()
    streams = {party: {n: Streamed(v) for n, v in make_tensors(party).items()} for party in settings.parties}

    def ask(party):
        return [SumRequest("round-1", streams[party], BOUNDS, WEIGHTS[party], mask=mask)]

    sum_up(settings, ask)
    whole = sum_up(settings, lambda party: [request_of(party)])
    for party in settings.parties:
        for name, values in whole.aggregates[party][0].mean.items():
            assert np.array_equal(streams[party][name].mean.astype(values.dtype), values.reshape(-1))


@pytest.mark.long_cases("shared-262144")
@pytest.mark.parametrize(("opening", "block_slots"), [("committee", 1 << 18), ("committee", 60), ("shared", 1 << 18)])
def test_further_sums_of_a_group_and_other_rounds(opening, block_slots, sum_up, monkeypatch) -> None:
    """Under a committee the second sum needs no secret of its own; the third round has another mask.

    A masked part of one block goes with its announcement, one of several follows it.
    """
    monkeypatch.setattr(slot_stream, "BLOCK_SLOTS", block_slots)
    masks = {"round-1/first": make_mask(0.2), "round-1/second": make_mask(0.6), "round-2": make_mask(0.4, seed=8)}

    def ask(masked):
        return lambda party: [request_of(party, step, masks[step] if masked else None) for step in masks]

    settings = make_settings(4, opening)
    expect_alike(sum_up(settings, ask(True)), sum_up(settings, ask(False)), settings.parties)


def test_a_sum_of_counters_goes_before_a_selective_one(sum_up) -> None:
    """The secret is dealt for the whole update; the set serves the masked part too."""

    def ask(party):
        counted = SumRequest("round-1/exponents", counters=[Counter("any", 1, 5)], value_bits=8, values_ahead=230)
        return [counted, request_of(party, mask=make_mask())]

    settings = make_settings(5)
    sums = sum_up(settings, ask)
    expect_alike(sums, sum_up(settings, lambda party: [ask(party)[0], request_of(party)]), settings.parties)


def test_parties_that_sit_a_round_out_receive_both_parts(sum_up) -> None:
    settings = make_settings(6, participation=0.5, min_parties=3)
    sums = sum_up(settings, lambda party: [request_of(party, mask=make_mask())])
    whole = sum_up(settings, lambda party: [request_of(party)])
    expect_alike(sums, whole, settings.parties)
    senders = {sender for sender, _, message in sums.seen["hub"].received if isinstance(message, ClearBlockMessage)}
    assert sorted(senders) == sorted(sums.aggregates["a"][0].parties)
    assert len(senders) == 3


@pytest.mark.long_cases("upload")
@pytest.mark.parametrize("part", ["upload", "sign"])
def test_a_party_that_drops_out_is_in_neither_part(part, sum_up) -> None:
    """Before anything is sent, and after its last block in the clear."""
    settings = make_settings(5)

    def leave(step: str, at: str) -> None:
        if at == part:
            raise ChannelError("gone")

    sums = sum_up(settings, lambda party: [request_of(party, mask=make_mask())], hooks={"b": leave})
    whole = sum_up(settings, lambda party: [request_of(party)], hooks={"b": leave})
    left = [party for party in settings.parties if party != "b"]
    assert sums.lost_names == ["b"]
    assert sums.aggregates["a"][0].parties == tuple(left)
    expect_alike(sums, whole, left)


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protection", ["paillier", "none"])
def test_other_protections_refuse_a_mask_by_name(protection, sum_up) -> None:
    settings = make_settings(3, protection=protection, **({"key_bits": 3072} if protection == "paillier" else {}))
    with pytest.raises(Exception, match=f"protection '{protection}' cannot mask a part of an update") as raised:
        sum_up(settings, lambda party: [request_of(party, mask=make_mask())])
    causes = [raised.value, raised.value.__cause__]
    assert any(isinstance(error, PolicyError) and "'lattice'" in error.cure for error in causes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mask": Mask.everything({"weight": 217})}, "the mask is of other tensors"),
        ({"mask": make_mask(), "value_bits": 8}, "another size than the codec's"),
        ({"mask": Mask.everything({"weight": 4}), "tensors": {"weight": np.arange(4)}}, "cannot be masked in part"),
    ],
)
def test_masks_that_do_not_fit_are_refused_before_anything_leaves(change, message) -> None:
    settings = make_settings(3)
    with pytest.raises(InputError, match=message):
        streams_of_request(settings, replace(request_of("a"), **change), settings.codec.value_bits)
