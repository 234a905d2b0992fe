"""RUN_ID.outcome.json beside a run's folder: how the run went at this site. The engine's own status does not say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors, read_file
from hekat.errors import HekatError, StateError
from hekat.state import replace_file

_FORMAT = 1
FINISHED, FAILED, ENDED_EARLY = "finished", "failed", "ended early"


@dataclass(frozen=True)
class RunOutcome:
    """`job` is the job's digest. `kind` and `error` are the role's error, "" for a role that played to its end.

    `rounds` says how many were played where they are fewer than the job allows, as "2 of 5".
    """

    run_id: str
    role: str
    job: str
    outcome: str
    kind: str = ""
    error: str = ""
    rounds: str = ""


@dataclass
class NotedEnd:
    """What a role says of its end; `rounds` as in `RunOutcome`."""

    rounds: str = ""


def outcome_path(runs: Path, run_id: str) -> Path:
    """Where the outcome of the run lies."""
    return runs / f"{run_id}.outcome.json"


@contextmanager
def noted_outcome(runs: Path, run_id: str, role: str, job: str) -> Iterator[NotedEnd]:
    """Write how the block ended into the outcome file, mode 600. Raises StateError before the block where the run has
    an outcome already: nobody plays one run twice."""
    end = NotedEnd()
    path = outcome_path(runs, run_id)
    if path.exists():
        raise StateError(
            "this site has played the run already",
            expected="a new run",
            got="a run with an outcome",
            cure="submit the job anew, by a new HekatRecipe",
        )
    with disk_errors_as_state_errors(f"{runs} cannot be made"):
        runs.mkdir(parents=True, exist_ok=True)
    try:
        yield end
    except BaseException as error:
        text = str(error) if isinstance(error, HekatError) else ""
        with suppress(StateError):  # the role's own error is what is to be told
            _write(path, RunOutcome(run_id, role, job, FAILED, type(error).__name__, text))
        raise
    outcome = ENDED_EARLY if end.rounds else FINISHED
    _write(path, RunOutcome(run_id, role, job, outcome, rounds=end.rounds))


def read_outcome(path: Path) -> RunOutcome:
    """The outcome at `path`. Raises StateError where there is none or it is damaged."""
    try:
        content = json.loads(read_file(path))
        if content.pop("format") != _FORMAT:
            raise ValueError
        return RunOutcome(**content)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise StateError(
            f"{path} holds no outcome of a run",
            expected="what a site writes at the end of a run",
            got="something else",
            cure="look at the run's folder beside it",
        ) from error


def _write(path: Path, outcome: RunOutcome) -> None:
    replace_file(path, json.dumps({"format": _FORMAT, **asdict(outcome)}, indent=1).encode() + b"\n", mode=0o600)
