"""Which checkpoints of a run are set aside where its parties hold different models, or one of them says so.

After a round one party's digest is enough to end the run, true or not: the round is in doubt, and not the rounds before
it, after which all parties said the same. At the end parties compare all models on the way, so that none is left. What
else is said takes nothing: honest roles do not say it, and a run that goes on finds a real difference in its next sum.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import ModelsDifferError, PartyStoppedError
from hekat.run.horizontal.training_state_file import (
    CHECKPOINT_FILE,
    DIFFERENT_FILE,
    DOUBTFUL_FILE,
    EARLIER_FILE,
    keep_beside,
)
from hekat.run.rows.saved_rounds import SavedRounds


def says_models_differ(error: PartyStoppedError) -> bool:
    """Whether a role, this one or one that signed it, ended the run because parties hold different models.

    Unsigned, it is a relay's word: whoever believed it would let a relay take the checkpoint of any run.
    """
    is_signed = error.notice is not None and error.told_reason == ModelsDifferError.__name__
    return is_signed or isinstance(error.__cause__, ModelsDifferError)


def set_checkpoints_aside(run_folder: Path, saved: SavedRounds, error: PartyStoppedError | None) -> str:
    """Leave no checkpoint that is in doubt by `error` (None: by what this party compared itself, at the end).

    Returns what is left to go on from, in words; "" where nothing is. Raises StateError.
    """
    path = run_folder / CHECKPOINT_FILE
    with _as_state_error(path):
        if not path.is_file():
            return ""
        if error is not None and error.party == saved.aggregator:
            found = saved.end_step.fullmatch(error.step)
            return _say(saved, path) if found is None else set_round_aside(run_folder, saved, int(found[1]))
        if error is not None and not saved.is_over(path):
            return _say(saved, path)
        path.rename(run_folder / DIFFERENT_FILE)
        return ""


def set_round_aside(run_folder: Path, saved: SavedRounds, number: int) -> str:
    """Have the checkpoint before in place of one of round `number`; returns as `set_checkpoints_aside`.

    A later round stays, and a second checkpoint of that one, with its validation: a party saves these only after the
    aggregator has said that all held the same after the round. Killed on the way, this can be done again.
    """
    path, earlier = run_folder / CHECKPOINT_FILE, run_folder / EARLIER_FILE
    with _as_state_error(path):
        before = _rounds_in(earlier, saved)
        if _rounds_in(path, saved) == number and (before is None or before < number):
            keep_beside(path, DOUBTFUL_FILE)
            if before is None:
                path.unlink()
            else:
                earlier.replace(path)
        return _say(saved, path)


def finish_setting_aside(run_folder: Path, saved: SavedRounds) -> None:
    """Do what a role that was killed while it set a round aside did not come to. Raises StateError."""
    number = round_set_aside(run_folder, saved)
    if number is not None:
        set_round_aside(run_folder, saved, number)


def round_set_aside(run_folder: Path, saved: SavedRounds) -> int | None:
    """The round whose checkpoint was set aside there; None where none was. Raises StateError."""
    path = run_folder / DOUBTFUL_FILE
    with _as_state_error(path):
        return _rounds_in(path, saved)


def _say(saved: SavedRounds, path: Path) -> str:
    done = _rounds_in(path, saved)
    return "" if done is None else f"checkpoint of {saved.word} {done}"


def _rounds_in(path: Path, saved: SavedRounds) -> int | None:
    return saved.done_in(path) if path.is_file() else None


def _as_state_error(path: Path) -> AbstractContextManager[None]:
    return disk_errors_as_state_errors(f"{path} could not be set aside, and must not be resumed")
