"""Padding looks like ids: no number of ids shows in lists of equal length."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from hekat.protocol.psi import ecdh, rows, rsa_blind
from hekat.protocol.psi.ids import make_ids
from hekat.protocol.psi.messages import MaskedPointsMessage, TagsMessage
from hekat.protocol.psi.settings import IntersectionSettings

SIZE = 256
FEW = {"guest": make_ids([range(3)], "guest"), "bank": make_ids([range(2, 6)], "bank")}
ECDH = IntersectionSettings("guest", ("bank",))
RSA = IntersectionSettings("guest", ("bank",), kind="rsa_blind")
RUNS = 4


class Listed:
    """The tags of some runs, and the tags of ids among them."""

    def __init__(self, intersect, monkeypatch: pytest.MonkeyPatch, runs: int = RUNS) -> None:
        own: list[bytes] = []
        tag_own = rsa_blind._tag_own

        def keep(*arguments: Any) -> Any:
            for tags in tag_own(*arguments):
                own.extend(row.tobytes() for row in tags)
                yield tags

        with monkeypatch.context() as patch:
            patch.setattr(rsa_blind, "_tag_own", keep)
            played = [intersect(FEW, RSA) for _ in range(runs)]
        self.sent = [np.concatenate([m.rows for m in run.channels["guest"].of(TagsMessage)]) for run in played]
        self.sessions = [run.channels["guest"].session for run in played]
        self.own = set(own)
        assert all(len(tags) == SIZE for tags in self.sent)
        assert len(self.own) == runs * len(FEW["bank"])

    def padding(self, run: int) -> list[bytes]:
        return [row.tobytes() for row in self.sent[run] if row.tobytes() not in self.own]


@pytest.mark.long
def test_no_tag_comes_twice_and_no_bit_of_one_more_often_set_than_not(intersect, monkeypatch) -> None:
    listed = Listed(intersect, monkeypatch)
    tags = np.concatenate(listed.sent)
    assert len({row.tobytes() for row in tags}) == RUNS * SIZE
    # Each bit in half of 1,024 tags, to within 8 deviations; so too the exclusive or of neighbouring bits and rows.
    bits = np.unpackbits(tags, axis=1).astype(np.int64)
    for looked_at in (bits, bits[:, 1:] ^ bits[:, :-1], bits[1:] ^ bits[:-1]):
        assert np.abs(looked_at.sum(axis=0) - len(looked_at) / 2).max() < 8 * len(looked_at) ** 0.5 / 2


def test_whoever_knows_the_session_makes_no_padding_of_it(intersect, monkeypatch) -> None:
    """Padding is the operating system's randomness: nothing that the asker knows leads to it."""
    drawn: list[bytes] = []
    token_bytes = rows.secrets.token_bytes

    def draw(size: int) -> bytes:
        data = token_bytes(size)
        drawn.extend(data[start : start + 32] for start in range(0, size, 32))
        return data

    monkeypatch.setattr(rows.secrets, "token_bytes", draw)
    listed = Listed(intersect, monkeypatch, runs=1)
    padding = listed.padding(0)
    assert len(padding) == SIZE - len(FEW["bank"])
    assert set(padding) <= set(drawn)
    # The attack on padding made of the session and a number finds nothing.
    guessed = {hashlib.sha256(listed.sessions[0] + bytes([number])).digest() for number in range(SIZE)}
    assert not guessed & set(padding)


@pytest.mark.long
def test_ids_lie_anywhere_in_the_list(intersect, monkeypatch) -> None:
    """Four of 256 places in each of four runs: were the padding always behind, each id's place would be below 4."""
    listed = Listed(intersect, monkeypatch)
    places = [place for tags in listed.sent for place, row in enumerate(tags) if row.tobytes() in listed.own]
    assert len(places) == RUNS * 4
    # All in one half of the list with odds of 2^-15, in one eighth of it with odds of 2^-45.
    assert max(places) - min(places) > SIZE // 8


def test_the_padding_of_points_is_drawn_anew_for_each_peer_and_run(intersect, monkeypatch) -> None:
    """Fixed padding would meet the peer's padding, and tell its number."""
    drawn: list[np.ndarray] = []

    def draw(count: int) -> np.ndarray:
        drawn.append(rows.random_rows(count))
        return drawn[-1]

    monkeypatch.setattr(ecdh, "random_rows", draw)
    played = [intersect(FEW, ECDH) for _ in range(2)]
    assert all(len(run.channels["bank"].of(MaskedPointsMessage)) == 1 for run in played)
    assert sorted(map(len, drawn)) == [SIZE - 4] * 2 + [SIZE - 3] * 2
    assert len({row.tobytes() for part in drawn for row in part}) == sum(map(len, drawn))
