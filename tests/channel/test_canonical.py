"""The canonical encoding: one list of fields, one encoding, and nothing else is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.channel.canonical import decode_fields, decode_number, encode_fields, encode_number
from hekat.errors import SealError

FIELDS = st.lists(st.binary(max_size=20), max_size=6)


@given(FIELDS)
def test_fields_go_round(fields: list[bytes]) -> None:
    assert decode_fields(encode_fields(*fields), len(fields), "x") == fields


@given(FIELDS, FIELDS)
def test_different_fields_never_encode_alike(first: list[bytes], second: list[bytes]) -> None:
    assert (encode_fields(*first) == encode_fields(*second)) == (first == second)


@given(st.binary(max_size=60), st.integers(0, 5))
def test_what_is_read_is_what_would_be_written(data: bytes, count: int) -> None:
    try:
        fields = decode_fields(data, count, "x")
    except SealError:
        return
    assert encode_fields(*fields) == data


@given(FIELDS, st.data())
def test_cut_or_extended_encodings_are_refused(fields: list[bytes], data: st.DataObject) -> None:
    encoded = encode_fields(*fields)
    cut = data.draw(st.integers(0, len(encoded) - 1))
    for changed in (encoded[:cut], encoded + b"\0"):
        with pytest.raises(SealError, match="malformed"):
            decode_fields(changed, len(fields), "x")


@given(st.integers(0, 2**64 - 1))
def test_numbers_go_round(value: int) -> None:
    assert decode_number(encode_number(value), "x") == value


def test_numbers_have_eight_bytes() -> None:
    with pytest.raises(SealError, match="8 bytes"):
        decode_number(bytes(7), "x")
