"""With `check_sum` an aggregator that works with no party opens the sum of the signed uploads, or nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import AlteredSumError, BoundError, ChannelError, InputError, ProtocolError
from hekat.protocol.horizontal.settings import ModelSettings
from hekat.protocol.secure_sum.masked import aggregator as masked_aggregator
from hekat.protocol.secure_sum.masked import slot_stream
from hekat.protocol.secure_sum.masked.checked_sum import WholeSum, check_part, commit_to, part_fields, whole_blocks
from hekat.protocol.secure_sum.masked.messages import (
    OpenedMessage,
    SumCommitmentMessage,
    SumPartMessage,
    SumPartsMessage,
    WholeSumBlockMessage,
)
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet, IncludedUpload
from hekat.protocol.secure_sum.masked.opening.sum_check import InnerProducts, row_count
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext
from hekat.protocol.secure_sum.masked.slot_stream import BLOCK_SLOTS
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.lattice import SETS, Accumulator, encrypt, generate_secret

OPENINGS = ("committee", "authority", "shared")
LEVELS = 50


def nothing(*message):
    return None


@pytest.fixture
def checked(masked_settings):
    """`checked(opening)` are settings of five parties that check sums."""
    return lambda opening="committee", **others: masked_settings(5, opening, check_sum=True, **others)


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_sum_that_is_checked_is_the_same_sum(opening, rehearse_masked, checked, expect_step, tmp_path) -> None:
    settings = checked(opening)
    states = [
        rehearse_masked(replace(settings, check_sum=check), state_folder=tmp_path / str(check)).run()
        for check in (True, False)
    ]
    expect_step(states[0], "abcde")
    for name, values in states[0].parameters.items():
        assert np.array_equal(values, states[1].parameters[name]), "bit for bit"


def test_blocks_and_samples_and_losses_are_checked_too(rehearse_masked, masked_settings, leave_at, monkeypatch) -> None:
    """Three blocks an upload, five of six parties in each round, one lost before it signs."""
    monkeypatch.setattr(slot_stream, "BLOCK_SLOTS", 1)
    settings = masked_settings(6, check_sum=True, model=ModelSettings("mlp", hidden=(2000,), seed=4))
    training = replace(settings.training, participation=0.8, round_count=2)
    settings = replace(settings, training=training)
    rehearsal = rehearse_masked(settings, hooks={"b": leave_at("round-2")})
    rehearsal.run()
    assert [record.party_count for record in rehearsal.records] in ([5, 4], [5, 5])
    assert all(check.largest_error <= check.bound for check in rehearsal.exactness_check.checks)


# --- aggregators that alter sums -------------------------------------------------------------------------------------


class SomeLevelsMore(Accumulator):
    """Its sum has a last value that is some levels higher: well within what honest parties can make."""

    __slots__ = ("_lane_count",)

    def __init__(self, parameters, value_count):
        super().__init__(parameters, value_count)
        self._lane_count = value_count

    def add(self, written):
        super().add(written)
        if self.addend_count == 5:
            self.alter()

    def alter(self) -> None:
        form = SETS["A16-16"].form
        lane, index = divmod(self._lane_count, form.last_used(self._lane_count))
        self._fields[index] += np.uint64(LEVELS * form.delta << (form.slot_bits * lane) >> form.dropped_bits)


def test_without_the_check_a_sum_that_is_altered_within_range_passes(
    play, checked, monkeypatch, masked_tables, float_step
) -> None:
    monkeypatch.setattr(masked_aggregator, "Accumulator", SomeLevelsMore)
    settings = replace(checked(), check_sum=False)
    rehearsal, watch, error = play(nothing, settings=settings, exactness_check=False)
    assert error is None
    assert watch.opened_at == list("abcde")
    state = rehearsal.saved[-1]
    wanted = float_step("abcde", masked_tables())
    off = max(np.abs(state.parameters[name] - values).max() for name, values in wanted.items())
    assert off > 1.5e-4, "and every party has it"


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_sum_that_is_altered_within_range_ends_the_run(opening, play, checked, monkeypatch) -> None:
    monkeypatch.setattr(masked_aggregator, "Accumulator", SomeLevelsMore)
    rehearsal, watch, error = play(nothing, settings=checked(opening), exactness_check=False)
    assert isinstance(error.__cause__, AlteredSumError)
    assert "the inner products of the uploads" in str(error.__cause__.__cause__)
    assert watch.senders_of(OpenedMessage) == []
    assert rehearsal.records == []


def test_another_sum_than_was_committed_to_ends_the_run(play, checked) -> None:
    def changed(to, step, message):
        if isinstance(message, WholeSumBlockMessage) and to == "c":
            return WholeSumBlockMessage(message.written[:-1] + bytes([message.written[-1] ^ 1]))
        return None

    _, _, error = play(changed, settings=checked(), exactness_check=False)
    assert isinstance(error.__cause__, AlteredSumError)
    assert error.party == "c"


@pytest.mark.parametrize("opening", OPENINGS)
def test_two_sums_for_two_parties_are_two_statements(opening, play, checked) -> None:
    """The members, or the other parties by their signatures, are of another one: nothing opens at c."""

    def changed(to, step, message):
        return SumCommitmentMessage(bytes(32)) if isinstance(message, SumCommitmentMessage) and to == "c" else None

    rehearsal, watch, error = play(changed, settings=checked(opening), exactness_check=False)
    assert error is not None
    assert "c" not in watch.opened_at
    assert rehearsal.records == []


COMMITMENTS = {"none": b"", "short": bytes(31), "long": bytes(33)}


@pytest.mark.parametrize("commitment", COMMITMENTS)
def test_what_is_no_commitment_is_refused_before_anybody_releases(commitment, play, checked) -> None:
    def changed(to, step, message):
        return SumCommitmentMessage(COMMITMENTS[commitment]) if isinstance(message, SumCommitmentMessage) else None

    rehearsal, watch, error = play(changed, settings=checked(), exactness_check=False)
    assert error is not None
    assert "does not commit to a sum" in rehearsal.reasons
    assert watch.senders_of(SumPartMessage) == []


PARTS = {
    "another number": lambda part: replace(part, products=part.products + np.uint64(1)),
    "none": lambda part: replace(part, products=part.products[:0]),
    "another signature": lambda part: replace(part, signature=bytes(64)),
}


@pytest.mark.parametrize("change", PARTS)
def test_parts_that_parties_did_not_sign_check_nothing(change, play, checked) -> None:
    def changed(to, step, message):
        if not isinstance(message, SumPartsMessage):
            return None
        part = PARTS[change](SumPartMessage(message.products["b"], message.signatures["b"]))
        return SumPartsMessage(message.products | {"b": part.products}, message.signatures | {"b": part.signature})

    rehearsal, watch, error = play(changed, settings=checked(), exactness_check=False)
    assert error is not None
    assert "inner products that 'b' did not sign" in rehearsal.reasons
    assert watch.opened_at == []


# --- parties ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", PARTS)
def test_a_sum_without_the_part_of_one_of_its_parties_is_given_up(change, play, checked) -> None:
    """A party that is lost, or tells what it did not sign; the group is bound to it, so the run ends."""

    def changed(to, step, message):
        return PARTS[change](message) if isinstance(message, SumPartMessage) else None

    rehearsal, _, error = play(changed, role="d", settings=checked(), exactness_check=False)
    assert isinstance(error.__cause__, ProtocolError)
    assert "lost: d" in str(error)
    assert rehearsal.records == []


def test_a_party_that_is_lost_before_its_part_ends_the_run(play, checked) -> None:
    def changed(to, step, message):
        if isinstance(message, SumPartMessage):
            raise ChannelError("left before its part")

    rehearsal, _, error = play(changed, role="d", settings=checked(), exactness_check=False)
    assert "lost: d" in str(error)
    assert rehearsal.records == []


class FalsePart:
    """A party that signs other inner products than its upload has: `off_by(statement, rows)` more."""

    def __init__(self, channel, off_by) -> None:
        self._channel, self._off_by, self._signed = channel, off_by, None

    def __getattr__(self, name: str):
        return getattr(self._channel, name)

    def sign(self, purpose, *fields):
        if purpose == "hekat/lattice/sum-part/1":
            true = np.frombuffer(fields[-1], "<u8")
            self._signed = true + self._off_by(fields[-2], true.size)
            fields = (*fields[:-1], self._signed.astype("<u8").tobytes())
        return self._channel.sign(purpose, *fields)

    def send(self, to, step, message, timeout_s=None):
        if isinstance(message, SumPartMessage):
            message = replace(message, products=self._signed)
        return self._channel.send(to, step, message, timeout_s)


def test_a_false_part_ends_the_run_and_names_nobody(play, checked) -> None:
    meddlers = {"d": lambda channel: FalsePart(channel, lambda statement, rows: np.uint64(1))}
    _, _, error = play(nothing, settings=checked(), meddlers=meddlers, exactness_check=False)
    assert isinstance(error.__cause__, AlteredSumError)
    assert "or a party uploaded what it had not dealt" in str(error)
    assert "'d'" not in str(error).replace("party 'd'", "")


def test_with_one_party_of_the_sum_an_aggregator_still_alters_it(play, checked, monkeypatch) -> None:
    """What the check does not show: that party answers for the difference, as it could have uploaded it."""

    def answer_for_it(statement: bytes, rows: int) -> np.ndarray:
        honest, altered = altering
        made = InnerProducts(statement, rows)
        made.add(altered - honest)
        return made.values

    altering: list[np.ndarray] = []

    class Kept(SomeLevelsMore):
        __slots__ = ()

        def add(self, written):
            Accumulator.add(self, written)
            if self.addend_count == 5:
                altering.append(self._fields.copy())
                self.alter()
                altering.append(self._fields.copy())

    monkeypatch.setattr(masked_aggregator, "Accumulator", Kept)
    meddlers = {"d": lambda channel: FalsePart(channel, answer_for_it)}
    _, watch, error = play(nothing, settings=checked(), meddlers=meddlers, exactness_check=False)
    assert error is None
    assert watch.opened_at == list("abcde")


def test_other_protections_have_no_such_check(masked_settings) -> None:
    with pytest.raises(InputError, match=r"protection\.check_sum refused"):
        replace(masked_settings(5), protection="paillier", check_sum=True)


# --- the pieces ------------------------------------------------------------------------------------------------------


def stated(commitment: bytes = bytes(32)) -> IncludedSet:
    context = UploadContext(bytes(32), 3, "round-1", "A16-16")
    uploads = tuple(IncludedUpload(name, name.encode() * 32, (), b"") for name in "ab")
    return IncludedSet(context, uploads, commitment)


def test_a_sum_that_fits_the_products_is_still_the_one_that_was_committed_to() -> None:
    """Who may choose the sum after r can make it fit."""
    parameters, count = SETS["A16-16"], 5
    accumulator = Accumulator(parameters, count)
    secret = generate_secret(parameters)
    accumulator.add(encrypt(parameters, secret, bytes(32), np.arange(count, dtype=np.int32)))
    committed = commit_to(accumulator, parameters, 2, BLOCK_SLOTS).commitment
    (written,) = whole_blocks(accumulator, parameters, 2, BLOCK_SLOTS)
    for commitment in (committed, bytes(32)):
        included = stated(commitment)
        made = InnerProducts(included.digest, row_count(parameters.form, 2))
        made.add(next(accumulator.blocks(BLOCK_SLOTS)))
        whole = WholeSum(parameters, included, {"a": made.values}, Stopwatch())
        assert whole.round_block(WholeSumBlockMessage(written), count) == next(accumulator.write())
        if commitment == committed:
            whole.check()
        else:
            with pytest.raises(BoundError, match="expected the sum that was committed to"):
                whole.check()


def test_statements_with_other_commitments_are_others() -> None:
    digests = [stated(commitment).digest for commitment in (b"", bytes(32), b"\1" * 32)]
    assert len(set(digests)) == 3


def test_parts_are_signed_for_session_number_statement_and_products() -> None:
    """What is signed for one statement is no part of the check of another one."""
    products = np.arange(9, dtype=np.uint64)
    fields = part_fields(stated(), products)
    assert fields == (*stated().context.upload_fields, stated().digest, products.astype("<u8").tobytes())
    told = []
    check_part(stated(), 9, lambda *what: told.append(what) or True)("a", SumPartMessage(products, b"signature"))
    assert told == [("a", b"signature", "hekat/lattice/sum-part/1", *fields)]
    with pytest.raises(InputError, match="did not sign inner products"):
        check_part(stated(), 9, lambda *what: False)("a", SumPartMessage(products, b"signature"))
    with pytest.raises(InputError, match="did not sign inner products"):
        check_part(stated(), 8, lambda *what: True)("a", SumPartMessage(products, b"signature"))
