"""Ids of rows: equal exactly where they are the same id, and refused wherever that could not be said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekat.errors import InputError
from hekat.protocol.psi import ids as ids_module
from hekat.protocol.psi.ids import NUMBER, TEXT, make_ids

PARTS = st.tuples(st.sampled_from(["a", "ab", "b", "ba", "a\0", "0"]), st.integers(-300, 300))


def digest_of(*columns) -> bytes:
    return make_ids([[column] for column in columns], "here").digests.tobytes()


@given(st.lists(PARTS, min_size=1, unique=True))
def test_different_ids_have_different_digests(rows) -> None:
    ids = make_ids([[text for text, _ in rows], [number for _, number in rows]], "here")
    assert ids.kinds == (TEXT, NUMBER)
    assert len({row.tobytes() for row in ids.digests}) == len(ids) == len(rows)


def test_columns_are_kept_apart() -> None:
    assert digest_of("ab", "c") != digest_of("a", "bc") != digest_of("abc")
    assert digest_of("7") != digest_of(7)
    assert digest_of("7t", "8") != digest_of("7", "t8")


@pytest.mark.parametrize(
    "column",
    [
        [5, -7, 2**40],
        (5, -7, 2**40),
        np.array([5, -7, 2**40]),
        np.array([5, -7, 2**40], object),
        [np.int64(5), -7, 2**40],
    ],
)
def test_numbers_are_the_same_however_they_are_held(column) -> None:
    assert np.array_equal(make_ids([column], "a").digests, make_ids([[5, -7, 2**40]], "b").digests)


def test_texts_are_the_same_however_they_are_held() -> None:
    texts = ["Zoë", "Jürgen", "x y"]
    assert np.array_equal(make_ids([np.array(texts)], "a").digests, make_ids([texts], "b").digests)
    assert digest_of("Zoe\u0308") == digest_of("Zo\u00eb"), "both ways of writing one letter"


def test_slices_of_a_long_column(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make_ids([range(100)], "a")
    monkeypatch.setattr(ids_module, "_SLICE_ROWS", 7)
    assert np.array_equal(make_ids([range(100)], "a").digests, whole.digests)
    with pytest.raises(InputError, match="row 93"):
        make_ids([[*range(93), None]], "a")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ([[]], "no rows"),
        ([], "do not fit"),
        ([["a"], ["b", "c"]], "lengths 1, 2"),
        ([np.zeros((2, 2), np.int64)], "do not fit"),
        (["ab"], "a sequence of columns"),
        ("ab", "a sequence of columns"),
        (np.arange(3), "a sequence of columns"),
        ([["a", 7]], "mixes texts and whole numbers"),
        ([[7, "a"]], "mixes texts and whole numbers"),
        ([[7.0]], "got a float"),
        ([["a", float("nan")]], "row 1 refused"),
        ([[True]], "got a bool"),
        ([[None]], "got nothing"),
        ([["a", ""]], "row 1 is empty"),
        ([["a "]], "white space"),
        ([["\ud800"]], "not text"),
        ([["a" * 65537]], "too long"),
        ([[2**128]], "too large"),
    ],
)
def test_refusals(columns, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make_ids(columns, "here")


def test_repeated_ids_are_named_by_row_and_never_shown() -> None:
    with pytest.raises(InputError, match="rows 1 and 3 have the same id") as caught:
        make_ids([["secret-a", "secret-b", "secret-c", "secret-b"]], "bank")
    assert "secret" not in str(caught.value)
    assert "1 rows too many" in str(caught.value)


def test_no_error_and_no_repr_shows_an_id() -> None:
    for column in (["secret "], ["secret", 7], ["secret\ud800"]):
        with pytest.raises(InputError) as caught:
            make_ids([column], "bank")
        assert "secret" not in str(caught.value)
    assert "digests" not in repr(make_ids([["secret"]], "bank"))
