"""The one form that ids have, however a source holds them: texts, so that two parties' ids can be compared."""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError

IdKind = Literal["texts", "whole numbers", "dates"]

# Beyond the numbers of any register; str() refuses numbers of more than 4300 digits.
_MAX_WHOLE_BITS = 1024


def read_id_texts(values: Sequence[Any] | npt.NDArray[Any], what: str) -> tuple[npt.NDArray[np.object_], IdKind]:
    """A column of ids as an array (rows,) of texts, and what it held.

    Texts stay as they are written, without spaces at their ends and in Unicode's composed form (NFC); whole numbers
    become their decimal digits, dates YYYY-MM-DD. So 7 is "7" and not "007". Raises InputError with counts and rows (1
    is the first), never an id.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuUTM":
        texts, kind = _texts_of_array(values, what)
    else:
        texts, kind = _texts_of_objects(list(values), what)
    if kind == "texts":
        texts = _in_one_form(texts, what)
    column = np.empty(len(texts), dtype=np.object_)
    column[:] = texts
    return column, kind


def _texts_of_array(values: npt.NDArray[Any], what: str) -> tuple[list[str], IdKind]:
    if values.dtype.kind in "iu":
        return [str(value) for value in values.tolist()], "whole numbers"
    if values.dtype.kind != "M":
        return values.tolist(), "texts"
    if np.datetime_data(values.dtype)[0] != "D":
        raise _of_a_kind_refused(what, "times")
    _check_none_missing(np.isnat(values), what)
    return np.datetime_as_string(values).tolist(), "dates"


def _texts_of_objects(values: list[Any], what: str) -> tuple[list[str], IdKind]:
    kinds = {kind: _kind_of(kind) for kind in set(map(type, values))}
    found = sorted(set(kinds.values()))
    if "missing" in found or "numbers with fractions" in found:
        _check_none_missing(np.array([_is_missing(value) for value in values], dtype=np.bool_), what)
    if len(found) > 1:
        raise InputError(
            f"{what} are of several types",
            expected="ids of one type in a column: texts, whole numbers or dates",
            got=" and ".join(found),
            cure="convert them to one type, the same way at every party",
        )
    kind = found[0] if found else "texts"
    if kind == "texts":
        return [str(value) for value in values], "texts"
    if kind == "dates":
        return [value.isoformat() for value in values], "dates"
    if kind != "whole numbers":
        raise _of_a_kind_refused(what, kind)
    whole = [int(value) for value in values]
    if any(value.bit_length() > _MAX_WHOLE_BITS for value in whole):
        raise InputError(
            f"{what} hold whole numbers that are too large",
            expected=f"at most {_MAX_WHOLE_BITS} bits",
            got="a larger one",
            cure="give them as texts",
        )
    return [str(value) for value in whole], "whole numbers"


def _kind_of(kind: type) -> str:
    """What values of a Python type are as ids."""
    if issubclass(kind, str):
        return "texts"
    if issubclass(kind, int | np.integer) and not issubclass(kind, bool):
        return "whole numbers"
    if issubclass(kind, datetime.date) and not issubclass(kind, datetime.datetime):
        return "dates"
    if kind is type(None):
        return "missing"
    return "numbers with fractions" if issubclass(kind, float | np.floating) else f"values of type {kind.__name__}"


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _in_one_form(texts: list[str], what: str) -> list[str]:
    stripped = [text.strip() for text in texts]
    _check_none_missing(np.array([not text for text in stripped], dtype=np.bool_), what)
    try:
        "".join(stripped).encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{what} hold characters that are no text",
            expected="texts that UTF-8 can hold",
            got="a lone half of a surrogate pair",
            cure="read the ids again in the encoding that they were written in",
        ) from None
    return [text if text.isascii() else unicodedata.normalize("NFC", text) for text in stripped]


def _check_none_missing(is_missing: npt.NDArray[np.bool_], what: str) -> None:
    missing = np.flatnonzero(is_missing)
    if missing.size:
        raise InputError(
            f"{what} are missing in some rows",
            expected="an id in every row",
            got=f"none in {missing.size:,} rows, first in row {int(missing[0]) + 1}",
            cure="fill them in or remove those rows",
        )


def _of_a_kind_refused(what: str, kind: str) -> InputError:
    return InputError(
        f"{what} are of a type that cannot be used",
        expected="texts, whole numbers or dates",
        got=kind,
        cure="convert them to texts, the same way at every party",
    )
