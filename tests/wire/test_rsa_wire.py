"""Wire bytes of RSA keys and signatures: exact width, canonical, refused under another key; no bytes for secrets."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from hekat.engine.interface import Engine
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError, WireCorruptError, WireKeyError, WireKindError
from hekat.rsa import (
    BlindedItems,
    BlindSignatures,
    PublicKey,
    Signatures,
    TextbookCiphertexts,
    blind,
    hash_to_group,
    sign,
    unblind,
    verify,
)
from hekat.scheme.rsa.group_elements import GroupElements
from hekat.wire import from_bytes, signature_bytes, to_bytes
from hekat.wire.body import pack_body, unpack_body
from hekat.wire.frame import read_frame, write_frame

ENGINE: Engine = get_engine("reference")
EVERY_KIND = pytest.mark.parametrize("kind", [BlindedItems, BlindSignatures, Signatures, TextbookCiphertexts])


def elements_of(kind: Any, key: PublicKey, values: list[int], shape: tuple[int, ...] | None = None) -> Any:
    limbs = limbs_from_ints(values, key.n_modulus.limb_count)
    shape = (len(values),) if shape is None else shape
    return kind.from_limbs(key, limbs.reshape(*shape, key.n_modulus.limb_count), ENGINE)


def with_items(data: bytes, **changes: Any) -> bytes:
    """The frame with parts of its body changed (or, as None, dropped) under a valid checksum."""
    frame = read_frame(data)
    items = unpack_body(frame.body) | changes
    return write_frame(frame.kind, frame.kind_version, pack_body({k: v for k, v in items.items() if v is not None}))


def as_item(number: int) -> int | bytes:
    return number if abs(number) < 2**63 else number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True)


def test_public_key(rsa_keys: Any) -> None:
    for key in (rsa_keys(2048).public, PublicKey(rsa_keys(2048).public.n, 65539)):
        data = to_bytes(key)
        assert from_bytes(data, PublicKey) is key
        assert to_bytes(from_bytes(data, PublicKey)) == data


@pytest.mark.parametrize("seed", [1])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (0,), (3, 0, 2)])
@EVERY_KIND
def test_arrays(rsa_keys: Any, kind: type[GroupElements], shape: tuple[int, ...], seed: int) -> None:
    key = rsa_keys(2048).public
    source = random.Random(seed)
    values = [source.randrange(1, key.n) for _ in range(int(np.prod(shape)))]
    data = to_bytes(elements_of(kind, key, values, shape))
    copy = from_bytes(data, kind, public_key=key, engine=ENGINE)
    assert type(copy) is kind
    assert copy.shape == shape
    assert copy.public is key
    assert ints_from_limbs(copy.to_limbs()) == values
    assert to_bytes(copy) == data


def test_two_parties_sign_blindly_by_messages(rsa_keys: Any) -> None:
    """All that passes between them, as bytes."""
    keys = rsa_keys(2048)
    theirs = from_bytes(to_bytes(keys.public), PublicKey)
    hashed = hash_to_group(theirs, [b"a", b"b"], engine=ENGINE)
    blinded, state = blind(hashed)
    received = from_bytes(to_bytes(blinded), BlindedItems, public_key=keys.public, engine=ENGINE)
    answer = to_bytes(sign(keys.private, received))
    signatures = unblind(state, from_bytes(answer, BlindSignatures, public_key=theirs, engine=ENGINE))
    assert verify(hashed, signatures).all()


@pytest.mark.parametrize("bits", [512, 2048])
def test_width_is_exact_at_the_extremes(rsa_keys: Any, bits: int) -> None:
    key = rsa_keys(bits).public
    values = [1, 2, key.n - 1]
    data = to_bytes(elements_of(Signatures, key, values))
    assert signature_bytes(key) == bits // 8
    residues = unpack_body(read_frame(data).body)["residues"]
    assert residues == b"".join(value.to_bytes(bits // 8, "little") for value in values)


def test_a_width_that_is_no_whole_number_of_limbs() -> None:
    key = PublicKey((2**67 - 1044189) * (2**67 - 1043601))
    assert (key.bits, signature_bytes(key), key.n_modulus.limb_count) == (134, 17, 3)
    values = [1, 2**100, key.n - 1]
    copy = from_bytes(to_bytes(elements_of(Signatures, key, values)), Signatures, public_key=key, engine=ENGINE)
    assert ints_from_limbs(copy.to_limbs()) == values


@EVERY_KIND
def test_kinds_and_keys_are_not_taken_for_one_another(rsa_keys: Any, paillier_keys: Any, kind: Any) -> None:
    mine, other = rsa_keys(2048).public, rsa_keys(2048, 1).public
    data = to_bytes(elements_of(kind, mine, [5, 6]))
    with pytest.raises(WireKeyError, match=f"expected key {other.fingerprint}; got key {mine.fingerprint}"):
        from_bytes(data, kind, public_key=other, engine=ENGINE)
    with pytest.raises(InputError, match="without their public key"):
        from_bytes(data, kind, engine=ENGINE)
    with pytest.raises(InputError, match="a key of another scheme"):
        from_bytes(data, kind, public_key=paillier_keys(2048).public, engine=ENGINE)
    for stranger in {BlindedItems, BlindSignatures, Signatures, TextbookCiphertexts} - {kind}:
        with pytest.raises(WireKindError):
            from_bytes(data, stranger, public_key=mine, engine=ENGINE)


def test_values_out_of_range(rsa_keys: Any) -> None:
    key = rsa_keys(2048).public
    data = to_bytes(elements_of(Signatures, key, [5, 6]))
    width = signature_bytes(key)
    for value in (0, key.n, 256**width - 1):
        residues = b"".join(one.to_bytes(width, "little") for one in (5, value))
        with pytest.raises(WireCorruptError, match="signatures out of range; expected values from 1 to"):
            from_bytes(with_items(data, residues=residues), Signatures, public_key=key, engine=ENGINE)


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": [3]},
        {"shape": 2},
        {"shape": [-2]},
        {"shape": [0, 2**39, 2**39], "residues": b""},
        {"residues": bytes(7)},
        {"residues": "text"},
        {"key": "00"},
        {"key": None},
        {"extra": 1},
    ],
    ids=str,
)
def test_parts_that_do_not_fit(rsa_keys: Any, changes: dict[str, Any]) -> None:
    key = rsa_keys(2048).public
    data = to_bytes(elements_of(BlindedItems, key, [5, 6]))
    with pytest.raises(WireCorruptError, match="blinded items"):
        from_bytes(with_items(data, **changes), BlindedItems, public_key=key, engine=ENGINE)


def test_public_keys_that_are_none(rsa_keys: Any) -> None:
    data = to_bytes(rsa_keys(2048).public)
    for n in (0, 1, 15, 2**2047, 2**2047 + 1, 3**1300, 2**2203 - 1, 2**9000 + 1):
        with pytest.raises(KeyRefusedError):
            from_bytes(with_items(data, n=as_item(n)), PublicKey)
    for e in (0, 1, 3, 65536, 65541, 2**32 + 15, 2**64 + 13):
        with pytest.raises(KeyRefusedError, match="public exponent"):
            from_bytes(with_items(data, e=as_item(e)), PublicKey)
    for name in ("n", "e"):
        with pytest.raises(WireCorruptError, match="public key with a negative number"):
            from_bytes(with_items(data, **{name: -3}), PublicKey)


def test_small_keys_are_the_readers_choice(rsa_keys: Any) -> None:
    key = rsa_keys(512).public
    with pytest.raises(KeyRefusedError, match="too small to protect anything"):
        from_bytes(to_bytes(key), PublicKey)
    assert from_bytes(to_bytes(key), PublicKey, unsafe_for_benchmark=True) is key


def test_what_stays_where_it_was_made_has_no_bytes(rsa_keys: Any) -> None:
    keys = rsa_keys(512)
    hashed = hash_to_group(keys.public, [b"item"], engine=ENGINE)
    for secret, cure in (
        (keys.private, "hekat.rsa.generate_keys()"),
        (hashed, "hekat.rsa.blind(hashed)"),
        (blind(hashed)[1], "blind anew"),
    ):
        with pytest.raises(KeyRefusedError, match=r"not sent; expected .*; cure: ") as refusal:
            to_bytes(secret)
        assert cure in refusal.value.cure
        with pytest.raises(KeyRefusedError, match="not sent"):
            from_bytes(to_bytes(keys.public), type(secret))
