"""What seals a session's pair keys is what we say it is: HPKE (RFC 9180) over X-Wing, opened here by its parts.

So a release of the library that meant another KEM by the same name would be found, and kept bytes open for ever.
Source: draft-connolly-cfrg-xwing-kem, section 5.3 (combiner, KEM 0x647a); RFC 9180, section 5.1 (key schedule).
"""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hpke import MLKEM768X25519PrivateKey

from hekat.channel.session_key import SessionKey

VECTOR = {
    name: bytes.fromhex(text)
    for name, text in json.loads((Path(__file__).parents[1] / "vectors" / "session_key.json").read_text()).items()
    if name != "made by"
}
MLKEM_CIPHERTEXT_BYTES = 1088
XWING_LABEL = b"\\.//^\\"
# KEM, HKDF-SHA-256, AES-128-GCM.
SUITE = b"HPKE" + bytes.fromhex("647a 0001 0001")


def xwing_secret(encapsulated: bytes) -> bytes:
    mlkem = MLKEM768PrivateKey.from_seed_bytes(VECTOR["mlkem_seed"])
    x25519 = X25519PrivateKey.from_private_bytes(VECTOR["x25519_seed"])
    first, second = encapsulated[:MLKEM_CIPHERTEXT_BYTES], encapsulated[MLKEM_CIPHERTEXT_BYTES:]
    secrets = mlkem.decapsulate(first) + x25519.exchange(X25519PublicKey.from_public_bytes(second))
    return hashlib.sha3_256(secrets + second + x25519.public_key().public_bytes_raw() + XWING_LABEL).digest()


def labelled_extract(salt: bytes, label: bytes, ikm: bytes) -> bytes:
    return hmac.digest(salt, b"HPKE-v1" + SUITE + label + ikm, "sha256")


def labelled_expand(key: bytes, label: bytes, context: bytes, size: int) -> bytes:
    info = size.to_bytes(2, "big") + b"HPKE-v1" + SUITE + label + context
    return hmac.digest(key, info + b"\x01", "sha256")[:size]


def open_by_parts(sealed: bytes, info: bytes) -> bytes:
    """HPKE's base mode: the context of no pre-shared key and of `info`; sequence number 0."""
    encapsulated, body = sealed[: MLKEM_CIPHERTEXT_BYTES + 32], sealed[MLKEM_CIPHERTEXT_BYTES + 32 :]
    context = b"\x00" + labelled_extract(b"", b"psk_id_hash", b"") + labelled_extract(b"", b"info_hash", info)
    secret = labelled_extract(xwing_secret(encapsulated), b"secret", b"")
    key, nonce = labelled_expand(secret, b"key", context, 16), labelled_expand(secret, b"base_nonce", context, 12)
    return AESGCM(key).decrypt(nonce, body, b"")


def session_key() -> SessionKey:
    key = SessionKey()
    mlkem = MLKEM768PrivateKey.from_seed_bytes(VECTOR["mlkem_seed"])
    key._private = MLKEM768X25519PrivateKey(mlkem, X25519PrivateKey.from_private_bytes(VECTOR["x25519_seed"]))
    return key


def test_the_kept_bytes_open_by_the_library_and_by_the_parts_of_the_draft() -> None:
    assert session_key().open(VECTOR["sealed"], VECTOR["info"]) == VECTOR["content"]
    assert open_by_parts(VECTOR["sealed"], VECTOR["info"]) == VECTOR["content"]


def test_the_library_opens_nothing_that_the_parts_do_not() -> None:
    for info in (b"", VECTOR["info"][:-1]):
        with pytest.raises(InvalidTag):
            open_by_parts(VECTOR["sealed"], info)
