"""A guest that tells hosts and arbiter different sizes, so that the arbiter opens more for it than hosts allow."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.protocol.vertical_linear.arbiter.start_messages import make_start

from hekat.errors import PartyStoppedError, ProtocolError
from hekat.protocol.vertical_linear.arbiter import opening
from hekat.protocol.vertical_linear.arbiter.arbiter import run_arbiter
from hekat.protocol.vertical_linear.arbiter.guest import run_guest
from hekat.protocol.vertical_linear.arbiter.messages import (
    OpenedGradientMessage,
    PublicKeyMessage,
    ScoresMessage,
    StartMessage,
)
from hekat.protocol.vertical_linear.arbiter.same_start import digest_start
from hekat.protocol.vertical_linear.settings import COLUMN_LEAK_ACCEPTED

ROWS = 40
HOSTS = ("shop", "telco")
START = make_start(high_leverage_columns=1, epochs_done=2)


def lie_to(victims: tuple[str, ...]):
    """A guest with a column for nearly every row, which tells `victims` of one column and everybody else of all."""

    def play(channel, table, settings, run):
        send = channel.send

        def send_fewer(to, step, message):
            if isinstance(message, StartMessage) and to in victims:
                message = replace(message, column_counts=[1, *message.column_counts[1:]], high_leverage_columns=0)
            return send(to, step, message)

        channel.send = send_fewer
        return run_guest(channel, table, replace(settings, column_leak_accepted=COLUMN_LEAK_ACCEPTED), run)

    return play


@pytest.fixture
def lied_to(rehearse, settings_of, tables_of):
    def make(victims: tuple[str, ...], columns_accepted: str | None = None):
        job = settings_of(host_count=2, batch_rows=0, epochs=1, columns_accepted=columns_accepted)
        tables = tables_of(5, rows=ROWS, columns=(ROWS - 5, 2, 2))
        return rehearse(job, tables, exactness_check=False, stand_ins={"bank": lie_to(victims)})

    return make


def test_a_guest_would_have_more_opened_than_it_tells_hosts(lied_to, monkeypatch) -> None:
    """Where nobody holds what the arbiter heard against what hosts heard."""
    monkeypatch.setattr(opening, "check_same_start", lambda *arguments: None)
    lied = lied_to(HOSTS)
    lied.run()
    for host in HOSTS:
        assert any("bank learns its gradients: 2 linear equations over 40 rows" in note for note in lied.notes[host])
    to_guest = [m for to, _, m in lied.sent["judge"] if to == "bank" and isinstance(m, OpenedGradientMessage)]
    assert [len(message.values) for message in to_guest] == [ROWS - 4]


def test_hosts_find_out_before_they_send_a_score(lied_to) -> None:
    lied = lied_to(HOSTS)
    with pytest.raises(PartyStoppedError, match="judge was told another beginning than") as caught:
        lied.run()
    assert isinstance(caught.value.__cause__, ProtocolError)
    for host in HOSTS:
        assert not any(isinstance(message, ScoresMessage) for _, _, message in lied.sent[host])


@pytest.mark.parametrize("victim", HOSTS)
def test_the_one_host_that_a_guest_lies_to_finds_out(lied_to, victim: str) -> None:
    # The other host hears of all columns, and accepts them in words, so that it goes on.
    lied = lied_to((victim,), COLUMN_LEAK_ACCEPTED)
    with pytest.raises(PartyStoppedError, match=f"judge was told another beginning than {victim} knows") as caught:
        lied.run()
    assert isinstance(caught.value.__cause__, ProtocolError)
    assert caught.value.party == victim
    assert not any(isinstance(message, ScoresMessage) for _, _, message in lied.sent[victim])


@pytest.mark.parametrize("victim", ["bank", "shop"])
@pytest.mark.parametrize("protection", ["paillier", "lattice", "none"])
def test_each_party_holds_the_beginning_against_its_own(
    rehearse, settings_of, tables_of, protection: str, victim: str
) -> None:
    def other(channel, table, settings, run):
        send = channel.send

        def send_other(to, step, message):
            if isinstance(message, PublicKeyMessage) and to == victim:
                message = replace(message, start_digest=bytes(32))
            return send(to, step, message)

        channel.send = send_other
        run_arbiter(channel, settings, run)

    job = settings_of(epochs=1, protection=protection)
    run = rehearse(job, tables_of(1), exactness_check=False, stand_ins={"judge": other})
    with pytest.raises(PartyStoppedError, match=f"judge was told another beginning than {victim} knows") as caught:
        run.run()
    assert caught.value.party == victim
    assert {type(message).__name__ for _, _, message in run.sent[victim]} <= {"HostReadyMessage", "StartMessage"}


@pytest.mark.parametrize(
    "change",
    [
        {"row_count": 6},
        {"column_counts": [2, 3]},
        {"high_leverage_columns": 0},
        {"feature_bits": 19},
        {"target_bits": 2},
        {"epochs_done": 1},
        {"finished": True},
    ],
    ids=str,
)
def test_every_field_is_in_the_digest(change) -> None:
    assert digest_start(replace(START)) == digest_start(START)
    assert digest_start(replace(START, **change)) != digest_start(START)
