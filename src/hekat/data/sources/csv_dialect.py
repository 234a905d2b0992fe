"""How a CSV file is written: its separator, decimal sign, encoding, and the texts that mean an empty cell."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hekat.data.number_text import describe_text
from hekat.errors import InputError

SEPARATORS = (",", ";", "\t", "|")
DECIMALS = (".", ",")
_SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}


@dataclass(frozen=True)
class CsvDialect:
    """How a CSV file is written; cells may stand in double quotes.

    Args:
        separator: What stands between cells: a comma, semicolon, tab or vertical bar.
        decimal: The decimal sign, a point or a comma.
        encoding: The text encoding; a byte order mark of UTF-8 is passed over.
        missing: Texts that count as an empty cell beside the empty one, such as "NA" or "?".

    Raises:
        InputError: A value is not allowed.

    Examples:
        >>> from hekat.data import CsvDialect
        >>> CsvDialect(separator=";", decimal=",").to_point("3,5")
        '3.5'
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("separator", self.separator, SEPARATORS),
            ("decimal", self.decimal, DECIMALS),
        ):
            if value not in choices:
                raise InputError(
                    f"{name} refused",
                    expected=" or ".join(repr(choice) for choice in choices),
                    got=repr(value),
                    cure=f"correct {name} in the site file",
                )
        object.__setattr__(self, "missing", tuple(text.strip() for text in self.missing))
        try:
            "".encode(self.encoding)
        except (LookupError, ValueError):
            raise InputError(
                "encoding refused",
                expected='the name of a text encoding, such as "utf-8", "latin-1", "cp1252" or "utf-16"',
                got=repr(self.encoding),
                cure="correct encoding in the site file",
            ) from None

    @classmethod
    def of_options(cls, options: Mapping[str, Any]) -> CsvDialect:
        """The dialect that the options of a source describe.

        Args:
            options: The options; what they do not name stays at its default.

        Returns:
            The dialect.

        Raises:
            InputError: A value is not allowed.
        """
        return cls(**{field.name: options[field.name] for field in fields(cls) if field.name in options})

    @property
    def reading_encoding(self) -> str:
        """The encoding to open the file with; a byte order mark of UTF-8 is passed over."""
        return "utf-8-sig" if codecs.lookup(self.encoding).name == "utf-8" else self.encoding

    @property
    def separator_name(self) -> str:
        return _SEPARATOR_NAMES[self.separator]

    @property
    def in_words(self) -> tuple[str, ...]:
        """Where it differs from the usual dialect, for people to read."""
        usual = CsvDialect()
        parts = (
            (self.separator != usual.separator, f"{self.separator_name} between cells"),
            (self.decimal != usual.decimal, "decimal commas"),
            (self.encoding != usual.encoding, self.encoding),
        )
        return tuple(words for differs, words in parts if differs)

    def is_missing(self, cell: str) -> bool:
        """Whether a cell counts as empty.

        Args:
            cell: The cell, stripped of spaces.

        Returns:
            True for the empty text and for each of `missing`.
        """
        return not cell or cell in self.missing

    def to_point(self, cell: str) -> str:
        """A number's cell with a decimal point, as Python reads it.

        Args:
            cell: The cell.

        Returns:
            The cell with its decimal sign replaced.
        """
        return cell if self.decimal == "." else cell.replace(",", ".")

    def describe_bad_number(self, cell: str) -> str:
        """What is wrong with a cell that should hold a number.

        Args:
            cell: The cell.

        Returns:
            A few words without the cell's content; an empty text for a finite number.
        """
        if self.is_missing(cell.strip()):
            return "an empty cell"
        return describe_text(cell, self.decimal)

    def describe_other_separator(self, header: str) -> str:
        """Which other separator a header of one name seems to have.

        Args:
            header: The only name that was read.

        Returns:
            The separator; an empty text for none.
        """
        return next((sign for sign in SEPARATORS if sign != self.separator and sign in header), "")
