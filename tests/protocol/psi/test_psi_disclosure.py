"""What leaves a party: lists of one length whatever the set's size, in a random order, under scalars of this run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from hekat.protocol.psi import ecdh
from hekat.protocol.psi.curve import is_on_curve, map_to_curve, multiply
from hekat.protocol.psi.ids import make_ids
from hekat.protocol.psi.messages import (
    AnnouncementMessage,
    AnsweredPointsMessage,
    CommonCountMessage,
    CommonRowsMessage,
    MaskedPointsMessage,
    TagsMessage,
)
from hekat.protocol.psi.pair import Pair, context_of
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.wire import disclosure_of, from_bytes, to_bytes

SIZE = 256
IDS = {"guest": make_ids([range(SIZE)], "guest"), "bank": make_ids([range(100, 100 + SIZE)], "bank")}
FEW = {"guest": make_ids([range(3)], "guest"), "bank": make_ids([range(2, 6)], "bank")}
ECDH = IntersectionSettings("guest", ("bank",))
COUNT = IntersectionSettings("guest", ("bank",), cardinality_only=True)
RSA = IntersectionSettings("guest", ("bank",), kind="rsa_blind")
# Eight standard deviations of the correlation of two random orders of 256.
NO_CORRELATION = 8 / (SIZE - 1) ** 0.5


@pytest.fixture
def scalars(monkeypatch: pytest.MonkeyPatch) -> list[X25519PrivateKey]:
    """Every scalar that a run draws, in the order it is drawn."""
    drawn: list[X25519PrivateKey] = []

    class Recording:
        @staticmethod
        def generate() -> X25519PrivateKey:
            drawn.append(X25519PrivateKey.generate())
            return drawn[-1]

    monkeypatch.setattr(ecdh, "X25519PrivateKey", Recording)
    return drawn


def list_of(played, receiver: str, kind: type = MaskedPointsMessage) -> np.ndarray:
    return np.concatenate([message.rows for message in played.channels[receiver].of(kind)])


def rows_in(points: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The place of each of `expected` among the points."""
    places = {row.tobytes(): place for place, row in enumerate(points)}
    return np.array([places[row.tobytes()] for row in expected])


def correlation(order: np.ndarray) -> float:
    return abs(float(np.corrcoef(order, np.arange(len(order)))[0, 1]))


def masked_by(scalars, context: bytes, digests, points) -> np.ndarray:
    """The digests' points under whichever drawn scalar made `points`."""
    known = {row.tobytes() for row in points}
    for scalar in scalars:
        found = multiply(scalar, map_to_curve(context, digests))
        if found[0].tobytes() in known:
            return found
    raise AssertionError("no scalar of this run made these points")


@pytest.mark.parametrize("settings", [ECDH, COUNT, RSA])
def test_sizes_do_not_show(intersect, settings) -> None:
    """The messages that a party hears are as long for 3 ids as for 256, and for 1 common row as for 156."""
    shapes = []
    for ids in (FEW, IDS):
        played = intersect(ids, settings)
        heard = {
            name: [(sender, step, len(to_bytes(message))) for sender, step, message in channel.received]
            for name, channel in played.channels.items()
        }
        shapes.append(heard)
        for channel in played.channels.values():
            assert channel.of(AnnouncementMessage)[0].padded_count == SIZE
    assert shapes[0] == shapes[1]


def test_lists_are_shuffled_and_answers_keep_their_order(intersect, scalars) -> None:
    played = intersect(IDS, ECDH)
    context = context_of(played.channels["guest"].session, "guest", "bank")
    for receiver, owner in (("bank", "guest"), ("guest", "bank")):
        points = list_of(played, receiver)
        order = rows_in(points, masked_by(scalars, context, IDS[owner].digests, points))
        assert sorted(order) == list(range(SIZE))
        assert correlation(order) < NO_CORRELATION
    sent, answered = list_of(played, "bank"), list_of(played, "guest", AnsweredPointsMessage)
    assert any(np.array_equal(multiply(scalar, sent), answered) for scalar in scalars)


def test_answers_to_a_count_are_shuffled(intersect, scalars) -> None:
    played = intersect(IDS, COUNT)
    sent, answered = list_of(played, "bank"), list_of(played, "guest", AnsweredPointsMessage)
    known = {row.tobytes() for row in answered}
    products = next(found for scalar in scalars if (found := multiply(scalar, sent))[0].tobytes() in known)
    order = rows_in(answered, products)
    assert sorted(order) == list(range(SIZE))
    assert correlation(order) < NO_CORRELATION


def test_tags_are_shuffled(intersect, rsa_keys, monkeypatch: pytest.MonkeyPatch) -> None:
    from hekat.protocol.psi import rsa_blind

    made: list[np.ndarray] = []
    original = rsa_blind._tag_own

    def recorded(*arguments: Any) -> Any:
        for tags in original(*arguments):
            made.append(tags)
            yield tags

    monkeypatch.setattr(rsa_blind, "_tag_own", recorded)
    played = intersect(IDS, RSA)
    order = rows_in(list_of(played, "guest", TagsMessage), np.concatenate(made))
    assert correlation(order) < NO_CORRELATION


def test_a_tag_is_of_its_pair_alone(intersect, rsa_keys) -> None:
    """The same id under the same signature has another tag in another session."""
    from hekat.protocol.psi import rsa_blind
    from hekat.scheme.rsa import hash_to_group, sign

    key = rsa_keys(3072)
    digests = IDS["guest"].digests[:2]
    signatures = sign(key.private, hash_to_group(key.public, rsa_blind._items(digests), context=b"c"))
    pairs = [Pair(None, "bank", SIZE, SIZE, context * 32, None) for context in (b"s", b"s", b"t")]
    tags = [rsa_blind._tag(pair, digests, signatures).tobytes() for pair in pairs]
    assert tags[0] == tags[1] != tags[2]


def test_no_bit_of_a_point_tells_curve_from_twist(intersect) -> None:
    """Every point of a run, ids and padding, masked and answered, is on the curve."""
    played = intersect(FEW, ECDH)
    for receiver, kind in (
        ("bank", MaskedPointsMessage),
        ("guest", MaskedPointsMessage),
        ("guest", AnsweredPointsMessage),
    ):
        points = list_of(played, receiver, kind)
        assert len(points) == SIZE
        assert is_on_curve(points).all()


def test_no_bit_of_a_point_is_more_often_set_than_not(intersect) -> None:
    """2,048 points of ids and padding each: each of their 251 low bits is set in half, to within 7 deviations."""
    ids = {name: make_ids([range(start, start + 2048)], name) for name, start in (("guest", 0), ("bank", 5000))}
    played = intersect(ids, ECDH)
    for points in (list_of(played, "bank"), list_of(played, "guest", AnsweredPointsMessage)):
        set_count = np.unpackbits(points, axis=1, bitorder="little")[:, :251].sum(axis=0, dtype=np.int64)
        assert np.abs(set_count - 1024).max() < 7 * 2048**0.5 / 2


def test_scalars_are_fresh(intersect, scalars) -> None:
    settings = IntersectionSettings("guest", ("bank", "shop"))
    ids = {**FEW, "shop": make_ids([range(5)], "shop")}
    first, second = intersect(ids, settings), intersect(ids, settings)
    assert len({scalar.private_bytes_raw() for scalar in scalars}) == 8, "one for each side of each pair, each run"
    points = {row.tobytes() for played in (first, second) for name in ("bank", "shop") for row in list_of(played, name)}
    assert len(points) == 4 * SIZE, "no point is ever sent twice: neither to another host nor in another run"


def test_ids_are_hashed_apart_for_each_session_and_pair() -> None:
    contexts = [
        (b"s" * 32, "a", "b"),
        (b"t" * 32, "a", "b"),
        (b"s" * 32, "b", "a"),
        (b"s" * 32, "ab", ""),
        (b"s" * 32, "a", "c"),
    ]
    assert len({context_of(*context) for context in contexts}) == len(contexts)


def test_a_party_that_does_not_learn_hears_nothing_of_it(intersect) -> None:
    for settings in (
        IntersectionSettings("guest", ("bank",), learns=("bank",)),
        IntersectionSettings("guest", ("bank",), learns=("guest",)),
        IntersectionSettings("guest", ("bank",), learns=("guest",), cardinality_only=True),
        IntersectionSettings("guest", ("bank",), learns=("bank",), kind="rsa_blind"),
    ):
        played = intersect(FEW, settings)
        (silent,) = set(settings.parties) - set(settings.learners)
        heard = {type(message) for _, _, message in played.channels[silent].received}
        assert not heard & {CommonRowsMessage, CommonCountMessage, AnsweredPointsMessage, TagsMessage}


@pytest.mark.sealed
def test_ledgers_say_who_learns_what_and_hold_no_ids(intersect) -> None:
    texts = [f"person-{i}" for i in range(50)]
    ids = {name: make_ids([texts], name) for name in ("guest", "bank", "shop")}
    played = intersect(ids, IntersectionSettings("guest", ("bank", "shop"), learns=("guest", "shop")))
    for ledger in played.ledgers.values():
        assert "guest, shop learn which of its rows are common to all parties" in ledger
        assert "guest also learns which of its rows each single host has" in ledger
        assert "rounded up to a rung" in ledger
        assert "person-" not in ledger
    assert "psi/common-rows" in played.ledgers["shop"]
    assert "psi/common-rows" not in played.ledgers["bank"]
    counted = intersect(FEW, COUNT).ledgers["bank"]
    assert "guest, bank learn how many rows are common" in counted


@pytest.mark.parametrize(
    ("message", "classes"),
    [
        (
            AnnouncementMessage(settings_digest=bytes(32), kinds=("text", "whole number"), padded_count=256),
            {"public", "disclosed"},
        ),
        (MaskedPointsMessage(rows=np.arange(64, dtype=np.uint8).reshape(2, 32)), {"ciphertext"}),
        (AnsweredPointsMessage(rows=np.arange(64, dtype=np.uint8).reshape(2, 32)), {"ciphertext"}),
        (TagsMessage(rows=np.arange(64, dtype=np.uint8).reshape(2, 32)), {"ciphertext"}),
        (CommonRowsMessage(places=np.arange(4, dtype=np.uint8), set_digest=bytes(32)), {"disclosed"}),
        (CommonCountMessage(count=np.array([7])), {"disclosed"}),
    ],
)
def test_messages_there_and_back(message, classes) -> None:
    found = from_bytes(to_bytes(message), type(message))
    for name, disclosure in disclosure_of(type(message)).items():
        assert disclosure.kind in classes
        assert np.array_equal(getattr(found, name), getattr(message, name))


def test_the_digest_of_common_rows_is_of_its_session_alone(intersect) -> None:
    """Otherwise an observer of two messages knows whether two runs found the same rows, and could send an old one
    again."""
    played = [intersect(FEW, ECDH) for _ in range(2)]
    digests = {run.channels["bank"].of(CommonRowsMessage)[0].set_digest for run in played}
    assert len(digests) == 2
