"""Points: every id is hashed to the curve and never to its twist, and all other points are refused."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.engine.cuda.engine import CudaEngine
from hekat.errors import InputError
from hekat.protocol.psi import curve
from hekat.protocol.psi.curve import check_points, is_canonical, is_on_curve, map_to_curve, multiply
from hekat.protocol.psi.rows import random_rows

P = 2**255 - 19
COUNT = 400
# The coordinates of small order: 0, order 4, two of order 8, and p - 1 on the twist.
SMALL = (
    0,
    1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
    P - 1,
)


def rows_of(*numbers: int) -> np.ndarray:
    return np.frombuffer(b"".join(number.to_bytes(32, "little") for number in numbers), np.uint8).reshape(-1, 32)


def numbers_of(rows: np.ndarray) -> list[int]:
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


def on_curve_by_definition(u: int) -> bool:
    return pow(u**3 + 486662 * u**2 + u, (P - 1) // 2, P) == 1


def hash_naively(count: int) -> np.ndarray:
    """Each id's hash as a coordinate, as a naive protocol would take it."""
    rows = (
        np.frombuffer(b"".join(hashlib.sha256(b"%d" % i).digest() for i in range(count)), np.uint8)
        .reshape(-1, 32)
        .copy()
    )
    rows[:, -1] &= 0x7F
    return rows


def test_the_criterion_is_the_definition() -> None:
    rows = np.concatenate([hash_naively(COUNT), rows_of(*SMALL, 2, 9, P - 2)])
    assert is_on_curve(rows).tolist() == [on_curve_by_definition(u) for u in numbers_of(rows)]
    assert is_on_curve(rows[:0]).shape == (0,)


def test_the_criterion_on_an_emulated_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.concatenate([hash_naively(20), rows_of(*SMALL)])
    expected = is_on_curve(rows)
    monkeypatch.setattr(curve, "get_engine", lambda: CudaEngine(EmulatedDevice()))
    assert np.array_equal(is_on_curve(rows), expected)


def test_a_naive_hash_leaks_a_bit_of_every_id() -> None:
    """The attack: an observer of a masked point knows whether the hash of its id lies on the curve or on the twist."""
    naive = hash_naively(COUNT)
    bits = is_on_curve(naive)
    assert COUNT / 2 - 60 < bits.sum() < COUNT / 2 + 60, "6 standard deviations of 10"
    masked = multiply(X25519PrivateKey.generate(), naive)
    twice = multiply(X25519PrivateKey.generate(), masked)
    assert np.array_equal(is_on_curve(masked), bits)
    assert np.array_equal(is_on_curve(twice), bits)


def test_hashing_to_the_curve_leaks_no_such_bit() -> None:
    points = map_to_curve(bytes(32), random_rows(COUNT))
    masked = multiply(X25519PrivateKey.generate(), points)
    for rows in (points, masked):
        assert all(on_curve_by_definition(u) for u in numbers_of(rows))


def test_points_hang_on_id_and_context_alone() -> None:
    digests = random_rows(50)
    points = map_to_curve(b"a" * 32, digests)
    assert np.array_equal(points[::-1], map_to_curve(b"a" * 32, digests[::-1]))
    assert not (points == map_to_curve(b"b" * 32, digests)).all(axis=1).any()
    assert len(set(numbers_of(points))) == 50


def test_points_are_those_of_the_formula() -> None:
    context, digest = b"c" * 32, bytes(range(32))
    for counter in range(100):
        hashed = hashlib.sha512(context + digest + counter.to_bytes(4, "big")).digest()[:32]
        u = int.from_bytes(hashed, "little") % 2**255
        if u < P and on_curve_by_definition(u):
            break
    assert numbers_of(map_to_curve(context, np.frombuffer(digest, np.uint8).reshape(1, 32))) == [u]


def test_scalars_commute() -> None:
    a, b = X25519PrivateKey.generate(), X25519PrivateKey.generate()
    points = map_to_curve(bytes(32), random_rows(20))
    assert np.array_equal(multiply(a, multiply(b, points)), multiply(b, multiply(a, points)))


def test_multiples_of_the_base_point_are_public_keys() -> None:
    scalar = X25519PrivateKey.generate()
    base = rows_of(9)
    assert multiply(scalar, base).tobytes() == scalar.public_key().public_bytes_raw()


@pytest.mark.parametrize("u", [P, P + 1, 2**255 - 1, 2**255, 2**256 - 1])
def test_numbers_that_are_no_coordinates(u: int) -> None:
    assert is_canonical(rows_of(P - 1, u, 0)).tolist() == [True, False, True]
    with pytest.raises(InputError, match="no coordinates"):
        check_points(rows_of(9, u))


@pytest.mark.parametrize("u", SMALL)
def test_points_of_small_order(u: int) -> None:
    """Points on the curve pass the criterion, also after multiplication; the other points do not pass it."""
    refuse = (lambda rows: multiply(X25519PrivateKey.generate(), rows)) if u in SMALL[1:4] else check_points
    with pytest.raises(InputError, match="small order" if u in SMALL[1:4] else "not on the curve"):
        refuse(rows_of(9, u))


def test_points_of_the_twist() -> None:
    twist = next(u for u in range(2, 100) if not on_curve_by_definition(u))
    with pytest.raises(InputError, match="not on the curve"):
        check_points(rows_of(9, twist))
