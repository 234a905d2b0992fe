"""Conformance: bad arguments are refused with the same class and the same words by every engine."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.engine.interface import Modulus
from hekat.engine.reference import ReferenceEngine
from hekat.engine.select import get_engine
from hekat.errors import EngineError, HekatError, InputError

N = Modulus(2**127 - 1)
OTHER = Modulus(2**127 - 1)
U64 = np.uint64


def ones(*shape):
    return np.ones(shape, U64)


def residues(engine, *shape):
    return engine.load(ones(*shape, 2), N)


def squares(engine, *shape):
    """Ones modulo the square of N."""
    return engine.load(ones(*shape, 1), Modulus(N.value**2, root=N.value))


def indices(*values):
    return np.array(values, np.int64)


CASES = {
    "load_equal_to_modulus": (lambda e: e.load(N.limbs, N), InputError, "is not below its modulus"),
    "load_above_modulus": (lambda e: e.load(np.full((3, 2), 2**64 - 1, U64), N), InputError, "index 0 is not below"),
    "load_names_index": (lambda e: e.load(np.stack([ones(2), N.limbs]), N), InputError, "index 1 is not below"),
    "load_names_index_2d": (
        lambda e: e.load(np.stack([ones(2), ones(2), ones(2), N.limbs]).reshape(2, 2, 2), N),
        InputError,
        r"index \(1, 1\) is not below",
    ),
    "load_too_wide": (lambda e: e.load(ones(3, 3), N), InputError, "more limbs than their modulus"),
    "load_int64": (lambda e: e.load(np.ones((3, 2), np.int64), N), InputError, "uint64"),
    "load_float": (lambda e: e.load(np.ones((3, 2)), N), InputError, "uint64"),
    "load_object": (lambda e: e.load(np.ones((3, 2), object), N), InputError, "uint64"),
    "load_swapped_bytes": (lambda e: e.load(np.ones((3, 2), ">u8"), N), InputError, "uint64"),
    "load_list": (lambda e: e.load([[1, 2]], N), InputError, "uint64"),
    "load_no_axis": (lambda e: e.load(np.array(1, U64), N), InputError, "uint64"),
    "load_no_limbs": (lambda e: e.load(ones(3, 0), N), InputError, "uint64"),
    "one_plus_no_root": (lambda e: e.mod_mul_one_plus(residues(e, 3), ones(3, 1)), InputError, "no known root"),
    "one_plus_too_wide": (
        lambda e: e.mod_mul_one_plus(squares(e, 3), ones(3, 3)),
        InputError,
        "more limbs than the mod",
    ),
    "one_plus_equal_to_root": (
        lambda e: e.mod_mul_one_plus(squares(e, 3), np.stack([ones(2), N.limbs, N.limbs])),
        InputError,
        "index 1 is not below the root",
    ),
    "one_plus_above_root_for_all": (
        lambda e: e.mod_mul_one_plus(squares(e, 2, 3), np.full((1, 2), 2**64 - 1, U64)),
        InputError,
        r"index \(0, 0\) is not below the root",
    ),
    "one_plus_shapes": (lambda e: e.mod_mul_one_plus(squares(e, 3), ones(2, 1)), InputError, "broadcast"),
    "one_plus_dtype": (lambda e: e.mod_mul_one_plus(squares(e, 3), np.ones((3, 1))), InputError, "uint64"),
    "one_plus_foreign": (
        lambda e: e.mod_mul_one_plus(squares(ReferenceEngine(), 3), ones(3, 1)),
        EngineError,
        "another engine",
    ),
    "reduce_too_wide": (lambda e: e.reduce(ones(3, 5), N), InputError, "too wide to reduce"),
    "reduce_dtype": (lambda e: e.reduce(np.ones((3, 2), np.int32), N), InputError, "uint64"),
    "store_foreign": (lambda e: e.store(residues(ReferenceEngine(), 3)), EngineError, "another engine"),
    "store_array": (lambda e: e.store(ones(3, 2)), EngineError, "another engine"),
    "take_outside": (lambda e: e.take(residues(e, 3), indices(0, 3)), InputError, "indices out of range"),
    "take_negative": (lambda e: e.take(residues(e, 3), indices(-1)), InputError, "indices out of range"),
    "take_of_none": (lambda e: e.take(residues(e, 0), indices(0)), InputError, "indices out of range"),
    "take_int32": (lambda e: e.take(residues(e, 3), np.array([0], np.int32)), InputError, "int64"),
    "take_float": (lambda e: e.take(residues(e, 3), np.array([0.0])), InputError, "int64"),
    "take_foreign": (lambda e: e.take(residues(ReferenceEngine(), 3), indices(0)), EngineError, "another engine"),
    "reshape_size": (lambda e: e.reshape(residues(e, 6), (4, 2)), InputError, "reshape refused"),
    "reshape_minus_one": (lambda e: e.reshape(residues(e, 6), (-1, 2)), InputError, "reshape refused"),
    "concatenate_none": (lambda e: e.concatenate([]), InputError, "nothing to concatenate"),
    "concatenate_moduli": (
        lambda e: e.concatenate([residues(e, 2), e.load(ones(2, 2), OTHER)]),
        EngineError,
        "do not belong together",
    ),
    "concatenate_shapes": (lambda e: e.concatenate([residues(e, 2, 3), residues(e, 2, 2)]), InputError, "concatenate"),
    "concatenate_scalars": (lambda e: e.concatenate([residues(e), residues(e)]), InputError, "concatenate"),
    "concatenate_foreign": (
        lambda e: e.concatenate([residues(e, 2), residues(ReferenceEngine(), 2)]),
        EngineError,
        "another engine",
    ),
    "mul_moduli": (
        lambda e: e.mod_mul(residues(e, 2), e.load(ones(2, 2), OTHER)),
        EngineError,
        "do not belong together",
    ),
    "mul_shapes": (lambda e: e.mod_mul(residues(e, 2), residues(e, 3)), InputError, "do not broadcast"),
    "mul_foreign": (lambda e: e.mod_mul(residues(e, 2), residues(ReferenceEngine(), 2)), EngineError, "engine"),
    "exp_shapes": (lambda e: e.mod_exp(residues(e, 2), ones(3, 1)), InputError, "do not broadcast"),
    "exp_dtype": (lambda e: e.mod_exp(residues(e, 2), np.ones((2, 1), np.int64)), InputError, "uint64"),
    "exp_no_limbs": (lambda e: e.mod_exp(residues(e, 2), ones(2, 0)), InputError, "uint64"),
    "exp_int": (lambda e: e.mod_exp(residues(e, 2), 3), InputError, "uint64"),
    "exp_foreign": (lambda e: e.mod_exp(residues(ReferenceEngine(), 2), ones(2, 1)), EngineError, "engine"),
    "exp_vartime_shapes": (lambda e: e.mod_exp_vartime(residues(e, 2), ones(3, 1)), InputError, "do not broadcast"),
    "exp_vartime_dtype": (lambda e: e.mod_exp_vartime(residues(e, 2), np.ones((2, 1))), InputError, "uint64"),
    "table_of_two": (lambda e: e.fixed_base_table(ones(2, 2), N, 8), InputError, "one base"),
    "table_not_below": (lambda e: e.fixed_base_table(N.limbs, N, 8), InputError, "is not below its modulus"),
    "table_no_bits": (lambda e: e.fixed_base_table(ones(2), N, 0), InputError, "exponent_bits"),
    "table_2^20_bits_and_one": (lambda e: e.fixed_base_table(ones(2), N, 2**20 + 1), InputError, "from 1 to 1048576"),
    "table_2^62_bits": (lambda e: e.fixed_base_table(ones(2), N, 2**62), InputError, "from 1 to 1048576"),
    "table_2^64_bits": (lambda e: e.fixed_base_table(ones(2), N, 2**64, 4), InputError, "from 1 to 1048576"),
    "table_window_0": (lambda e: e.fixed_base_table(ones(2), N, 8, 0), InputError, "window_bits"),
    "table_window_99": (lambda e: e.fixed_base_table(ones(2), N, 8, 99), InputError, "window_bits"),
    "fixed_too_wide": (
        lambda e: e.mod_exp_fixed(e.fixed_base_table(ones(2), N, 8), np.array([[255], [256]], U64)),
        InputError,
        "index 1 is wider",
    ),
    "fixed_too_wide_in_a_high_limb": (
        lambda e: e.mod_exp_fixed(e.fixed_base_table(ones(2), N, 8), np.array([[[0, 0, 1]]], U64)),
        InputError,
        r"index \(0, 0\) is wider",
    ),
    "fixed_dtype": (
        lambda e: e.mod_exp_fixed(e.fixed_base_table(ones(2), N, 8), np.ones((1, 1))),
        InputError,
        "uint64",
    ),
    "fixed_foreign": (
        lambda e: e.mod_exp_fixed(ReferenceEngine().fixed_base_table(ones(2), N, 8), ones(1, 1)),
        EngineError,
        "another engine",
    ),
    "product_axis": (lambda e: e.mod_product(residues(e, 2), 1), InputError, "axis out of range"),
    "product_negative_axis": (lambda e: e.mod_product(residues(e, 2), -2), InputError, "axis out of range"),
    "product_scalar": (lambda e: e.mod_product(residues(e)), InputError, "axis out of range"),
    "multi_exp_rows": (lambda e: e.mod_multi_exp(residues(e, 2), ones(3, 1, 1)), InputError, "multi-exponentiation"),
    "multi_exp_2d": (lambda e: e.mod_multi_exp(residues(e, 2, 2), ones(2, 1, 1)), InputError, "multi-exponentiation"),
    "multi_exp_flat": (lambda e: e.mod_multi_exp(residues(e, 2), ones(2, 1)), InputError, "multi-exponentiation"),
    "multi_exp_signs_shape": (
        lambda e: e.mod_multi_exp(residues(e, 2), ones(2, 3, 1), np.zeros((2, 1), np.bool_)),
        InputError,
        "signs do not fit",
    ),
    "multi_exp_signs_dtype": (
        lambda e: e.mod_multi_exp(residues(e, 2), ones(2, 3, 1), np.zeros((2, 3), np.int8)),
        InputError,
        "signs do not fit",
    ),
    "segments_shape": (
        lambda e: e.mod_segment_product(residues(e, 2), indices(0), 1),
        InputError,
        "do not fit a segment product",
    ),
    "segments_2d": (
        lambda e: e.mod_segment_product(residues(e, 2, 1), np.zeros((2, 1), np.int64), 1),
        InputError,
        "do not fit a segment product",
    ),
    "segments_outside": (
        lambda e: e.mod_segment_product(residues(e, 2), indices(0, 2), 2),
        InputError,
        "segments out of range",
    ),
    "segments_negative": (
        lambda e: e.mod_segment_product(residues(e, 2), indices(0, -1), 2),
        InputError,
        "segments out of range",
    ),
    "segments_dtype": (
        lambda e: e.mod_segment_product(residues(e, 2), np.zeros(2, np.uint64), 2),
        InputError,
        "int64",
    ),
    "segment_members_shape": (
        lambda e: e.mod_segment_product(residues(e, 2), indices(0, 0), 1, indices(1)),
        InputError,
        "do not fit a segment product",
    ),
    "segment_members_outside": (
        lambda e: e.mod_segment_product(residues(e, 2), indices(0), 1, indices(2)),
        InputError,
        "members out of range",
    ),
    "segment_members_dtype": (
        lambda e: e.mod_segment_product(residues(e, 2), indices(0), 1, np.zeros(1, np.uint8)),
        InputError,
        "members have the wrong layout",
    ),
    "segment_count_negative": (
        lambda e: e.mod_segment_product(residues(e, 0), indices(), -1),
        InputError,
        "segment_count refused",
    ),
    "inv_zero": (lambda e: e.mod_inv(e.load(np.zeros((3, 2), U64), N)), InputError, "index 0 has no inverse"),
    "inv_foreign": (lambda e: e.mod_inv(residues(ReferenceEngine(), 2)), EngineError, "another engine"),
    "int_add_shapes": (lambda e: e.int_add(ones(2, 1), ones(3, 1)), InputError, "do not broadcast"),
    "int_add_dtype": (lambda e: e.int_add(ones(2, 1), np.ones((2, 1), np.int64)), InputError, "uint64"),
    "int_sub_shapes": (lambda e: e.int_sub(ones(2, 1), ones(3, 1)), InputError, "do not broadcast"),
    "int_sub_no_limbs": (lambda e: e.int_sub(ones(2, 0), ones(2, 1)), InputError, "uint64"),
    "int_mul_shapes": (lambda e: e.int_mul(ones(2, 1), ones(3, 1)), InputError, "do not broadcast"),
    "int_mul_dtype": (lambda e: e.int_mul(np.ones((2, 1), np.uint32), ones(2, 1)), InputError, "uint64"),
    "divmod_shapes": (lambda e: e.int_divmod(ones(2, 1), ones(3, 1)), InputError, "do not broadcast"),
    "divmod_dtype": (lambda e: e.int_divmod(ones(2, 1), np.ones((2, 1))), InputError, "uint64"),
    "divmod_zero": (
        lambda e: e.int_divmod(ones(3, 2), np.array([[1, 0], [0, 0], [0, 1]], U64)),
        InputError,
        "index 1 is zero",
    ),
    "divmod_zero_scalar": (lambda e: e.int_divmod(ones(3, 2), np.zeros(2, U64)), InputError, "divisor at index 0"),
    "divmod_zero_2d": (
        lambda e: e.int_divmod(ones(3), np.array([[[1], [1]], [[1], [0]]], U64)),
        InputError,
        r"index \(1, 1\) is zero",
    ),
}


@pytest.mark.long_cases("every-one_plus_too_wide")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.size_bits(127)
def test_bad_arguments_are_refused(engine, case):
    action, error_class, words = CASES[case]
    with pytest.raises(HekatError, match=words) as refusal:
        action(engine)
    assert type(refusal.value) is error_class
    with pytest.raises(HekatError) as specified:
        action(get_engine("reference"))
    names = f"engine {engine.name}", "engine reference"
    assert str(refusal.value).replace(*names).replace(engine.name, "reference") == str(specified.value)


@pytest.mark.parametrize("value", [0, 1, 2, 4, -3, 2**64, pytest.param(2**16384 + 1, id="16385bits")])
def test_moduli_no_engine_computes_with(value):
    with pytest.raises(InputError, match="an odd integer of 2 to 16384 bits"):
        Modulus(value)


@pytest.mark.size_bits(161)
def test_a_refusal_never_names_a_value(engine):
    secret = 0x1234567890ABCDEF1234567890ABCDEF1234567890ABCDEF
    modulus = Modulus(2**160 + 7)
    limbs = np.array([[secret >> 64 * i & 2**64 - 1 for i in range(3)]], U64)
    with pytest.raises(InputError) as refusal:
        engine.load(limbs, modulus)
    for text in (str(refusal.value), repr(engine.reduce(limbs, modulus)), repr(modulus)):
        assert str(modulus.value) not in text
        assert not any(str(limb) in text for limb in limbs.ravel())
