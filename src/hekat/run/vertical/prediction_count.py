"""How many rows have been predicted with a party's part of a model: counted at its site, on disk, up to a limit.

Each score tells of the model, and scores of rows of somebody's choice add up. A number of rows is gone from the file
before anything of their prediction leaves, and is not given back where the prediction fails. The count lies in the
folder that the site names as the party's `state`, by the model's name; where it names none, in the run's: then a copy
of the run's folder takes a count of its own along.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.job.policy.enforce import AskingJob, recorded
from hekat.job.site_file import Site
from hekat.job.vertical.site_checks import MAX_PREDICTIONS_KEY
from hekat.protocol.vertical.prediction_limit import MAX_PREDICTIONS, check_prediction_limit
from hekat.state import Counter

COUNTS_FOLDER = "predicted"
_NAME_DIGITS = 32
_ASKING = "prediction with a part of a model"


class PartOfModel(Protocol):
    """A party's part of whatever model, by the model's name."""

    @property
    def party(self) -> str: ...

    @property
    def model_id(self) -> str: ...


@dataclass(frozen=True)
class PredictionCount:
    """One party's count of one model, up to the `policy.max_predictions` of its site.

    `usual` is the limit where the site says none. What is refused is in the party's ledger of refusals, under a digest
    of the model's name.
    """

    party: str
    path: Path
    site: Site
    model_digest: bytes
    usual: int = MAX_PREDICTIONS

    @classmethod
    def of(cls, site: Site, run_folder: Path, part: PartOfModel, usual: int = MAX_PREDICTIONS) -> PredictionCount:
        """The count of `part`, a part of the model whose run left `run_folder`; `usual` as in the class."""
        own = site.parties.get(part.party)
        digest = hashlib.sha256(part.model_id.encode()).digest()
        name = digest.hex()[:_NAME_DIGITS]
        if own is not None and own.state is not None:
            path = own.state / f"predictions-{name}"
        else:
            path = run_folder / COUNTS_FOLDER / part.party
        return cls(part.party, path, site, digest, usual)

    def check(self, row_count: int) -> None:
        """Raise PolicyError where so many rows more would pass the limit; nothing is counted."""
        used = 0
        if self.path.exists():
            with Counter.open(self.path) as counter:
                used = counter.next_value
        self._check(row_count, used)

    def add(self, row_count: int) -> None:
        """Count rows that are about to be predicted; returns once they are on disk.

        Raises PolicyError where they would pass the limit, StateError where the count cannot be read or written.
        """
        self._check(row_count, 0)
        with disk_errors_as_state_errors(f"{self.path.parent} could not be written"):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            is_there = self.path.exists()
        with (Counter.open if is_there else Counter.create)(self.path) as counter:
            self._check(row_count, counter.next_value)
            counter.reserve(row_count)

    def _check(self, row_count: int, used: int) -> None:
        holder, limit = f"the site of {self.party}", self.site.policy.rows_to_predict(self.usual)
        with recorded(self.site, AskingJob(_ASKING, self.model_digest, (self.party,)), MAX_PREDICTIONS_KEY):
            check_prediction_limit(holder, row_count, used, limit, MAX_PREDICTIONS_KEY)
