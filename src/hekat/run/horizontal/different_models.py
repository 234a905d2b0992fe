"""Which checkpoints of a run are set aside where its parties hold different models, or one of them says so.

After a round one party's digest is enough to end the run, true or not: the round is in doubt, and not the rounds before
it, after which all parties said the same. At the end parties compare all models on the way, so that none is left.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import ModelsDifferError, PartyStoppedError
from hekat.job.horizontal.job_file import Job
from hekat.run.horizontal.training_state_file import CHECKPOINT_FILE, DIFFERENT_FILE, DOUBTFUL_FILE, EARLIER_FILE
from hekat.state import Checkpoint, load_checkpoint

# Where the aggregator compares the parties' digests of a round.
_ROUND_END = re.compile(r"round-(\d{1,9})/end")


def says_models_differ(error: PartyStoppedError) -> bool:
    """Whether a role, this one or one that signed it, ended the run because parties hold different models.

    Unsigned, it is a relay's word: whoever believed it would let a relay take the checkpoint of any run.
    """
    is_signed = error.notice is not None and error.told_reason == ModelsDifferError.__name__
    return is_signed or isinstance(error.__cause__, ModelsDifferError)


def set_checkpoints_aside(run_folder: Path, job: Job, error: PartyStoppedError | None) -> str:
    """Leave no checkpoint that is in doubt by `error` (None: by what this party compared itself, at the end).

    Returns what is left to go on from, in words; "" where nothing is. Raises StateError.
    """
    path = run_folder / CHECKPOINT_FILE
    with _as_state_error(path):
        if not path.is_file():
            return ""
        number = None if error is None else _round_in_doubt(error, job, load_checkpoint(path, job.digest))
        if number is None:
            path.rename(run_folder / DIFFERENT_FILE)
            return ""
    return set_round_aside(run_folder, job, number)


def set_round_aside(run_folder: Path, job: Job, number: int) -> str:
    """Have the checkpoint before in place of one of round `number` or later; returns as `set_checkpoints_aside`."""
    path, earlier = run_folder / CHECKPOINT_FILE, run_folder / EARLIER_FILE
    with _as_state_error(path):
        done = _rounds_in(path, job)
        if done is not None and done >= number:
            path.rename(run_folder / DOUBTFUL_FILE)
            done = _rounds_in(earlier, job)
            if done is not None and done < number:
                earlier.rename(path)
                return f"checkpoint of round {done}"
            return ""
    return "" if done is None else f"checkpoint of round {done}"


def round_set_aside(run_folder: Path, job: Job) -> int | None:
    """The round whose checkpoint was set aside there; None where none was. Raises StateError."""
    path = run_folder / DOUBTFUL_FILE
    with _as_state_error(path):
        return _rounds_in(path, job)


def _round_in_doubt(error: PartyStoppedError, job: Job, last: Checkpoint) -> int | None:
    """The round that is in doubt; None for all, as where final models were compared.

    The aggregator compares after each round, and signs the step with the rest of its word. Parties compare final models
    alone: one that says so before the end ends the run, and takes no more from the others than that round.
    """
    found = _ROUND_END.fullmatch(error.step) if error.party == job.settings.aggregator else None
    if found is not None:
        return int(found[1])
    is_over = bool(last.codec_state.get("finished")) or last.rounds_done >= job.settings.training.round_count
    return None if is_over else last.rounds_done


def _rounds_in(path: Path, job: Job) -> int | None:
    return load_checkpoint(path, job.digest).rounds_done if path.is_file() else None


def _as_state_error(path: Path) -> AbstractContextManager[None]:
    return disk_errors_as_state_errors(f"{path} could not be set aside, and must not be resumed")
