"""The files from which each party resumes: its own state of the last steps, readable only by its owner.

A step is an epoch of a regression or an iteration of trees, as its `CheckpointForm` says. Parties end a step one after
the other, so that a run may stop when some have saved it and some have not. Therefore each keeps the step before too,
and all go on from the last one that every party has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import StateError
from hekat.job.vertical.columns_job import ColumnsJob
from hekat.run.numbered_files import numbered_path, numbers_of
from hekat.run.row_identity import KEY_BYTES, RowIdentity
from hekat.state import Checkpoint, cure_of_parent, is_run_id, load_checkpoint, refuse_checkpoint, save_checkpoint
from hekat.state.file_format import this_release

CHECKPOINTS_FOLDER = "checkpoints"
_FINISHED, _KEY, _DIGEST = "finished", "rows/key", "rows/digest"
_STARTED_FROM, _LIMIT_SPREADS, _CODE = "started_from", "limit_spreads", "code"
_KEPT_STEPS = 2
_DIGEST_BYTES = 32


class State(Protocol):
    """What a party carries from step to step; the guest alone has `losses`."""

    @property
    def arrays(self) -> Mapping[str, npt.NDArray[Any]]: ...

    @property
    def finished(self) -> bool: ...

    @property
    def losses(self) -> tuple[float, ...]: ...


S = TypeVar("S", bound=State)


@dataclass(frozen=True)
class PartyCheckpoint(Generic[S]):
    """One party's state, the rows that it trained on, and the releases of Hekat that trained so far, in order.

    `started_from`: the id of the run whose weights training began with; None where it began with none. `limit_spreads`
    is the limit of a regression that was in force: what a job gets that names none has changed from release to release.
    `code` is as `ColumnsContext.code`.
    """

    state: S
    rows: RowIdentity
    releases: tuple[str, ...] = ()
    started_from: str | None = None
    limit_spreads: float = 0.0
    code: str = ""


@dataclass(frozen=True)
class CheckpointForm(Generic[S]):
    """The checkpoints of one protocol: `word` names a step in their files' names.

    `steps_of` counts the steps that a state has behind it, `make_state(arrays, steps, finished, losses)` makes one, and
    `may_hold` says whether a state may have such an array. `counts_earlier`: where training began with another run's
    model, its steps count too, and have no losses here.
    """

    word: str
    steps_of: Callable[[S], int]
    make_state: Callable[[Mapping[str, npt.NDArray[Any]], int, bool, tuple[float, ...]], S]
    may_hold: Callable[[npt.NDArray[Any]], bool]
    counts_earlier: bool = False

    def save(self, folder: Path, job: ColumnsJob, party: str, kept: PartyCheckpoint[S]) -> None:
        """Write a party's checkpoint into `folder`, whole or not at all, mode 600; those older than the step before go.

        `folder` is made where it is missing, mode 700. Raises StateError.
        """
        state, steps = kept.state, self.steps_of(kept.state)
        with disk_errors_as_state_errors(f"{folder} could not be written"):
            folder.mkdir(mode=0o700, exist_ok=True)
        checkpoint = Checkpoint(
            job.digest,
            steps,
            parameters=state.arrays,
            codec_state={
                _FINISHED: float(state.finished),
                _LIMIT_SPREADS: kept.limit_spreads,
                _KEY: np.frombuffer(kept.rows.key, np.uint8),
                _DIGEST: np.frombuffer(kept.rows.digest, np.uint8),
                **_texts({_STARTED_FROM: kept.started_from or "", _CODE: kept.code}),
            },
            metrics_history=tuple({"loss": loss} for loss in state.losses),
            releases=tuple(dict.fromkeys([*kept.releases, this_release()])),
        )
        save_checkpoint(numbered_path(folder, party, self.word, steps), checkpoint)
        with disk_errors_as_state_errors(f"{folder} could not be tidied"):
            for number in numbers_of(folder, party, self.word)[:-_KEPT_STEPS]:
                numbered_path(folder, party, self.word, number).unlink()

    def load_all(self, folder: Path, job: ColumnsJob) -> dict[str, PartyCheckpoint[S]]:
        """Each party's checkpoint of the last step that all have, from the `folder` of an earlier run.

        Raises StateError where there is none, or one is damaged, of another job, or cannot be a state of it.
        """
        parties = job.settings.parties
        numbers = {party: set(self.numbers_of(folder, party)) for party in parties}
        common = set.intersection(*numbers.values())
        if not common:
            without = [party for party in parties if not numbers[party]]
            raise StateError(
                f"there is nothing to resume in {folder.parent}",
                expected=f"{CHECKPOINTS_FOLDER}/ with every party's checkpoint of one {self.word}",
                got=f"none of {', '.join(without)}" if without else f"checkpoints of different {self.word}s",
                cure=cure_of_parent(
                    folder.parent,
                    f"check the path; a run that stopped in its first {self.word} begins again, without --resume",
                ),
            )
        return {party: self.load(folder, job, party, max(common)) for party in parties}

    def numbers_of(self, folder: Path, party: str) -> list[int]:
        """The steps that the party has checkpoints of in `folder`. Raises StateError."""
        with disk_errors_as_state_errors(f"{folder} cannot be read"):
            return numbers_of(folder, party, self.word)

    def load(self, folder: Path, job: ColumnsJob, party: str, number: int) -> PartyCheckpoint[S]:
        """One party's checkpoint of a step. Raises StateError as `load_all`."""
        path = numbered_path(folder, party, self.word, number)
        found, what = load_checkpoint(path, job.digest), f"checkpoint {path}"
        finished = found.codec_state.get(_FINISHED)
        has_all = found.codec_state.keys() - {_STARTED_FROM, _LIMIT_SPREADS, _CODE} == {_FINISHED, _KEY, _DIGEST}
        if not has_all or finished not in (0.0, 1.0):
            raise refuse_checkpoint(what, "a vertical party's state", "another")
        for name, values in found.parameters.items():
            if not self.may_hold(values):
                raise refuse_checkpoint(what, "finite numbers or shares of them", f"array {name:.40} of another kind")
        losses = tuple(float(entry.get("loss", np.nan)) for entry in found.metrics_history)
        most = found.rounds_done if party == job.settings.guest else 0
        least = min(most, 1) if self.counts_earlier and _STARTED_FROM in found.codec_state else most
        if not least <= len(losses) <= most or not np.isfinite(losses).all():
            raise refuse_checkpoint(what, f"a loss of each {self.word} at the guest alone", "others")
        return PartyCheckpoint(
            self.make_state(found.parameters, found.rounds_done, bool(finished), losses),
            RowIdentity(_bytes_of(found, _KEY, KEY_BYTES, what), _bytes_of(found, _DIGEST, _DIGEST_BYTES, what)),
            found.releases,
            _started_from(found, what),
            _limit_spreads(found, job, what),
            _text_of(found, _CODE),
        )


def has_checkpoints(folder: Path) -> bool:
    """Whether the run in `folder` left any party's checkpoint."""
    return any((folder / CHECKPOINTS_FOLDER).glob("*.npz"))


def is_finite_float(values: npt.NDArray[Any]) -> bool:
    """Whether an array holds finite float64 numbers alone."""
    return values.dtype == np.float64 and bool(np.isfinite(values).all())


def _limit_spreads(found: Checkpoint, job: ColumnsJob, what: str) -> float:
    """The limit that the run had. Before checkpoints said it, there was none unless the job named one."""
    limit = found.codec_state.get(_LIMIT_SPREADS, job.limit_spreads_said or 0.0)
    if not isinstance(limit, float) or not 0 <= limit < math.inf:
        raise refuse_checkpoint(what, "the limit in spreads that training had", "another value")
    return limit


def _started_from(found: Checkpoint, what: str) -> str | None:
    if _STARTED_FROM not in found.codec_state:
        return None
    run_id = _text_of(found, _STARTED_FROM)
    if not is_run_id(run_id):
        raise refuse_checkpoint(what, "the id of the run that training started from", "another value")
    return run_id


def _texts(texts: Mapping[str, str]) -> dict[str, npt.NDArray[np.uint8]]:
    """As a checkpoint holds them; the empty ones are left out."""
    return {name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items() if text}


def _text_of(found: Checkpoint, name: str) -> str:
    """A text; empty where there is none, or something else."""
    value = np.asarray(found.codec_state.get(name, 0.0))
    return value.tobytes().decode("ascii", "replace") if value.dtype == np.uint8 else ""


def _bytes_of(found: Checkpoint, name: str, size: int, what: str) -> bytes:
    value = np.asarray(found.codec_state[name])
    if value.dtype != np.uint8 or value.shape != (size,):
        raise refuse_checkpoint(what, f"{name}, {size} bytes", "others")
    return value.tobytes()
