"""The same rows summed twice, once without a party: the difference is that party's update, unless records forbid it.

In the old way records lay with the run, or knew one job only. The attack is played both ways.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.errors import HekatError, PolicyError, ProtocolError
from hekat.model import make_model
from hekat.protocol.secure_sum.masked.messages import (
    IncludedMessage,
    OpenedMessage,
    ReleasedGroupsMessage,
    SumBeginMessage,
    SumBlockMessage,
)
from hekat.protocol.secure_sum.masked.opening.release_record import OTHER_SUMS_ACCEPTED, RowsInJob
from hekat.protocol.secure_sum.masked.party import MaskedAggregation
from hekat.protocol.secure_sum.masked.upload_state import UploadState

VICTIM = "e"
OTHER_JOB = hashlib.sha256(b"the same job with another comment").digest()


@pytest.fixture
def rows_of(masked_tables) -> Callable[..., Callable[[str], RowsInJob | None]]:
    """What each party's record knows its rows by in a job of these settings; nothing at the authority."""
    tables = masked_tables()

    def make(settings: Any, accepted: str = "") -> Callable[[str], RowsInJob | None]:
        def rows(name: str) -> RowsInJob | None:
            if name not in tables:
                digest = hashlib.sha256("".join(settings.parties).encode()).digest()
            else:
                digest = hashlib.sha256(tables[name].features.tobytes()).digest()
            return RowsInJob(name, digest, {party: party for party in settings.parties}, accepted=name in accepted)

        return rows

    return make


def total_gradient(state: Any, parties: str, tables: Any) -> dict[str, Any]:
    """What every party knows of the sum of a round of `fedsgd` at rate 0.5: the model's step, times all rows."""
    first = make_model("logistic", 3, 2).init(0)
    count = sum(len(tables[party]) for party in parties)
    return {name: (first[name] - values) * count / 0.5 for name, values in state.parameters.items()}


def shows_victim(whole: Any, without: Any, tables: Any) -> bool:
    """Whether the difference of the two sums is the victim's gradient times its rows."""
    model, victim = make_model("logistic", 3, 2), tables[VICTIM]
    gradient = model.loss_and_gradient(model.init(0), victim.features, victim.labels)[1]
    return all(
        np.allclose(whole[name] - without[name], len(victim) * values, atol=0.05) and np.abs(values).max() > 0.05
        for name, values in gradient.items()
    )


def error_of(rehearsal: Any) -> BaseException:
    """What ended the run, where it was raised first."""
    with pytest.raises(HekatError) as caught:
        rehearsal.run()
    found: BaseException = caught.value
    while found.__cause__ is not None:
        found = found.__cause__
    return found


def test_a_second_run_with_a_record_of_its_own_opens_the_sum_without_the_victim(
    rehearse_masked, masked_settings, masked_tables, leave_at, tmp_path
) -> None:
    """Old: each run has its own records. The second loses the victim in the round that the first had it in."""
    settings, tables = masked_settings(5), masked_tables()
    whole = rehearse_masked(settings, state_folder=tmp_path / "run-1").run()
    lost = {VICTIM: leave_at("round-1")}
    without = rehearse_masked(settings, state_folder=tmp_path / "run-2", hooks=lost).run()
    assert shows_victim(total_gradient(whole, "abcde", tables), total_gradient(without, "abcd", tables), tables)
    # New: a folder that outlasts the run. The first record was the second's as well.
    rehearsal = rehearse_masked(settings, state_folder=tmp_path / "run-1", hooks=lost)
    error = error_of(rehearsal)
    assert isinstance(error, ProtocolError)
    assert "lost in the middle of 'round-1'" in str(error)
    assert rehearsal.records == []


@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_a_comment_in_the_job_makes_no_new_record(
    opening, rehearse_masked, masked_settings, masked_tables, leave_at
) -> None:
    settings, tables = masked_settings(5, opening), masked_tables()
    lost = {VICTIM: leave_at("round-1")}
    # Old: records are of one job.
    whole = rehearse_masked(settings).run()
    without = rehearse_masked(settings, job_digest=OTHER_JOB, hooks=lost).run()
    assert shows_victim(total_gradient(whole, "abcde", tables), total_gradient(without, "abcd", tables), tables)


@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_rows_are_known_again_under_another_digest_of_the_job(
    opening, rehearse_masked, masked_settings, leave_at, rows_of
) -> None:
    settings = masked_settings(5, opening)
    lost, rows = {VICTIM: leave_at("round-1")}, rows_of(settings)
    rehearse_masked(settings, rows=rows).run()
    # A sweep by the same parties, all of whom stay, goes on.
    sweep = replace(settings, training=replace(settings.training, learning_rate=0.1))
    tuned = rehearse_masked(sweep, job_digest=OTHER_JOB, rows=rows)
    tuned.run()
    assert tuned.records[0].party_count == 5
    rehearsal = rehearse_masked(settings, job_digest=bytes([7]) * 32, rows=rows, hooks=lost)
    assert "lost in the middle of 'round-1'" in str(error_of(rehearsal))
    assert rehearsal.records == []


@pytest.mark.long
def test_eight_parties_draw_members_for_another_job_on_the_same_rows(rehearse_masked, masked_settings, rows_of) -> None:
    """What other jobs opened says nothing of a draw of this one's members."""
    settings = masked_settings(8)
    rehearse_masked(settings, rows=rows_of(settings)).run()
    tuned = rehearse_masked(settings, job_digest=OTHER_JOB, rows=rows_of(settings))
    tuned.run()
    assert tuned.records[0].party_count == 8


def test_members_release_nothing_for_another_set_whatever_the_aggregator_asks(
    rehearse_masked, masked_settings, leave_at, rows_of, monkeypatch
) -> None:
    """An aggregator that is told of the earlier sums and asks for the set without the victim all the same."""
    settings = masked_settings(5)
    rows = rows_of(settings)
    rehearse_masked(settings, rows=rows).run()
    monkeypatch.setattr(
        "hekat.protocol.secure_sum.masked.start_up.receive_bound_groups",
        lambda channel, *others: _told(channel, settings),
    )
    lost = {VICTIM: leave_at("round-1")}
    rehearsal = rehearse_masked(settings, job_digest=OTHER_JOB, rows=rows, hooks=lost)
    assert error_of(rehearsal) is not None
    assert rehearsal.records == []
    assert "sums of the rows of" in rehearsal.reasons
    assert "may have been opened for another set in 'round-1'" in rehearsal.reasons


def _told(channel: Any, settings: Any) -> dict[str, tuple[str, ...]]:
    for member in settings.parties:
        assert channel.receive(member, "released-groups", ReleasedGroupsMessage).left_out == {"round-1": []}
    return {}


def test_a_job_of_one_party_less_opens_nothing_of_the_same_rows(
    rehearse_masked, masked_settings, masked_tables, rows_of, tmp_path
) -> None:
    five, four, tables = masked_settings(5), masked_settings(4), masked_tables()
    old = tmp_path / "old"
    whole = rehearse_masked(five, state_folder=old).run()
    without = rehearse_masked(four, state_folder=old, job_digest=OTHER_JOB).run()
    assert shows_victim(total_gradient(whole, "abcde", tables), total_gradient(without, "abcd", tables), tables)

    rehearse_masked(five, rows=rows_of(five)).run()
    rehearsal = rehearse_masked(four, job_digest=OTHER_JOB, rows=rows_of(four))
    error = error_of(rehearsal)
    assert isinstance(error, PolicyError)
    assert "opened in a job of other parties" in error.what
    assert error.got == "e is not in this one"
    assert f'"{OTHER_JOB.hex()}" = "{OTHER_SUMS_ACCEPTED}"' in error.cure
    assert rehearsal.records == []
    assert {state.uploads.next_value for state in rehearsal.upload_states.values()} == {1}, "no upload was begun"


def test_what_the_operators_say_holds_for_that_job_alone_and_stands_in_the_ledger(
    rehearse_masked, masked_settings, rows_of, tmp_path
) -> None:
    five, four, ledgers = masked_settings(5), masked_settings(4), tmp_path / "ledger"
    rehearse_masked(five, rows=rows_of(five)).run()
    ledgers.mkdir()
    allowed = rehearse_masked(four, job_digest=OTHER_JOB, rows=rows_of(four, "abcd"), ledger_folder=ledgers)
    allowed.run()
    assert allowed.records[0].party_count == 4
    for name in "abcd":
        lines = [json.loads(line) for line in (ledgers / f"{name}.jsonl").read_text().splitlines()]
        notes = [field for line in lines for field in line.get("fields", []) if "operator's word" in field["name"]]
        assert [note["class"] for note in notes] == ["disclosed"]
        assert "opened in a job of other parties: e is not in this one" in notes[0]["name"]
        assert OTHER_SUMS_ACCEPTED in notes[0]["name"]
    # From now on there are two sums: whoever comes third is held to both.
    for settings in (five, four):
        error = error_of(rehearse_masked(settings, job_digest=bytes([9]) * 32, rows=rows_of(settings)))
        assert isinstance(error, PolicyError)
    # The jobs that were released for may be played again.
    rehearse_masked(five, rows=rows_of(five)).run()


def test_one_member_that_was_not_asked_keeps_the_job_from_beginning(rehearse_masked, masked_settings, rows_of) -> None:
    five, four = masked_settings(5), masked_settings(4)
    rehearse_masked(five, rows=rows_of(five)).run()
    rehearsal = rehearse_masked(four, job_digest=OTHER_JOB, rows=rows_of(four, "abc"))
    error = error_of(rehearsal)
    assert isinstance(error, PolicyError)
    assert "rows of d" in error.what


def test_an_authority_knows_the_parties_of_another_job_by_their_names(
    rehearse_masked, masked_settings, leave_at, rows_of
) -> None:
    settings = masked_settings(5, "authority")
    rehearse_masked(settings, rows=rows_of(settings), hooks={VICTIM: leave_at("round-1")}).run()
    rehearsal = rehearse_masked(settings, job_digest=OTHER_JOB, rows=rows_of(settings, "abcde"))
    error = error_of(rehearsal)
    assert isinstance(error, PolicyError)
    assert "rows of notary" in error.what
    assert rehearsal.upload_states["a"].uploads.next_value == 1, "no upload was begun"


def test_another_sample_of_the_same_rows_is_another_set(rehearse_masked, masked_settings, rows_of) -> None:
    settings = masked_settings(5)
    settings = replace(settings, training=replace(settings.training, participation=0.6))
    rehearse_masked(settings, rows=rows_of(settings)).run()
    rehearse_masked(settings, rows=rows_of(settings)).run()
    error = error_of(rehearse_masked(settings, job_digest=OTHER_JOB, rows=rows_of(settings)))
    assert isinstance(error, PolicyError)
    assert "another set in 'round-1'" in error.what


@pytest.mark.long
def test_a_party_that_is_no_member_knows_its_rows_in_the_next_job(
    rehearse_masked, masked_settings, rows_of, tmp_path: Path
) -> None:
    """Eight parties have seven members; the eighth writes down what the others opened with its rows."""
    eight = masked_settings(8)
    rehearse_masked(eight, rows=rows_of(eight)).run()
    last = replace(eight, parties=("h", "b", "c", "d"))
    accepted = rows_of(last, "bcd")
    error = error_of(rehearse_masked(last, job_digest=OTHER_JOB, rows=accepted))
    assert isinstance(error, PolicyError)
    assert "rows of h" in error.what


@pytest.mark.quick_values
@pytest.mark.parametrize("noted", [False, True], ids=["the old way", "the new way"])
@pytest.mark.parametrize("kept_back", [(SumBeginMessage, SumBlockMessage), (IncludedMessage, SumBeginMessage)])
def test_an_aggregator_that_keeps_a_sum_to_itself_and_a_friend(
    kept_back, noted, rehearse_masked, masked_settings, masked_tables, rows_of, meddle, tmp_path, monkeypatch
) -> None:
    """The authority released, and knows another job with a party less for another one. Old: nobody else noted it."""
    five, four, tables = masked_settings(5, "authority"), masked_settings(4, "authority"), masked_tables()
    if not noted:
        monkeypatch.setattr(UploadState, "note_upload", lambda state: None)
        monkeypatch.setattr(UploadState, "note_stated", lambda state, *others: None)
    opened: dict[str, Any] = {}
    unmask = MaskedAggregation._unmask

    def spy(aggregation: Any, *others: Any) -> Any:
        aggregate = unmask(aggregation, *others)
        opened.setdefault(aggregation._channel.party, aggregate)
        return aggregate

    def send(to: str, step: str, message: Any) -> list[tuple[str, Any]]:
        return [] if isinstance(message, kept_back) and to in tuple("bcde") else [(step, message)]

    def take(sender: str, step: str, message: Any) -> Any:
        if isinstance(message, OpenedMessage):
            raise HekatError("the aggregator falls over")
        return message

    monkeypatch.setattr(MaskedAggregation, "_unmask", spy)
    first = rehearse_masked(five, rows=rows_of(five), meddlers={"hub": meddle(send, take)}, exactness_check=False)
    with pytest.raises(HekatError):
        first.run()
    assert list(opened) == ["a"]
    for state in first.upload_states.values():
        state.uploads.close()
    shutil.rmtree(tmp_path / "state" / "a")  # the friend forgets
    second = rehearse_masked(four, job_digest=OTHER_JOB, rows=rows_of(four), exactness_check=False)
    if noted:
        error = error_of(second)
        assert isinstance(error, PolicyError)
        assert error.got == "e is not in this one"
        assert second.records == []
        return
    whole = {name: values * sum(len(tables[party]) for party in "abcde") for name, values in opened["a"].mean.items()}
    assert shows_victim(whole, total_gradient(second.run(), "abcd", tables), tables)


@pytest.mark.parametrize("kept_back", [SumBeginMessage, IncludedMessage])
def test_every_party_has_noted_its_job_before_anything_is_opened(
    kept_back, rehearse_masked, masked_settings, rows_of, meddle, tmp_path
) -> None:
    """The eighth is no member. What it is not told it cannot note; of whom the job is it knows."""
    eight = masked_settings(8)

    def send(to: str, step: str, message: Any) -> list[tuple[str, Any]]:
        if isinstance(message, kept_back):
            raise HekatError("the aggregator falls over")
        return [(step, message)]

    with pytest.raises(HekatError):
        rehearse_masked(eight, rows=rows_of(eight), meddlers={"hub": meddle(send)}, exactness_check=False).run()
    for name in eight.parties:
        kinds = {line.split()[0] for line in (tmp_path / "state" / name / "releases.record").read_text().splitlines()}
        assert "parties" in kinds
        assert ("rows" in kinds) == (kept_back is SumBeginMessage)
