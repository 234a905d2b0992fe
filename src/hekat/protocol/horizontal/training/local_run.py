"""What one machine gives its party's training loop: the model, where to go on, and who is told of progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hekat.data.columns.found import Vocabulary
from hekat.ledger.privacy.records import PrivacyRecord
from hekat.model import Model, make_model
from hekat.privacy.accounting import Release
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.own_state import OwnState
from hekat.protocol.horizontal.training.standardise import ColumnFindings
from hekat.protocol.horizontal.training.training_state import RoundRecord, TrainingState
from hekat.protocol.stopwatch import Stopwatch
from hekat.state.privacy_budget import Spent


@dataclass(frozen=True)
class LocalRun:
    """What a training loop needs besides settings and data; the callbacks never see another party's values.

    `on_fold` gets how many folds of a cross-validation are done, and the metrics of the last; none as they begin.
    `on_compared` gets the parties with which the final model could not be compared; `on_columns` what the sums of
    standardising tell of columns.
    `save_own` receives what this party alone carries on, once the round's sum holds its update and before this party
    saves the round: another one may have saved it by then, and none the next one. `own` belongs to the round named in
    `resume_from`.
    `charge` reserves a round of a job with differential privacy in this site's budget, before its first block leaves;
    what the data set has spent then, None where there is no budget. It raises BudgetError. `record` notes in a step of
    the ledger what is claimed of noise.
    """

    stopwatch: Stopwatch
    on_round: Callable[[RoundRecord, TrainingState], None]
    save: Callable[[TrainingState], None]
    resume_from: TrainingState | None = None
    save_own: Callable[[OwnState], None] = lambda own: None
    on_fold: Callable[[int, dict[str, float]], None] = lambda done, metrics: None
    on_compared: Callable[[tuple[str, ...]], None] = lambda missing: None
    on_columns: Callable[[ColumnFindings], None] = lambda found: None
    charge: Callable[[int, Release], Spent | None] = lambda number, release: None
    record: Callable[[PrivacyRecord, str], None] = lambda record, step: None
    own: OwnState | None = None
    digest_key: bytes = field(default=b"", repr=False)
    job_digest: bytes = b""
    """Where the parties send a part of their updates, which the job's digest chooses along with them."""
    model: Model | None = None
    """A model of the site's own; None: the one of Hekat's that the settings name."""
    model_code: str = ""
    """The digest of the site's code that made `model`."""
    vocabulary: Vocabulary = field(default_factory=dict)
    """The categories that the parties found together, by which the table is encoded."""

    def model_for(self, settings: HorizontalSettings, column_count: int) -> Model:
        """The model to train on tables of `column_count` columns. Raises InputError."""
        return build_model(settings, column_count) if self.model is None else self.model


def build_model(settings: HorizontalSettings, column_count: int) -> Model:
    """The model of Hekat's that the settings name, for tables of `column_count` columns."""
    class_count = len(settings.classes) if settings.classes is not None else None
    spec = settings.model
    return make_model(spec.name, column_count, class_count, hidden=spec.hidden, l2=spec.own_l2)
