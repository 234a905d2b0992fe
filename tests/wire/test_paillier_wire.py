"""Wire bytes of Paillier keys and ciphertexts: exact width, canonical, refused under another key."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from hekat.engine.interface import Engine
from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError, WireCorruptError, WireKeyError, WireKindError, WireVersionError
from hekat.scheme.paillier.ciphertexts import Ciphertexts
from hekat.scheme.paillier.keys.key_pair import PrivateKey, PublicKey
from hekat.wire import from_bytes, to_bytes
from hekat.wire.body import pack_body, unpack_body
from hekat.wire.frame import read_frame, write_frame
from hekat.wire.paillier import ciphertext_bytes

ENGINE: Engine = get_engine("reference")


def ciphertexts_of(key: PublicKey, values: list[int], shape: tuple[int, ...] | None = None) -> Ciphertexts:
    limbs = limbs_from_ints(values, key.n_squared.limb_count)
    shape = (len(values),) if shape is None else shape
    residues = ENGINE.load(limbs.reshape(*shape, key.n_squared.limb_count), key.n_squared)
    return Ciphertexts(key, residues)


def values_of(ciphertexts: Ciphertexts) -> list[int]:
    return ints_from_limbs(ciphertexts.residues.engine.store(ciphertexts.residues))


def with_items(data: bytes, **changes: Any) -> bytes:
    """The frame with parts of its body changed (or, as None, dropped) under a valid checksum."""
    frame = read_frame(data)
    items = unpack_body(frame.body) | changes
    return write_frame(frame.kind, frame.kind_version, pack_body({k: v for k, v in items.items() if v is not None}))


def as_item(number: int) -> int | bytes:
    return number if abs(number) < 2**63 else number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True)


def test_public_key(private_key: PrivateKey) -> None:
    data = to_bytes(private_key.public)
    key = from_bytes(data, PublicKey)
    assert (key.n, key.fingerprint) == (private_key.public.n, private_key.public.fingerprint)
    assert to_bytes(key) == data


def test_private_key(private_key: PrivateKey) -> None:
    data = to_bytes(private_key)
    key = from_bytes(data, PrivateKey)
    assert {key.p, key.q} == {private_key.p, private_key.q}
    assert key.public.fingerprint == private_key.public.fingerprint
    assert to_bytes(key) == data


def test_keys_are_not_taken_for_one_another(private_key: PrivateKey) -> None:
    with pytest.raises(WireKindError, match="expected paillier/public-key; got paillier/private-key"):
        from_bytes(to_bytes(private_key), PublicKey)
    with pytest.raises(WireKindError, match="expected paillier/private-key; got paillier/public-key"):
        from_bytes(to_bytes(private_key.public), PrivateKey)


@pytest.mark.parametrize("seed", [1])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (0,), (3, 0, 2)])
def test_ciphertexts(private_key: PrivateKey, shape: tuple[int, ...], seed: int) -> None:
    key = private_key.public
    source = random.Random(seed)
    values = [source.randrange(1, key.n**2) for _ in range(int(np.prod(shape)))]
    original = ciphertexts_of(key, values, shape)
    data = to_bytes(original)
    copy = from_bytes(data, Ciphertexts, public_key=key, engine=ENGINE)
    assert copy.shape == shape
    assert copy.public is key
    assert values_of(copy) == values
    assert to_bytes(copy) == data


def test_width_is_exact_at_the_extremes(private_key: PrivateKey) -> None:
    key = private_key.public
    values = [1, 2, key.n + 2, key.n**2 - 1]
    data = to_bytes(ciphertexts_of(key, values))
    assert ciphertext_bytes(key) == -(-2 * key.bits // 8)
    residues = unpack_body(read_frame(data).body)["residues"]
    assert residues == b"".join(value.to_bytes(ciphertext_bytes(key), "little") for value in values)
    assert values_of(from_bytes(data, Ciphertexts, public_key=key, engine=ENGINE)) == values


def test_other_key(private_key: PrivateKey, other_private_key: PrivateKey) -> None:
    mine, other = private_key.public, other_private_key.public
    data = to_bytes(ciphertexts_of(mine, [5, 6]))
    with pytest.raises(WireKeyError, match=f"expected key {other.fingerprint}; got key {mine.fingerprint}"):
        from_bytes(data, Ciphertexts, public_key=other, engine=ENGINE)


def test_no_key(private_key: PrivateKey) -> None:
    with pytest.raises(InputError, match="without their public key"):
        from_bytes(to_bytes(ciphertexts_of(private_key.public, [5])), Ciphertexts, engine=ENGINE)


def test_values_out_of_range(private_key: PrivateKey) -> None:
    key = private_key.public
    data = to_bytes(ciphertexts_of(key, [5, 6]))
    width = ciphertext_bytes(key)
    for value in (0, key.n**2, 256**width - 1):
        residues = b"".join(one.to_bytes(width, "little") for one in (5, value))
        with pytest.raises(WireCorruptError, match="a ciphertext is out of range; expected values from 1 to"):
            from_bytes(with_items(data, residues=residues), Ciphertexts, public_key=key, engine=ENGINE)


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": [3]},
        {"shape": [1]},
        {"shape": []},
        {"shape": 2},
        {"shape": [-2]},
        {"shape": [True, 2]},
        {"shape": [2.0]},
        {"shape": [1] * 8 + [2]},
        {"shape": [2**63]},
        {"shape": [0, 2**39, 2**39], "residues": b""},
        {"residues": b""},
        {"residues": "text"},
        {"residues": bytes(7)},
        {"key": "00"},
        {"key": b"\0" * 16},
        {"key": "A" * 32},
        {"key": None},
        {"shape": None},
        {"extra": 1},
    ],
    ids=str,
)
def test_parts_that_do_not_fit(private_key: PrivateKey, changes: dict[str, Any]) -> None:
    data = to_bytes(ciphertexts_of(private_key.public, [5, 6]))
    with pytest.raises(WireCorruptError, match="ciphertexts"):
        from_bytes(with_items(data, **changes), Ciphertexts, public_key=private_key.public, engine=ENGINE)


@pytest.mark.parametrize(
    "n",
    [0, 1, 15, 2**40, 2**2047, 2**2047 + 1, 3**1300, 2**2203 - 1, 2**9000 + 1],
    ids=lambda n: f"{n.bit_length()}-bits",
)
def test_public_keys_that_are_none(private_key: PrivateKey, n: int) -> None:
    with pytest.raises(KeyRefusedError):
        from_bytes(with_items(to_bytes(private_key.public), n=as_item(n)), PublicKey)


@pytest.mark.parametrize(
    ("p", "q"),
    [(0, 0), (3, 5), (9, 15), (3 << 1022, (3 << 1022) + 1), (1 << 32000, (1 << 32000) + 1)],
    ids=["zero", "tiny", "composite", "even", "huge"],
)
def test_private_keys_that_are_none(private_key: PrivateKey, p: int, q: int) -> None:
    with pytest.raises(KeyRefusedError) as caught:
        from_bytes(with_items(to_bytes(private_key), p=as_item(p), q=as_item(q)), PrivateKey)
    assert str(3 << 1022) not in str(caught.value)


@pytest.mark.parametrize("number", [-3, -(3**1300)], ids=["small", "large"])
def test_negative_numbers(private_key: PrivateKey, number: int) -> None:
    with pytest.raises(WireCorruptError, match="public key with a negative number"):
        from_bytes(with_items(to_bytes(private_key.public), n=as_item(number)), PublicKey)
    with pytest.raises(WireCorruptError, match="private key with a negative number"):
        from_bytes(with_items(to_bytes(private_key), q=as_item(number)), PrivateKey)


def test_small_keys_are_the_readers_choice(small_private_key: PrivateKey) -> None:
    for key in (small_private_key, small_private_key.public):
        data = to_bytes(key)
        with pytest.raises(KeyRefusedError, match="too small to protect anything"):
            from_bytes(data, type(key))
        assert from_bytes(data, type(key), unsafe_for_benchmark=True) == key


def test_a_width_that_is_no_whole_number_of_limbs() -> None:
    key = PrivateKey(2**67 - 1044189, 2**67 - 1043601).public
    assert (key.bits, ciphertext_bytes(key), key.n_squared.limb_count) == (134, 34, 5)
    values = [1, 2**200, key.n**2 - 1]
    data = to_bytes(ciphertexts_of(key, values))
    assert len(unpack_body(read_frame(data).body)["residues"]) == 3 * 34
    assert values_of(from_bytes(data, Ciphertexts, public_key=key, engine=ENGINE)) == values


def test_a_private_key_cannot_have_equal_factors(private_key: PrivateKey) -> None:
    items = unpack_body(read_frame(to_bytes(private_key)).body)
    with pytest.raises(KeyRefusedError):
        from_bytes(with_items(to_bytes(private_key), q=items["p"]), PrivateKey)


@pytest.mark.parametrize(
    "changes",
    [
        {"n": "text"},
        {"n": b"\1"},
        {"n": None},
        {"m": 1},
        {"n": b"\1" * 5000},
        {"roots": None},
        {"roots": b"\1" * 9},
        {"roots": ["text"] * 9},
        {"roots": [b"\1"] * 9},
    ],
    ids=lambda changes: repr(changes)[:30],
)
def test_public_key_parts_that_do_not_fit(private_key: PrivateKey, changes: dict[str, Any]) -> None:
    with pytest.raises(WireCorruptError, match="public key"):
        from_bytes(with_items(to_bytes(private_key.public), **changes), PublicKey)


@pytest.mark.parametrize("what", ["none", "eight", "ten", "another order", "of another key", "negative", "not reduced"])
def test_public_keys_whose_proof_does_not_hold(
    private_key: PrivateKey, other_private_key: PrivateKey, what: str
) -> None:
    public, other = private_key.public, other_private_key.public
    first, *rest = public.roots
    roots = {
        "none": [],
        "eight": rest,
        "ten": [*public.roots, first],
        "another order": [*rest, first],
        "of another key": list(other.roots),
        "negative": [first - public.n, *rest],
        "not reduced": [first + public.n, *rest],
    }[what]
    data = with_items(to_bytes(public), roots=[as_item(root) for root in roots])
    with pytest.raises(KeyRefusedError, match=f"public key {public.fingerprint} is not shown to be sound"):
        from_bytes(data, PublicKey)


def test_a_public_key_without_a_proof_is_one_of_an_older_release(private_key: PrivateKey) -> None:
    body = pack_body({"n": as_item(private_key.public.n)})
    with pytest.raises(WireVersionError, match="got version 1; cure: bring all parties to the same release"):
        from_bytes(write_frame("paillier/public-key", 1, body), PublicKey)


def test_ciphertexts_that_are_no_units(private_key: PrivateKey) -> None:
    public = private_key.public
    for value in (private_key.p, public.n, 7 * private_key.q**2):
        for values in ([value], [5, value, 6]):
            data = to_bytes(ciphertexts_of(public, values))
            with pytest.raises(WireCorruptError, match="shares a factor with its key's modulus"):
                from_bytes(data, Ciphertexts, public_key=public, engine=ENGINE)


def test_a_key_of_another_scheme(private_key: PrivateKey, rsa_keys: Any) -> None:
    data = to_bytes(ciphertexts_of(private_key.public, [5]))
    with pytest.raises(InputError, match="a key of another scheme"):
        from_bytes(data, Ciphertexts, public_key=rsa_keys(2048).public, engine=ENGINE)
