"""The digest of an array file covers the bytes of every array, whatever its shape, and copies none of them."""

from __future__ import annotations

import hashlib
import tracemalloc

import numpy as np
import pytest

from hekat.state.array_file import _digest, decode_arrays, encode_arrays

ARRAYS = {
    "number": np.array(3.5),
    "none": np.zeros((0, 4)),
    "columns": np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4)),
    "every second": np.arange(10)[::2],
    "flags": np.array([True, False]),
}


def test_the_digest_is_of_lengths_names_types_shapes_and_values() -> None:
    expected = hashlib.sha256()
    parts = [b"model", b"{}"]
    for name in sorted(ARRAYS):
        values = ARRAYS[name]
        parts += [name.encode(), values.dtype.str.encode(), str(values.shape).encode(), values.tobytes()]
    for part in parts:
        expected.update(len(part).to_bytes(8, "little") + part)
    assert _digest("model", "{}", ARRAYS) == expected.hexdigest()


@pytest.mark.parametrize("name", ARRAYS)
def test_what_was_encoded_is_decoded(name: str) -> None:
    data = encode_arrays("model", {"round": 3}, {name: ARRAYS[name]})
    metadata, arrays = decode_arrays(data, "model", "the file")
    assert metadata == {"round": 3}
    assert np.array_equal(arrays[name], ARRAYS[name])
    assert arrays[name].shape == ARRAYS[name].shape


def test_digesting_a_large_array_takes_no_copy_of_it() -> None:
    large = {"weight": np.ones(1 << 20)}
    tracemalloc.start()
    try:
        _digest("model", "{}", large)
        assert tracemalloc.get_traced_memory()[1] < large["weight"].nbytes / 8
    finally:
        tracemalloc.stop()
