"""The checkpoints of trees across rows in a run's folder: the last state, and the one before it."""

from __future__ import annotations

import re
from pathlib import Path

from hekat.data.number_text import count_of
from hekat.errors import StateError
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.protocol.horizontal_trees.state import TreesState
from hekat.run.horizontal.training_state_file import CHECKPOINT_FILE, DIFFERENT_FILE, keep_earlier
from hekat.run.horizontal_trees.state_file import load_trees, save_trees
from hekat.run.rows.different_models import finish_setting_aside
from hekat.run.rows.saved_rounds import SavedRounds
from hekat.state import cure_of_parent

_ITERATION_END = re.compile(r"tree-(\d{1,9})/leaves/end")


def save_checkpoint_in(folder: Path, job: RowTreesJob, state: TreesState) -> None:
    """Write the state into `folder`, the last one beside it. Raises StateError."""
    path = folder / CHECKPOINT_FILE
    keep_earlier(path)
    save_trees(path, job.digest, state)


def say_checkpoint(state: TreesState) -> str:
    """What a checkpoint of this state is of, in words."""
    return f"checkpoint of iteration {state.iterations_done}"


def has_checkpoint(folder: Path) -> bool:
    """Whether the run in `folder` left a checkpoint."""
    return (folder / CHECKPOINT_FILE).exists()


def saved_iterations_of(job: RowTreesJob) -> SavedRounds:
    """How the job's checkpoints are read."""
    settings = job.settings

    def is_over(path: Path) -> bool:
        last = load_trees(path, job.digest)
        return last.finished or last.iterations_done >= settings.training.max_iter

    return SavedRounds(
        "iteration",
        settings.aggregator,
        settings.parties,
        _ITERATION_END,
        lambda path: load_trees(path, job.digest).iterations_done,
        is_over,
    )


def load_unfinished_trees(folder: Path, job: RowTreesJob, *, is_finished: bool) -> TreesState:
    """The state that the stopped run in `folder` goes on from; `is_finished`: it left a model and a summary.

    Raises StateError where there is nothing to go on from.
    """
    path = folder / CHECKPOINT_FILE
    finish_setting_aside(folder, saved_iterations_of(job))
    if (folder / DIFFERENT_FILE).is_file():
        # All parties here would go on from one checkpoint, so that a second comparison could find nothing.
        raise StateError(
            f"the parties of the run in {folder} ended with different models",
            expected="a run that stopped before its parties found that out",
            got=DIFFERENT_FILE,
            cure="compare the parties' ledgers, which hold the digests of every sum that came; then begin a new run",
        )
    if not path.is_file():
        raise StateError(
            f"there is nothing to resume in {folder}",
            expected=f"the folder of an earlier run, with its {CHECKPOINT_FILE}",
            got=f"a folder without {CHECKPOINT_FILE}" if folder.is_dir() else "no such folder",
            cure=cure_of_parent(
                folder, "check the path; a run that stopped in its first iteration is begun anew, without --resume"
            ),
        )
    state = load_trees(path, job.digest)
    if is_finished and state.measured:
        raise StateError(
            f"the run in {folder} is finished",
            expected=f"fewer than {count_of(job.settings.training.max_iter, 'iteration')}, and no early stop",
            got=count_of(state.iterations_done, "iteration")
            + (", then early stopping ended it" if state.finished else ""),
            cure="begin a new run, with a larger training.max_iter in the job if you want more trees",
        )
    return state
