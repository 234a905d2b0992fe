"""The ring operations that every engine has, each with its contract.

Single operations specify the four operations on whole blocks of values (`mask_values` to `unmask_sum`): the contract of
each of the four names its single operations, and engines may fuse them. Constant-time in secrets, errors and values;
but the time of `expand_uniform` shows how many words of a stream were no residues, on which the residues do not depend,
the time of `sample_discrete_gaussian` shows what its contract says, and the time of `ring_bin_sums` depends on its
digits and starts. All raise InputError for wrong shapes, types, key lengths and chunk numbers beyond 2^64 - 1
(`hekat.engine.ring.checks`). Arrays lie on the host; but an engine on a device also takes values, written bytes and
accumulators on its device, and leaves the results there. Source: RFC 8439 for ChaCha20.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from hekat.engine.ring.gaussian import DiscreteGaussian
from hekat.engine.ring.parameters import MaskFormat, Ring

RingArray = npt.NDArray[np.uint64]
ByteArray = npt.NDArray[np.uint8]
SmallArray = npt.NDArray[np.int8]
LevelArray = npt.NDArray[np.int32]
SumArray = npt.NDArray[np.int64]
NoiseArray = npt.NDArray[np.int64]
DigitArray = npt.NDArray[np.int32]
StartArray = npt.NDArray[np.int64]

CHACHA20_KEY_BYTES = 32
CHACHA20_NONCE_BYTES = 12
CBD_BOUND = 21


class RingEngine(Protocol):
    """Batched arithmetic in the rings of `hekat.engine.ring.parameters`, and the streams that fill them."""

    def chacha20(self, key: bytes, nonce: bytes, counter: int, byte_count: int) -> ByteArray:
        """The first `byte_count` bytes of the key stream from block `counter` on (RFC 8439, section 2.4).

        Raises InputError for another key or nonce length and where the 32-bit counter would wrap.
        """
        ...

    def expand_uniform(self, ring: Ring, key: bytes, first_chunk: int, chunk_count: int) -> RingArray:
        """Uniform ring elements in transformed form, shape (chunk_count, primes, N), from a 32-byte key.

        For prime number i of chunk c (counted from 0): nonce = i as 4, c as 8 little-endian bytes, counter from 0; the
        stream's 64-bit little-endian words, each masked to bitlength(p), those below p in their order.
        """
        ...

    def sample_cbd(self, key: bytes, first_chunk: int, chunk_count: int, degree: int) -> SmallArray:
        """Centred binomial numbers in [-21, 21], shape (chunk_count, degree), from a secret 32-byte key.

        Chunk c: nonce = 2^32 - 1 as 4, c as 8 little-endian bytes, counter from 0; number n is the count of ones among
        bits 0 to 20 of the stream's n-th 64-bit little-endian word, less that among bits 21 to 41.
        """
        ...

    def sample_discrete_gaussian(
        self, key: bytes | bytearray, first_block: int, count: int, gaussian: DiscreteGaussian
    ) -> NoiseArray:
        """Independent numbers of a discrete Gaussian, int64 (count,), from a secret 32-byte key; exactly so.

        Blocks of 1,024 numbers, the last one of what is left, have numbers from `first_block` on. Block b: nonce = 2^32
        - 2 as 4, b as 8 little-endian bytes. Its try t = 8 g + i takes the i-th 64-bit little-endian words u, v and r
        of the stream's 64-byte blocks 3 g, 3 g + 1 and 3 g + 2; the block's numbers come from its first tries that are
        kept, in their order.

        U and V are uniform in [0, 1): u and v are their first 64 binary digits, the words of the streams with 2^32 - 3
        and 2^32 - 4 in place of 2^32 - 2, from counter 2^12 t on, their further digits. With k, s, s0 and Z of
        `gaussian` and C_j of `bracket_table` there, z is the count of j from 0 to Z - 1 with U >= C_j; y is the k lower
        bits of r, x = 2^k z + y. A try is kept where V < exp(-y (y + 2^(k+1) z) / (2 s^2)), x <= floor(10 s), and not
        both x = 0 and bit 63 of r is 1; its number is then -x where bit 63 of r is 1, x where it is 0.

        Which tries were refused shows in the time, on which the numbers do not depend. An engine may compute with
        fewer digits, and leave a block to the specification where these do not tell: a chance below 10^-13 a number,
        which shows in the time too. Source: Ducas, Durmus, Lepoint, Lyubashevsky 2013, section 6, for the tries;
        Canonne, Kamath, Steinke 2020, for exactness.
        """
        ...

    def ring_ntt(self, ring: Ring, a: RingArray) -> RingArray:
        """Transformed elements, shape as `a` (..., primes, N): slot j is the value at psi^(2 brv(j) + 1).

        brv reverses the log2(N) bits of j. Raises InputError for another shape, dtype or a residue >= its prime.
        """
        ...

    def ring_ntt_integers(self, ring: Ring, values: SumArray) -> RingArray:
        """Transformed elements (..., primes, N) of polynomials of integers: `values` (..., M), M from 1 to N.

        Coefficient n < M is values[..., n], any int64; all others are 0, and where M is small an engine may skip
        levels of the transform. Raises InputError for other shapes or dtypes.
        """
        ...

    def ring_intt(self, ring: Ring, a: RingArray) -> RingArray:
        """The inverse of `ring_ntt`; shape and Raises alike."""
        ...

    def ring_add(self, ring: Ring, a: RingArray, b: RingArray) -> RingArray:
        """Sum, either form; leading shapes broadcast."""
        ...

    def ring_sub(self, ring: Ring, a: RingArray, b: RingArray) -> RingArray:
        """Difference, either form; leading shapes broadcast."""
        ...

    def ring_mul(self, ring: Ring, a: RingArray, b: RingArray) -> RingArray:
        """Slot by slot product: the elements' product where both are in transformed form; leading shapes broadcast."""
        ...

    def ring_bin_sums(
        self,
        ring: Ring,
        elements: RingArray,
        digits: DigitArray,
        window: int,
        window_count: int,
        starts: StartArray,
    ) -> RingArray:
        """Sums of `elements` times sparse plaintexts, shape (S, window_count, C, primes, N): sums of rows by bin.

        A row p of R rows is row j = p mod r of group k = floor(p / r), for r = N / window: `window` is a power of two
        up to N. `elements` (K, C, primes, N), transformed, holds C elements for each group; (K - 1) r < R <= K r.
        `digits` (M, R) int32 gives each row M digits from -1 to window_count * window - 1; window w has the digits from
        w * window on, and a digit -1 counts nowhere. Segment s of S has the rows starts[s] to starts[s + 1] - 1:
        `starts` (S + 1,) int64 ascends, neighbours may be equal, from 0 or more to R or less.

        The result, transformed, is out[s, w] = sum over k of elements[k] * P, where P is the sum, over the segment's
        rows p in group k and the m with digits[m, p] in window w, of X^(digits[m, p] - w * window - j * window). So
        where elements[k, c] holds x(p) in coefficient j * window and else 0, coefficient i < window of out[s, w, c] is
        the sum of x(p) over the segment's rows and all m with digits[m, p] = w * window + i. Equal exponents add up.

        Variable time: it depends on how many digits each P has, and on their places. Raises InputError for other
        shapes, dtypes, residues, windows, digits or starts.
        """
        ...

    def ring_window_sums(
        self,
        ring: Ring,
        elements: RingArray,
        digits: DigitArray,
        window: int,
        window_count: int,
        starts: StartArray,
    ) -> RingArray:
        """The first coefficients of `ring_bin_sums` of elements that are not transformed.

        Arguments are as there, but `elements` are coefficients. The result (S, window_count, C, primes, window), not
        transformed, has the first `window` coefficients of ring_intt(ring_bin_sums(ring_ntt(elements), ...)): those
        that hold sums of rows. Variable time, and raises, as there.
        """
        ...

    def ring_first_products(self, ring: Ring, a: RingArray, b: RingArray, window: int) -> RingArray:
        """The first coefficients of all products of `a` (count, primes, N) and `b` (C, primes, N), both transformed.

        Shape (count, C, primes, window), not transformed, `window` a power of two up to N: the first coefficients of
        ring_intt(a[i] * b[c]). Raises InputError for other shapes, dtypes, residues or windows.
        """
        ...

    def ring_add_zeros(
        self, ring: Ring, elements: RingArray, windows: RingArray, small: SmallArray, pair: RingArray
    ) -> tuple[RingArray, RingArray]:
        """Sums, second and first halves, plus an encryption of zero each, as coefficients.

        `elements` (count, primes, N), transformed, are second halves whole; `windows` (count, C, primes, window), not
        transformed, the first coefficients of first halves, `window` a power of two up to N. `pair` (1 + C, primes, N)
        is transformed; `small` (count, 2, N), int8, has v and e of each. The results, in the shapes of `elements` and
        `windows`, are ring_intt(elements[i] + ring_ntt(v_i) * pair[0]) + e_i, and windows[i, c] plus the first
        coefficients of ring_intt(ring_ntt(v_i) * pair[1 + c]). Raises InputError for other shapes, dtypes or residues.
        """
        ...

    def ring_refresh(self, ring: Ring, elements: RingArray, small: SmallArray, pair: RingArray) -> RingArray:
        """Ciphertexts plus an encryption of zero each, as coefficients.

        `elements` (count, D, primes, N), transformed, are the D halves of each; `small` (count, 1 + D, N), int8, has v
        and the errors e_0 to e_(D-1) of each; `pair` (D, primes, N) is transformed. Half d of the result, in the shape
        of `elements`, is ring_intt(elements[i, d] + ring_ntt(v_i) * pair[d]) + e_(i, d). Raises InputError for other
        shapes, dtypes or residues.
        """
        ...

    def ring_drop_prime(self, ring: Ring, elements: RingArray, last: RingArray, prime: int) -> RingArray:
        """The nearest integers to x / prime, for numbers x mod the ring's primes and one more, odd `prime` below 2^50.

        `elements` (..., primes, N) and `last` (..., N), not transformed, have the residues of each x; the result, in
        the shape of `elements`, is (x - c) / prime mod the ring's primes, where c is x mod `prime` in [-h, h], h =
        (prime - 1) / 2: c = ((last + h) mod prime) - h. Raises InputError for other shapes, dtypes, residues or primes.
        """
        ...

    def ring_dot(self, ring: Ring, a: RingArray, b: RingArray) -> RingArray:
        """The matrix product of elements, slot by slot: out[r, j] = sum over i of a[r, i] * b[i, j].

        `a` (R, I, primes, N / s) and `b` (I, J, primes, N) are in transformed form, as is the result (R, J, primes, N);
        I is 1 or more. s is 1, 2, 4 or 8: slot n of b meets slot floor(n / s) of a, whose elements are polynomials in
        X^s, transformed in the ring of that stride. Sums may be reduced at any place, since residues are canonical at
        the end: a product of residues is below 2^100, so sums of up to 2^28 products fit 128 bits, and sums of up to
        2^11 upper or lower halves of 52 bits a word of 64. Raises InputError for other shapes, dtypes or residues.
        """
        ...

    def ring_round(self, primes: tuple[int, ...], residues: RingArray, bits: int) -> RingArray:
        """floor(u 2^bits / q) for every number u of [0, q), exactly: two limbs, lower first, uint64 (count, 2).

        `primes` are 1 to 8 different primes below 2^50, of one ring or of several; q is their product. `residues`
        (count, primes) has u mod each of them; `bits` is from 1 to 128. With p_i the primes, r_i the residues of u and
        w_i = (q / p_i)^-1 mod p_i, u / q is sum r_i w_i / p_i mod 1. For any f with 2^f >= 2^bits q sum p_i the result
        is therefore floor(2^(bits - f) (sum r_i ceil(2^f w_i / p_i) mod 2^f)): rounding up adds less than 1 / q to u /
        q 2^bits, whose distance to the next integer is at least that. Raises InputError for other primes, shapes,
        dtypes, residues or bits.
        """
        ...

    def mask_values(
        self,
        form: MaskFormat,
        public_key: bytes,
        secret_ntt: RingArray,
        error_key: bytes | bytearray,
        first_chunk: int,
        values: LevelArray,
    ) -> ByteArray:
        """Written masked chunks of int32 `values` (1-D): round((a s + e + delta m) / 2^dropped_bits), see MaskFormat.

        a = expand_uniform(public_key), e = sample_cbd(error_key), both at the chunks from `first_chunk` on;
        `secret_ntt` is ring_ntt of s, shape (primes, N), s the same in all chunks. The caller makes sure that |x| <
        2^(slot_bits - 1); an engine raises InputError where a value does not fit its slot. The key of errors may be a
        bytearray, so that its owner can overwrite it. Returns form.written_bytes(len(values)) bytes.
        """
        ...

    def add_masked(self, form: MaskFormat, accumulator: RingArray, written: ByteArray, value_count: int) -> None:
        """Add the fields of one written block to `accumulator`, uint64 of form.field_count(value_count), in place.

        An accumulator holds its fields in the order of the written bytes: chunk by chunk, low ones, then high ones.
        Field sums are taken mod 2^64, which up to 2^14 blocks do not reach. Raises InputError where sizes do not agree
        or padding bits behind a last field are not zero, and leaves the accumulator unchanged.
        """
        ...

    def write_sum(self, form: MaskFormat, accumulator: RingArray, value_count: int) -> ByteArray:
        """The accumulated sum as written bytes: round((sum * 2^dropped_bits mod q) / 2^sum_dropped_bits).

        A coefficient's sum is low field + 2^(bits of a low field) * high field, of any two uint64. Returns
        form.written_sum_bytes(value_count) bytes.
        """
        ...

    def unmask_sum(
        self,
        form: MaskFormat,
        public_key: bytes,
        secret_ntt: RingArray,
        first_chunk: int,
        written: ByteArray,
        value_count: int,
    ) -> tuple[SumArray, SumArray]:
        """(values, counts): the int64 sums of the values, and of every chunk's count slot, from a written sum.

        `secret_ntt` is ring_ntt of the sum of the addends' secrets. Per coefficient: phase = (written * 2^sum_dropped
        - a s) mod q in (-q/2, q/2]; m = floor((2 phase + delta) / (2 delta)); its balanced digits, each in
        [-2^(l-1), 2^(l-1)), least significant first. Raises InputError where a slot beyond the last value is not zero
        in the masked values, where a coefficient's m does not end with its last digit, or where padding bits behind a
        last field are not zero.
        """
        ...
