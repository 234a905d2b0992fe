"""Whether parties have the same rows: guest and hosts learn the answer, and no message lets anybody try guesses."""

from __future__ import annotations

from typing import Any

import pytest

from hekat.errors import InputError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.own_loop.split import same_values
from hekat.own_loop.split.messages import ComparedMessage, MaskedMessage

from .plain_loops import play, train_guest, train_host

IDS = [f"person-{number}" for number in range(10)]


def _compares(value: Any, train: Any, label: str = "ids") -> Any:
    def code(party: Any) -> Any:
        party.check_same(label, value)
        return train(party)

    return code


def _play(guest: Any, lab: Any, shop: Any = None) -> Any:
    hosts = {"lab": _compares(lab, train_host), "shop": _compares(IDS if shop is None else shop, train_host)}
    return play(_compares(guest, train_guest), hosts)


def test_the_same_rows_pass_and_training_goes_on() -> None:
    assert _play(IDS, list(IDS)).results["guest"] == [1, 2, 3]


@pytest.mark.quick_values
@pytest.mark.parametrize("others", [IDS[::-1], IDS[:-1], [*IDS[:-1], "person-x"], list(range(10)), "person-0", []])
@pytest.mark.parametrize("host", ["lab", "shop"])
def test_other_rows_and_other_orders_name_the_host(host: str, others: Any) -> None:
    values = {"lab": IDS, "shop": IDS, host: others}
    with pytest.raises(ProtocolError, match=f"'ids' is not the same at guest and {host}") as raised:
        _play(IDS, values["lab"], values["shop"])
    assert "set intersection" in raised.value.cure
    assert "person" not in str(raised.value)


def test_other_calls_are_named() -> None:
    with pytest.raises(ProtocolError, match=r"(?s)guest calls check_same.*lab calls forward"):
        play(_compares(IDS, train_guest), {"lab": train_host})
    with pytest.raises(ProtocolError, match="'rows' is not the same at guest and lab"):
        play(_compares(IDS, train_guest, "rows"), {"lab": _compares(IDS, train_host)})
    with pytest.raises(InputError, match="'ids' cannot be compared"):
        play(_compares({1, 2}, train_guest), {"lab": train_host})


def test_points_are_under_fresh_scalars_so_guesses_find_nothing(monkeypatch) -> None:
    """Who guesses the value right still cannot tell it from the messages: it would have to know a scalar."""
    sent: list[bytes] = []
    guessed: set[bytes] = set()
    point = same_values._point

    def keep_point(*told: Any) -> bytes:
        guessed.add(point(*told))
        return point(*told)

    def keep(send: Any) -> Any:
        def call(self: Any, to: str, step: str, message: Any, *more: Any) -> Any:
            if isinstance(message, (MaskedMessage, ComparedMessage)):
                sent.extend(vars(message).values())
            return send(self, to, step, message, *more)

        return call

    monkeypatch.setattr(same_values, "_point", keep_point)
    monkeypatch.setattr(RecordedChannel, "send", keep(RecordedChannel.send))

    def twice(train: Any) -> Any:
        return lambda party: [party.check_same("ids", IDS), party.check_same("ids", IDS), train(party)]

    play(twice(train_guest), {"lab": twice(train_host)})
    assert len(sent) == len(set(sent)) == 2 * 3
    assert len(guessed) == 2  # one point a call and host: both sides have the same
    assert not guessed & set(sent)


@pytest.mark.parametrize(
    ("masked", "answered"),
    [
        (b"", None),
        (bytes(32), None),
        ((1).to_bytes(32, "little"), None),
        ((2**255 - 19).to_bytes(32, "little"), None),
        (b"\xff" * 32, None),
        (None, b"\x09" * 31),
        (None, bytes(32)),
    ],
)
def test_what_is_no_point_is_refused(masked: bytes | None, answered: bytes | None, monkeypatch) -> None:
    def answer(channel: Any, guest: str, step: str, digest: bytes) -> None:
        theirs = channel.receive(guest, step, MaskedMessage).masked
        channel.send(guest, step, ComparedMessage(theirs if masked is None else masked, answered or theirs))

    monkeypatch.setattr("hekat.own_loop.split.host.answer_guest", answer)
    with pytest.raises(ProtocolError, match="lab sent a masked value that cannot be"):
        play(_compares(IDS, train_guest), {"lab": _compares(IDS, train_host)})


def test_a_host_that_sends_the_guests_point_back_does_not_pass(monkeypatch) -> None:
    def answer(channel: Any, guest: str, step: str, digest: bytes) -> None:
        theirs = channel.receive(guest, step, MaskedMessage).masked
        channel.send(guest, step, ComparedMessage(theirs, theirs))

    monkeypatch.setattr("hekat.own_loop.split.host.answer_guest", answer)
    with pytest.raises(ProtocolError, match="'ids' is not the same"):
        play(_compares(IDS, train_guest), {"lab": _compares(["other"], train_host)})
