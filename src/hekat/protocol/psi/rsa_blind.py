"""Set intersection by blind RSA signatures: the asker gets its ids signed unseen, and compares tags of signatures.

    1. the answerer makes a key for this run, and proves that blinding hides under it
    2. the asker hashes its ids and padding to the key's group, blinds them and sends them in a random order
    3. the answerer signs them; the asker unblinds and verifies every signature
    4. both tag each id: SHA-256(context, id, signature); the answerer signs its own ids itself and sends its tags, and
       random tags that fill its list up, in a random order
    5. the asker compares the tags

The asker cannot make a signature that it did not ask for, so it cannot test further ids against the tags later.
Source: De Cristofaro-Tsudik 2010; FLASH (NSDI 2023), appendix C.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np

from hekat.errors import InputError, KeyRefusedError, WireError
from hekat.protocol.psi.ids import Ids
from hekat.protocol.psi.intersection_result import MatchedRows
from hekat.protocol.psi.messages import BlindedIdsMessage, BlindSignaturesMessage, SigningKeyMessage, TagsMessage
from hekat.protocol.psi.pair import WAIT_S, Pair
from hekat.protocol.psi.rows import Digests, Positions, draw_order, match_rows, random_rows
from hekat.protocol.psi.transfer import check_distinct, parts_of, receive_rows, refuse, send_rows
from hekat.rsa import (
    BlindedItems,
    BlindingState,
    BlindSignatures,
    KeyPair,
    PublicKey,
    Signatures,
    blind,
    check_permutation,
    generate_keys,
    hash_to_group,
    prove_permutation,
    sign,
    unblind,
)
from hekat.wire import from_bytes, to_bytes

KEY_STEP, BLINDED_STEP, SIGNED_STEP, TAGS_STEP = "signing-key", "blinded-ids", "blind-signatures", "tags"
_TAG_DOMAIN: Final = b"hekat/psi/tag/1"


def ask(pair: Pair, ids: Ids, *, key_bits: int) -> MatchedRows:
    """The asker's side: its own common rows, and their places in the answerer's list.

    Raises ProtocolError for a key that is not the job's or does not blind, and for signatures that do not hold.
    """
    public = _receive_key(pair, key_bits)
    order = draw_order(pair.own_count)
    digests = np.concatenate([ids.digests, random_rows(pair.own_count - len(ids))])[order]
    tags = []
    waiting: list[tuple[slice, BlindingState]] = []
    # The answerer signs one part while the asker blinds the next; no more parts than these two are on their way.
    for part in parts_of(pair.own_count):
        waiting.append((part, _send_blinded(pair, public, digests[part])))
        if len(waiting) > 1:
            tags.append(_receive_tags(pair, digests, *waiting.pop(0)))
    tags.append(_receive_tags(pair, digests, *waiting.pop(0)))
    theirs = np.concatenate(list(receive_rows(pair, TAGS_STEP, TagsMessage, pair.peer_count)))
    with pair.run.stopwatch.measure("compare"):
        check_distinct(pair, theirs, "tags")
        list_places, their_places = match_rows(np.concatenate(tags), theirs)
    return MatchedRows(order[list_places], their_places)


def answer(pair: Pair, ids: Ids, *, key_bits: int) -> Positions:
    """The answerer's side: returns the row of its own that stands at each place of the list it sent.

    Raises ProtocolError for blinded ids that are none.
    """
    keys = _send_key(pair, key_bits)
    for part in parts_of(pair.peer_count):
        message = pair.channel.receive(pair.peer, BLINDED_STEP, BlindedIdsMessage, timeout_s=WAIT_S)
        with _reading(pair, "blinded ids that are none"):
            blinded = from_bytes(message.elements, BlindedItems, public_key=keys.public)
        _check_size(pair, blinded, part, "blinded ids")
        with pair.run.stopwatch.measure("sign"):
            signed = sign(keys.private, blinded)
        pair.channel.send(pair.peer, SIGNED_STEP, BlindSignaturesMessage(elements=to_bytes(signed)))
        pair.report(f"signing ids of {pair.peer}", part.stop, pair.peer_count)
    tags = np.concatenate([*_tag_own(pair, keys, ids), random_rows(pair.own_count - len(ids))])
    order = draw_order(pair.own_count)
    send_rows(pair, TAGS_STEP, TagsMessage, tags[order])
    return order


def _send_key(pair: Pair, key_bits: int) -> KeyPair:
    with pair.run.stopwatch.measure("keys"):
        keys = pair.run.key_pair or generate_keys(key_bits)
        proof = prove_permutation(keys.private)
    pair.channel.send(pair.peer, KEY_STEP, SigningKeyMessage(public_key=to_bytes(keys.public), proof=to_bytes(proof)))
    return keys


def _receive_key(pair: Pair, key_bits: int) -> PublicKey:
    message = pair.channel.receive(pair.peer, KEY_STEP, SigningKeyMessage, timeout_s=WAIT_S)
    with pair.run.stopwatch.measure("keys"), _reading(pair, "a key that is not used"):
        public = from_bytes(message.public_key, PublicKey)
        check_permutation(public, from_bytes(message.proof, Signatures, public_key=public))
    if public.bits != key_bits:
        raise refuse(pair, "a key of another size", f"{key_bits} bits", f"{public.bits} bits")
    return public


def _send_blinded(pair: Pair, public: PublicKey, digests: Digests) -> BlindingState:
    with pair.run.stopwatch.measure("blind"):
        hashed = hash_to_group(public, _items(digests), context=pair.context)
        blinded, state = blind(hashed)
    pair.channel.send(pair.peer, BLINDED_STEP, BlindedIdsMessage(elements=to_bytes(blinded)))
    return state


def _receive_tags(pair: Pair, digests: Digests, part: slice, state: BlindingState) -> Digests:
    message = pair.channel.receive(pair.peer, SIGNED_STEP, BlindSignaturesMessage, timeout_s=WAIT_S)
    with _reading(pair, "signatures that are none"):
        signed = from_bytes(message.elements, BlindSignatures, public_key=state.public)
    _check_size(pair, signed, part, "signatures")
    with pair.run.stopwatch.measure("unblind"), _reading(pair, "signatures that do not hold"):
        signatures = unblind(state, signed)
    with pair.run.stopwatch.measure("tag"):
        tags = _tag(pair, digests[part], signatures)
    pair.report("getting own ids signed", part.stop, pair.own_count)
    return tags


def _tag_own(pair: Pair, keys: KeyPair, ids: Ids) -> Iterator[Digests]:
    for part in parts_of(len(ids)):
        with pair.run.stopwatch.measure("sign"):
            hashed = hash_to_group(keys.public, _items(ids.digests[part]), context=pair.context)
            signatures = sign(keys.private, hashed)
        with pair.run.stopwatch.measure("tag"):
            yield _tag(pair, ids.digests[part], signatures)
        pair.report("signing own ids", part.stop, len(ids))


def _tag(pair: Pair, digests: Digests, signatures: Signatures) -> Digests:
    """SHA-256 of domain, context, digest and signature, all of fixed length, for each id; shape (count, 32)."""
    values = signatures.to_limbs().astype("<u8")
    prefix = _TAG_DOMAIN + pair.context
    tags = b"".join(
        hashlib.sha256(prefix + digest + value.tobytes()).digest()
        for digest, value in zip(_items(digests), values, strict=True)
    )
    return np.frombuffer(tags, np.uint8).reshape(-1, 32)


def _items(digests: Digests) -> list[bytes]:
    data = digests.tobytes()
    return [data[start : start + 32] for start in range(0, len(data), 32)]


def _check_size(pair: Pair, elements: BlindedItems | BlindSignatures, part: slice, what: str) -> None:
    if elements.shape != (part.stop - part.start,):
        raise refuse(pair, f"{what} of another number", f"shape ({part.stop - part.start},)", str(elements.shape))


@contextmanager
def _reading(pair: Pair, what: str) -> Iterator[None]:
    """Name the peer in every refusal of the bytes that are read inside."""
    try:
        yield
    except (InputError, KeyRefusedError, WireError) as error:
        raise refuse(pair, f"{what}: {error.what}", error.expected, error.got) from error
