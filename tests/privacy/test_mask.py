"""Masks: bits and coordinates against NumPy's boolean indexing, digests, and bytes of anybody's."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.errors import InputError, WireError
from hekat.privacy.mask import PIECE_VALUES, Mask
from hekat.wire import from_bytes, to_bytes
from hekat.wire.body import pack_body
from hekat.wire.frame import write_frame

SIZES = {"b": 3, "a": 5, "empty": 0, "long": PIECE_VALUES + 13, "c": 1}


def _random_mask(seed: int, sizes: dict[str, int] = SIZES) -> tuple[Mask, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    chosen = {name: rng.random(size) < 0.3 for name, size in sizes.items()}
    return Mask.from_arrays(chosen), chosen


GLOBALS = {"np": np, "Mask": Mask, "PIECE_VALUES": PIECE_VALUES}


def test_every_example_does_what_it_shows() -> None:
    tests = [test for test in doctest.DocTestFinder().find(Mask, "Mask", globs=GLOBALS) if test.examples]
    assert len(tests) > 5
    assert sum(doctest.DocTestRunner().run(test).failed for test in tests) == 0


def test_bits_are_little_endian_in_the_order_of_names() -> None:
    mask = Mask.from_arrays({"b": np.array([True, False, True]), "a": np.array([[False], [True]])})
    assert mask.packed_bits.tobytes() == bytes([0b10110])
    assert list(mask.sizes) == ["a", "b"]
    assert (mask.chosen_count, mask.value_count) == (3, 5)


def test_what_is_chosen_is_what_the_arrays_say() -> None:
    mask, chosen = _random_mask(1)
    rng = np.random.default_rng(2)
    values = {name: rng.random(size) for name, size in SIZES.items()}
    flat = np.concatenate([values[name] for name in sorted(SIZES)])
    picked = np.concatenate([chosen[name] for name in sorted(SIZES)])
    assert all(np.array_equal(mask.chosen(name), chosen[name]) for name in SIZES)
    assert np.array_equal(mask.chosen("long", 7, PIECE_VALUES + 9), chosen["long"][7 : PIECE_VALUES + 9])
    assert np.array_equal(mask.gather(values), flat[picked])
    assert np.array_equal((~mask).gather(values), flat[~picked])
    assert mask.ranks("long").tolist() == [0, chosen["long"][:PIECE_VALUES].sum(), chosen["long"].sum()]
    assert mask.ranks("empty").tolist() == [0]
    assert mask.chosen_count == picked.sum()
    assert (~mask).chosen_count == (~picked).sum()


@given(st.integers(0, 2**31), st.lists(st.integers(0, 20), max_size=4), st.integers(1, 9))
def test_scattering_both_halves_is_the_whole(seed: int, sizes: list[int], piece_values: int) -> None:
    named = {f"t{i}": size for i, size in enumerate(sizes)}
    mask, _ = _random_mask(seed, named)
    values = {name: np.arange(size) + 100.0 * i for i, (name, size) in enumerate(named.items())}
    back = {name: np.full(size, np.nan) for name, size in named.items()}
    mask.scatter(mask.gather(values), back)
    (~mask).scatter((~mask).gather(values), back)
    assert all(np.array_equal(back[name], values[name]) for name in named)
    assert ~~mask == mask
    assert sum(piece.chosen_count for piece in mask.pieces(piece_values)) == mask.chosen_count
    assert from_bytes(to_bytes(mask), Mask) == mask


def test_nothing_and_everything() -> None:
    assert Mask.nothing(SIZES).chosen_count == 0
    assert Mask.everything(SIZES).chosen_count == Mask.everything(SIZES).value_count == sum(SIZES.values())
    assert Mask.nothing({}).gather({}).size == 0


def test_digests_differ_for_a_bit_a_job_and_a_layout() -> None:
    bits = bytes([0b10110])
    digests = {
        Mask({"a": 2, "b": 3}, bits).digest(b"job"),
        Mask({"a": 2, "b": 3}, bits).digest(b"another job"),
        Mask({"a": 2, "b": 3}, bytes([0b10101])).digest(b"job"),
        Mask({"a": 3, "b": 2}, bits).digest(b"job"),
        Mask({"a": 2, "c": 3}, bits).digest(b"job"),
    }
    assert len(digests) == 5


def test_a_mask_does_not_change_with_what_it_was_made_of() -> None:
    bits = np.array([0b10110], dtype=np.uint8)
    mask = Mask({"a": 5}, bits)
    bits[0] = 0
    assert mask.chosen_count == int(mask.chosen("a").sum()) == 3
    with pytest.raises(ValueError, match="read-only"):
        mask.packed_bits[0] = 0
    with pytest.raises(TypeError):
        mask.sizes["a"] = 6  # type: ignore[index]


@pytest.mark.parametrize(
    ("sizes", "bits", "what"),
    [
        ({"a": 9}, b"\0", "another number of bits"),
        ({"a": 3}, b"\x08", "beyond its last value"),
        ({"a": -1}, b"", "no size"),
        ({"a": True}, b"\0", "no size"),
        ({3: 1}, b"\0", "no size"),
    ],
)
def test_bad_layouts_are_refused(sizes: dict[str, int], bits: bytes, what: str) -> None:
    with pytest.raises(InputError, match=what):
        Mask(sizes, bits)


def test_arrays_that_are_not_booleans_are_refused() -> None:
    with pytest.raises(InputError, match="dtype bool"):
        Mask.from_arrays({"a": np.array([0, 1])})


def test_tensors_of_another_model_are_refused() -> None:
    mask = Mask.everything({"a": 2, "b": 1})
    for tensors in ({"a": np.zeros(2)}, {"a": np.zeros(2), "b": np.zeros(2)}, {"a": np.zeros(2), "c": np.zeros(1)}):
        with pytest.raises(InputError, match="other tensors"):
            mask.gather(tensors)
    with pytest.raises(InputError, match="cannot be put in their places"):
        mask.scatter(np.zeros(2), {"a": np.zeros(2), "b": np.zeros(1)})
    with pytest.raises(InputError, match="cannot be put in their places"):
        Mask.everything({"a": 4}).scatter(np.zeros(4), {"a": np.zeros((2, 4))[:, ::2]})


@pytest.mark.parametrize(
    "items",
    [
        {"names": ["a"], "sizes": [1 << 62], "bits": b"\1"},
        {"names": ["a"], "sizes": [9], "bits": b"\1"},
        {"names": ["a"], "sizes": [3], "bits": b"\xff"},
        {"names": ["a"], "sizes": [-8], "bits": b""},
        {"names": ["b", "a"], "sizes": [1, 1], "bits": b"\1"},
        {"names": ["a", "a"], "sizes": [1, 1], "bits": b"\1"},
        {"names": ["a", "b"], "sizes": [1], "bits": b"\1"},
        {"names": [b"a"], "sizes": [1], "bits": b"\1"},
        {"names": "a", "sizes": [1], "bits": b"\1"},
        {"names": ["a"], "sizes": [1.0], "bits": b"\1"},
        {"names": ["a"], "sizes": [1], "bits": "x"},
        {"names": ["a"], "sizes": [1]},
        [1],
    ],
)
def test_foreign_bytes_are_refused(items: object) -> None:
    with pytest.raises(WireError):
        from_bytes(write_frame("privacy/mask", 1, pack_body(items)), Mask)
