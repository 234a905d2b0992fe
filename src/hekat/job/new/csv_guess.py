"""What a CSV file's header and first rows suggest for a new job: the label, columns to leave out, the classes."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from hekat.data.sources.source_file import readable_file
from hekat.errors import InputError

_LABEL_NAMES = ("label", "target", "class", "outcome", "y", "diagnosis")
_ID_NAMES = ("id", "name", "index", "uuid", "key")
MOST_ROWS = 1000
MOST_CLASSES = 20


@dataclass(frozen=True)
class Guess:
    """`classes` are empty where the label looks like a number that is predicted, not a class.

    `texts` and `gaps` are the columns of `ignore` that could be trained on: texts, and numbers with empty cells.
    """

    label: str
    ignore: tuple[str, ...]
    classes: tuple[str, ...]
    columns: tuple[str, ...]
    texts: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


def guess_from_csv(path: Path, label: str | None = None) -> Guess:
    """Look at the header and at most 1000 rows of `path`; columns of texts and with empty cells are left out, since
    the job has to say first how all parties encode and fill them.

    `label` names the label's column where it is known. Raises InputError where there is no such file, header or label.
    """
    with readable_file(path), path.open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in islice(csv.reader(file), MOST_ROWS + 1) if row]
    if len(rows) < 2:
        raise InputError(
            f"{path} has no rows",
            expected="a header of column names and a row for each record",
            got=f"{len(rows)} lines that are not blank",
            cure="give the path of a table with a header",
        )
    names = [cell.strip() for cell in rows[0]]
    columns = {
        name: [row[number].strip() for row in rows[1:] if number < len(row)] for number, name in enumerate(names)
    }
    chosen = _label_of(path, names, label)
    ignored = tuple(name for name in names if name != chosen and (_is_id(name) or not _all_numbers(columns[name])))
    features = tuple(name for name in names if name != chosen and name not in ignored)
    described = [name for name in ignored if not _is_id(name)]
    gaps = tuple(name for name in described if _all_numbers([cell for cell in columns[name] if cell]))
    texts = tuple(name for name in described if name not in gaps)
    return Guess(chosen, ignored, _classes_of(columns[chosen]), features, texts, gaps)


def _label_of(path: Path, names: list[str], label: str | None) -> str:
    if label is not None:
        if label not in names:
            raise InputError(
                f"{path} has no column {label!r}",
                expected=f"one of {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}",
                got=f"--label {label}",
                cure="correct --label",
            )
        return label
    return next((name for name in names if name.lower() in _LABEL_NAMES), names[-1])


def _classes_of(cells: list[str]) -> tuple[str, ...]:
    """The distinct labels, sorted; none where they are numbers with fractions, or too many to be classes."""
    distinct = sorted({cell for cell in cells if cell})
    if len(distinct) > MOST_CLASSES or (_all_numbers(distinct) and not all(_is_whole(cell) for cell in distinct)):
        return ()
    return tuple(sorted(distinct, key=int) if all(_is_whole(cell) for cell in distinct) else distinct)


def _is_id(name: str) -> bool:
    lower = name.lower()
    return lower in _ID_NAMES or lower.endswith(("_id", "-id"))


def _all_numbers(cells: list[str]) -> bool:
    try:
        [float(cell) for cell in cells]
    except ValueError:
        return False
    return True


def _is_whole(cell: str) -> bool:
    return cell.lstrip("-").isascii() and cell.lstrip("-").isdigit()
