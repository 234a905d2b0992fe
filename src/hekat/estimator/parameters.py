"""The parameters of vertical regressions, as scikit-learn gets, sets and clones them, and the settings they stand
for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hekat.errors import JobError, PolicyError
from hekat.estimator.columns_estimator import ColumnsEstimator
from hekat.estimator.common_rows import DEFAULT_TIMEOUT_S
from hekat.estimator.data_frames import IdName
from hekat.estimator.party_tables import Columns
from hekat.protocol.psi.settings import KINDS
from hekat.protocol.setting_checks import check_choice
from hekat.protocol.vertical.prediction_limit import MAX_PREDICTIONS
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.prediction.settings import SCORE_BITS, PredictionSettings
from hekat.protocol.vertical_linear.settings import Form, Protection, Task, VerticalLinearSettings
from hekat.protocol.vertical_linear.training_settings import FixedPoint, LinearTraining, number_or_rule
from hekat.scheme.paillier import KeyPair


class VerticalParameters(ColumnsEstimator):
    """The parameters of a vertical regression: a job file's settings under plain names, checked when `fit` begins.

    Args:
        columns: Who holds which columns, where X is one array: `{party: slice, positions, mask or names}`.
        guest: The party with the labels; None: the first one named.
        id: The column of every party's data frame that says which record a row is, or `{party: column}`; `"index"`: the
            frames' index. Common rows are then found by intersection. None: rows align, or Tables have ids.
        arbiter: A role without rows that opens masked gradients: form `"arbiter"`, any number of hosts.
        form: `"arbiter"` or `"shared_weights"`; None: the first where an arbiter is named, else the second.
        share_holders: The two parties that hold all shares in form `"shared_weights"`; None: the guest and the first
            host.
        protection: `"paillier"`; `"lattice"`, with an arbiter alone; `"none"`: in the clear.
        key_bits: The size of Paillier keys, in bits; not with protection `"lattice"`, whose ring is always the same.
        epochs: How often training goes over all rows, at most; None: 10, for a regression with a step by rule 30.
        batch_rows: The rows of a batch; 0: all rows in one; None: where the step is by rule 32,768, with an
            arbiter 8,192, else 1,024.
        learning_rate: The step of the optimiser; None: by rule. Then each party mixes its columns into hardly
            correlated ones and the step follows from the number of parties, with momentum 0.4; where `l1`, `l2` or
            another optimiser than `"sgd"` and `"momentum"` is set, None is 0.1.
        optimiser: `"sgd"` or `"momentum"`; with an arbiter also `"adam"` or `"rmsprop"`.
        optimiser_settings: The optimiser's other settings, by name.
        l1: The penalty on the magnitude of weights; with an arbiter alone.
        l2: The penalty on the square of weights.
        standardise: Whether each party standardises its columns, and the guest a regression's target.
        limit_spreads: How many spreads a standardised value may lie from 0; 0: no limit; None: 3 with an arbiter, and
            where classes are trained with a step by rule, else none.
        patience: Epochs without enough improvement that end training; 0: off.
        min_improvement: By how much an epoch's loss must improve.
        stop_at_loss: The loss that ends training; 0: off.
        stop_when_settled: Whether training ends once three epochs moved its loss by 1e-5 of it at most; None: with
            a step by rule and without `patience`.
        seed: What batches are drawn from.
        calibration_rows: Of how many training rows the guest learns the scores, to fit its probabilities to its labels;
            0: none, probabilities are sigmoids of scores; None: 2,000 with `shared_weights` and a step by rule where
            the guest alone receives scores and no party is quiet, else 0.
        reweight: Whether weights then move to the log loss of these rows, by Newton steps on shares; where they are all
            training rows, or of three classes or more, the guest learns their scores once more. None: wherever two
            parties can.
        feature_bits: Features are integers at 2^-feature_bits.
        value_bits: Scores and residuals are integers at 2^-value_bits.
        label_leak_accepted: The words that waive the rules on what hosts learn of labels.
        column_leak_accepted: The words that waive the rules on what the guest learns of hosts' columns.
        label_privacy: The epsilon by which labels of classes are replaced once, by chance, 0.1 to 8, before anything
            is trained; None: labels as they are. Rows need ids, by which a later fit replaces the same labels.
        label_flips: The file at the guest that all replacements follow from, one for each column of labels; None: this
            estimator's own, in memory, for `fit` alone, where one process has the tables of all parties anyway.
        intersection: How common rows are found where tables have ids: `"ecdh"` or `"rsa_blind"`; None: rows align.
        receivers: Who learns the scores of a prediction; None: the guest.
        score_bits: Scores are told to 2^-score_bits.
        max_predictions: How many rows a fitted model lets be predicted in all, at each party; rows that probabilities
            are fitted to count too.
        warm_start: Whether `fit` goes on from the weights of the last `fit`.
        keys: Ready Paillier key pairs by role, for tests and searches on one machine; None: fresh ones.
        timeout_s: How long a role waits for one message, in seconds.
        progress: Whether `fit` and predictions show on stderr how far they are, once they take longer than two seconds;
            None: where stderr is a terminal, and in a notebook.
    """

    _task: Task

    def __init__(
        self,
        *,
        columns: Columns | None = None,
        guest: str | None = None,
        id: IdName = None,
        arbiter: str | None = None,
        form: Form | None = None,
        share_holders: Sequence[str] | None = None,
        protection: Protection = "paillier",
        key_bits: int = 3072,
        epochs: int | None = None,
        batch_rows: int | None = None,
        learning_rate: float | None = None,
        optimiser: str = "sgd",
        optimiser_settings: Mapping[str, float] | None = None,
        l1: float = 0.0,
        l2: float = 0.0,
        standardise: bool = True,
        limit_spreads: float | None = None,
        patience: int = 0,
        min_improvement: float = 0.0,
        stop_at_loss: float = 0.0,
        stop_when_settled: bool | None = None,
        seed: int = 1,
        calibration_rows: int | None = None,
        reweight: bool | None = None,
        feature_bits: int = 16,
        value_bits: int = 32,
        label_leak_accepted: str | None = None,
        column_leak_accepted: str | None = None,
        label_privacy: float | None = None,
        label_flips: str | Path | None = None,
        intersection: str | None = "ecdh",
        receivers: Sequence[str] | None = None,
        score_bits: int = SCORE_BITS,
        max_predictions: int = MAX_PREDICTIONS,
        warm_start: bool = False,
        keys: Mapping[str, KeyPair] | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        progress: bool | None = None,
    ) -> None:
        self.columns = columns
        self.guest = guest
        self.id = id
        self.arbiter = arbiter
        self.form = form
        self.share_holders = share_holders
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
        self.stop_when_settled = stop_when_settled
        self.seed = seed
        self.calibration_rows = calibration_rows
        self.reweight = reweight
        self.feature_bits = feature_bits
        self.value_bits = value_bits
        self.label_leak_accepted = label_leak_accepted
        self.column_leak_accepted = column_leak_accepted
        self.label_privacy = label_privacy
        self.label_flips = label_flips
        self.intersection = intersection
        self.receivers = receivers
        self.score_bits = score_bits
        self.max_predictions = max_predictions
        self.warm_start = warm_start
        self.keys = keys
        self.timeout_s = timeout_s
        self.progress = progress

    def _settings(self, parties: tuple[str, ...], classes: tuple[str, ...] | None) -> VerticalLinearSettings:
        self._check_paillier_alone()
        if self.intersection is not None:
            check_choice("intersection", self.intersection, KINDS)
        # A prediction needs these once a model is there, which is late to hear of a mistake.
        prediction = PredictionSettings.between(parties[0], parties[1:], self.receivers or (), self.score_bits)
        return VerticalLinearSettings(
            guest=parties[0],
            hosts=parties[1:],
            form=self.form,
            share_holders=None if self.share_holders is None else tuple(self.share_holders),
            arbiter=self.arbiter,
            task=self._task,
            classes=classes,
            key_bits=self.key_bits,
            protection=self.protection,
            training=LinearTraining(
                epochs=number_or_rule("epochs", self.epochs, least=1),
                batch_rows=number_or_rule("batch_rows", self.batch_rows),
                learning_rate=0.0 if self.learning_rate is None else self.learning_rate,
                optimiser=self.optimiser,
                optimiser_settings=dict(self.optimiser_settings or {}),
                l1=self.l1,
                l2=self.l2,
                standardise=self.standardise,
                limit_spreads=self.limit_spreads,
                patience=self.patience,
                min_improvement=self.min_improvement,
                stop_at_loss=self.stop_at_loss,
                stop_when_settled=self.stop_when_settled,
                seed=self.seed,
                calibration_rows=number_or_rule("calibration_rows", self.calibration_rows),
                reweight=self.reweight,
            ).fitting_probabilities(parties[0], prediction.receivers),
            fixed_point=FixedPoint(feature_bits=self.feature_bits, value_bits=self.value_bits),
            label_leak_accepted=self.label_leak_accepted,
            column_leak_accepted=self.column_leak_accepted,
            label_privacy=self.label_privacy,
        )

    def _check_paillier_alone(self) -> None:
        """Raise JobError where protection `lattice` comes with parameters for Paillier alone."""
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

    def _check_calibration(self, settings: VerticalLinearSettings, row_count: int) -> None:
        """Raise PolicyError where fitting probabilities would predict more of `row_count` rows than are allowed."""
        wanted = min(settings.calibration_rows, row_count) * settings.score_openings
        if wanted > self.max_predictions:
            raise PolicyError(
                "fitting probabilities predicts more training rows than may be predicted in all",
                expected=f"at most {self.max_predictions:,} rows: the parameter max_predictions",
                got=f"{wanted:,} rows",
                cure=f"set calibration_rows={self.max_predictions // settings.score_openings} or fewer, 0 for none, "
                "or raise max_predictions",
            )

    def _key_of(self, name: str) -> KeyPair | None:
        return None if self.keys is None else self.keys.get(name)
