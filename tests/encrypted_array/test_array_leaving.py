"""What leaves: bytes, bounds that tell nothing, re-randomised ciphertexts; and moves between engines."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hekat
from hekat.encrypted_array import EncryptedArray
from hekat.encrypted_array.serialise import EncryptedArrayMessage
from hekat.engine.limbs import ints_from_limbs
from hekat.errors import BoundError, InputError, WireCorruptError, WireError, WireKeyError
from hekat.wire import disclosure_of, from_bytes, to_bytes

VALUES = np.array([[1, -2, 3], [-4, 5, -6]], dtype=np.int8)


def residues(x):
    return ints_from_limbs(x.get())


def sent(x, **options):
    return EncryptedArray.from_bytes(x.to_bytes(**options), key=x.key)


@pytest.mark.parametrize(
    ("values", "options"),
    [
        (np.int8(7), {}),
        *(
            (values, options)
            for values in (VALUES, VALUES / 8, VALUES[0], VALUES[:0])
            for options in ({}, {"pack": 2}, {"pack": 2, "lane_bits": 30})
        ),
    ],
)
def test_bytes_bring_back_the_array(keys, values, options):
    if values.dtype == np.float64:
        options = {**options, "scale_bits": 10, "bound": 100}
    x = hekat.array(values, key=keys.public, **options)
    y = sent(x)
    assert (y.shape, y.encoding, y.scaled_bound) == (x.shape, x.encoding, x.scaled_bound)
    assert not y.is_fresh
    assert np.array_equal(y.decrypt(keys.private), values)
    assert np.array_equal((x + y).decrypt(keys.private), values + values)


def test_fresh_arrays_leave_as_they_are_and_others_re_randomised(keys):
    x = hekat.array(VALUES, key=keys.public)
    assert x.is_fresh
    assert residues(sent(x)) == residues(x)
    assert residues(sent(x.reshape(3, 2))) == residues(x)
    for derived in (x[0], x + x, x + 1, 3 * x, -x, x.T, x.sum(axis=0), VALUES.T @ x, x.rescale_up(1), sent(x), x * 0):
        assert not derived.is_fresh
        arrived = sent(derived)
        assert not set(residues(arrived)) & set(residues(derived))
        assert len(set(residues(arrived))) == arrived.size
        assert np.array_equal(arrived.decrypt(keys.private), derived.decrypt(keys.private))
    assert len(set(residues(x[[0, 0]]))) == 3
    assert len(set(residues(sent(x[[0, 0]])))) == 6


@pytest.mark.parametrize("with_private_key", [False, True])
def test_rerandomise(keys, with_private_key):
    x = hekat.array(VALUES, key=keys.public)
    y = (x + x).rerandomise(keys.private if with_private_key else None)
    assert y.is_fresh
    assert not set(residues(y)) & set(residues(x + x))
    assert np.array_equal(y.decrypt(keys.private), 2 * VALUES)


@pytest.mark.parametrize("options", [{}, {"pack": 3}])
def test_a_bound_from_plain_operands_does_not_leave(keys, options):
    x = hekat.array(VALUES, key=keys.public, **options)
    messages = [from_bytes((factor * x).to_bytes(), EncryptedArrayMessage) for factor in (2, 3, 100000)]
    assert len({m.scaled_bound for m in messages}) == 1
    assert messages[0].scaled_bound == x.encoding.limit(keys.public.plaintext_space)
    assert sent(x + x).scaled_bound == 2 * x.scaled_bound
    stated = sent(3 * x, bound=1000)
    assert stated.scaled_bound == 1000
    assert np.array_equal((stated + x).decrypt(keys.private), 4 * VALUES.astype(int))
    with pytest.raises(BoundError, match="to_bytes"):
        sent(3 * x) + x


def test_a_stated_bound_below_the_arrays_own_or_beyond_the_key_is_refused(keys):
    x = 3 * hekat.array(VALUES / 8, key=keys.public, bound=1, scale_bits=10)
    assert sent(x, bound=3).scaled_bound == 3 << 10
    with pytest.raises(BoundError, match="state a larger one"):
        x.to_bytes(bound=2.5)
    with pytest.raises(BoundError, match="state a smaller one"):
        x.to_bytes(bound=2**600)


def test_every_field_of_the_message_declares_its_disclosure():
    kinds = {name: disclosure.kind for name, disclosure in disclosure_of(EncryptedArrayMessage).items()}
    assert kinds.pop("ciphertexts") == "ciphertext"
    assert set(kinds.values()) == {"public"}


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [2, 2]},
        {"shape": [-2, -3]},
        {"shape": [1 << 39, 1 << 39]},
        {"shape": [1] * 40},
        {"shape": [1 << 39, 1 << 39, 0]},
        {"scale_bits": -1},
        {"scale_bits": 3},
        {"scale_bits": 1 << 20},
        {"scaled_bound": 0},
        {"scaled_bound": 1 << 600},
        {"lanes": 2},
        {"lanes": 2, "lane_bits": 600},
        {"lanes": -2, "lane_bits": 8},
        {"lanes": 3, "lane_bits": 8},
        {"shape": [], "lanes": 1, "lane_bits": 8, "scaled_bound": 1},
    ],
    ids=str,
)
def test_forged_forms_are_refused(keys, change):
    honest = from_bytes(hekat.array(VALUES, key=keys.public).to_bytes(), EncryptedArrayMessage)
    with pytest.raises(WireCorruptError):
        EncryptedArray.from_bytes(to_bytes(replace(honest, **change)), key=keys.public)


@settings(max_examples=100, deadline=None)
@given(
    change=st.fixed_dictionaries(
        {},
        optional={
            "shape": st.lists(st.integers(-1, 1 << 64) | st.integers(0, 6), max_size=4),
            "scale_bits": st.integers(-(2**64), 2**64) | st.integers(0, 100),
            "is_real": st.booleans(),
            "scaled_bound": st.integers(-(2**600), 2**600),
            "lanes": st.integers(-1, 8) | st.integers(0, 2**64),
            "lane_bits": st.integers(-1, 64) | st.integers(0, 2**64),
        },
    )
)
def test_any_form_is_an_array_of_its_key_or_a_wire_error(keys, change):
    honest = from_bytes(hekat.array(VALUES, key=keys.public).to_bytes(), EncryptedArrayMessage)
    try:
        x = EncryptedArray.from_bytes(to_bytes(replace(honest, **change)), key=keys.public)
    except WireError:
        assert change
        return
    assert x.ciphertexts.shape == x.encoding.cipher_shape(x.shape)
    assert x.scaled_bound <= x.encoding.limit(keys.public.plaintext_space)
    try:
        assert x.decrypt(keys.private).shape == x.shape
    except BoundError:
        assert x.scaled_bound < 128 or x.pack


def test_bytes_under_another_key_or_cut_short_are_refused(keys, other_keys):
    data = hekat.array(VALUES, key=keys.public).to_bytes()
    with pytest.raises(WireKeyError):
        EncryptedArray.from_bytes(data, key=other_keys.public)
    for cut in (0, 10, len(data) // 2, len(data) - 1):
        with pytest.raises(WireError):
            EncryptedArray.from_bytes(data[:cut], key=keys.public)


@pytest.mark.parametrize("options", [{}, {"pack": 2, "lane_bits": 66}], ids=["unpacked", "packed"])
@pytest.mark.parametrize("values", [[100, 0], [0, -100]], ids=str)
def test_an_array_that_holds_more_than_it_claims_is_found_at_decryption(keys, values, options):
    honest = from_bytes(hekat.array(values, key=keys.public, **options).to_bytes(), EncryptedArrayMessage)
    forged = EncryptedArray.from_bytes(to_bytes(replace(honest, scaled_bound=99)), key=keys.public)
    with pytest.raises(BoundError, match="more than it claims") as refusal:
        forged.decrypt(keys.private)
    assert "100" not in str(refusal.value)
    exact = EncryptedArray.from_bytes(to_bytes(replace(honest, scaled_bound=100)), key=keys.public)
    assert exact.decrypt(keys.private).tolist() == values


def test_moving_between_engines_keeps_the_ciphertexts(keys):
    x = hekat.array(VALUES, key=keys.public, engine="reference")
    y = x.to("cpu")
    assert (x.device, y.device) == ("reference", "cpu")
    assert x.to("reference") is x
    assert residues(y) == residues(x)
    assert y.is_fresh
    assert np.array_equal((y + y).to("reference").decrypt(keys.private), 2 * VALUES)


def test_get_gives_canonical_limbs_on_the_host(keys):
    x = hekat.array(VALUES, key=keys.public)
    limbs = x.get()
    assert limbs.dtype == np.uint64
    assert limbs.shape[:-1] == (2, 3)
    assert all(0 < c < keys.public.n**2 for c in ints_from_limbs(limbs))


@pytest.mark.parametrize("variant", ["standard", "djn", "crt"])
def test_variants_and_the_private_key_encrypt_alike(keys, variant):
    key = keys.private if variant == "crt" else keys.public
    x = hekat.array(VALUES, key=key, variant=variant)
    assert x.key.n == keys.public.n
    assert np.array_equal(x.decrypt(keys.private), VALUES)
    with pytest.raises(InputError):
        hekat.array(VALUES, key=key, variant="fast")
