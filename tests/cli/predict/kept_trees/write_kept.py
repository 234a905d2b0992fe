"""Writes stored files of models of trees: `python -m tests.cli.predict.kept_trees.write_kept`, from the root.

Run it when a new format of one of these files appears. It makes the folders that are not there yet, and never touches
one that is: every release has to go on reading what an earlier one wrote, or to say why it does not.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.cli.predict import test_hostile_row_trees, test_hostile_tree_parts

from hekat.cli.main import main
from hekat.run.horizontal_trees.state_file import TREES_CHECKPOINT_FORMAT
from hekat.run.horizontal_trees.trained_trees import TREE_MODEL_FORMAT
from hekat.run.vertical_trees.part_file import TREES_FORMAT

HERE = Path(__file__).resolve().parent
ROWS = HERE / f"rows.model-{TREE_MODEL_FORMAT.newest}.checkpoint-{TREES_CHECKPOINT_FORMAT.newest}"
COLUMNS = HERE / f"columns.part-{TREES_FORMAT.newest}"


def write_rows(trained: Path) -> None:
    """What a run across rows left, and what its model predicts."""
    (ROWS / "run").mkdir(parents=True)
    for name in ("model.npz", "checkpoint.npz"):
        shutil.copy(trained / "run" / name, ROWS / "run")
    shutil.copy(trained / "job.toml", ROWS)
    shutil.copy(trained / "north.csv", ROWS / "new.csv")
    words = ["predict", ROWS / "run", "--data", ROWS / "new.csv", "--out", ROWS / "answers.csv", "--label", "sick"]
    assert main([str(word) for word in words]) == 0


def write_columns(trained: Path) -> None:
    """The parts that a run across columns left, and what they predict together."""
    shutil.copytree(trained / "run" / "parts", COLUMNS / "run" / "parts")
    shutil.copy(trained / "run" / "summary.json", COLUMNS / "run")
    for name in ("site.toml", "bank.csv", "insurer.csv"):
        shutil.copy(trained / name, COLUMNS)
    words = ["predict", trained / "run", "--site", trained / "site.toml", "--source", "clients"]
    assert main([str(word) for word in (*words, "--out", COLUMNS / "answers.csv")]) == 0


if __name__ == "__main__":
    for folder, tests, write in (
        (ROWS, test_hostile_row_trees, write_rows),
        (COLUMNS, test_hostile_tree_parts, write_columns),
    ):
        if not folder.exists():
            with tempfile.TemporaryDirectory() as place:
                write(tests.train(Path(place)))
