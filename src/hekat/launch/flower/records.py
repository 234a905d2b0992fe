"""What Hekat adds to Flower's messages: a record that orders, one that says how a role stands, and parcels."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from hekat.errors import PolicyError
from hekat.launch.flower.call import MOST_CHARACTERS, MOST_LOST, is_kind
from hekat.launch.flower.legs import CARRY, EVALUATE, TRAIN, Returned
from hekat.launch.flower.shelf import Addressed

ORDER, PARCELS, MEAN = "hekat", "hekat.parcels", "hekat.mean"
FORMAT = 2
_PACKED, _STYPE = "parcels", "hekat"
# Before each parcel the bytes of its role's name, in UTF-8, and of itself.
_LENGTHS = struct.Struct("<HQ")
# Of one message: a role sends every other one a few in each step.
MOST_PARCELS = 1 << 16


@dataclass(frozen=True)
class Order:
    """What a message asks of a party, all of it the server's word. `learned` is the last round whose mean the server
    was given, where the job gives it any; `lost` as in `Outgoing`."""

    run_id: str
    job: str
    work: str
    round: int
    weighted_by: str
    evaluates: bool
    learned: int = 0
    lost: list[str] = field(default_factory=list)

    def to_record(self) -> ConfigRecord:
        return ConfigRecord({"format": FORMAT, **vars(self)})


def add_order(content: RecordDict, order: Order, parcels: Sequence[bytes]) -> None:
    """Put the order and the parcels into a message's content."""
    content[ORDER] = order.to_record()
    content[PARCELS] = _to_record([("", parcel) for parcel in parcels])


def take_order(content: RecordDict) -> tuple[Order, list[bytes]]:
    """The order of a message and its parcels, taken out of its content. Raises PolicyError where there is none."""
    record, parcels = content.config_records.get(ORDER), content.array_records.get(PARCELS)
    try:
        said = dict(record or {})
        if said.pop("format") != FORMAT or parcels is None:
            raise ValueError
        order, taken = Order(**said), [parcel for _, parcel in _from_record(parcels)]
        if not isinstance(order.lost, list) or len(order.lost) > MOST_LOST:
            raise ValueError
        texts = (order.run_id, order.job, order.work, order.weighted_by, *order.lost)
        if not all(isinstance(text, str) and len(text) <= MOST_CHARACTERS for text in texts):
            raise ValueError
        if order.work not in (TRAIN, EVALUATE, CARRY) or not isinstance(order.evaluates, bool):
            raise ValueError
        if not all(_is_round(number) for number in (order.round, order.learned)):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise PolicyError(
            "this message is of no protected strategy: nothing was trained, and nothing of this site is sent",
            expected="hekat.flower.Protected around the strategy of the ServerApp, of this release",
            got="another message",
            cure="use Protected(FedAvg(...), parties=[...])",
        ) from None
    del content[ORDER], content[PARCELS]
    return order, taken


def reply_records(returned: Returned, party: str) -> dict[str, Any]:
    """How the role stands and what it sent, as records of a reply."""
    names = ("wanted", "opened", "is_over", "has_start", "kind", "did")
    stands = {name: getattr(returned, name) for name in names}
    record = ConfigRecord({"format": FORMAT, "party": party, **stands})
    return {ORDER: record, PARCELS: _to_record(returned.parcels)}


def read_reply(content: RecordDict) -> tuple[str, Returned] | None:
    """The party that answered, and its reply; None for what the mod of this release never sends."""
    record, parcels = content.config_records.get(ORDER), content.array_records.get(PARCELS)
    try:
        said = dict(record or {})
        if said.pop("format") != FORMAT or parcels is None:
            return None
        party = said.pop("party")
        returned = Returned(content=content, parcels=_from_record(parcels), **said)
    except (KeyError, TypeError, ValueError):
        return None
    if not all(isinstance(flag, bool) for flag in (returned.is_over, returned.has_start)):
        return None
    if not (_is_round(returned.wanted) and _is_round(returned.opened)):
        return None
    if returned.did not in ("", TRAIN, EVALUATE) or not is_kind(returned.kind) or not isinstance(party, str):
        return None
    return party, returned


def _is_round(number: object) -> bool:
    return type(number) is int and number >= 0


def _to_record(parcels: Sequence[Addressed]) -> ArrayRecord:
    """All parcels as one array: Flower brings every array of a message by calls of its own."""
    parts: list[bytes] = []
    for to, parcel in parcels:
        name = to.encode()
        parts += (_LENGTHS.pack(len(name), len(parcel)), name, parcel)
    data = b"".join(parts)
    return ArrayRecord({_PACKED: Array(dtype="uint8", shape=(len(data),), stype=_STYPE, data=data)})


def _from_record(record: ArrayRecord) -> list[Addressed]:
    """What `_to_record` was given. Raises KeyError or ValueError for what it never gives."""
    parcels: list[Addressed] = []
    data, place = memoryview(record[_PACKED].data), 0
    while place < len(data):
        if len(data) - place < _LENGTHS.size or len(parcels) == MOST_PARCELS:
            raise ValueError
        name_bytes, parcel_bytes = _LENGTHS.unpack_from(data, place)
        begin = place + _LENGTHS.size + name_bytes
        place = begin + parcel_bytes
        if place > len(data):
            raise ValueError
        parcels.append((str(data[begin - name_bytes : begin], "utf-8"), bytes(data[begin:place])))
    return parcels
