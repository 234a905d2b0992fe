"""Paillier as users call it: plaintexts of the host in, ciphertexts on the device; all that the host does is in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gpu.operations import Case
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.paillier import PrivateKey, add, add_plain, decrypt, encrypt, multiply_plain, rerandomise, sum_along
from measuring.paillier_operations import random_plain

SAMPLE = 16


def scheme_cases(engine: Any, key: PrivateKey, count: int) -> Iterator[Case]:
    """Encryption by public and private key, decryption, and what is done in between."""
    # Each plaintext is used again and again; its randomiser is not.
    some, few = random_plain(key, min(count, 256))
    places = np.arange(count) % len(few)
    plain = PackedPlaintext(some.limbs[places], some.bound)
    values = [few[place] for place in places]
    n = key.public.n

    def opens_to(expected: Any) -> Any:
        def check(result: Any) -> None:
            chosen = np.unique(np.linspace(0, count - 1, SAMPLE).astype(np.int64))
            opened = _signed(decrypt(key, result.take(chosen)).limbs)
            assert [m % n for m in opened] == [expected(int(i)) % n for i in chosen]

        return check

    for who, variant in ((key.public, "djn"), (key, "crt")):
        yield Case(
            f"encrypt {variant}, as called",
            count,
            lambda who=who, variant=variant: encrypt(who, plain, variant=variant, engine=engine),
            opens_to(lambda i: values[i]),
        )
    c = encrypt(key, plain, engine=engine)

    def decrypted(result: PackedPlaintext) -> None:
        assert np.array_equal(np.asarray(result.limbs), plain.limbs)

    yield Case("decrypt", count, lambda: decrypt(key, c), decrypted)
    yield Case("add, as called", count, lambda: add(c, c), opens_to(lambda i: 2 * values[i]))
    yield Case("add a plaintext, as called", count, lambda: add_plain(c, plain), opens_to(lambda i: 2 * values[i]))
    scalars = np.random.default_rng(5).integers(1, 1 << 62, count)
    yield Case(
        "multiply by 62-bit scalars, as called",
        count,
        lambda: multiply_plain(c, scalars),
        opens_to(lambda i: values[i] * int(scalars[i])),
    )
    yield Case("rerandomise, as called", count, lambda: rerandomise(c), opens_to(lambda i: values[i]))

    def summed(result: Any) -> None:
        assert [m % n for m in _signed(decrypt(key, result).limbs)] == [sum(values) % n]

    yield Case("sum, as called", count, lambda: sum_along(c, 0), summed)


def _signed(limbs: Any) -> list[int]:
    return [int.from_bytes(row.tobytes(), "little", signed=True) for row in np.asarray(limbs)]
