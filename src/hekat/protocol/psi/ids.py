"""Ids of rows, from one or several columns, as digests that are equal exactly where the ids are.

    digest = SHA-256(domain || for each column: kind || length in 8 bytes || value)

The value of a text is its UTF-8 in Unicode normal form C; the value of a whole number is its decimal digits. Lengths
keep columns apart, so no two ids have one digest. The text "7" is another id than the number 7: parties first tell each
other the kind of each column, and refuse to compare different kinds. A digest hides nothing that can be guessed, and
never leaves a party.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.protocol.psi.rows import Digests, sort_rows

TEXT: Final = "text"
NUMBER: Final = "whole number"
DIGEST_BYTES: Final = 32
MAX_ID_COUNT: Final = 4_000_000
MAX_TEXT_BYTES: Final = 1 << 16
MAX_NUMBER_BITS: Final = 128
_DOMAIN: Final = b"hekat/psi/id/1"
# So many ids are digested at a time, so that memory never holds the encoded columns of more.
_SLICE_ROWS: Final = 1 << 16


@dataclass(frozen=True, eq=False)
class Ids:
    """The distinct ids of a party's rows: digests (rows, 32), the kind of each id column, and the party's name."""

    digests: Digests = field(repr=False)
    kinds: tuple[str, ...]
    name: str

    def __len__(self) -> int:
        return len(self.digests)


IdColumn = Sequence[str] | Sequence[int] | npt.NDArray[Any]


def make_ids(columns: Sequence[IdColumn], name: str) -> Ids:
    """Make the ids of rows from one or several id columns of equal length, each of texts or of whole numbers.

    Args:
        columns: The id columns.
        name: The owner of the rows, for errors. Errors give row numbers from 0, and never an id.

    Raises:
        InputError: there are no rows or more than 4,000,000; ids repeat; or a value is missing, of another kind than
            the first value of its column, or a text with white space at an end.
    """
    if isinstance(columns, str | np.ndarray) or any(isinstance(column, str | bytes) for column in columns):
        raise InputError(f"id columns of {name} refused", expected="a sequence of columns", got="one column or text")
    row_count = _check_lengths(columns, name)
    kinds = tuple(_kind_of(column[0], f"id column {place} of {name}, row 0") for place, column in enumerate(columns))
    digests = np.empty((row_count, DIGEST_BYTES), dtype=np.uint8)
    for start in range(0, row_count, _SLICE_ROWS):
        stop = min(start + _SLICE_ROWS, row_count)
        encoded = [
            _encode(column[start:stop], kind, f"id column {place} of {name}", start)
            for place, (column, kind) in enumerate(zip(columns, kinds, strict=True))
        ]
        joined = b"".join(hashlib.sha256(b"".join((_DOMAIN, *parts))).digest() for parts in zip(*encoded, strict=True))
        digests[start:stop] = np.frombuffer(joined, np.uint8).reshape(-1, DIGEST_BYTES)
    _check_distinct(digests, name)
    digests.flags.writeable = False
    return Ids(digests, kinds, name)


def _check_lengths(columns: Sequence[IdColumn], name: str) -> int:
    lengths = {len(column) for column in columns}
    if len(lengths) != 1 or any(isinstance(column, np.ndarray) and column.ndim != 1 for column in columns):
        raise InputError(
            f"id columns of {name} do not fit each other",
            expected="at least one, all flat and of one length",
            got=f"lengths {', '.join(map(str, sorted(lengths))) or 'of nothing'}",
        )
    row_count = lengths.pop()
    if not 1 <= row_count <= MAX_ID_COUNT:
        raise InputError(
            f"{name} has {'no rows' if row_count == 0 else 'too many rows'} to compare",
            expected=f"1 to {MAX_ID_COUNT:,} ids",
            got=f"{row_count:,}",
            cure="give it a table with rows" if row_count == 0 else "compare parts of the table, one after the other",
        )
    return row_count


def _kind_of(value: Any, where: str) -> str:
    if isinstance(value, str):
        return TEXT
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return NUMBER
    raise InputError(
        f"{where} refused",
        expected="a text or a whole number",
        got="nothing" if value is None else f"a {type(value).__name__}",
        cure="leave out rows without an id; write ids as texts or whole numbers",
    )


def _encode(column: IdColumn, kind: str, where: str, first_row: int) -> list[bytes]:
    """Encode each value with its kind and length before it."""
    values = column.tolist() if isinstance(column, np.ndarray) else column
    encode: Callable[[Any, str], bytes] = _encode_text if kind == TEXT else _encode_number
    encoded = []
    for row, value in enumerate(values, first_row):
        found = _kind_of(value, f"{where}, row {row}")
        if found != kind:
            raise InputError(
                f"{where} mixes texts and whole numbers",
                expected=f"a {kind} in row {row}, as in row 0",
                got=f"a {found}",
                cure="write all ids of a column as texts, or all as whole numbers",
            )
        data = encode(value, f"{where}, row {row}")
        encoded.append(b"%c%b%b" % (kind[0].encode(), len(data).to_bytes(8, "big"), data))
    return encoded


def _encode_text(value: str, where: str) -> bytes:
    if not value or value != value.strip():
        raise InputError(
            f"{where} is {'empty' if not value.strip() else 'a text with white space at an end'}",
            expected="a text that begins and ends with something else",
            got=f"{len(value)} characters",
            cure="leave out rows without an id; strip texts, at every party alike",
        )
    try:
        data = (value if value.isascii() else unicodedata.normalize("NFC", value)).encode()
    except UnicodeEncodeError:
        raise InputError(f"{where} is not text", expected="str without lone surrogates") from None
    if len(data) > MAX_TEXT_BYTES:
        raise InputError(f"{where} is too long", expected=f"{MAX_TEXT_BYTES:,} bytes", got=f"{len(data):,}")
    return data


def _encode_number(value: int, where: str) -> bytes:
    bits = int(value).bit_length()
    if bits > MAX_NUMBER_BITS:
        raise InputError(f"{where} is too large", expected=f"{MAX_NUMBER_BITS} bits", got=f"{bits} bits")
    return b"%d" % int(value)


def _check_distinct(digests: Digests, name: str) -> None:
    order = sort_rows(digests)
    repeats = np.flatnonzero((digests[order[1:]] == digests[order[:-1]]).all(axis=1))
    if repeats.size:
        first, second = sorted((int(order[repeats[0]]), int(order[repeats[0] + 1])))
        raise InputError(
            f"ids of {name} repeat: rows {first} and {second} have the same id",
            expected="every id once",
            got=f"{repeats.size:,} rows too many",
            cure="keep one row of each id, or add the column that tells them apart",
        )
