"""The categories that parties found together, as an entry of a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data.columns.found import Vocabulary, check_vocabulary, is_category
from hekat.errors import InputError
from hekat.state import refuse_checkpoint

_MOST_BYTES = 2**22


def encode_vocabulary(vocabulary: Vocabulary) -> npt.NDArray[np.uint8]:
    """The bytes of a JSON text: by column a list of its categories."""
    return np.frombuffer(json.dumps(dict(vocabulary)).encode(), dtype=np.uint8)


def decode_vocabulary(
    what: str, entry: float | npt.NDArray[Any] | None, columns: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """The categories of `columns` in such an entry. Raises StateError where it is none that a run could write."""
    expected = "the categories of each column where the job finds them"
    if not isinstance(entry, np.ndarray) or entry.dtype != np.uint8 or entry.ndim != 1 or entry.size > _MOST_BYTES:
        raise refuse_checkpoint(what, expected, "none" if entry is None else "something else")
    try:
        read = json.loads(entry.tobytes().decode())
        is_whole = isinstance(read, dict) and list(read) == list(columns) and all(map(_are_categories, read.values()))
        if is_whole:
            found = {column: tuple(texts) for column, texts in read.items()}
            check_vocabulary(found)
            return found
    except (ValueError, RecursionError, InputError):
        pass
    raise refuse_checkpoint(what, expected, "something else")


def _are_categories(texts: object) -> bool:
    is_list = isinstance(texts, list) and all(isinstance(text, str) and is_category(text) for text in texts)
    return is_list and len(set(texts)) == len(texts)  # type: ignore[call-overload,arg-type]  # a list by the line before
