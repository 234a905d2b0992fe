"""Every operator against the same operator on plain arrays: shapes, exact integers, rounding of fixed point."""

import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hekat
from hekat.encrypted_array import arithmetic, products, sums
from hekat.errors import BoundError, EngineError, InputError, KeyRefusedError

SMALL = st.integers(-(2**31), 2**31)


def objects(values):
    """Plain integers as Python integers: the exact arithmetic to compare with."""
    return np.asarray(values).astype(object)


@st.composite
def broadcastable(draw, count=2):
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=count, max_dims=3, max_side=3)).input_shapes
    return [draw(hnp.arrays(np.int64, shape, elements=SMALL)) for shape in shapes]


@settings(max_examples=25, deadline=None)
@given(arrays=broadcastable(), operation=st.sampled_from([operator.add, operator.sub]))
def test_encrypted_and_encrypted(keys, engine_name, arrays, operation):
    a, b = arrays
    x, y = (hekat.array(v, key=keys.public, engine=engine_name) for v in arrays)
    result = operation(x, y)
    expected = operation(objects(a), objects(b))
    assert result.shape == np.shape(expected)
    assert np.array_equal(result.decrypt(keys.private), expected)


@pytest.mark.long_cases("reference")
@settings(max_examples=25, deadline=None)
@given(arrays=broadcastable(), operation=st.sampled_from([operator.add, operator.sub, operator.mul]))
def test_encrypted_and_plain_from_both_sides(keys, engine_name, arrays, operation):
    a, b = arrays
    x = hekat.array(a, key=keys.public, engine=engine_name)
    for result, expected in (
        (operation(x, b), operation(objects(a), objects(b))),
        (operation(b, x), operation(objects(b), objects(a))),
        (operation(x, b.tolist()), operation(objects(a), objects(b))),
    ):
        assert result.shape == np.shape(expected)
        assert np.array_equal(result.decrypt(keys.private), expected)


@pytest.mark.parametrize("scalar", [3, -7, 0, 1, np.int8(-5), np.uint64(2**64 - 1), True, 2**80])
def test_plain_scalars(keys, engine_name, scalar):
    a = np.array([[1, -2], [2**31 - 1, -(2**31)]], dtype=np.int32)
    x = hekat.array(a, key=keys.public, engine=engine_name)
    number = int(scalar)
    for result, expected in (
        (x * scalar, objects(a) * number),
        (scalar * x, objects(a) * number),
        (np.dot(x, scalar), objects(a) * number),
        (x + scalar, objects(a) + number),
        (scalar + x, objects(a) + number),
        (x - scalar, objects(a) - number),
        (scalar - x, number - objects(a)),
        (-x, -objects(a)),
        (+x, objects(a)),
    ):
        assert np.array_equal(result.decrypt(keys.private), expected)


@pytest.mark.long_cases("reference")
@settings(max_examples=20, deadline=None)
@given(data=st.data(), m=st.integers(1, 3), k=st.integers(1, 4), t=st.integers(1, 3))
def test_matrix_products(keys, engine_name, data, m, k, t):
    shapes = data.draw(st.sampled_from([((m, k), (k, t)), ((k,), (k, t)), ((m, k), (k,)), ((k,), (k,))]))
    a, b = (data.draw(hnp.arrays(np.int64, shape, elements=SMALL)) for shape in shapes)
    expected = objects(a) @ objects(b)
    x, y = (hekat.array(v, key=keys.public, engine=engine_name) for v in (a, b))
    for result in (a @ y, x @ b, np.matmul(a, y), np.dot(x, b)):
        assert result.shape == np.shape(expected)
        assert np.array_equal(result.decrypt(keys.private), expected)


@pytest.mark.quick_values
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, (0, 1), (0, 2), (2, 1), (0, 1, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums(keys, engine_name, axis, keepdims):
    a = np.arange(-12, 12, dtype=np.int32).reshape(2, 3, 4)
    x = hekat.array(a, key=keys.public, engine=engine_name)
    expected = a.sum(axis=axis, keepdims=keepdims)
    for result in (x.sum(axis=axis, keepdims=keepdims), np.sum(x, axis=axis, keepdims=keepdims)):
        assert result.shape == np.shape(expected)
        assert np.array_equal(result.decrypt(keys.private), expected)


def test_sum_over_nothing_is_zero(keys, engine_name):
    x = hekat.array(np.zeros((0, 3), dtype=np.int32), key=keys.public, engine=engine_name)
    assert x.sum(axis=0).decrypt(keys.private).tolist() == [0, 0, 0]
    assert x.sum(axis=1).shape == (0,)
    assert x.sum().decrypt(keys.private) == 0


floats = st.floats(-(2.0**31), 2.0**31, allow_subnormal=False)


@settings(max_examples=25, deadline=None)
@given(values=st.lists(floats, min_size=1, max_size=4), scale_bits=st.sampled_from([0, 1, 16, 32, 40]))
def test_floats_are_within_half_a_unit_of_the_scale(keys, engine_name, values, scale_bits):
    x = hekat.array(values, key=keys.public, scale_bits=scale_bits, engine=engine_name)
    decrypted = x.decrypt(keys.private)
    assert decrypted.dtype == np.float64
    # Half a unit from rounding to the scale; the float64 result itself rounds by at most one part in 2^53.
    allowed = 2.0 ** -(scale_bits + 1) + np.abs(values) * 2.0**-53
    assert (np.abs(decrypted - values) <= allowed).all()


@settings(max_examples=20, deadline=None)
@given(
    values=st.lists(st.floats(-1000, 1000), min_size=3, max_size=3),
    plain=st.lists(st.floats(-1000, 1000), min_size=3, max_size=3),
)
def test_float_products_add_scales(keys, engine_name, values, plain):
    x = hekat.array(values, key=keys.public, engine=engine_name)
    product = x * plain
    assert product.scale_bits == 64
    # Each factor is off by 2^-33 at most, so a product by 2^-33 * (|x| + |plain| + 1).
    allowed = 2.0**-33 * (np.abs(values) + np.abs(plain) + 1) + 2.0**-30
    assert (np.abs(product.decrypt(keys.private) - np.multiply(values, plain)) <= allowed).all()
    assert abs(float((plain @ x).decrypt(keys.private)) - float(np.dot(plain, values))) <= allowed.sum()
    assert x.multiply(plain, scale_bits=8).scale_bits == 40


def test_integers_times_floats_become_fixed_point(keys):
    x = hekat.array([1, 2, 3], key=keys.public)
    product = x * 0.5
    assert product.scale_bits == 32
    assert product.decrypt(keys.private).tolist() == [0.5, 1.0, 1.5]


def test_plain_addends_take_the_scale_of_the_array(keys):
    x = hekat.array([0.25, -0.5], key=keys.public, scale_bits=8)
    assert (x + 3).decrypt(keys.private).tolist() == [3.25, 2.5]
    assert (1.5 - x).decrypt(keys.private).tolist() == [1.25, 2.0]
    assert (x * 2).scale_bits == 8


def test_unequal_scales_say_how_to_align(keys):
    x = hekat.array([0.25], key=keys.public, scale_bits=8)
    y = hekat.array([0.5], key=keys.public, scale_bits=20)
    with pytest.raises(InputError, match=r"left one first: \.rescale_up\(12\)"):
        x + y
    with pytest.raises(InputError, match=r"right one first: \.rescale_up\(12\)"):
        y - x
    assert (x.rescale_up(12) + y).decrypt(keys.private).tolist() == [0.75]


def test_integers_and_fixed_point_align_with_rescale_up(keys):
    counts = hekat.array([3, 4], key=keys.public)
    with pytest.raises(InputError, match=r"rescale_up\(32\)"):
        counts + hekat.array([0.5, 0.5], key=keys.public)
    with pytest.raises(InputError, match=r"rescale_up\(32\)"):
        counts + 0.5
    aligned = counts.rescale_up(32)
    assert aligned.scale_bits == 32
    assert (aligned + 0.5).decrypt(keys.private).tolist() == [3.5, 4.5]
    assert counts.rescale_up(0) is counts


@pytest.mark.parametrize("bits", [-1, 1.5, "8", True])
def test_rescale_up_refuses_what_is_no_number_of_bits(keys, bits):
    with pytest.raises(InputError, match="scale_bits"):
        hekat.array([1], key=keys.public).rescale_up(bits)


def test_two_encrypted_factors_are_refused_with_a_way_out(keys):
    x = hekat.array([1, 2], key=keys.public)
    for product in (lambda: x * x, lambda: x @ x, lambda: np.multiply(x, x), lambda: x**2):
        with pytest.raises(InputError, match="Paillier adds") as refusal:
            product()
        assert refusal.value.cure


def test_other_keys_and_engines_do_not_mix(keys, other_keys):
    x = hekat.array([1, 2], key=keys.public, engine="reference")
    with pytest.raises(KeyRefusedError, match="different keys"):
        x + hekat.array([1, 2], key=other_keys.public, engine="reference")
    with pytest.raises(EngineError, match=r"\.to\('reference'\)"):
        x + hekat.array([1, 2], key=keys.public, engine="cpu")


def test_a_key_read_twice_is_one_key(keys):
    again = type(keys.public)(keys.public.n, keys.public.roots)
    x = hekat.array([1, 2], key=keys.public)
    y = hekat.array([3, 4], key=again)
    assert (x + y).decrypt(keys.private).tolist() == [4, 6]


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul])
def test_shapes_that_do_not_broadcast_are_refused(keys, operation):
    x = hekat.array([[1, 2, 3]], key=keys.public)
    with pytest.raises(InputError, match="do not broadcast"):
        operation(x, [1, 2])


def test_matrix_product_shapes_are_refused_with_a_cure(keys):
    x = hekat.array([[1, 2, 3]], key=keys.public)
    for wrong in (
        lambda: x @ [1, 2],
        lambda: np.ones((2, 2), int) @ x,
        lambda: x @ 3,
        lambda: np.ones((1, 1, 1), int) @ x,
    ):
        with pytest.raises(InputError, match="matrix product") as refusal:
            wrong()
        assert refusal.value.cure


def test_integers_are_exact_up_to_the_last_of_the_plaintext_space(keys, engine_name):
    limit = keys.public.plaintext_space.bound
    x = hekat.array([limit, -limit, limit - 1], key=keys.public, bound=limit, engine=engine_name)
    assert x.decrypt(keys.private).tolist() == [limit, -limit, limit - 1]
    assert (-x).decrypt(keys.private).tolist() == [-limit, limit, 1 - limit]
    with pytest.raises(BoundError, match="plaintext space"):
        hekat.array([1], key=keys.public, bound=limit + 1, engine=engine_name)


def test_bounds_of_results_hold_and_are_tight_for_exact_operands(keys):
    half = keys.public.plaintext_space.bound // 2
    x = hekat.array([half, -half], key=keys.public, bound=half)
    assert (x + x).scaled_bound == 2 * half
    assert (x + x).decrypt(keys.private).tolist() == [2 * half, -2 * half]
    assert (x * -2).decrypt(keys.private).tolist() == [-2 * half, 2 * half]
    assert x.sum().scaled_bound == 2 * half
    assert ([2, 0] @ x).decrypt(keys.private) == 2 * half


class NothingIsComputed:
    """Stands in for the scheme's operations where none may be reached."""

    def __getattr__(self, name):
        raise AssertionError(f"{name} was reached")


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x + x,
        lambda x: x - x,
        lambda x: x + 1,
        lambda x: 1 - x,
        lambda x: x * -2,
        lambda x: x * [1, 2],
        lambda x: x * 1.0,
        lambda x: [2, 0] @ x,
        lambda x: x @ [[1, 0], [-1, 1]],
        lambda x: x.sum(),
        lambda x: x.rescale_up(1),
    ],
)
def test_what_could_pass_the_plaintext_space_is_refused_before_it_is_computed(keys, operation, monkeypatch):
    limit = keys.public.plaintext_space.bound
    x = hekat.array([0, 0], key=keys.public, bound=limit)
    negated = -x
    for module in (arithmetic, products, sums):
        monkeypatch.setattr(module, "evaluate", NothingIsComputed())
    for operand in (x, negated):
        with pytest.raises(BoundError, match="could pass the key's plaintext space") as refusal:
            operation(operand)
        assert "bound=" in refusal.value.cure
        assert str(limit) not in str(refusal.value)


class Program:
    """A random chain of operations on one encrypted array and, exactly, on the plain one."""

    def __init__(self, keys, start):
        self.keys = keys
        self.plain = objects(start)
        self.encrypted = hekat.array(start, key=keys.public)

    def apply(self, step, operand):
        steps = {
            "add": (lambda v: v + operand),
            "subtract from": (lambda v: operand - v),
            "multiply": (lambda v: v * operand),
            "double": (lambda v: v + v),
            "reverse": (lambda v: v[::-1]),
            "differences": (lambda v: v - v[::-1]),
            "row sums": (lambda v: v.sum(axis=1, keepdims=True) + v),
            "mix": (lambda v: np.array([[1, operand], [-1, 2]]) @ v),
        }
        self.plain, self.encrypted = steps[step](self.plain), steps[step](self.encrypted)

    def check(self):
        assert np.array_equal(self.encrypted.decrypt(self.keys.private), self.plain)
        assert max(abs(int(v)) for v in self.plain.flat) <= self.encrypted.scaled_bound


STEPS = ("add", "subtract from", "multiply", "double", "reverse", "differences", "row sums", "mix")


def run_program(keys, start, steps):
    program = Program(keys, start)
    for step, operand in steps:
        try:
            program.apply(step, operand)
        except BoundError:
            # Only where the carried bound came near: every step grows it by less than 2^42.
            assert program.encrypted.scaled_bound.bit_length() > keys.public.plaintext_space.bits - 42
            break
    program.check()


programs = st.tuples(
    hnp.arrays(np.int32, (2, 3)), st.lists(st.tuples(st.sampled_from(STEPS), st.integers(-(2**40), 2**40)), max_size=8)
)


@settings(max_examples=15, deadline=None)
@given(program=programs)
def test_chains_of_operations_stay_exact_and_within_their_bound(keys, program):
    run_program(keys, *program)


@pytest.mark.long
@settings(max_examples=400, deadline=None)
@given(
    program=st.tuples(
        hnp.arrays(np.int32, (2, 3)),
        st.lists(st.tuples(st.sampled_from(STEPS), st.integers(-(2**40), 2**40)), min_size=8, max_size=40),
    )
)
def test_long_chains_of_operations_stay_exact_and_within_their_bound(keys, program):
    run_program(keys, *program)
