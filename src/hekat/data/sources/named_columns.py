"""What a site file says of the columns of a source whose columns have names: their parts, and how they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hekat.data.columns.choose import ChosenColumns, choose_columns, fitting_names


@dataclass(frozen=True)
class NamedColumns:
    """The options that all such sources have.

    Args:
        label: The column to be predicted.
        id: The column or columns that name rows.
        ignore: Columns that are left out, by name or by a pattern with `*`.
        only: The only columns that are features, by name or by a pattern; None for all. Site files call it `columns`.
        dates: Columns of dates, by name or by a pattern, which become days since 1970-01-01.
        date_format: How texts of dates are written, as strptime takes it; None for ISO 8601.
        missing: Texts that count as an empty cell.

    Examples:
        >>> from pathlib import Path
        >>> from hekat.data import NamedColumns
        >>> NamedColumns(label="sick", only=("lab_*",)).choose("clinic", ["lab_1", "lab_2", "room", "sick"]).features
        ('lab_1', 'lab_2')
    """

    label: str | None = None
    id: str | Sequence[str] | None = None
    ignore: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    dates: tuple[str, ...] = ()
    date_format: str | None = None
    missing: tuple[str, ...] = ()

    @classmethod
    def of_options(cls, options: Mapping[str, Any]) -> NamedColumns:
        """What the options of a source say.

        Args:
            options: As in the site file.

        Returns:
            The same as an object.
        """
        only = options.get("columns")
        return cls(
            label=options.get("label"),
            id=options.get("id"),
            ignore=tuple(options.get("ignore") or ()),
            only=None if only is None else tuple(only),
            dates=tuple(options.get("dates") or ()),
            date_format=options.get("date_format"),
            missing=tuple(options.get("missing") or ()),
        )

    def choose(self, source: Path | str, names: Sequence[str]) -> ChosenColumns:
        """Give each column its part.

        Args:
            source: What errors call the source.
            names: The names of all its columns.

        Returns:
            The names of features, label and ids, and of the columns of dates.

        Raises:
            InputError: An option names a column that is not there, or gives one column two parts.
        """
        dates = tuple(fitting_names(source, "dates", self.dates, names))
        chosen = choose_columns(source, names, label=self.label, id=self.id, ignore=self.ignore, only=self.only)
        return replace(chosen, dates=dates)
