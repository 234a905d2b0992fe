"""The records of a message: what is none of this release is refused at the site, and none at the server."""

from __future__ import annotations

from typing import Any

import pytest

from hekat.errors import PolicyError
from hekat.launch.flower.legs import Returned

pytest.importorskip("flwr", reason="needs hekat[flower]")

from flwr.app import Array, ArrayRecord, RecordDict

from hekat.launch.flower.records import (
    MOST_PARCELS,
    ORDER,
    PARCELS,
    Order,
    add_order,
    read_reply,
    reply_records,
    take_order,
)

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


def to_record(packed: bytes, name: str = "parcels") -> ArrayRecord:
    return ArrayRecord({name: Array(dtype="uint8", shape=(len(packed),), stype="hekat", data=packed)})


def entry(name: bytes, parcel: bytes) -> bytes:
    """A parcel as it is packed, by the format's description alone."""
    return len(name).to_bytes(2, "little") + len(parcel).to_bytes(8, "little") + name + parcel


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(to_record(entry(b"lake", b"1")[:-1]), id="cut off"),
        pytest.param(to_record(entry(b"lake", b"1") + b"1"), id="too long"),
        pytest.param(to_record(b"\0\0" + b"\xff" * 8), id="longer than all"),
        pytest.param(to_record(entry(b"\xff", b"1")), id="a name that is no text"),
        pytest.param(to_record(entry(b"", b"") * (MOST_PARCELS + 1)), id="too many"),
        pytest.param(to_record(entry(b"", b""), "other"), id="another name"),
        pytest.param(ArrayRecord(), id="no array"),
    ],
)
def test_parcels_in_another_form_are_of_no_strategy_and_of_no_mod_of_this_release(record: ArrayRecord) -> None:
    content = RecordDict()
    add_order(content, ORDERED, [])
    content[PARCELS] = record
    with pytest.raises(PolicyError, match="no protected strategy"):
        take_order(content)
    assert read_reply(RecordDict({**reply_records(Returned(), "north"), PARCELS: record})) is None


def test_all_parcels_are_one_array_of_a_message() -> None:
    content = RecordDict(reply_records(Returned(parcels=[("lake", b"1"), ("Zürich", b"")]), "north"))
    assert [bytes(array.data) for array in content[PARCELS].values()] == [
        entry(b"lake", b"1") + entry("Zürich".encode(), b"")
    ]
    add_order(content, ORDERED, [b"1", b"2"])
    assert [bytes(array.data) for array in content[PARCELS].values()] == [entry(b"", b"1") + entry(b"", b"2")]
    assert read_reply(RecordDict(reply_records(Returned(parcels=[]), "north"))) is not None


def test_as_many_parcels_as_a_message_may_hold_are_read() -> None:
    content = RecordDict(reply_records(Returned(parcels=[("lake", b"1")] * MOST_PARCELS), "north"))
    read = read_reply(content)
    assert read is not None
    assert len(read[1].parcels) == MOST_PARCELS


def test_another_releases_message_is_refused_by_its_number() -> None:
    content = RecordDict()
    add_order(content, ORDERED, [])
    content[ORDER]["format"] = 1
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
