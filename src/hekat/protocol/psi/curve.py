"""Ids as points of Curve25519: hashed to the curve itself, checked, and multiplied by X25519 of a well-kept library.

X25519 takes any 32 bytes as a point's coordinate u. Half of these lie on the curve and half on its twist, and so do all
their multiples. A hash taken as u would leave that bit of every id readable in every point that the protocol sends. So
each id is hashed with a counter until u^3 + 486662 u^2 + u is a square: then all points lie on the curve, and X25519's
scalars, multiples of 8, bring them into the subgroup of prime order.

    u(id) = the first of SHA-512(context || digest || counter), 255 bits, that is on the curve; counter = 0, 1, ...

Source: RFC 7748, sections 5 and 6.1; Bernstein 2006, "Curve25519".
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from hekat.engine.interface import Modulus
from hekat.engine.limbs import LimbArray, limbs_from_ints
from hekat.engine.select import get_engine
from hekat.errors import InputError
from hekat.protocol.psi.rows import Digests, Positions

PRIME: Final = 2**255 - 19
COEFFICIENT: Final = 486662
POINT_BYTES: Final = 32
LIMB_COUNT: Final = 4
_MODULUS: Final = Modulus(PRIME)
_HALF: Final = limbs_from_ints([(PRIME - 1) // 2], LIMB_COUNT).reshape(LIMB_COUNT)
_COEFFICIENT: Final = limbs_from_ints([COEFFICIENT], LIMB_COUNT)
_ONE: Final = limbs_from_ints([1], LIMB_COUNT)


def map_to_curve(context: bytes, digests: Digests) -> Digests:
    """Map id digests (count, 32) to points (count, 32), the same ones in the same context.

    The number of hashes of an id depends on the id, and so does the time.
    """
    points = np.empty_like(digests)
    pending: Positions = np.arange(len(digests), dtype=np.int64)
    counter = 0
    while pending.size:
        candidates = _hash(context, digests[pending], counter)
        accepted = is_canonical(candidates)
        accepted[accepted] = is_on_curve(candidates[accepted])
        points[pending[accepted]] = candidates[accepted]
        pending = pending[~accepted]
        counter += 1
    return points


def _hash(context: bytes, digests: Digests, counter: int) -> Digests:
    data, end = digests.tobytes(), counter.to_bytes(4, "big")
    sha512 = hashlib.sha512
    hashed = b"".join(
        sha512(context + data[start : start + POINT_BYTES] + end).digest()[:POINT_BYTES]
        for start in range(0, len(data), POINT_BYTES)
    )
    rows = np.frombuffer(hashed, np.uint8).reshape(-1, POINT_BYTES).copy()
    rows[:, -1] &= 0x7F
    return rows


def is_canonical(points: Digests) -> npt.NDArray[np.bool_]:
    """Whether each point (count, 32) is a coordinate below 2^255 - 19."""
    limbs = _limbs(points)
    full = np.uint64(2**64 - 1)
    reaches = (limbs[:, 3] == full >> np.uint64(1)) & (limbs[:, 1:3] == full).all(axis=1)
    reaches &= limbs[:, 0] >= np.uint64(2**64 - 19)
    canonical: npt.NDArray[np.bool_] = (limbs[:, 3] >> np.uint64(63) == 0) & ~reaches
    return canonical


def is_on_curve(points: Digests) -> npt.NDArray[np.bool_]:
    """Whether u^3 + 486662 u^2 + u is a square other than 0 for each canonical point (count, 32), by Euler."""
    if not len(points):
        return np.zeros(0, dtype=np.bool_)
    engine = get_engine()
    u = _limbs(points)
    # u (u + A) + 1, at most 511 bits, then times u.
    factor = engine.int_mul(u, engine.int_add(u, _COEFFICIENT)[:, :LIMB_COUNT])
    factor = engine.int_add(factor, _ONE)[:, : 2 * LIMB_COUNT]
    value = engine.mod_mul(engine.load(u, _MODULUS), engine.reduce(factor, _MODULUS))
    symbol = engine.store(engine.mod_exp_vartime(value, _HALF))
    on_curve: npt.NDArray[np.bool_] = (symbol == _ONE).all(axis=1)
    return on_curve


def check_points(points: Digests) -> None:
    """Raise InputError unless points (count, 32) are canonical and on the curve."""
    canonical = is_canonical(points)
    if not canonical.all():
        raise InputError(
            "points that are no coordinates",
            expected="numbers below 2^255 - 19",
            got=f"{np.count_nonzero(~canonical):,} others",
        )
    on_curve = is_on_curve(points)
    if not on_curve.all():
        raise InputError(
            "points that are not on the curve", expected="Curve25519", got=f"{np.count_nonzero(~on_curve):,} others"
        )


def multiply(scalar: X25519PrivateKey, points: Digests) -> Digests:
    """Each point (count, 32) times the scalar, in their order. Raises InputError for a point of small order."""
    data = points.tobytes()
    load, exchange = X25519PublicKey.from_public_bytes, scalar.exchange
    try:
        products = [exchange(load(data[start : start + POINT_BYTES])) for start in range(0, len(data), POINT_BYTES)]
    except ValueError:
        raise InputError("a point of small order", expected="points that hashing gives", got="another one") from None
    return np.frombuffer(b"".join(products), np.uint8).reshape(-1, POINT_BYTES)


def _limbs(points: Digests) -> LimbArray:
    return np.ascontiguousarray(points).view("<u8").astype(np.uint64)
