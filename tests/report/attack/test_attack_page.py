"""The page and the tables of attacks: words by scores, floors and ceilings, hostile names, pictures as data alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hekat.report.attack.findings import LOWER_BOUNDS, looks_like, verdict
from hekat.report.attack.page import render_attack_page
from hekat.report.attack.tables import score_table

pytest.importorskip("PIL", reason="needs hekat[attacks]")

HOSTILE = '<script>alert("x")</script>'


def score(value: float) -> dict[str, dict[str, float]]:
    return {"ssim": {"value": value, "floor": 0.0, "ceiling": 0.9}}


def findings(**values: Any) -> dict[str, Any]:
    """Two rows at three masks; `values`: SSIM of each mask's rows, None where it hides all."""
    masks = values or {"none": (0.9, 0.8), "p=0.1,map": (0.5, 0.1), "p=0.5,map": (0.1, 0.0), "all": None}
    return {
        "format": 1,
        "model": {"function": "net:build", "code": "ab" * 32, "values": 12_345},
        "weights": "as the function makes them",
        "rows": {
            "file": "rows.npz",
            "count": 2,
            "tokens": False,
            "shape": [3, 8, 8],
            "picture_shape": [3, 8, 8],
            "box": [0.0, 1.0],
            "updates": [[0], [1]],
        },
        "attack": {
            "name": "dlg",
            "attacker": "adaptive",
            "labels": "read",
            "update": "one gradient",
            "steps": 1200,
            "restarts": 2,
            "seed": 0,
        },
        "masks": [
            {"name": name, "about": "somehow", "masked": place * 10, "values": 100} for place, name in enumerate(masks)
        ],
        "trials": [
            {
                "update": row,
                "rows": [row],
                "mask": name,
                "labels_read": None if found is None else 1.0,
                "label_candidates": 10 if found is None else 1,
                "objective": None if found is None else 0.01,
                "objectives": [] if found is None else [0.02, 0.01],
                "cpu_seconds": 1.25,
                "scores": [{} if found is None else score(found[row])],
            }
            for name, found in masks.items()
            for row in (0, 1)
        ],
        "complete": True,
        "machine": {"cpu": "one", "cores": 2, "platform": "here"},
        "versions": {"hekat": "1"},
    }


def pictures(*masks: str) -> dict[tuple[int, str | None], Any]:
    picture = np.zeros((8, 8, 3), dtype=np.uint8)
    return {(row, mask): picture for row in (0, 1) for mask in (None, *masks)}


def test_the_verdict_names_what_came_back_and_what_proves_nothing() -> None:
    assert verdict(findings()) == (
        "The adaptive attacker brought back readable rows without a mask and at p=0.1,map; none at p=0.5,map, which is "
        "no proof that there is none to be found; at all nothing is visible."
    )
    assert verdict(findings(noisy=(0.1, 0.1))) == (
        "The adaptive attacker found nothing readable at noisy, which is no proof that there is none to be found."
    )
    assert verdict(findings(all=None)) == "Nothing is visible at all."


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.9, "the picture"),
        (0.64, "the picture"),
        (0.4, "readable, with noise"),
        (0.2, "outlines and colours"),
        (0.1, "noise to this attack"),
        (-0.1, "noise to this attack"),
    ],
)
def test_words_go_by_the_place_between_floor_and_ceiling(value: float, words: str) -> None:
    assert looks_like(score(value)["ssim"], is_picture=True) == words


def test_rows_of_a_table_have_words_of_their_own() -> None:
    assert looks_like({"value": 0.95, "floor": 0.1, "ceiling": 1.0}, is_picture=False) == "the row"
    assert looks_like({"value": 0.1, "floor": 0.1, "ceiling": 1.0}, is_picture=False) == "little to this attack"


def test_the_table_has_means_floor_and_ceiling() -> None:
    table = score_table(findings())
    assert table.columns == ("mask", "the most readable row", "values masked", "SSIM", "labels read")
    assert table.rows[0] == ("none", "the picture", "0%", "0.85", "100%")
    assert table.rows[3] == ("all", "nothing is visible", "30%", "–", "one of 10")
    assert [row[3] for row in table.rows[4:]] == ["0.00", "0.90"]


def test_the_page_asks_nothing_of_anybody_and_says_what_scores_are() -> None:
    page = render_attack_page(findings(), pictures("none", "p=0.1,map", "p=0.5,map"))
    assert LOWER_BOUNDS in page
    assert page.count("<img ") == 2 * 4
    assert "default-src 'none'" in page
    assert "img-src data:" in page
    assert page.count("SSIM <b>") == 6
    assert "interrupted" not in page
    assert "interrupted" in render_attack_page(findings() | {"complete": False}, {})


def test_hostile_names_are_text() -> None:
    found = findings(**{HOSTILE: (0.9, 0.8)})
    found["model"]["function"] = found["rows"]["file"] = HOSTILE
    page = render_attack_page(found, pictures(HOSTILE))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
