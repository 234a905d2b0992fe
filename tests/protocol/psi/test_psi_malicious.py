"""Peers that send what no honest party sends, or leave: the receiver stops, names them, and learns nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hekat.errors import HekatError, InputError, PartyStoppedError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.psi import ecdh
from hekat.protocol.psi.ids import make_ids
from hekat.protocol.psi.messages import (
    AnnouncementMessage,
    AnsweredPointsMessage,
    BlindedIdsMessage,
    BlindSignaturesMessage,
    CommonCountMessage,
    CommonRowsMessage,
    MaskedPointsMessage,
    SigningKeyMessage,
    TagsMessage,
)
from hekat.protocol.psi.roles import IntersectionRun, run_intersection
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.rsa import BlindedItems, BlindSignatures, prove_permutation
from hekat.wire import from_bytes, to_bytes

IDS = {"guest": make_ids([range(20)], "guest"), "bank": make_ids([range(10, 40)], "bank")}
ECDH = IntersectionSettings("guest", ("bank",))
COUNT = IntersectionSettings("guest", ("bank",), cardinality_only=True)
RSA = IntersectionSettings("guest", ("bank",), kind="rsa_blind")


def stop_of(intersect, sender: str, kind: type, change: Callable[[Any], Any], settings=ECDH) -> HekatError:
    """The error that ends the run where `sender` changes its messages of one kind; the other party stops."""

    def alter(message: Any) -> Any:
        return change(message) if isinstance(message, kind) else message

    with pytest.raises(PartyStoppedError) as caught:
        intersect(IDS, settings, change={sender: alter})
    (receiver,) = set(IDS) - {sender}
    assert caught.value.party == receiver
    cause = caught.value.__cause__
    assert isinstance(cause, HekatError)
    assert sender in str(cause)
    return cause


def with_point(u: int) -> Callable[[Any], Any]:
    def change(message: Any) -> Any:
        rows = message.rows.copy()
        rows[7] = np.frombuffer(u.to_bytes(32, "little"), np.uint8)
        return replace(message, rows=rows)

    return change


def repeated(message: Any) -> Any:
    rows = message.rows.copy()
    rows[7] = rows[8]
    return replace(message, rows=rows)


@pytest.mark.quick_values
@pytest.mark.parametrize("sender", ["guest", "bank"])
@pytest.mark.parametrize(
    ("u", "words"),
    [
        (2**255 - 19, "no coordinates"),
        (2**255 + 9, "no coordinates"),
        (0, "not on the curve"),
        (2, "not on the curve"),
        (1, "small order"),
        (325606250916557431795983626356110631294008115727848805560023387167927233504, "small order"),
    ],
)
def test_points_that_are_none(intersect, sender: str, u: int, words: str) -> None:
    error = stop_of(intersect, sender, MaskedPointsMessage, with_point(u))
    assert isinstance(error, ProtocolError)
    assert words in str(error)


@pytest.mark.quick_values
@pytest.mark.parametrize(
    ("sender", "kind", "settings"),
    [
        ("guest", MaskedPointsMessage, ECDH),
        ("guest", MaskedPointsMessage, COUNT),
        ("bank", MaskedPointsMessage, ECDH),
        ("bank", AnsweredPointsMessage, ECDH),
        ("bank", TagsMessage, RSA),
    ],
)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (repeated, "that repeat"),
        (lambda message: replace(message, rows=message.rows[1:]), "another size"),
        (lambda message: replace(message, rows=message.rows[:, :31].copy()), "another size"),
        (lambda message: replace(message, rows=message.rows.ravel()), "another size"),
    ],
)
def test_lists_that_are_none(intersect, sender: str, kind: type, settings, change, words: str) -> None:
    error = stop_of(intersect, sender, kind, change, settings)
    assert isinstance(error, ProtocolError)
    assert words in str(error)


def test_weights_of_points_do_not_pass_the_shuffle(intersect) -> None:
    """The attack: a party that may only count sends each id another number of times, and knows the id again by its
    number.

    Multiples that differ by a point of small order alone end as one point too, so the check compares the answers.
    """
    sent: list[Any] = []

    def twice(message: MaskedPointsMessage) -> MaskedPointsMessage:
        rows = message.rows.copy()
        rows[1:3] = rows[0]
        sent.append(rows)
        return replace(message, rows=rows)

    error = stop_of(intersect, "guest", MaskedPointsMessage, twice, COUNT)
    assert sent
    assert "2 too many" in str(error)


@pytest.mark.parametrize("count", [0, -256, 255, 300, 2**40])
def test_sizes_that_are_no_rung(intersect, count: int) -> None:
    error = stop_of(intersect, "guest", AnnouncementMessage, lambda message: replace(message, padded_count=count))
    assert "a size that there is not" in str(error)


@pytest.mark.parametrize("columns", [[[str(i) for i in range(20)]], [range(20), range(20)], [["a"] * 20, range(20)]])
def test_ids_of_another_kind(intersect, columns) -> None:
    ids = IDS | {"guest": make_ids(columns, "guest")}
    with pytest.raises(PartyStoppedError) as caught:
        intersect(ids, ECDH)
    cause = caught.value.__cause__
    assert isinstance(cause, InputError)
    assert "are of different kinds" in str(cause)
    assert "column" in cause.expected
    assert "column" in cause.got


def test_one_id_is_refused(intersect) -> None:
    with pytest.raises(PartyStoppedError) as caught:
        intersect(IDS | {"bank": make_ids([[5]], "bank")}, ECDH)
    assert isinstance(caught.value.__cause__, InputError)
    assert "allow_single" in caught.value.__cause__.cure


def test_a_party_without_a_part(intersect) -> None:
    def play(channel: RecordedChannel) -> None:
        run_intersection(
            channel, IDS["guest"], IntersectionSettings("somebody", ("else",)), IntersectionRun(Stopwatch())
        )

    with pytest.raises(PartyStoppedError) as caught:
        intersect(IDS, ECDH, stand_ins={"guest": play})
    assert "no part in this intersection" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("guests", "hosts"),
    [
        ({"learns": ("guest",)}, {"learns": ("guest",), "cardinality_only": True}),
        ({"learns": ("guest",), "cardinality_only": True}, {"learns": ("guest",)}),
        ({}, {"learns": ("guest",)}),
        ({}, {"learns": ("bank",)}),
        ({"learns": ("bank",)}, {}),
        ({}, {"kind": "rsa_blind"}),
        ({"kind": "rsa_blind"}, {"kind": "rsa_blind", "key_bits": 4096}),
        ({}, {"hosts": ("bank", "shop")}),
    ],
)
def test_other_settings_at_a_peer(intersect, guests: dict[str, Any], hosts: dict[str, Any]) -> None:
    """Each site has its own job file: one that counts under a guest that maps answers back would give wrong rows."""
    settings = IntersectionSettings(**{"guest": "guest", "hosts": ("bank",)} | guests)
    others = IntersectionSettings(**{"guest": "guest", "hosts": ("bank",)} | hosts)

    def play(channel: RecordedChannel) -> Any:
        return run_intersection(channel, IDS["bank"], others, IntersectionRun(Stopwatch()))

    with pytest.raises(PartyStoppedError) as caught:
        intersect(IDS, settings, stand_ins={"bank": play})
    cause = caught.value.__cause__
    assert isinstance(cause, ProtocolError)
    assert "comes with other settings of this intersection" in str(cause)
    assert cause.cure


def test_what_each_party_decides_for_itself_may_differ() -> None:
    alone = IntersectionSettings("guest", ("bank",), learns=["guest", "bank"], allow_single=True)
    assert alone.digest() == ECDH.digest()


@pytest.mark.quick_values
@pytest.mark.parametrize("settings", [ECDH, RSA, COUNT])
@pytest.mark.parametrize("leaver", ["guest", "bank"])
def test_a_peer_that_leaves(intersect, settings, leaver: str) -> None:
    def leave(message: Any) -> Any:
        if isinstance(message, AnnouncementMessage):
            return message
        raise OSError("the line is cut")

    with pytest.raises(PartyStoppedError) as caught:
        intersect(IDS, settings, change={leaver: leave})
    assert caught.value.party == leaver


# --- what is common -----------------------------------------------------------------------------------------


def flip(place: int) -> Callable[[CommonRowsMessage], CommonRowsMessage]:
    def change(message: CommonRowsMessage) -> CommonRowsMessage:
        flags = np.unpackbits(message.places)
        flags[place] ^= 1
        return replace(message, places=np.packbits(flags))

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (flip(9), "tells of common rows that it does not have"),  # the bank's id 19, common: left out
        (flip(10), "tells of common rows that it does not have"),  # its id 20, of its own alone: put in
        (flip(29), "tells of common rows that it does not have"),  # its last id: put in
        (flip(30), "meets this party's padding"),  # its first place of padding: put in
        (lambda message: replace(message, set_digest=bytes(32)), "tells of common rows that it does not have"),
    ],
)
def test_common_rows_that_the_asker_does_not_have(intersect, monkeypatch, change, words: str) -> None:
    """Lists leave in the order of their rows here, with the padding last, so that each place is known."""
    monkeypatch.setattr(ecdh, "draw_order", np.arange)
    error = stop_of(intersect, "guest", CommonRowsMessage, change)
    assert words in str(error)


@pytest.mark.parametrize(
    "places", [np.zeros(31, np.uint8), np.zeros(33, np.uint8), np.zeros((1, 32), np.uint8), np.zeros(0, np.uint8)]
)
def test_common_rows_of_another_list(intersect, places) -> None:
    change = lambda message: replace(message, places=places)  # noqa: E731
    assert "another list" in str(stop_of(intersect, "guest", CommonRowsMessage, change))


def test_common_padding(intersect) -> None:
    change = lambda message: replace(message, places=np.full(32, 255, np.uint8))  # noqa: E731
    assert "padding" in str(stop_of(intersect, "guest", CommonRowsMessage, change))


def test_answers_in_another_order_meet_padding(intersect) -> None:
    """A host that answers in another order than the guest asked in would make the guest take the wrong rows."""
    change = lambda message: replace(message, rows=np.roll(message.rows, 128, axis=0))  # noqa: E731
    assert "padding" in str(stop_of(intersect, "bank", AnsweredPointsMessage, change))


@pytest.mark.parametrize("count", [[-1], [31], [2**40], [], [5, 5]])
def test_numbers_that_cannot_be(intersect, count: list[int]) -> None:
    change = lambda message: replace(message, count=np.array(count, dtype=np.int64))  # noqa: E731
    assert "cannot be" in str(stop_of(intersect, "guest", CommonCountMessage, change, COUNT))


# --- blind signatures ---------------------------------------------------------------------------------------


def test_keys_that_are_not_used(intersect, rsa_keys) -> None:
    small = rsa_keys(2048)
    small_proof = to_bytes(prove_permutation(small.private))
    cases: list[tuple[dict[str, bytes], str]] = [
        ({"public_key": to_bytes(small.public), "proof": small_proof}, "another size"),
        ({"public_key": b"key"}, "a key that is not used"),
        ({"proof": small_proof}, "a key that is not used"),
        ({"proof": b""}, "a key that is not used"),
    ]
    for changes, words in cases:
        error = stop_of(intersect, "bank", SigningKeyMessage, lambda message, c=changes: replace(message, **c), RSA)
        assert isinstance(error, ProtocolError)
        assert words in str(error)


def test_a_proof_that_does_not_hold(intersect, rsa_keys) -> None:
    key = rsa_keys(3072)
    wrong = prove_permutation(key.private)[::-1]
    error = stop_of(intersect, "bank", SigningKeyMessage, lambda message: replace(message, proof=to_bytes(wrong)), RSA)
    assert "not shown to blind" in str(error)


def test_signatures_that_do_not_hold(intersect, rsa_keys) -> None:
    key = rsa_keys(3072).public

    def change(message: BlindSignaturesMessage) -> BlindSignaturesMessage:
        found = from_bytes(message.elements, BlindSignatures, public_key=key)
        order = np.arange(256)
        order[[3, 4]] = [4, 3]
        return replace(message, elements=to_bytes(found[order]))

    error = stop_of(intersect, "bank", BlindSignaturesMessage, change, RSA)
    assert "do not hold" in str(error)
    assert "got 2 others" in str(error)


@pytest.mark.parametrize(
    ("sender", "kind", "cls"),
    [("bank", BlindSignaturesMessage, BlindSignatures), ("guest", BlindedIdsMessage, BlindedItems)],
)
def test_elements_that_are_none(intersect, rsa_keys, sender: str, kind: type, cls: type) -> None:
    key = rsa_keys(3072).public

    def fewer(message: Any) -> Any:
        return replace(message, elements=to_bytes(from_bytes(message.elements, cls, public_key=key)[1:]))

    assert "another number" in str(stop_of(intersect, sender, kind, fewer, RSA))
    error = stop_of(intersect, sender, kind, lambda message: replace(message, elements=b"nothing"), RSA)
    assert isinstance(error, ProtocolError)
