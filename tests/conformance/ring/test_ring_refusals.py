"""Conformance: bad arguments of ring operations are refused with the same class and words by every engine."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.engine.ring.gaussian import DiscreteGaussian
from hekat.engine.ring.parameters import MaskFormat, Ring
from hekat.engine.select import get_engine
from hekat.errors import InputError

RING = Ring(1024, (12289,))
PAIR = Ring(1024, (12289, 40961))
# Slots of 5 bits, delta 12; fields of 13 bits, and of 14 and 13 with two primes.
FORM = MaskFormat(RING, 2, 5, 1, 2)
WIDE = MaskFormat(PAIR, 3, 6, 2, 3)
KEY = bytes(32)
LAW = DiscreteGaussian(1 << 34, 0)
SECRET = np.zeros((1, 1024), np.uint64)
VALUES = np.zeros(7, np.int32)


def elements(*shape):
    return np.ones((*shape, 1024), np.uint64)


def reaching(p, *index):
    a = elements(3, 2)
    a[index] = p
    return a


def zeros(count, dtype=np.uint8):
    return np.zeros(count, dtype)


def mask(form=FORM, public_key=KEY, secret=SECRET, error_key=KEY, first_chunk=0, values=VALUES):
    return lambda e: e.mask_values(form, public_key, secret, error_key, first_chunk, values)


def add(accumulator, written, count=7):
    return lambda e: e.add_masked(FORM, accumulator, written, count)


def write(accumulator, count=7):
    return lambda e: e.write_sum(FORM, accumulator, count)


def unmask(written, count=7, public_key=KEY, secret=SECRET, first_chunk=0):
    return lambda e: e.unmask_sum(FORM, public_key, secret, first_chunk, written, count)


GROUPS = np.ones((2, 1, 1, 1024), np.uint64)
DIGITS = np.zeros((3, 5), np.int32)
SMALL, PUBLIC_PAIR = np.zeros((2, 2, 1024), np.int8), np.ones((2, 1, 1024), np.uint64)
SECOND_SUMS, FIRST_SUMS = np.ones((2, 1, 1024), np.uint64), np.ones((2, 1, 1, 8), np.uint64)


def sum_bins(elements=GROUPS, digits=DIGITS, window=256, window_count=2, starts=(0, 5), dtype=np.int64):
    return lambda e: e.ring_bin_sums(RING, elements, digits, window, window_count, np.array(starts, dtype))


def sum_windows(elements=GROUPS, digits=DIGITS, window=256, window_count=2, starts=(0, 5), dtype=np.int64):
    return lambda e: e.ring_window_sums(RING, elements, digits, window, window_count, np.array(starts, dtype))


def add_zeros(elements=SECOND_SUMS, windows=FIRST_SUMS, small=SMALL, pair=PUBLIC_PAIR):
    return lambda e: e.ring_add_zeros(RING, elements, windows, small, pair)


def multiply_first(a=SECOND_SUMS, b=PUBLIC_PAIR, window=8):
    return lambda e: e.ring_first_products(RING, a, b, window)


LEFT, RIGHT = np.ones((2, 3, 1, 1024), np.uint64), np.ones((3, 1, 1, 1024), np.uint64)


def dot(a=LEFT, b=RIGHT):
    return lambda e: e.ring_dot(RING, a, b)


CIPHERTEXTS, FRESH, KEY_PAIR = np.ones((2, 2, 1, 1024), np.uint64), np.zeros((2, 3, 1024), np.int8), PUBLIC_PAIR


def refresh(elements=CIPHERTEXTS, small=FRESH, pair=KEY_PAIR):
    return lambda e: e.ring_refresh(RING, elements, small, pair)


LAST = np.ones((2, 3, 1024), np.uint64)


def drop_prime(elements=LEFT, last=LAST, prime=40961):
    return lambda e: e.ring_drop_prime(RING, elements, last, prime)


NUMBERS = np.ones((5, 2), np.uint64)


def round_off(primes=(12289, 40961), residues=NUMBERS, bits=60):
    return lambda e: e.ring_round(primes, residues, bits)


def read_only():
    accumulator = zeros(4, np.uint64)
    accumulator.flags.writeable = False
    return accumulator


# Blocks of 7 values: 4 coefficients, one prime: 4 fields of 13 bits in 7 bytes, sums of 12 bits in 6.
BLOCK, SUM, FIELDS = zeros(7), zeros(6), zeros(4, np.uint64)

CASES = {
    "chacha20_key": (lambda e: e.chacha20(bytes(31), bytes(12), 0, 1), "key refused; expected 32 bytes; got 31"),
    "chacha20_key_type": (lambda e: e.chacha20("k" * 32, bytes(12), 0, 1), "expected 32 bytes; got str"),
    "chacha20_nonce": (lambda e: e.chacha20(KEY, bytes(8), 0, 1), "nonce refused; expected 12 bytes; got 8"),
    "chacha20_count": (lambda e: e.chacha20(KEY, bytes(12), 0, -1), "byte_count refused"),
    "expand_key": (lambda e: e.expand_uniform(RING, bytes(33), 0, 1), "public key refused"),
    "expand_negative_chunk": (lambda e: e.expand_uniform(RING, KEY, -1, 1), "chunk numbers out of range"),
    "expand_beyond_chunks": (lambda e: e.expand_uniform(RING, KEY, 2**64 - 1, 2), "chunk numbers out of range"),
    "expand_count": (lambda e: e.expand_uniform(RING, KEY, 0, -1), "chunk_count refused"),
    "cbd_key": (lambda e: e.sample_cbd(b"", 0, 1, 1024), "sampling key refused"),
    "cbd_chunks": (lambda e: e.sample_cbd(KEY, 2**64, 1, 1024), "chunk numbers out of range"),
    "cbd_degree": (lambda e: e.sample_cbd(KEY, 0, 1, 1000), "degree refused"),
    "gaussian_key": (lambda e: e.sample_discrete_gaussian(b"", 0, 1, LAW), "sampling key refused"),
    "gaussian_count": (lambda e: e.sample_discrete_gaussian(KEY, 0, -1, LAW), "count refused"),
    "gaussian_blocks": (lambda e: e.sample_discrete_gaussian(KEY, 2**64 - 1, 1025, LAW), "block numbers out of range"),
    "gaussian_first": (lambda e: e.sample_discrete_gaussian(KEY, -1, 1, LAW), "block numbers out of range"),
    "ntt_shape": (lambda e: e.ring_ntt(RING, elements()), r"shape \(\.\.\., 1, 1024\); got shape \(1024,\)"),
    "ntt_primes": (lambda e: e.ring_ntt(PAIR, elements(1)), r"shape \(\.\.\., 2, 1024\)"),
    "ntt_degree": (lambda e: e.ring_ntt(RING, np.zeros((1, 2048), np.uint64)), r"\(\.\.\., 1, 1024\)"),
    "ntt_int64": (lambda e: e.ring_ntt(RING, elements(1).astype(np.int64)), "of int64"),
    "ntt_swapped_bytes": (lambda e: e.ring_ntt(RING, elements(1).astype(">u8")), "of >u8"),
    "ntt_list": (lambda e: e.ring_ntt(RING, [[1] * 1024]), "got list"),
    "ntt_residue": (lambda e: e.ring_ntt(PAIR, reaching(12289, 2, 0, 7)), r"index \(2, 0, 7\) of ring elements"),
    "intt_residue": (lambda e: e.ring_intt(PAIR, reaching(40961, 0, 1, 1023)), r"index \(0, 1, 1023\)"),
    "intt_all_ones": (lambda e: e.ring_intt(RING, np.full((1, 1024), 2**64 - 1, np.uint64)), "not below its prime"),
    "intt_shape": (lambda e: e.ring_intt(RING, elements(2)), "wrong layout"),
    "add_shapes": (lambda e: e.ring_add(RING, elements(2, 1), elements(3, 1)), "do not broadcast"),
    "sub_residue": (lambda e: e.ring_sub(PAIR, elements(2), reaching(12289, 1, 0, 0)), r"index \(1, 0, 0\)"),
    "mul_residue": (lambda e: e.ring_mul(PAIR, reaching(40961, 1, 1, 0), elements(2)), r"index \(1, 1, 0\)"),
    "mul_dtype": (lambda e: e.ring_mul(RING, elements(1), elements(1).astype(np.uint32)), "of uint32"),
    "bins_window": (sum_bins(window=192), "window refused; expected a power of two from 1 to 1024; got 192"),
    "bins_window_zero": (sum_bins(window=0), "window refused"),
    "bins_window_negative": (sum_bins(window=-4), "window refused"),
    "bins_window_above_degree": (sum_bins(window=2048), "window refused"),
    "bins_no_windows": (sum_bins(window_count=0), "window_count refused"),
    "bins_windows_beyond_int32": (sum_bins(window_count=2**23 + 1), "window_count refused; expected 1 to 8388608"),
    "bins_elements_flat": (sum_bins(elements(2, 1)), r"shape \(groups, components, 1, 1024\)"),
    "bins_elements_deep": (sum_bins(elements(1, 2, 1, 1)), r"shape \(groups, components, 1, 1024\)"),
    "bins_elements_dtype": (sum_bins(GROUPS.astype(np.int64)), "of int64"),
    "bins_residue": (sum_bins(GROUPS * np.uint64(12289)), r"index \(0, 0, 0, 0\) of ring elements"),
    "bins_too_few_groups": (sum_bins(GROUPS[:1]), "expected 2 groups for 5 rows, 4 rows to a group; got 1 groups"),
    "bins_too_many_groups": (sum_bins(digits=DIGITS[:, :4], starts=(0, 4)), "expected 1 groups for 4 rows"),
    "bins_digits_dtype": (sum_bins(digits=DIGITS.astype(np.int64)), r"digits have the wrong layout.*of int64"),
    "bins_digits_flat": (sum_bins(digits=DIGITS[0]), r"shape \(digits of a row, rows\)"),
    "bins_digits_list": (sum_bins(digits=[[0] * 5]), "digits have the wrong layout.*got list"),
    "bins_digit_below": (sum_bins(digits=DIGITS - 2), "digits out of range; expected -1 to 511"),
    "bins_digit_above": (sum_bins(digits=DIGITS + 512), "digits out of range; expected -1 to 511"),
    "bins_starts_dtype": (sum_bins(dtype=np.int32), "wrong size or type of starts of segments"),
    "bins_starts_deep": (sum_bins(starts=[[0, 5]]), "wrong size or type of starts of segments"),
    "bins_no_starts": (sum_bins(starts=()), "starts of segments refused; expected one or more, ascending, from 0 to 5"),
    "bins_starts_descend": (sum_bins(starts=(0, 4, 3, 5)), "starts of segments refused"),
    "bins_starts_negative": (sum_bins(starts=(-1, 5)), "starts of segments refused"),
    "bins_starts_beyond": (sum_bins(starts=(0, 6)), "starts of segments refused"),
    "windows_width": (sum_windows(window=3), "window refused"),
    "windows_groups": (sum_windows(window=512), "groups of elements and rows of digits do not agree"),
    "windows_residue": (sum_windows(GROUPS * np.uint64(12289)), r"index \(0, 0, 0, 0\) of ring elements"),
    "windows_digit": (sum_windows(digits=DIGITS + np.int32(512)), "digits out of range"),
    "windows_starts": (sum_windows(starts=(0, 6)), "starts of segments refused"),
    "first_width": (multiply_first(window=12), "window refused; expected a power of two from 1 to 1024; got 12"),
    "first_flat": (multiply_first(GROUPS), "expected two lists of elements"),
    "first_residue": (multiply_first(b=PUBLIC_PAIR * np.uint64(12289)), "of ring elements is not below its prime"),
    "zeros_flat": (add_zeros(GROUPS), "elements do not fit their public pair"),
    "zeros_no_pair": (add_zeros(pair=PUBLIC_PAIR[:0]), "elements do not fit their public pair"),
    "zeros_depth": (add_zeros(pair=elements(3, 1)), "first coefficients of sums refused"),
    "zeros_windows_dtype": (add_zeros(windows=FIRST_SUMS.astype(np.int64)), "first coefficients of sums refused"),
    "zeros_windows_width": (add_zeros(windows=FIRST_SUMS[..., :3]), "window refused"),
    "zeros_windows_residue": (add_zeros(windows=FIRST_SUMS * np.uint64(12289)), "are no residues"),
    "zeros_residue": (add_zeros(SECOND_SUMS * np.uint64(12289)), r"index \(0, 0, 0\) of ring elements"),
    "zeros_pair_residue": (add_zeros(pair=PUBLIC_PAIR + np.uint64(12289)), "of a public pair is not below its prime"),
    "zeros_small_dtype": (add_zeros(small=SMALL.astype(np.int64)), "wrong size or type of small numbers"),
    "zeros_small_count": (add_zeros(small=SMALL[:1]), r"expected int8, shape \(2, 2, 1024\)"),
    "zeros_small_list": (add_zeros(small=[0]), "small numbers.*got list"),
    "integers_dtype": (lambda e: e.ring_ntt_integers(RING, np.zeros(9, np.int32)), "integers of polynomials.*of int32"),
    "integers_none": (lambda e: e.ring_ntt_integers(RING, np.zeros((3, 0), np.int64)), "expected an array of int64"),
    "integers_long": (lambda e: e.ring_ntt_integers(RING, np.zeros(1025, np.int64)), r"shape \(\.\.\., 1 to 1024\)"),
    "integers_list": (lambda e: e.ring_ntt_integers(RING, [1]), "got list"),
    "integers_number": (lambda e: e.ring_ntt_integers(RING, np.int64(1)), "got int64"),
    "refresh_flat": (refresh(SECOND_SUMS), r"do not fit their public pair; expected shapes \(count, D\)"),
    "refresh_halves": (refresh(pair=PUBLIC_PAIR[:1]), "do not fit their public pair"),
    "refresh_no_halves": (refresh(CIPHERTEXTS[:, :0], FRESH[:, :1], PUBLIC_PAIR[:0]), "D 1 or more"),
    "refresh_residue": (refresh(CIPHERTEXTS * np.uint64(12289)), r"index \(0, 0, 0, 0\) of ring elements"),
    "refresh_pair_residue": (refresh(pair=PUBLIC_PAIR + np.uint64(12289)), "of a public pair is not below its prime"),
    "refresh_small": (refresh(small=FRESH[:, :2]), r"expected int8, shape \(2, 3, 1024\)"),
    "refresh_small_dtype": (refresh(small=FRESH.astype(np.int64)), "small numbers"),
    "drop_two": (drop_prime(prime=2), "a prime of a modulus refused; expected an odd prime"),
    "drop_no_prime": (drop_prime(prime=40963), "a prime of a modulus refused"),
    "drop_own_prime": (drop_prime(prime=12289), "primes of a modulus refused"),
    "drop_residue": (drop_prime(LEFT * np.uint64(12289)), r"index \(0, 0, 0, 0\) of ring elements"),
    "drop_last_shape": (drop_prime(last=LAST[:1]), r"expected an array of uint64, shape \(2, 3, 1024\)"),
    "drop_last_dtype": (drop_prime(last=LAST.astype(np.int64)), "of int64"),
    "drop_last_list": (drop_prime(last=[1]), "got list"),
    "drop_last_residue": (drop_prime(last=LAST * np.uint64(40961)), "residues of a prime to drop are none"),
    "dot_flat": (dot(elements(3, 1)), r"matrices of ring elements do not fit.*got \(3,\) and \(3, 1\)"),
    "dot_deep": (dot(b=elements(3, 1, 1, 1)), "matrices of ring elements do not fit"),
    "dot_terms": (dot(b=elements(2, 1, 1)), r"do not fit; expected shapes \(R, I\) and \(I, J\)"),
    "dot_no_terms": (dot(elements(2, 0, 1), elements(0, 1, 1)), "I 1 or more"),
    "dot_dtype": (dot(LEFT.astype(np.int64)), "of int64"),
    "dot_list": (dot(b=[1]), "got list"),
    "dot_left_residue": (dot(LEFT * np.uint64(12289)), r"index \(0, 0, 0, 0\) of ring elements"),
    "dot_right_residue": (dot(b=RIGHT * np.uint64(12289)), r"index \(0, 0, 0, 0\) of ring elements"),
    "round_no_primes": (round_off((), NUMBERS[:, :0]), "primes of a modulus refused; expected 1 to 8 different ones"),
    "round_nine_primes": (round_off(tuple(range(9)), np.ones((5, 9), np.uint64)), "primes of a modulus refused"),
    "round_prime_twice": (round_off((12289, 12289)), "primes of a modulus refused"),
    "round_no_prime": (round_off((12289, 40963)), "a prime of a modulus refused"),
    "round_negative_prime": (round_off((12289, -3)), "a prime of a modulus refused"),
    "round_large_prime": (round_off((12289, 1125899906842679)), r"expected a prime below 2\^50"),
    "round_no_bits": (round_off(bits=0), "bits of a fraction refused; expected 1 to 128; got 0"),
    "round_many_bits": (round_off(bits=129), "bits of a fraction refused"),
    "round_dtype": (round_off(residues=NUMBERS.astype(np.int64)), "of int64"),
    "round_swapped_bytes": (round_off(residues=NUMBERS.astype(">u8")), "of >u8"),
    "round_list": (round_off(residues=[[1, 1]]), r"shape \(count, 2\); got list"),
    "round_number": (round_off(residues=np.uint64(1)), r"shape \(count, 2\); got uint64"),
    "round_flat": (round_off(residues=NUMBERS[0]), r"shape \(count, 2\)"),
    "round_columns": (round_off(residues=np.ones((5, 3), np.uint64)), r"shape \(count, 2\)"),
    "round_residue": (round_off(residues=NUMBERS * np.uint64(12289)), "residues of numbers are no residues"),
    "mask_public_key": (mask(public_key=bytes(16)), "public key refused; expected 32 bytes; got 16"),
    "mask_error_key": (mask(error_key=bytes(16)), "error key refused"),
    "mask_secret_batch": (mask(secret=elements(2, 1)), "one secret"),
    "mask_secret_primes": (mask(form=WIDE), "secret residues have the wrong layout"),
    "mask_secret_residue": (mask(secret=np.full((1, 1024), 12289, np.uint64)), r"index \(0, 0\) of secret"),
    "mask_value_above": (mask(values=np.array([15, 16], np.int32)), r"\|value\| < 2\^4"),
    "mask_value_below": (mask(values=np.array([-15, -16], np.int32)), r"\|value\| < 2\^4"),
    "mask_value_least": (mask(values=np.array([-(2**31)], np.int32)), r"\|value\| < 2\^4"),
    "mask_value_dtype": (mask(values=VALUES.astype(np.int64)), "array of int32"),
    "mask_value_axes": (mask(values=VALUES.reshape(1, 7)), r"shape \(count,\)"),
    "mask_value_list": (mask(values=[1, 2]), "got list"),
    "mask_negative_chunk": (mask(first_chunk=-1), "chunk numbers out of range"),
    "mask_beyond_chunks": (mask(first_chunk=2**64 - 1, values=zeros(2048, np.int32)), "chunk numbers out of range"),
    "add_short": (add(FIELDS, BLOCK[:-1]), r"written contribution; expected .* shape \(7,\)"),
    "add_long": (add(FIELDS, zeros(8)), "written contribution"),
    "add_dtype": (add(FIELDS, BLOCK.astype(np.int8)), "of int8"),
    "add_bytes": (add(FIELDS, bytes(7)), "got bytes"),
    "add_axes": (add(FIELDS, BLOCK.reshape(1, 7)), "written contribution"),
    "add_accumulator_size": (add(zeros(5, np.uint64), BLOCK), r"accumulator; expected .* shape \(4,\)"),
    "add_accumulator_dtype": (add(zeros(4, np.int64), BLOCK), "of int64"),
    "add_accumulator_strided": (add(zeros(8, np.uint64)[::2], BLOCK), "in one piece"),
    "add_accumulator_read_only": (add(read_only(), BLOCK), "writeable"),
    "add_accumulator_unaligned": (add(np.frombuffer(bytearray(33), np.uint64, offset=1), BLOCK), "aligned"),
    "add_negative_count": (add(FIELDS, BLOCK, -1), "value_count refused"),
    "add_other_count": (add(FIELDS, BLOCK, 8), "accumulator"),
    "add_padding": (add(FIELDS, np.array([0] * 6 + [16], np.uint8)), "bits behind its last field"),
    "write_size": (write(zeros(3, np.uint64)), "accumulator"),
    "write_dtype": (write(zeros(4, np.int64)), "of int64"),
    "write_count": (write(FIELDS, -1), "value_count refused"),
    "unmask_public_key": (unmask(SUM, public_key=b""), "public key refused"),
    "unmask_secret": (unmask(SUM, secret=elements(1)[0]), "secret residues have the wrong layout"),
    "unmask_secret_residue": (unmask(SUM, secret=np.full((1, 1024), 12289, np.uint64)), "not below its prime"),
    "unmask_short": (unmask(zeros(5)), "written sum"),
    "unmask_of_a_contribution": (unmask(BLOCK), "written sum"),
    "unmask_dtype": (unmask(SUM.astype(np.uint16)), "of uint16"),
    "unmask_count": (unmask(SUM, -3), "value_count refused"),
    "unmask_chunk": (unmask(SUM, first_chunk=2**64), "chunk numbers out of range"),
    "unmask_padding": (unmask(np.array([0, 128], np.uint8), 1), "bits behind its last field"),
}


@pytest.mark.quick_values
@pytest.mark.parametrize("case", CASES)
def test_bad_arguments_are_refused(engine, case):
    action, words = CASES[case]
    with pytest.raises(InputError, match=words) as refusal:
        action(engine)
    assert type(refusal.value) is InputError
    with pytest.raises(InputError) as specified:
        action(get_engine("reference"))
    assert str(refusal.value) == str(specified.value)


def test_the_widest_values_of_wide_slots_are_taken(engine, oracle):
    """int32 values fill slots of 32 bits but for the least, and never those of 33."""
    ring = oracle.published_set("A32-32").form.ring
    secret = np.zeros((1, 2048), np.uint64)
    least, greatest = np.array([-(2**31)], np.int32), np.array([2**31 - 1, 1 - 2**31], np.int32)
    for slot_bits, is_taken in ((32, False), (33, True)):
        form = oracle.format(ring, 1, slot_bits, 0, 0)
        engine.mask_values(form, KEY, secret, KEY, 0, greatest)
        if is_taken:
            engine.mask_values(form, KEY, secret, KEY, 0, least)
        else:
            with pytest.raises(InputError, match="do not fit their slots"):
                engine.mask_values(form, KEY, secret, KEY, 0, least)


def test_a_refusal_never_names_a_value(engine):
    p, secret, value = 12289, 987654321987654321, 123456789
    attempts = [
        lambda: engine.ring_ntt(RING, np.full((1, 1024), secret, np.uint64)),
        lambda: engine.mask_values(FORM, KEY, np.full((1, 1024), secret, np.uint64), KEY, 0, VALUES),
        lambda: engine.mask_values(FORM, KEY, SECRET, KEY, 0, np.full(3, value, np.int32)),
        lambda: engine.mask_values(FORM, b"secret of 17 byte", SECRET, KEY, 0, VALUES),
    ]
    for attempt in attempts:
        with pytest.raises(InputError) as refusal:
            attempt()
        assert not any(text in str(refusal.value) for text in (str(secret), str(value), "secret of", str(p)))


def opened(engine, oracle, form, messages, value_count):
    """`unmask_sum` of the integers `messages`, without noise, under a random key's a and the secret 1."""
    ring = form.ring
    one = engine.ring_ntt(ring, oracle.lift(ring, [1] + [0] * (ring.degree - 1)))
    a = oracle.integers(ring, engine.ring_intt(ring, engine.expand_uniform(ring, KEY, 0, 1)))[0]
    integers = (a[: len(messages)] + form.delta * np.array(messages, object)) % ring.modulus
    return engine.unmask_sum(form, KEY, one, 0, oracle.write(integers, form.sum_field_bits), value_count)


def test_slots_behind_the_last_value_are_zero_or_refused(engine, oracle):
    form = oracle.format(oracle.published_set("C16-128").form.ring, 3, 23, 0, 0)
    base = 1 << form.slot_bits
    # Two coefficients, six slots: the count, then values 1 to 4 in order of their slots, the sixth left over.
    messages = [3 + 5 * base + 7 * base**2, -4 - 6 * base]
    values, counts = opened(engine, oracle, form, messages, 4)
    assert (values.tolist(), counts.tolist()) == ([-4, 5, -6, 7], [3])
    assert opened(engine, oracle, form, messages, 5)[0].tolist() == [-4, 5, -6, 7, 0]
    for sign in (1, -1):
        with pytest.raises(InputError, match="does not lie in its slots"):
            opened(engine, oracle, form, [messages[0], messages[1] + sign * base**2], 4)


def test_digits_reach_both_ends_and_what_exceeds_the_last_is_refused(engine, oracle):
    """One digit more than 2^(l-1) - 1 in the last slot is a carry that no slot takes."""
    # delta = 2 and q - delta 2^14 = 8193: room for integers beyond the ends of the last digit.
    form = oracle.format(Ring(1024, (40961,)), 2, 7, 0, 0)
    top, bottom = 63 + 63 * 128, -64 - 64 * 128
    values, counts = opened(engine, oracle, form, [top, bottom], 3)
    assert (values.tolist(), counts.tolist()) == ([-64, 63, -64], [63])
    for beyond in (top + 1, bottom - 1, 10240, -10240):
        assert abs(beyond) * form.delta < form.ring.modulus // 2 + 1
        with pytest.raises(InputError, match="does not lie in its slots"):
            opened(engine, oracle, form, [0, beyond], 3)
