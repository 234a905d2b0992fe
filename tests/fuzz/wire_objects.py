"""One small valid object of every kind that has wire bytes, for the fuzzers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.engine.limbs import limbs_from_ints
from hekat.engine.select import get_engine
from hekat.privacy import Mask
from hekat.scheme.paillier.ciphertexts import Ciphertexts
from hekat.scheme.paillier.keys.key_pair import PrivateKey
from hekat.scheme.rsa import PublicKey as RsaPublicKey
from hekat.scheme.rsa import Signatures
from hekat.scheme.rsa.group_elements import GroupElements
from hekat.wire import ciphertext, disclosed, message, public, sealed
from hekat.wire.keyfile import OwnerKeyFile, ProtectedKeyFile

ENGINE = get_engine("reference")
# Two safe primes of 64 bits: nothing is encrypted here, and small keys let the fuzzers reach every byte.
PRIVATE_KEY = PrivateKey(2**64 - 1042097, 2**64 - 1036229)
PUBLIC_KEY = PRIVATE_KEY.public
RSA_KEY = RsaPublicKey(PUBLIC_KEY.n)


@message("fuzz/every", version=1)
@dataclass(frozen=True)
class Every:
    flag: bool = public()
    count: int = public()
    ratio: float = disclosed("a ratio")
    name: str = disclosed("a name")
    blob: bytes = ciphertext(under="nobody")
    secret: bytes = sealed("a test secret")
    names: list[str] = public()
    sizes: tuple[int, ...] = public()
    settings: dict[str, float] = public()
    maybe: int | None = public()
    f64: npt.NDArray[np.float64] = disclosed("numbers")
    u8: npt.NDArray[np.uint8] = disclosed("numbers")
    tables: dict[str, npt.NDArray[np.int64]] = public()


def every() -> Every:
    return Every(
        flag=True,
        count=1 << 70,
        ratio=0.5,
        name="n",
        blob=b"bb",
        secret=b"s",
        names=["a", ""],
        sizes=(1, -200, 1 << 63),
        settings={"x": 1.0, "y": float("inf")},
        maybe=None,
        f64=np.array([[1.0], [2.0]]),
        u8=np.array(7, np.uint8),
        tables={"t": np.array([1, 2])},
    )


def ciphertexts() -> Ciphertexts:
    values = limbs_from_ints([1, 2**190 + 1, PUBLIC_KEY.n**2 - 1, 7], PUBLIC_KEY.n_squared.limb_count)
    return Ciphertexts(PUBLIC_KEY, ENGINE.load(values.reshape(2, 2, -1), PUBLIC_KEY.n_squared))


def signatures() -> Signatures:
    """Values of the kind; nobody signed them."""
    values = limbs_from_ints([1, 2**90 + 1, RSA_KEY.n - 1], RSA_KEY.n_modulus.limb_count)
    return Signatures.from_limbs(RSA_KEY, values, ENGINE)


def key_for(cls: type[Any]) -> Any:
    """The public key that objects of `cls` are read under."""
    return RSA_KEY if issubclass(cls, GroupElements) else PUBLIC_KEY


def small_objects() -> list[Any]:
    """The objects; their order is part of what a fuzzer's stored inputs mean."""
    bits, fingerprint = PUBLIC_KEY.bits, PUBLIC_KEY.fingerprint
    return [
        every(),
        PUBLIC_KEY,
        PRIVATE_KEY,
        ciphertexts(),
        ProtectedKeyFile(bits, fingerprint, 17, 8, 1, bytes(16), bytes(12), bytes(40)),
        OwnerKeyFile(bits, fingerprint, b"key"),
        RSA_KEY,
        signatures(),
        Mask({"bias": 3, "weight": 8}, bytes([0b10110101, 0b101])),
    ]
