"""What anyone can compute on ciphertexts with the public key alone.

Results are exact modulo n and are not re-randomised: `rerandomise` them before they go to another party.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from hekat.engine.interface import Engine, IndexArray, ResidueArray
from hekat.engine.limbs import LimbArray
from hekat.engine.scheduler import Progress
from hekat.errors import InputError
from hekat.plaintext_space import PackedPlaintext
from hekat.scheme.chunks import join_chunks, run_chunks, take_chunk
from hekat.scheme.paillier.ciphertexts import Ciphertexts
from hekat.scheme.paillier.encrypt import choose_randomisers, plaintext_residues, public_part
from hekat.scheme.paillier.keys.key_pair import PrivateKey, PublicKey, check_same_key
from hekat.scheme.paillier.keys.parameters import CRT, STANDARD
from hekat.scheme.paillier.plain_matrix import part_rows, plain_matrix
from hekat.scheme.paillier.plain_operand import plaintexts_for, signed_magnitudes


def add(a: Ciphertexts, b: Ciphertexts) -> Ciphertexts:
    """Ciphertexts of a + b, shapes broadcast."""
    check_same_key(a.public, b.public)
    return Ciphertexts(a.public, a.engine.mod_mul(a.residues, b.residues))


def add_many(addends: Sequence[Ciphertexts]) -> Ciphertexts:
    """Ciphertexts of the sum of arrays of one shape. Raises InputError for none or for unequal shapes."""
    if not addends or any(addend.shape != addends[0].shape for addend in addends):
        raise InputError(
            "arrays of ciphertexts do not add up",
            expected="one array or more, all of one shape",
            got=", ".join(str(addend.shape) for addend in addends) or "none",
        )
    shape = (1, *addends[0].shape)
    return sum_along(Ciphertexts.concatenate([addend.reshape(shape) for addend in addends]), 0)


def negate(a: Ciphertexts) -> Ciphertexts:
    """Ciphertexts of -a, by one batch inversion. Raises InputError for a ciphertext that is no unit."""
    return Ciphertexts(a.public, a.engine.mod_inv(a.residues))


def subtract(a: Ciphertexts, b: Ciphertexts) -> Ciphertexts:
    """Ciphertexts of a - b, shapes broadcast."""
    check_same_key(a.public, b.public)
    return add(a, negate(b))


def add_plain(c: Ciphertexts, plain: PackedPlaintext | Any) -> Ciphertexts:
    """Ciphertexts of c + plain, in c's shape, not re-randomised: a party that knows c reads the difference.

    `plain`: packed plaintexts, one or as many as c in C order; or signed integers that broadcast to c's shape.
    Raises InputError for other counts or types, BoundError beyond the plaintext space.
    """
    packed = plaintexts_for(c.public, plain, c.shape, c.engine)
    with c.engine.active(packed.limbs):
        messages = plaintext_residues(c.public, packed.limbs, c.engine)
        shape = () if len(packed) == 1 else c.shape
        messages = messages.reshape(*shape, messages.shape[-1])
        return Ciphertexts(c.public, c.engine.mod_mul_one_plus(c.residues, messages))


def add_uniform(c: Ciphertexts) -> tuple[Ciphertexts, LimbArray]:
    """Ciphertexts of c + R mod n in c's shape, not re-randomised, and the R: limbs (c.size, limbs of n) on the host.

    Every ciphertext gets its own R, uniform in [0, n): the decrypting party finds a uniform number, whatever the
    plaintext was.
    """
    masks = c.engine.random_below(c.size, c.public.n)
    hidden = c.engine.mod_mul_one_plus(c.reshape(-1).residues, masks)
    return Ciphertexts(c.public, hidden).reshape(c.shape), c.engine.to_host(masks)


def multiply_plain(c: Ciphertexts, scalars: Any) -> Ciphertexts:
    """Ciphertexts of c * scalars for signed integers (any integer dtype, or Python integers), shapes broadcast.

    Time depends on the largest scalar, so a party that watches the clock learns about the scalars. Only `rerandomise`
    hides the scalars of a result that leaves: a zero scalar gives the ciphertext 1, which shows that it is zero. Raises
    BoundError for a scalar beyond the plaintext space, InputError for what is no integer.
    """
    engine = c.engine
    magnitudes, negative = signed_magnitudes(scalars, c.public)
    try:
        shape = np.broadcast_shapes(c.shape, negative.shape)
    except ValueError:
        raise InputError(
            "shapes do not broadcast", expected=f"scalars that broadcast with {c.shape}", got=str(negative.shape)
        ) from None
    bases = c.residues
    if negative.any():
        bases = _with_inverses(c, np.broadcast_to(negative, shape))
    return Ciphertexts(c.public, engine.mod_exp_vartime(bases, magnitudes))


def matmul_plain(plain: Any, c: Ciphertexts, *, progress: Progress | None = None) -> Ciphertexts:
    """Ciphertexts of plain @ c for signed integers (r, k) and c of shape (k,) or (k, m): shape (r,) or (r, m).

    `plain` may be a sparse matrix of SciPy; it is read by rows (CSR), and entries that it does not store cost nothing.
    `progress(done, total)` counts results. Time depends on the plain values, as in `multiply_plain`.
    Raises InputError for shapes that do not fit.
    """
    matrix = plain_matrix(plain, c.public)
    if len(matrix.shape) != 2 or len(c.shape) not in (1, 2) or matrix.shape[1] != c.shape[0]:
        raise InputError(
            "shapes do not fit a matrix product",
            expected="plain (r, k) and ciphertexts (k,) or (k, m)",
            got=f"{matrix.shape} and {c.shape}",
        )
    shape = (matrix.shape[0], *c.shape[1:])
    if not prod(shape):
        return c.take(np.empty(shape, np.int64))
    columns = [c] if len(c.shape) == 1 else [c[:, j] for j in range(c.shape[1])]
    parts = []
    for start in range(0, shape[0], part_rows(matrix)):
        stop = min(shape[0], start + part_rows(matrix))
        exponents, signs = matrix.exponents(slice(start, stop))
        for done, column in enumerate(columns):
            parts.append(c.engine.mod_multi_exp(column.residues, exponents, signs))
            if progress is not None:
                progress(start * len(columns) + (done + 1) * (stop - start), prod(shape))
    return Ciphertexts(c.public, _interleave(parts, len(columns), c.engine)).reshape(shape)


def _interleave(parts: list[ResidueArray], column_count: int, engine: Engine) -> ResidueArray:
    """Columns cut into parts, as one flat array in C order: part by part, and within a part column by column."""
    joined = engine.concatenate(parts)
    if column_count == 1:
        return joined
    places, first = [], 0
    for part in parts[::column_count]:
        count = len(part)
        block = np.arange(first, first + column_count * count, dtype=np.int64).reshape(column_count, count)
        places.append(block.T.ravel())
        first += block.size
    return engine.take(joined, np.concatenate(places))


def sum_along(c: Ciphertexts, axis: int | None = None) -> Ciphertexts:
    """Ciphertexts of the sum along one axis, of everything if None; an empty sum is the ciphertext 1 of zero."""
    if axis is None:
        return sum_along(c.reshape((c.size,)), 0)
    return Ciphertexts(c.public, c.engine.mod_product(c.residues, axis))


def segment_sum(c: Ciphertexts, segments: IndexArray, count: int, members: IndexArray | None = None) -> Ciphertexts:
    """Ciphertexts of the sums per segment, shape (count,), for c and int64 `segments` of one shape (k,).

    With int64 `members` (k,) the addends are c[members], which are not copied; c then has any length.
    """
    return Ciphertexts(c.public, c.engine.mod_segment_product(c.residues, segments, count, members))


def rerandomise(
    c: Ciphertexts, key: PublicKey | PrivateKey | None = None, *, progress: Progress | None = None
) -> Ciphertexts:
    """The same plaintexts under fresh randomisers: nothing tells the result from new encryptions.

    Randomisers are uniform n-th residues, by `crt` with the PrivateKey as `key`, otherwise r^n: a party that knows the
    primes, or made the key from other factors than two primes, finds none of the old randomisers. To hide plaintexts
    from the key's holder, add a mask before. r^n takes some twelve times as long as `djn` encryption. `progress(done,
    total)` is called after every few thousand. Raises KeyRefusedError for a key that is not the ciphertexts' own.
    """
    engine = c.engine
    key = c.public if key is None else key
    check_same_key(c.public, public_part(key))
    draw = choose_randomisers(key, CRT if isinstance(key, PrivateKey) else STANDARD, engine, c.size)

    def rerandomise_chunk(chunk: slice) -> ResidueArray:
        count = chunk.stop - chunk.start
        fresh = draw(count) if isinstance(key, PrivateKey) else key.uniform_stock.take(count, engine, draw)
        return engine.mod_mul(take_chunk(c.residues, chunk), fresh)

    return Ciphertexts(c.public, join_chunks(run_chunks(rerandomise_chunk, c.size, engine, progress), c.shape))


def _with_inverses(c: Ciphertexts, negative: np.ndarray[Any, np.dtype[np.bool_]]) -> ResidueArray:
    """c broadcast to the shape of `negative`, inverted where `negative` is set; computes each needed inverse once."""
    engine = c.engine
    positions = np.broadcast_to(np.arange(c.size, dtype=np.int64).reshape(c.shape), negative.shape)
    needed, place = np.unique(positions[negative], return_inverse=True)
    flat = engine.reshape(c.residues, (c.size,))
    inverses = engine.mod_inv(engine.take(flat, needed))
    sources = np.array(positions)
    sources[negative] = c.size + place
    return engine.take(engine.concatenate([flat, inverses]), sources)
