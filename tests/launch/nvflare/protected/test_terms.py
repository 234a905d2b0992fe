"""What a server could say to one site and not to the others, with a task's model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("nvflare", reason="needs hekat[nvflare]")

from nvflare.apis.dxo import DXO, DataKind
from nvflare.app_common.app_constant import AppConstants

from hekat.errors import InputError
from hekat.launch.nvflare.protected.terms import terms_of

META = {"rate": 0.1, "layers": ["a", 1], "more": {"x": True}, "bounds": np.arange(3.0)}


def said(meta: dict[str, Any] = META, number: int = 3, kind: str = DataKind.WEIGHTS) -> bytes:
    dxo = DXO(kind, data={"w": np.zeros(2)}, meta=dict(meta))
    shareable = dxo.to_shareable()
    shareable.set_header(AppConstants.CURRENT_ROUND, number)
    shareable.set_header("task_id", "each site's own")
    return terms_of(shareable, dxo)


@pytest.mark.parametrize(
    "other",
    [
        said({**META, "rate": 0.0}),
        said({**META, "rate": "0.1"}),
        said({**META, "layers": ["a", 1.0]}),
        said({**META, "more": {"x": 1}}),
        said({**META, "bounds": np.arange(3.0, dtype=np.float32)}),
        said({**META, "bounds": [0.0, 1.0, 2.0]}),
        said({**META, "further": None}),
        said(number=4),
        said(kind=DataKind.WEIGHT_DIFF),
    ],
)
def test_all_that_an_app_is_told_changes_the_terms(other: bytes) -> None:
    assert said() != other


@pytest.mark.parametrize(
    ("notes", "other"),
    [
        ({1: 0.1, "1": 0.0}, {"1": 0.1, 1: 0.0}),
        ({1: 0.1}, {"1": 0.1}),
        ({1: 0.1}, {1.0: 0.1}),
        ({1: 0.1}, {True: 0.1}),
        ({b"1": 0.1}, {"1": 0.1}),
        ({None: 0.1}, {"None": 0.1}),
        ({(1, "2"): 0.1}, {"(1, '2')": 0.1}),
    ],
)
def test_names_of_notes_of_another_kind_are_other_names(notes: dict[Any, Any], other: dict[Any, Any]) -> None:
    """An app that looks up 1 would train by another rate than at the site that was told "1"."""
    assert said(notes) != said(other)
    assert said({"more": notes}) != said({"more": other})
    assert said(notes) == said(dict(reversed(notes.items())))


def test_the_order_of_notes_does_not() -> None:
    assert said() == said(dict(reversed(META.items())))


@pytest.mark.parametrize("note", [object(), 1 << 70, {1, 2}, np.array(["text"])])
def test_a_note_that_cannot_be_compared_is_refused(note: Any) -> None:
    with pytest.raises(InputError, match="cannot compare"):
        said({"note": note})


def test_a_name_of_a_note_that_cannot_be_compared_is_refused() -> None:
    with pytest.raises(InputError, match="cannot compare"):
        said({"more": {frozenset({1}): 0.1}})
