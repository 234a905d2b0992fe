"""How tests change the metadata and the arrays of a model's file into what no run writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.state.array_file import decode_arrays, encode_arrays

RED = "\x1b[31mno"
Change = Callable[[dict[str, Any], dict[str, Any]], None]


def say(**values: Any) -> Change:
    return lambda metadata, arrays: metadata.update(values)


def put(name: str, values: Any) -> Change:
    return lambda metadata, arrays: arrays.update({name: np.asarray(values)})


def change(name: str, how: Callable[[np.ndarray], np.ndarray]) -> Change:
    """The array as `how` makes it of a copy."""
    return lambda metadata, arrays: arrays.update({name: np.ascontiguousarray(how(arrays[name].copy()))})


def drop(name: str) -> Change:
    return lambda metadata, arrays: arrays.pop(name)


def every(*changes: Change) -> Change:
    """All of them, in turn."""

    def make(metadata: dict[str, Any], arrays: dict[str, Any]) -> None:
        for one in changes:
            one(metadata, arrays)

    return make


def at(place: Any, value: Any) -> Callable[[np.ndarray], np.ndarray]:
    """The array with `value` at `place`."""

    def make(values: np.ndarray) -> np.ndarray:
        values[place] = value
        return values

    return make


def damage(path: Path, kind: str, make: Change) -> None:
    """Change the file of a part of this kind, which stays a whole file of its kind."""
    metadata, arrays = decode_arrays(path.read_bytes(), kind, "the part")
    make(metadata, arrays)
    path.write_bytes(encode_arrays(kind, metadata, arrays))


def check_refused(predict: Callable[[], int], folder: Path, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Predictions with parts end in these words and with exit code 2, as no defect, and write nothing."""
    capsys.readouterr()
    assert predict() == 2
    told = capsys.readouterr()
    assert words in " ".join(told.err.split())
    assert "defect" not in told.err
    assert "\x1b" not in told.out + told.err
    assert not (folder / "answers.csv").exists()
    assert not (folder / "run" / "predictions").exists()


CUT_OR_CHANGED = pytest.mark.parametrize("length", [0, 1, 100, -1])
"""The bytes that are left of a file for `cut_or_change`."""


def cut_or_change(path: Path, length: int) -> None:
    """Leave the first `length` bytes of the file; of -1 all, with the one in the middle changed."""
    whole = path.read_bytes()
    other = bytes(byte ^ (place == len(whole) // 2) for place, byte in enumerate(whole))
    path.write_bytes(other if length < 0 else whole[:length])
