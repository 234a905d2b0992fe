"""Parts that earlier formats left of split networks and of encrypted models are read, and predict what they predicted
when they were written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.predict.kept_networks.write_kept import (
    ENCRYPTED,
    HERE,
    NETWORK,
    SEALED,
    SEALED_ERROR,
    ask_encrypted,
    ask_network,
)
from tests.cli.predict.kept_trees.test_kept_trees import numbers_in

from hekat.run.encrypted_model.kept_part import KEPT_FORMAT
from hekat.run.vertical_network.part_file import NETWORK_FORMAT, NETWORK_PARTS

NETWORKS = sorted(path.name for path in HERE.glob("network.*"))
SEALED_NETWORKS = sorted(path.name for path in HERE.glob("sealed.*"))
MODELS = sorted(path.name for path in HERE.glob("encrypted.*"))


def test_the_newest_formats_have_stored_files() -> None:
    assert NETWORK.name in NETWORKS, "run write_kept.py"
    assert SEALED.name in SEALED_NETWORKS, "run write_kept.py"
    assert ENCRYPTED.name in MODELS, "run write_kept.py"
    assert (NETWORK_FORMAT.oldest, KEPT_FORMAT.oldest) == (1, 1)


def test_a_split_network_predicts_as_it_did(tmp_path: Path) -> None:
    for name in NETWORKS:
        check_answers(Path(shutil.copytree(HERE / name, tmp_path / name)), ask_network, 2.0**-20)


def test_a_part_without_a_kind_of_top_has_hekats_own_at_the_guest_alone() -> None:
    for name in NETWORKS:
        kinds = {party: saved.part.top_kind for party, saved in NETWORK_PARTS.load_all(HERE / name / "run").items()}
        assert kinds == {"bank": "dense", "insurer": "none"}


def test_a_sealed_network_predicts_as_it_did(tmp_path: Path) -> None:
    for name in SEALED_NETWORKS:
        check_answers(Path(shutil.copytree(HERE / name, tmp_path / name)), ask_network, SEALED_ERROR)


def test_an_encrypted_model_scores_as_it_did(tmp_path: Path) -> None:
    """To a unit of a score: masks draw which way one is rounded."""
    for name in MODELS:
        check_answers(Path(shutil.copytree(HERE / name, tmp_path / name)), ask_encrypted, 2.0**-12)


def check_answers(kept: Path, ask, error: float) -> None:
    assert ask(kept, kept / "told.csv") == 0
    answers, scores = numbers_in(kept / "told.csv")
    expected, expected_scores = numbers_in(kept / "answers.csv")
    assert len(set(expected_scores)) > 1
    assert answers == expected
    assert scores == pytest.approx(expected_scores, rel=0, abs=error)
