"""The records of a message: what is none of this release is refused at the site, and none at the server."""

from __future__ import annotations

from typing import Any

import pytest

from hekat.errors import PolicyError
from hekat.launch.flower.legs import Returned

pytest.importorskip("flwr", reason="needs hekat[flower]")

from flwr.app import RecordDict

from hekat.launch.flower.records import ORDER, Order, add_order, read_reply, reply_records, take_order

ORDERED = Order("20261125T000000Z-abcdef", "a" * 64, "train", 1, "num-examples", True, 0, ["lake"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("work", "train.own"),
        ("work", ""),
        ("round", -1),
        ("learned", -1),
        ("run_id", "x" * 300),
        ("evaluates", 1),
        ("lost", "lake"),
        ("lost", [1]),
    ],
)
def test_an_order_that_no_strategy_of_this_release_gives_trains_nothing(name: str, value: Any) -> None:
    content = RecordDict()
    add_order(content, ORDERED, [b"1", b"2"])
    assert take_order(content) == (ORDERED, [b"1", b"2"])
    add_order(content, ORDERED, [])
    content[ORDER][name] = value
    with pytest.raises(PolicyError, match="no protected strategy"):
        take_order(content)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kind", "Error\nLOST lake"),
        ("kind", "x" * 300),
        ("kind", 7),
        ("did", "own"),
        ("did", 1.0),
        ("wanted", -1),
        ("opened", 1.5),
        ("party", 7),
        ("content", "other"),
    ],
)
def test_a_reply_that_no_mod_of_this_release_sends_is_none(name: str, value: Any) -> None:
    content = RecordDict(
        reply_records(Returned(1, 0, kind="StateError", did="train", parcels=[("lake", b"1")]), "north")
    )
    read = read_reply(content)
    assert read is not None
    assert read[0] == "north"
    assert (read[1].kind, read[1].did, read[1].parcels) == ("StateError", "train", [("lake", b"1")])
    content[ORDER][name] = value
    assert read_reply(content) is None
