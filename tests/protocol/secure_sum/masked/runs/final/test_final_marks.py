"""Of many parties the aggregator passes on what each says of its final model, and can neither read nor forge it."""

from __future__ import annotations

import pytest
from tests.protocol.secure_sum.masked.runs.final.test_final_model import LAST_SUMS, VICTIM, OtherLastSum

from hekat.errors import ChannelError, ModelsDifferError
from hekat.protocol.secure_sum.agreement import final_model
from hekat.protocol.secure_sum.agreement.final_model import FINAL_MODEL_STEP
from hekat.protocol.secure_sum.agreement.messages import FinalMarkMessage, FinalMarksMessage, FinalModelMessage

NAMES = "abcde"


@pytest.fixture(autouse=True)
def many(monkeypatch) -> None:
    """Five parties are many here."""
    monkeypatch.setattr(final_model, "MOST_IN_PAIRS", 4)


def lines_of(folder, name: str) -> list[str]:
    return [line for line in (folder / f"{name}.jsonl").read_text().splitlines() if FINAL_MODEL_STEP in line]


def test_each_party_sends_one_message_and_gets_one(play, masked_settings, tmp_path) -> None:
    rehearsal, watch, error = play(lambda *message: None, settings=masked_settings(5), ledger_folder=tmp_path)
    assert error is None
    assert rehearsal.not_compared == {}
    assert all(len(lines_of(tmp_path, name)) == 2 for name in NAMES)
    assert len(lines_of(tmp_path, "hub")) == 2 * len(NAMES)
    marks = [message.mark for _, _, message in watch.received if isinstance(message, FinalMarkMessage)]
    assert len(set(marks)) == len(NAMES), "equal models have unequal marks: the aggregator sees nothing in them"
    assert watch.senders_of(FinalModelMessage) == []


@pytest.mark.parametrize("last", LAST_SUMS)
def test_another_last_sum_ends_the_run_before_there_is_a_model(last, play, masked_settings, tmp_path) -> None:
    step, others = LAST_SUMS[last]
    other = OtherLastSum(step, lane=1 if "validation" in step else -1)
    _, _, error = play(
        other.change,
        take=other.take,
        settings=masked_settings(5, **others),
        exactness_check=False,
        ledger_folder=tmp_path,
    )
    assert isinstance(error.__cause__, ModelsDifferError)
    found = {name: (tmp_path / f"{name}.jsonl").read_text() for name in NAMES}
    assert "another final model at a, b, d, e" in found[VICTIM]
    assert all(f"another final model at {VICTIM}" in found[name] for name in "abde")


def without(name: str):
    def change(to, step, message):
        if not isinstance(message, FinalMarksMessage) or to == name:
            return None
        return FinalMarksMessage(
            {party: mark for party, mark in message.marks.items() if party != name}, message.signatures
        )

    return change


def forging(name: str, *, signature: str):
    """Says of `name` what another party says of itself, with that party's signature or the named one's own."""

    def change(to, step, message):
        if not isinstance(message, FinalMarksMessage) or to == name:
            return None
        marks = message.marks | {name: message.marks["a"]}
        return FinalMarksMessage(marks, message.signatures | {name: message.signatures[signature]})

    return change


@pytest.mark.parametrize("change", [without("d"), forging("d", signature="a"), forging("d", signature="d")])
def test_an_aggregator_keeps_a_mark_back_and_makes_none(change, play, masked_settings, tmp_path) -> None:
    rehearsal, _, error = play(change, settings=masked_settings(5), ledger_folder=tmp_path)
    assert error is None
    assert rehearsal.not_compared == dict.fromkeys("abce", ("d",))
    assert "the final model was not compared with d" in (tmp_path / "a.jsonl").read_text()


def test_a_party_that_is_lost_before_its_mark_fails_nobody(rehearse_masked, meddle, expect_step) -> None:
    def outgoing(to, step, message):
        if isinstance(message, FinalMarkMessage):
            raise ChannelError("left before the comparison")
        return [(step, message)]

    rehearsal = rehearse_masked(meddlers={"d": meddle(outgoing=outgoing)})
    expect_step(rehearsal.run(), NAMES)
    assert rehearsal.lost_names == ["d"]
    assert rehearsal.not_compared == dict.fromkeys("abce", ("d",))
