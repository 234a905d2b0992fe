"""The parameters of vertical regressions, as scikit-learn gets, sets and clones them, and the settings they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sklearn.base import BaseEstimator

from hekat.data import Table
from hekat.errors import JobError, PolicyError
from hekat.estimator.common_rows import DEFAULT_TIMEOUT_S
from hekat.estimator.party_tables import Columns
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.prediction.predict_scores import MAX_PREDICTIONS, SCORE_BITS, PredictionSettings
from hekat.protocol.vertical_linear.settings import (
    FixedPoint,
    Form,
    LinearTraining,
    Protection,
    Task,
    VerticalLinearSettings,
)
from hekat.scheme.paillier import KeyPair


class VerticalParameters(BaseEstimator):  # type: ignore[misc]
    """Parameters are those of a job file, by plain names, and are checked when `fit` begins.

    columns         who holds which columns, where X is one array: {party: slice, positions, mask or names}
    guest           the party with the labels; None: the first one named
    arbiter         a role without rows that opens masked gradients: form 'arbiter', any number of hosts
    form            None: 'arbiter' where an arbiter is named, else 'shared_weights', for one host
    intersection    how common rows are found where tables have ids: 'ecdh' or 'rsa_blind'; None: rows are aligned
    protection      'paillier'; 'lattice', with an arbiter alone; 'none': in the clear
    key_bits        of Paillier keys; not with protection 'lattice', whose ring is always the same
    receivers       who learns the scores of a prediction; None: the guest
    score_bits      scores are told to 2^-score_bits
    max_predictions how many rows a fitted model lets be predicted in all, at each party
    keys            ready Paillier key pairs by role, for tests and searches on one machine; None: fresh ones
    timeout_s       how long a role waits for one message

    The others are the fields of VerticalLinearSettings, LinearTraining and FixedPoint.
    """

    _task: Task

    def __init__(
        self,
        *,
        columns: Columns | None = None,
        guest: str | None = None,
        arbiter: str | None = None,
        form: Form | None = None,
        protection: Protection = "paillier",
        key_bits: int = 3072,
        epochs: int = 10,
        batch_rows: int = 1024,
        learning_rate: float = 0.1,
        optimiser: str = "sgd",
        optimiser_settings: Mapping[str, float] | None = None,
        l1: float = 0.0,
        l2: float = 0.0,
        standardise: bool = True,
        limit_spreads: float | None = None,
        patience: int = 0,
        min_improvement: float = 0.0,
        stop_at_loss: float = 0.0,
        seed: int = 1,
        feature_bits: int = 16,
        value_bits: int = 32,
        label_leak_accepted: str | None = None,
        column_leak_accepted: str | None = None,
        intersection: str | None = "ecdh",
        receivers: Sequence[str] | None = None,
        score_bits: int = SCORE_BITS,
        max_predictions: int = MAX_PREDICTIONS,
        warm_start: bool = False,
        keys: Mapping[str, KeyPair] | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        self.columns = columns
        self.guest = guest
        self.arbiter = arbiter
        self.form = form
        self.protection = protection
        self.key_bits = key_bits
        self.epochs = epochs
        self.batch_rows = batch_rows
        self.learning_rate = learning_rate
        self.optimiser = optimiser
        self.optimiser_settings = optimiser_settings
        self.l1 = l1
        self.l2 = l2
        self.standardise = standardise
        self.limit_spreads = limit_spreads
        self.patience = patience
        self.min_improvement = min_improvement
        self.stop_at_loss = stop_at_loss
        self.seed = seed
        self.feature_bits = feature_bits
        self.value_bits = value_bits
        self.label_leak_accepted = label_leak_accepted
        self.column_leak_accepted = column_leak_accepted
        self.intersection = intersection
        self.receivers = receivers
        self.score_bits = score_bits
        self.max_predictions = max_predictions
        self.warm_start = warm_start
        self.keys = keys
        self.timeout_s = timeout_s

    def _settings(self, parties: tuple[str, ...], classes: tuple[str, ...] | None) -> VerticalLinearSettings:
        self._check_paillier_alone()
        # These are used once a model is there, which is late to hear of a mistake.
        PredictionSettings.between(parties[0], parties[1:], self.receivers or (), self.score_bits)
        return VerticalLinearSettings(
            guest=parties[0],
            hosts=parties[1:],
            form=self.form,
            arbiter=self.arbiter,
            task=self._task,
            classes=classes,
            key_bits=self.key_bits,
            protection=self.protection,
            training=LinearTraining(
                epochs=self.epochs,
                batch_rows=self.batch_rows,
                learning_rate=self.learning_rate,
                optimiser=self.optimiser,
                optimiser_settings=dict(self.optimiser_settings or {}),
                l1=self.l1,
                l2=self.l2,
                standardise=self.standardise,
                limit_spreads=self.limit_spreads,
                patience=self.patience,
                min_improvement=self.min_improvement,
                stop_at_loss=self.stop_at_loss,
                seed=self.seed,
            ),
            fixed_point=FixedPoint(feature_bits=self.feature_bits, value_bits=self.value_bits),
            label_leak_accepted=self.label_leak_accepted,
            column_leak_accepted=self.column_leak_accepted,
        )

    def _check_paillier_alone(self) -> None:
        """Raise JobError where protection `lattice` meets what only Paillier takes."""
        if self.protection != "lattice":
            return
        for name, is_default in (
            ("key_bits", self.key_bits == VerticalLinearSettings.key_bits),
            ("keys", self.keys is None),
        ):
            if not is_default:
                raise JobError(
                    f"parameter {name} belongs to another protection",
                    expected="protection='paillier'",
                    got="protection='lattice'",
                    cure=f"leave {name} at its default, or set protection='paillier'",
                )

    def _prediction_settings(self, part: ModelPart) -> PredictionSettings:
        return PredictionSettings.of(part, self.receivers or (), self.score_bits)

    def _count_predictions(self, party: str, row_count: int) -> None:
        """Count rows that are about to be predicted with a party's part. Raises PolicyError."""
        predicted: dict[str, int] = self.predicted_rows_
        used = predicted.get(party, 0)
        if used + row_count > self.max_predictions:
            raise PolicyError(
                f"more rows than may be predicted with the part of {party}",
                expected=f"at most {self.max_predictions} rows in all: the parameter max_predictions",
                got=f"{row_count} rows after {used}",
                cure="predict fewer rows, fit anew, or raise max_predictions",
            )
        predicted[party] = used + row_count

    def _intersection(self, tables: Mapping[str, Table]) -> IntersectionSettings | None:
        """How common rows are found: None where no table has ids."""
        has_ids = any(table.ids is not None for table in tables.values())
        return self._intersection_of(tuple(tables)) if has_ids else None

    def _intersection_of(self, parties: tuple[str, ...]) -> IntersectionSettings | None:
        if self.intersection is None:
            return None
        return IntersectionSettings(parties[0], parties[1:], kind=self.intersection)

    def _key_of(self, name: str) -> KeyPair | None:
        return None if self.keys is None else self.keys.get(name)
