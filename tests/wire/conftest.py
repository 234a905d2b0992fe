"""Keys for the wire tests, published with them and so secret to nobody."""

from __future__ import annotations

import pytest

from hekat.scheme.paillier.keys.key_pair import PrivateKey

PRIMES = [
    (
        "ebe427c570cf8489fcb132d084e066e37d35ed271e1fde9f61002dba4e4e58d9cfcf87a9defcade3f4339da2aac0127c0e54"
        "56ff32b88cb256df2fde4492dcc22629dcbc43fc3373185e81a9848cc8006e9bc3b31c52453a8e105ca758e22e7ce43bf66d"
        "36534020a6d66e7bf71b06af2c9183bce47724e22f4732a11bf10c6b"
    ),
    (
        "dbb07c344b911b586cf84ccfaaedbbdec034833b7dcef68309d01ac56151689f43f426f8e04e79dc6fb24427fa65a6fd7544"
        "7a41039de52967ddcaaf9d803cf2c3af423aa5e176a331047d4aefd0bc5f966302bad44a132095b9dff70e8aa550909c23ab"
        "8023e7792d1413ecbb01e1c1e19250fa374338418767491eaf6cc393"
    ),
    (
        "fe481992bf2cce08751fe7b6eb0d4cd642fe9795bb3a699f0b9a5fd7116b0d7462e97270e0410d7f384a2dcadfb75a2d9b83"
        "a4314560d3d1c4f478729eb4bb9cff07e96bfde51bca2e2b28912965816a5cd6aadb4bba93e825964d8e9f1ee8510876d28a"
        "c0012256e12e47ce3e265f1258727b0a70d66445e0923c19f060cecf"
    ),
    (
        "f451575c59da8d6c96e12304e692e1c3f2c0ecaa339bbaf4c49b69a8fa903a16f1976d2ccfb88a83f3ed14f20ccc23b15c31"
        "6f258661be2e7b66914966039f9b53d0837ee7ce59f8c859a745de955a2664f54ccdb644239db856b489200391e29d52bb6d"
        "224ee19627589a68d293d42e761176159fa3c338ac7afd32c3ebd63f"
    ),
]


@pytest.fixture(scope="session")
def private_key() -> PrivateKey:
    """2048 bits."""
    return PrivateKey(int(PRIMES[0], 16), int(PRIMES[1], 16))


@pytest.fixture(scope="session")
def other_private_key() -> PrivateKey:
    """Another one of 2048 bits."""
    return PrivateKey(int(PRIMES[2], 16), int(PRIMES[3], 16))


@pytest.fixture(scope="session")
def small_private_key() -> PrivateKey:
    """128 bits, below the floor."""
    return PrivateKey(2**64 - 1042097, 2**64 - 1036229)
