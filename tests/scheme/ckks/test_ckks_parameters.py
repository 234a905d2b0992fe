"""CKKS parameters: what is allowed, what is refused, and that no library is needed to say so."""

from __future__ import annotations

import dataclasses

import pytest

from hekat.errors import InputError, KeyRefusedError, WireCorruptError
from hekat.scheme.ckks import FEDML_HE, FLOODED, SETS, CkksParameters, make_parameters
from hekat.scheme.ckks.parameters import MAX_MODULUS_BITS
from hekat.scheme.parameter_set import check_same_parameters


def test_fedml_he_has_the_papers_defaults() -> None:
    """Section 5.1: depth 1, 52 bits of scale, a batch of 4096, 128 bits of security."""
    assert (FEDML_HE.depth, FEDML_HE.scale_bits, FEDML_HE.batch) == (1, 52, 4096)
    assert FEDML_HE.modulus_bits <= MAX_MODULUS_BITS[FEDML_HE.degree] == 218


@pytest.mark.parametrize("degree", MAX_MODULUS_BITS)
def test_below_128_bits_is_refused(degree: int) -> None:
    allowed = MAX_MODULUS_BITS[degree]
    if allowed < 40:
        with pytest.raises(KeyRefusedError, match="less than 128 bits"):
            CkksParameters("small", degree, (20, 20), 10, 16, 1.0)
        return
    count = -(-allowed // 50)
    bits = [(allowed + number) // count for number in range(count)]
    assert CkksParameters("edge", degree, tuple(bits), 10, 16, 1.0).modulus_bits == allowed
    bits[0] += 1
    with pytest.raises(KeyRefusedError, match=f"at most {allowed} bits together at degree {degree}"):
        CkksParameters("beyond", degree, tuple(bits), 10, 16, 1.0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"degree": 8000}, "ring degree refused"),
        ({"prime_bits": (60,)}, "number of primes refused"),
        ({"prime_bits": (60, 54, 60)}, "prime that weights drop refused"),
        ({"prime_bits": (61, 52, 60)}, "bits of a prime refused"),
        ({"scale_bits": 0}, "bits of the scale refused"),
        ({"scale_bits": 53}, "does not hold its values"),
        ({"batch": 4097}, "values in a ciphertext refused"),
        ({"batch": True}, "values in a ciphertext refused"),
        ({"value_bound": float("nan")}, "bound on values refused"),
        ({"value_bound": 1}, "bound on values refused"),
        ({"value_bound": 128.0}, "does not hold its values"),
        ({"statistical_bits": 0}, "statistical security refused"),
        ({"shared_count": 0}, "opened for sharing refused"),
        ({"name": ""}, "name refused"),
    ],
)
def test_values_out_of_range_are_refused(change: dict, says: str) -> None:
    with pytest.raises(InputError, match=says):
        dataclasses.replace(FEDML_HE, **change)


def test_items_come_back_and_others_do_not() -> None:
    for parameters in SETS.values():
        assert CkksParameters.from_items(parameters.to_items()) == parameters
    items = FEDML_HE.to_items()
    altered = [{}, None, items | {"more": 1}, items | {"degree": "8192"}, items | {"prime_bits": "605260"}]
    altered += [items | {"batch": 4096.0}, items | {"value_bound": 64}, dict(reversed(items.items()))]
    for wrong in altered:
        with pytest.raises(WireCorruptError, match="no CKKS parameters"):
            CkksParameters.from_items(wrong)
    with pytest.raises(KeyRefusedError, match="128 bits"):
        CkksParameters.from_items(items | {"prime_bits": [60, 52, 60, 52, 60]})


def test_every_value_counts_for_the_identity() -> None:
    changes = ({"scale_bits": 51}, {"batch": 2048}, {"value_bound": 32.0}, {"shared_count": 1}, {"name": "other"})
    identities = {dataclasses.replace(FEDML_HE, **change).identity for change in changes}
    assert len(identities | {FEDML_HE.identity}) == len(changes) + 1


def test_table_4_varies_scale_and_batch() -> None:
    made = [make_parameters(scale, batch) for batch in (1024, 2048, 4096) for scale in (14, 20, 33, 40, 52)]
    assert len({parameters.name for parameters in made}) == 15
    assert {parameters.prime_bits for parameters in made} == {FEDML_HE.prime_bits}


def test_other_parameters_are_named() -> None:
    with pytest.raises(KeyRefusedError, match="expected FedML-HE; got flooded"):
        check_same_parameters(FEDML_HE, FLOODED, "a key")
