"""CKKS bytes from others: whatever their checksum says, parameters, sizes, levels and counts are checked."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from hekat.errors import InputError, KeyRefusedError, WireCorruptError, WireError, WireKeyError, WireKindError
from hekat.scheme.ckks import (
    FEDML_HE,
    Ciphertexts,
    CkksParameters,
    KeyPair,
    PrivateKey,
    PublicKey,
    add,
    decrypt,
    encrypt,
    generate_keys,
    weighted_sum,
)
from hekat.wire import from_bytes, to_bytes
from hekat.wire.body import pack_body, unpack_body
from hekat.wire.frame import read_frame, write_frame

RAW = "raw_reveals_key"


@pytest.fixture(scope="module")
def keys() -> KeyPair:
    pytest.importorskip("tenseal", reason="needs hekat[ckks]")
    return generate_keys(FEDML_HE)


@pytest.fixture(scope="module")
def encrypted(keys: KeyPair) -> Ciphertexts:
    return encrypt(keys.public, np.linspace(-2, 2, 4100))


def altered(data: bytes, **changes: Any) -> bytes:
    """The frame with other items, or without those that are None, under a checksum that holds."""
    frame = read_frame(data)
    items = unpack_body(frame.body) | changes
    return write_frame(frame.kind, frame.kind_version, pack_body(items))


def items_of(data: bytes) -> dict[str, Any]:
    return unpack_body(read_frame(data).body)


def test_keys_and_ciphertexts_come_back(keys: KeyPair, encrypted: Ciphertexts) -> None:
    public, private = from_bytes(to_bytes(keys.public), PublicKey), from_bytes(to_bytes(keys.private), PrivateKey)
    assert public == keys.public == private.public
    assert to_bytes(public) == to_bytes(keys.public)
    total = weighted_sum([encrypted, encrypted], [0.25, 0.75])
    for sent in (encrypted, total, add([encrypted] * 3)):
        read = from_bytes(to_bytes(sent), Ciphertexts, public_key=public)
        told = (read.value_count, read.addend_count, read.gain, read.rounding_count)
        assert told == (sent.value_count, sent.addend_count, sent.gain, sent.rounding_count)
        assert np.array_equal(decrypt(private, read, RAW), decrypt(keys.private, sent, RAW))


def test_ciphertexts_of_another_key_or_without_one_are_refused(keys: KeyPair, encrypted: Ciphertexts) -> None:
    data = to_bytes(encrypted)
    with pytest.raises(WireKeyError, match="under another key"):
        from_bytes(data, Ciphertexts, public_key=generate_keys(FEDML_HE).public)
    with pytest.raises(InputError, match="cannot be read without their public key"):
        from_bytes(data, Ciphertexts)
    with pytest.raises(WireKindError):
        from_bytes(data, PublicKey)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"values": 4096}, "do not agree"),
        ({"values": 0}, "do not agree"),
        ({"values": -1}, "do not agree"),
        ({"values": 1 << 60}, "do not agree"),
        ({"addends": 0}, "number of addends"),
        ({"roundings": 1}, "takes more than"),
        ({"roundings": -1}, "takes more than"),
        ({"gain": float("nan")}, "sum of weights"),
        ({"gain": -1.0}, "sum of weights"),
        ({"gain": 1e30}, "could pass what the ciphertexts hold"),
        ({"gain": 1}, "with other parts"),
        ({"values": True}, "with other parts"),
        ({"ciphertexts": []}, "do not agree"),
        ({"ciphertexts": [1]}, "with other parts"),
        ({"ciphertexts": [b"", b""]}, "does not hold"),
        ({"ciphertexts": [b"x" * 600_000]}, "takes more than"),
        ({"key": "0"}, "name no key"),
        ({"more": 1}, "other parts"),
    ],
)
def test_altered_ciphertexts_are_refused(
    keys: KeyPair, encrypted: Ciphertexts, changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(WireCorruptError, match=says):
        from_bytes(altered(to_bytes(encrypted), **changes), Ciphertexts, public_key=keys.public)


def test_ciphertexts_of_other_parameters_under_this_keys_name_are_refused(keys: KeyPair) -> None:
    """Same ring and primes, another scale; then other primes: the fingerprint is the attacker's to write."""
    others = [
        CkksParameters("other scale", 8192, (60, 52, 60), 51, 4096, 64.0),
        CkksParameters("other primes", 8192, (58, 50, 60), 50, 4096, 64.0),
        CkksParameters("other degree", 4096, (40, 29, 40), 30, 2048, 64.0),
    ]
    for parameters in others:
        stolen = altered(to_bytes(encrypt(generate_keys(parameters).public, np.ones(5))), key=keys.public.fingerprint)
        with pytest.raises(WireCorruptError, match=r"other parameters|another scale|does not hold"):
            from_bytes(stolen, Ciphertexts, public_key=keys.public)


def test_a_sum_that_dropped_a_prime_is_not_read_as_one_that_did_not(keys: KeyPair, encrypted: Ciphertexts) -> None:
    total = to_bytes(weighted_sum([encrypted], [1.0]))
    with pytest.raises(WireCorruptError, match="another level"):
        from_bytes(altered(total, roundings=0), Ciphertexts, public_key=keys.public)
    with pytest.raises(WireCorruptError, match="number of addends"):
        from_bytes(altered(total, roundings=2), Ciphertexts, public_key=keys.public)


def test_a_public_key_below_128_bits_is_refused(keys: KeyPair) -> None:
    weak = FEDML_HE.to_items() | {"degree": 4096, "batch": 2048}
    with pytest.raises(KeyRefusedError, match="less than 128 bits"):
        from_bytes(altered(to_bytes(keys.public), parameters=weak), PublicKey)
    few = FEDML_HE.to_items() | {"prime_bits": [20, 20, 20], "scale_bits": 10, "value_bound": 8.0}
    with pytest.raises(WireCorruptError):
        from_bytes(altered(to_bytes(keys.public), parameters=few), PublicKey)


def test_a_private_key_with_another_public_key_is_refused(keys: KeyPair) -> None:
    other = items_of(to_bytes(generate_keys(FEDML_HE).public))
    with pytest.raises(WireCorruptError, match="does not belong"):
        from_bytes(altered(to_bytes(keys.private), public=other), PrivateKey)


def test_streams_with_flipped_bytes_are_refused_or_hold_a_ciphertext_seed_31(
    keys: KeyPair, encrypted: Ciphertexts
) -> None:
    """The library reads what others send: whatever they change, it answers with an error or a ciphertext."""
    generator = random.Random(31)
    stream = encrypted.to_streams()[1]
    refused = 0
    for _ in range(150):
        changed = bytearray(stream)
        for _ in range(generator.randrange(1, 4)):
            position = generator.choice((generator.randrange(200), generator.randrange(len(changed))))
            changed[position] ^= 1 << generator.randrange(8)
        data = altered(to_bytes(encrypted), ciphertexts=[stream, bytes(changed)])
        try:
            from_bytes(data, Ciphertexts, public_key=keys.public)
        except WireError:
            refused += 1
    # The changes are the same every time, the ciphertext is not: 73 to 83 of 150 were refused in many runs.
    assert refused > 40
