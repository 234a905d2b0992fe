"""Messages that may stay unread: a later one is read all the same, and nothing lost or altered is passed over."""

from __future__ import annotations

import pytest

from hekat.errors import ChannelTimeoutError, InputError, SealError


@pytest.fixture
def passed(trio) -> list[tuple[str, bytes]]:
    """What b read past of a's steps "extra-1" and "extra-2"."""
    found: list[tuple[str, bytes]] = []
    for step in ("extra-1", "extra-2"):
        trio.sealed["b"].allow_unread("a", step, lambda payload, step=step: found.append((step, payload)))
    return found


def send(trio, *steps: str) -> None:
    for index, step in enumerate(steps):
        trio.sealed["a"].send("b", step, f"{index}".encode())


@pytest.mark.parametrize(
    "steps",
    [
        ("extra-1",),
        ("extra-1", "extra-1", "extra-1"),
        ("extra-1", "extra-2"),
        ("extra-2", "extra-1", "extra-2"),
    ],
)
def test_a_later_message_is_read_and_those_before_it_are_handed_over_in_their_order(steps, trio, passed) -> None:
    send(trio, *steps, "step", "step")
    b = trio.sealed["b"]
    assert b.receive("a", "step") == f"{len(steps)}".encode()
    assert passed == [(step, f"{index}".encode()) for index, step in enumerate(steps)]
    assert b.receive("a", "step") == f"{len(steps) + 1}".encode()


def test_what_is_read_in_its_turn_is_not_read_past(trio, passed) -> None:
    send(trio, "extra-1", "step", "extra-2", "step")
    b = trio.sealed["b"]
    assert [b.receive("a", step) for step in ("extra-1", "step", "extra-2", "step")] == [b"0", b"1", b"2", b"3"]
    assert passed == []


def test_a_message_whose_turn_comes_later_is_kept_for_it(trio, passed) -> None:
    """b looks for what is missing before "step" in "extra-1" first, where something later lies."""
    send(trio, "extra-2", "step", "extra-1")
    b = trio.sealed["b"]
    assert b.receive("a", "step") == b"1"
    assert passed == [("extra-2", b"0")]
    assert b.receive("a", "extra-1") == b"2"


def test_a_lost_message_is_still_missed(trio, passed) -> None:
    trio.sent("a", "b", "extra-1", b"lost on the way")
    send(trio, "extra-1", "step")
    with pytest.raises(SealError, match="reordered, or one before it is missing"):
        trio.sealed["b"].receive("a", "step")
    assert passed == []


def test_an_altered_one_is_refused(trio, passed) -> None:
    data = trio.sent("a", "b", "extra-1", b"altered")
    trio.put("a", "b", "extra-1", data[:-1] + bytes([data[-1] ^ 1]))
    send(trio, "step")
    with pytest.raises(SealError, match="altered"):
        trio.sealed["b"].receive("a", "step")
    assert passed == []


def test_a_step_that_is_not_named_is_not_passed_over(trio, passed) -> None:
    send(trio, "other", "step")
    with pytest.raises(SealError, match="reordered, or one before it is missing"):
        trio.sealed["b"].receive("a", "step")


def test_once_a_step_is_read_the_ones_before_it_are_over(trio, passed) -> None:
    b = trio.sealed["b"]
    send(trio, "extra-2", "extra-1", "step")
    assert b.receive("a", "extra-2") == b"0"
    with pytest.raises(SealError, match="reordered, or one before it is missing"):
        b.receive("a", "step")
    assert list(b._unread["a"]) == ["extra-2"], "nothing grows with the rounds of a run"


def test_nobody_waits_for_what_may_stay_unread(trio, passed) -> None:
    with pytest.raises(ChannelTimeoutError):
        trio.sealed["b"].receive("a", "step", timeout_s=1e-9)
    send(trio, "step")
    assert trio.sealed["b"].receive("a", "step") == b"0"


@pytest.mark.parametrize("sender", ["b", "nobody"])
def test_only_peers_are_named(sender, trio) -> None:
    with pytest.raises(InputError, match="no such peer"):
        trio.sealed["b"].allow_unread(sender, "step", print)
