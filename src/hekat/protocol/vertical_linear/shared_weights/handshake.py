"""The handshake: before anything is computed, parties send each other keys, counts, and the state that they go on
from."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hekat.data.features import MAX_COLUMNS
from hekat.errors import KeyRefusedError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.shares.truncation import Truncation
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical.key_size import KEY_TIMEOUT_S, check_key_size
from hekat.protocol.vertical_linear.shared_weights.cross_products.paillier import CrossProducts, PaillierCrossProducts
from hekat.protocol.vertical_linear.shared_weights.cross_products.plain import PlainCrossProducts
from hekat.protocol.vertical_linear.shared_weights.messages import HelloMessage
from hekat.protocol.vertical_linear.shared_weights.pair import Pair
from hekat.protocol.vertical_linear.shared_weights.scales import Scales
from hekat.protocol.vertical_linear.timing_labels import KEYS
from hekat.scheme.paillier import KeyPair, PublicKey, generate_keys
from hekat.wire import from_bytes, to_bytes

HELLO_STEP = "hello"
NO_PROTECTION = "protection is NONE: shares of weights and columns leave unencrypted"
_PAD_DOMAIN = b"hekat/vertical-shared/pads/1:"
_SHARING_DOMAIN = b"hekat/vertical-shared/sharing/1:"


@dataclass(frozen=True)
class OwnSide:
    """What one party brings to the handshake with `peer`; `key_pair` None: it makes a fresh one. `sharing` is as in
    HelloMessage."""

    is_guest: bool
    peer: str
    row_count: int
    column_count: int
    sparse: bool
    key_bits: int
    protection: str
    key_pair: KeyPair | None
    epochs_done: int = 0
    sharing: bytes = b""


def meet(
    channel: RecordedChannel, own: OwnSide, scales: Scales, target_count: int, stopwatch: Stopwatch
) -> tuple[Pair, bool]:
    """Meet the other party; returns both parties as this one sees them, and whether any columns are sparse.

    Raises ProtocolError where the parties come with different rows or states, KeyRefusedError for a key of another size
    and for this party's own key.
    """
    keys = _own_keys(channel, own, stopwatch)
    channel.send(own.peer, HELLO_STEP, _hello_of(own, keys))
    other = channel.receive(own.peer, HELLO_STEP, HelloMessage, timeout_s=KEY_TIMEOUT_S)
    _check_hello(channel.party, own, other, may_be_empty=not own.is_guest)
    counts = (own.column_count, other.column_count)
    guest_columns, host_columns = counts if own.is_guest else counts[::-1]
    pair = Pair(
        is_guest=own.is_guest,
        guest_columns=guest_columns,
        host_columns=host_columns,
        target_count=target_count,
        key_bits=own.key_bits,
        cross_products=_make_cross_products(channel, own, keys, other.public_key, stopwatch),
        truncation=make_truncation(channel, is_first=own.is_guest),
        scales=scales,
        stopwatch=stopwatch,
    )
    return pair, own.sparse or other.sparse


def make_truncation(channel: RecordedChannel, *, is_first: bool) -> Truncation:
    """One holder's side of truncation, with the session's public pads."""
    seed = hashlib.sha256(_PAD_DOMAIN + channel.session_id).digest()
    return Truncation(seed, is_guest=is_first)


@dataclass(frozen=True)
class Meeting:
    """Three parties or more, as one of them sees the others: how many columns each has, its own among them, and the
    products with each of the others."""

    column_counts: Mapping[str, int]
    cross_products: Mapping[str, CrossProducts]


def meet_all(
    channel: RecordedChannel,
    own: OwnSide,
    parties: Iterable[str],
    guest: str,
    stopwatch: Stopwatch,
    key_owners: Collection[str],
) -> Meeting:
    """Meet every other of `parties`; the peer that `own` names is of no account, and `key_owners` alone make a key.

    Raises as `meet`, and KeyRefusedError where two parties come with one key.
    """
    keys = _own_keys(channel, own, stopwatch) if channel.party in key_owners else None
    sides = {peer: replace(own, peer=peer) for peer in parties if peer != channel.party}
    for peer in sides:
        channel.send(peer, HELLO_STEP, _hello_of(own, keys))
    counts, products = {channel.party: own.column_count}, {}
    seen: dict[bytes, str] = {}
    for peer, side in sides.items():
        hello = channel.receive(peer, HELLO_STEP, HelloMessage, timeout_s=KEY_TIMEOUT_S)
        _check_hello(channel.party, side, hello, may_be_empty=peer == guest)
        data = hello.public_key if peer in key_owners else None
        products[peer] = _make_cross_products(channel, side, keys, data, stopwatch)
        counts[peer] = hello.column_count
        if hello.public_key and seen.setdefault(hello.public_key, peer) != peer:
            raise KeyRefusedError(
                f"{peer} came with the key of {seen[hello.public_key]}",
                expected="a key of its own",
                got="the same one",
                cure="each party makes a key of its own: leave ready keys out of the job",
            )
    return Meeting(counts, products)


def name_sharing(session_id: bytes, epochs_done: int) -> npt.NDArray[np.uint64]:
    """A public name of the state that both parties hold shares of after an epoch, so that shares of two states never
    meet."""
    digest = hashlib.sha256(_SHARING_DOMAIN + session_id + epochs_done.to_bytes(8, "little")).digest()
    return np.frombuffer(digest[:16], "<u8").astype(np.uint64)


def _hello_of(own: OwnSide, keys: KeyPair | None) -> HelloMessage:
    return HelloMessage(
        public_key=b"" if keys is None else to_bytes(keys.public),
        row_count=own.row_count,
        column_count=own.column_count,
        sparse=own.sparse,
        epochs_done=own.epochs_done,
        sharing=own.sharing,
    )


def _own_keys(channel: RecordedChannel, own: OwnSide, stopwatch: Stopwatch) -> KeyPair | None:
    if own.protection == "none":
        channel.ledger.note("setup", NO_PROTECTION, "disclosed")
        return None
    with stopwatch.measure(KEYS):
        keys = own.key_pair or generate_keys(own.key_bits)
    check_key_size(keys.public, own.key_bits, channel.party)
    what = f"made a Paillier key of {own.key_bits} bits, crt; products open under masks uniform mod n"
    channel.ledger.note("keys", what, "public")
    return keys


def _make_cross_products(
    channel: RecordedChannel, own: OwnSide, keys: KeyPair | None, data: bytes | None, stopwatch: Stopwatch
) -> CrossProducts:
    """Products with the peer; `data` is its public key, None where it makes none and nothing comes under its key."""
    if own.protection == "none":
        return PlainCrossProducts(channel, own.peer, stopwatch)
    private = None if keys is None else keys.private
    if data is None:
        return PaillierCrossProducts(channel, own.peer, private, None, stopwatch)
    foreign = from_bytes(data, PublicKey)
    check_key_size(foreign, own.key_bits, own.peer)
    if keys is not None and foreign == keys.public:
        raise KeyRefusedError(
            f"{own.peer} came with the key of {channel.party}",
            expected="a key of its own",
            got="the same one",
            cure="each party makes a key of its own: leave ready keys out of the job",
        )
    return PaillierCrossProducts(channel, own.peer, private, foreign, stopwatch)


def _check_hello(party: str, own: OwnSide, other: HelloMessage, *, may_be_empty: bool) -> None:
    for what, here, there, cure in (
        ("other rows", own.row_count, other.row_count, "find the rows that both have in common first"),
        ("another number of epochs done", own.epochs_done, other.epochs_done, "resume both from the same epoch"),
    ):
        if here != there:
            raise ProtocolError(f"{own.peer} comes with {what}", expected=f"{here}", got=f"{there}", cure=cure)
    if other.sharing != own.sharing:
        raise ProtocolError(
            f"{own.peer} and {party} hold shares of different weights",
            expected="the two states, or model parts, of one run and epoch",
            got="others, or one at one party alone",
            cure="resume or start both parties from the parts of the same run, or begin anew",
        )
    least = 0 if may_be_empty else 1
    if not least <= other.column_count <= MAX_COLUMNS:
        raise ProtocolError(
            f"{own.peer} comes with columns that cannot be",
            expected=f"{least} to {MAX_COLUMNS}",
            got=f"{other.column_count}",
            cure="find out what runs there: this release reads no such table",
        )
