"""A guest that tells hosts and arbiter different sizes, so that more is opened for it than hosts allow."""

from __future__ import annotations

from dataclasses import replace

import pytest

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
START = StartMessage(
    row_count=5,
    column_counts=[3, 2],
    high_leverage_columns=1,
    feature_bits=18,
    target_bits=1,
    epochs_done=2,
    finished=False,
)


def lie_to_hosts(channel, table, settings, run):
    """As guest with a column for nearly every row: tell hosts of one column, and the arbiter of all."""
    send = channel.send

    def send_fewer(to, step, message):
        if isinstance(message, StartMessage) and to in settings.hosts:
            message = replace(message, column_counts=[1, *message.column_counts[1:]], high_leverage_columns=0)
        return send(to, step, message)

    channel.send = send_fewer
    return run_guest(channel, table, replace(settings, column_leak_accepted=COLUMN_LEAK_ACCEPTED), run)


@pytest.fixture
def lied(rehearse, settings_of, tables_of):
    job = settings_of(host_count=2, batch_rows=0, epochs=1, columns_accepted=None)
    tables = tables_of(5, rows=ROWS, columns=(ROWS - 5, 2, 2))
    return rehearse(job, tables, exactness_check=False, stand_ins={"bank": lie_to_hosts})


def test_a_guest_would_have_more_opened_than_it_tells_hosts(lied, monkeypatch) -> None:
    """As it was before the arbiter said what it had heard: nobody held the two beginnings against each other."""
    monkeypatch.setattr(opening, "check_same_start", lambda *arguments: None)
    lied.run()
    for host in ("shop", "telco"):
        assert any("bank learns its gradients: 2 linear equations over 40 rows" in note for note in lied.notes[host])
    to_guest = [m for to, _, m in lied.sent["judge"] if to == "bank" and isinstance(m, OpenedGradientMessage)]
    assert [len(message.values) for message in to_guest] == [ROWS - 4]


def test_hosts_find_out_before_they_send_a_score(lied) -> None:
    with pytest.raises(PartyStoppedError, match="judge was told another beginning than") as caught:
        lied.run()
    assert isinstance(caught.value.__cause__, ProtocolError)
    assert caught.value.party in ("shop", "telco")
    for host in ("shop", "telco"):
        assert not any(isinstance(message, ScoresMessage) for _, _, message in lied.sent[host])


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
