"""Bytes under a passphrase: opened by it alone, bound to their context, with bounded cost."""

from __future__ import annotations

import dataclasses

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from hekat.errors import InputError, KeyRefusedError, WireCorruptError, WireOversizeError
from hekat.wire.passphrase import ScryptCost, SealedBytes, seal, unseal

CHEAP = ScryptCost(log2_cost=14)
CONTENT = b"content worth hiding"


@pytest.fixture(scope="module")
def made() -> SealedBytes:
    return seal(CONTENT, b"right", context=b"context", cost=CHEAP)


def test_round_trip(made: SealedBytes) -> None:
    assert unseal(made, b"right", context=b"context") == CONTENT
    assert CONTENT not in made.content


def test_known_answer() -> None:
    """scrypt(n=2^14, r=8, p=1) as in RFC 7914, section 12, third vector: its first 32 bytes are the key."""
    key = bytes.fromhex("7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2")
    nonce = bytes(12)
    # The RFC's salt is shorter than ours, so the derivation is checked on its own.
    assert Scrypt(salt=b"SodiumChloride", length=32, n=1 << 14, r=8, p=1).derive(b"pleaseletmein") == key
    salt = bytes(range(16))
    own = Scrypt(salt=salt, length=32, n=1 << 14, r=8, p=1).derive(b"pleaseletmein")
    sealed = SealedBytes(CHEAP, salt, nonce, AESGCM(own).encrypt(nonce, CONTENT, b"context"))
    assert unseal(sealed, b"pleaseletmein", context=b"context") == CONTENT


def test_salt_and_nonce_are_fresh(made: SealedBytes) -> None:
    again = seal(CONTENT, b"right", context=b"context", cost=CHEAP)
    assert again.salt != made.salt
    assert again.nonce != made.nonce
    assert again.content != made.content


@pytest.mark.parametrize("passphrase", [b"wrong", b"right ", b"Right"])
def test_another_passphrase(made: SealedBytes, passphrase: bytes) -> None:
    with pytest.raises(KeyRefusedError, match="passphrase does not open"):
        unseal(made, passphrase, context=b"context")


@pytest.mark.parametrize("part", ["salt", "nonce", "content", "context", "cost"])
def test_any_alteration(made: SealedBytes, part: str) -> None:
    context = b"another" if part == "context" else b"context"
    altered = made
    if part == "cost":
        altered = dataclasses.replace(made, cost=ScryptCost(log2_cost=15))
    elif part != "context":
        value = getattr(made, part)
        altered = dataclasses.replace(made, **{part: bytes([value[0] ^ 1]) + value[1:]})
    with pytest.raises(KeyRefusedError, match="somebody altered"):
        unseal(altered, b"right", context=context)


@pytest.mark.parametrize(("part", "size"), [("salt", 0), ("salt", 15), ("nonce", 8), ("content", 15)])
def test_parts_of_another_size(made: SealedBytes, part: str, size: int) -> None:
    with pytest.raises(WireCorruptError, match="another size"):
        unseal(dataclasses.replace(made, **{part: bytes(size)}), b"right", context=b"context")


@pytest.mark.parametrize(
    "cost", [ScryptCost(19, 8, 1), ScryptCost(2**62, 8, 1), ScryptCost(33, 1, 1), ScryptCost(17, 32, 1)]
)
def test_costs_that_would_exhaust_the_reader(cost: ScryptCost) -> None:
    with pytest.raises(WireOversizeError, match="too much memory"):
        cost.check()


@pytest.mark.parametrize(
    "cost", [ScryptCost(13, 8, 1), ScryptCost(17, 0, 1), ScryptCost(-1, 8, 1), ScryptCost(17, 8, 99)]
)
def test_costs_that_make_no_sense(cost: ScryptCost) -> None:
    with pytest.raises(WireCorruptError, match="scrypt parameters refused"):
        cost.check()


@pytest.mark.parametrize("passphrase", [b"", "text", None])
def test_what_is_no_passphrase(passphrase: object) -> None:
    with pytest.raises(InputError, match="passphrase refused"):
        seal(CONTENT, passphrase, context=b"", cost=CHEAP)  # type: ignore[arg-type]
