"""The private operation against an independent implementation: OpenSSL, through `cryptography`."""

from __future__ import annotations

import hashlib

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from hekat.engine.limbs import ints_from_limbs
from hekat.rsa import KeyPair, PrivateKey, TextbookCiphertexts, decrypt, encrypt, sign

from .conftest import make_setting

SHA256_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")
TEXTS = [f"message {index}".encode() for index in range(9)]


def openssl_key(keys: KeyPair) -> rsa.RSAPrivateKey:
    p, q, n, e = keys.private.p, keys.private.q, keys.public.n, keys.public.e
    d = rsa.rsa_recover_private_exponent(e, p, q)
    numbers = rsa.RSAPrivateNumbers(
        p, q, d, rsa.rsa_crt_dmp1(d, p), rsa.rsa_crt_dmq1(d, q), rsa.rsa_crt_iqmp(p, q), rsa.RSAPublicNumbers(e, n)
    )
    return numbers.private_key()


def padded(text: bytes, width: int) -> int:
    """EMSA-PKCS1-v1_5 (RFC 8017, section 9.2): what its signature is the power d of."""
    end = SHA256_PREFIX + hashlib.sha256(text).digest()
    return int.from_bytes(b"\0\1" + b"\xff" * (width - len(end) - 3) + b"\0" + end, "big")


@pytest.fixture(params=["reference-1024", "cpu-1024", "cpu-2048", "cpu-3072"])
def stored(request, rsa_keys):
    name, bits = request.param.split("-")
    return make_setting(name, rsa_keys(int(bits)))


def test_signatures_are_those_of_openssl(stored):
    width = stored.public.bits // 8
    key = openssl_key(stored.keys)
    wanted = [key.sign(text, padding.PKCS1v15(), hashes.SHA256()) for text in TEXTS]
    signed = sign(stored.keys.private, stored.hashed([padded(text, width) for text in TEXTS]))
    found = [value.to_bytes(width, "big") for value in stored.integers(signed)]
    assert found == wanted
    for text, signature in zip(TEXTS, found, strict=True):
        key.public_key().verify(signature, text, padding.PKCS1v15(), hashes.SHA256())
    with pytest.raises(InvalidSignature):
        key.public_key().verify(found[0], TEXTS[1], padding.PKCS1v15(), hashes.SHA256())


def test_openssl_and_we_decrypt_each_other(stored):
    """What PKCS1v15 pads and encrypts opens here to the padded text, and the other way round."""
    width = stored.public.bits // 8
    key = openssl_key(stored.keys)
    theirs = [int.from_bytes(key.public_key().encrypt(text, padding.PKCS1v15()), "big") for text in TEXTS]
    ciphertexts = TextbookCiphertexts.from_limbs(stored.public, stored.limbs(theirs), stored.engine)
    opened = [value.to_bytes(width, "big") for value in ints_from_limbs(decrypt(stored.keys.private, ciphertexts))]
    assert [block[:2] for block in opened] == [b"\0\2"] * len(TEXTS)
    assert [block[block.index(0, 2) + 1 :] for block in opened] == TEXTS
    blocks = [b"\0\2" + b"\x55" * (width - len(text) - 3) + b"\0" + text for text in TEXTS]
    limbs = stored.limbs([int.from_bytes(block, "big") for block in blocks])
    ours = stored.integers(encrypt(stored.public, limbs, engine=stored.engine))
    assert [key.decrypt(c.to_bytes(width, "big"), padding.PKCS1v15()) for c in ours] == TEXTS


def test_a_key_made_by_openssl_is_taken():
    numbers = rsa.generate_private_key(65537, 2048).private_numbers()
    key = PrivateKey(numbers.p, numbers.q)
    assert key.public.n == numbers.public_numbers.n
