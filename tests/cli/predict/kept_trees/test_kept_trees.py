"""Files of trees that earlier formats left are read, and predict what they predicted when they were written."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.cli.predict.kept_trees.write_kept import COLUMNS, HERE, ROWS

from hekat.cli.main import main
from hekat.job.horizontal_trees.job_file import load_row_trees_job
from hekat.run.horizontal_trees.state_file import TREES_CHECKPOINT_FORMAT, load_trees
from hekat.run.horizontal_trees.trained_trees import TREE_MODEL_FORMAT
from hekat.run.vertical_trees.part_file import TREES_FORMAT

ACROSS_ROWS = sorted(path.name for path in HERE.glob("rows.*"))
ACROSS_COLUMNS = sorted(path.name for path in HERE.glob("columns.*"))


def test_the_newest_formats_have_stored_files() -> None:
    assert ROWS.name in ACROSS_ROWS, "run write_kept.py"
    assert COLUMNS.name in ACROSS_COLUMNS, "run write_kept.py"
    assert (TREE_MODEL_FORMAT.oldest, TREES_CHECKPOINT_FORMAT.oldest, TREES_FORMAT.oldest) == (1, 1, 1)


@pytest.fixture
def kept(request, tmp_path: Path) -> Path:
    """A copy of the stored folder of that name."""
    return Path(shutil.copytree(HERE / request.param, tmp_path / "kept"))


def numbers_in(path: Path) -> tuple[list[str], np.ndarray]:
    """(answers, the last number of each line) of predictions."""
    lines = [line.split(",") for line in path.read_text().splitlines()[1:]]
    return [cells[0] for cells in lines], np.array([float(cells[-1]) for cells in lines])


def check_answers(told: Path, kept: Path) -> None:
    answers, scores = numbers_in(told)
    expected, expected_scores = numbers_in(kept / "answers.csv")
    assert len(set(expected)) > 1
    assert answers == expected
    assert np.allclose(scores, expected_scores, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kept", ACROSS_ROWS, indirect=True)
def test_a_model_across_rows_predicts_as_it_did(kept: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.csv"
    words = ["predict", kept / "run", "--data", kept / "new.csv", "--label", "sick", "--out", out]
    assert main([str(word) for word in words]) == 0
    check_answers(out, kept)


@pytest.mark.parametrize("kept", ACROSS_ROWS, indirect=True)
def test_a_checkpoint_across_rows_is_gone_on_from(kept: Path) -> None:
    state = load_trees(kept / "run" / "checkpoint.npz", load_row_trees_job(kept / "job.toml").digest)
    assert (state.iterations_done, state.row_count, state.measured) == (2, 120, True)


@pytest.mark.parametrize("kept", ACROSS_COLUMNS, indirect=True)
def test_parts_across_columns_predict_as_they_did(kept: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.csv"
    words = ["predict", kept / "run", "--site", kept / "site.toml", "--source", "clients", "--out", out]
    assert main([str(word) for word in words]) == 0
    check_answers(out, kept)
