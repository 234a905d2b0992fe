"""The parameters of horizontal estimators, as scikit-learn gets, sets and clones them, and the settings they stand
for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sklearn.base import BaseEstimator

from hekat.data import Table
from hekat.estimator.common_rows import DEFAULT_TIMEOUT_S
from hekat.protocol.horizontal.settings import Algorithm, HorizontalSettings, ModelSettings, TrainingSettings
from hekat.protocol.secure_sum.settings import CodecSettings, Protection

AGGREGATOR = "aggregator"
_SEARCH_BITS = 24


class HorizontalParameters(BaseEstimator):  # type: ignore[misc]
    """The parameters of a horizontal estimator: a job file's settings under plain names, checked when `fit` begins.

    Args:
        algorithm: `"lbfgs"`: a line search over encrypted sums, with nothing to tune; `"fedavg"`, `"fedprox"`,
            `"scaffold"`: local steps; `"fedsgd"`: gradients.
        rounds: How often updates are summed, at most.
        l2: The penalty on the square of weights; None: under `"lbfgs"` for classes 1 / (all rows), of a network 10
            times that, also for numbers; else 0.
        local_epochs: Passes of a party over its own rows in a round; not under `"lbfgs"`.
        batch_rows: The rows of a batch; 0: all; not under `"lbfgs"`.
        learning_rate: The step; not under `"lbfgs"`.
        optimiser: How the common step moves the weights; not under `"lbfgs"`.
        standardise: Whether columns, and the numbers that a network learns, are brought to mean 0 and spread 1, from
            encrypted sums.
        patience: Rounds without enough improvement that end training; 0: off.
        min_improvement: By how much a round's loss must improve.
        seed: Of a network's first weights and of the order of rows.
        value_bits: The bits of a value in an update; None: 24 under `"lbfgs"`, else 16.
        protection: `"lattice"`, `"paillier"`, or `"none"`: in the clear.
        key_bits: The size of the Paillier key, in bits.
        allow_two_parties: Whether two parties accept that each learns the other's updates.
        timeout_s: How long a role waits for one message, in seconds.
        progress: Whether `fit` shows on stderr how far it is, once it takes longer than two seconds; None: where stderr
            is a terminal, and in a notebook.
    """

    _model_name: str

    def __init__(
        self,
        *,
        algorithm: Algorithm = "lbfgs",
        rounds: int = 100,
        l2: float | None = None,
        local_epochs: int = 1,
        batch_rows: int = 32,
        learning_rate: float = 0.1,
        optimiser: str = "sgd",
        standardise: bool = True,
        patience: int = 0,
        min_improvement: float = 1e-4,
        seed: int = 0,
        value_bits: int | None = None,
        protection: Protection = "lattice",
        key_bits: int = 3072,
        allow_two_parties: bool = False,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        progress: bool | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.rounds = rounds
        self.l2 = l2
        self.local_epochs = local_epochs
        self.batch_rows = batch_rows
        self.learning_rate = learning_rate
        self.optimiser = optimiser
        self.standardise = standardise
        self.patience = patience
        self.min_improvement = min_improvement
        self.seed = seed
        self.value_bits = value_bits
        self.protection = protection
        self.key_bits = key_bits
        self.allow_two_parties = allow_two_parties
        self.timeout_s = timeout_s
        self.progress = progress

    def _settings(self, tables: Mapping[str, Table], classes: tuple[str, ...] | None) -> HorizontalSettings:
        usual = _SEARCH_BITS if self.algorithm == "lbfgs" else CodecSettings().value_bits
        most = max(len(table) for table in tables.values())
        return HorizontalSettings(
            parties=tuple(tables),
            aggregator=AGGREGATOR,
            classes=classes,
            # A public bound: the next power of two tells no party's own number.
            weight_max=1 << (most - 1).bit_length(),
            protection=self.protection,
            key_bits=self.key_bits,
            allow_two_parties=self.allow_two_parties,
            model=ModelSettings(self._model_name, self._hidden(), self.l2, self.seed),
            codec=CodecSettings(value_bits=usual if self.value_bits is None else self.value_bits),
            training=TrainingSettings(
                algorithm=self.algorithm,
                round_count=self.rounds,
                local_epochs=self.local_epochs,
                batch_rows=self.batch_rows,
                learning_rate=self.learning_rate,
                optimiser=self.optimiser,
                standardise=self.standardise,
                patience=self.patience,
                min_improvement=self.min_improvement,
                seed=self.seed,
            ),
        )

    def _hidden(self) -> tuple[int, ...]:
        """Sizes of hidden layers; none for a linear model."""
        return ()


class HorizontalNetworkParameters(HorizontalParameters):
    """As HorizontalParameters, for networks.

    Args:
        hidden: The sizes of the hidden layers, from input to output.
    """

    _model_name = "mlp"

    def __init__(
        self,
        *,
        hidden: Sequence[int] = (16,),
        algorithm: Algorithm = "lbfgs",
        rounds: int = 300,
        l2: float | None = None,
        local_epochs: int = 1,
        batch_rows: int = 32,
        learning_rate: float = 0.1,
        optimiser: str = "sgd",
        standardise: bool = True,
        patience: int = 0,
        min_improvement: float = 1e-4,
        seed: int = 0,
        value_bits: int | None = None,
        protection: Protection = "lattice",
        key_bits: int = 3072,
        allow_two_parties: bool = False,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        progress: bool | None = None,
    ) -> None:
        super().__init__(
            algorithm=algorithm,
            rounds=rounds,
            l2=l2,
            local_epochs=local_epochs,
            batch_rows=batch_rows,
            learning_rate=learning_rate,
            optimiser=optimiser,
            standardise=standardise,
            patience=patience,
            min_improvement=min_improvement,
            seed=seed,
            value_bits=value_bits,
            protection=protection,
            key_bits=key_bits,
            allow_two_parties=allow_two_parties,
            timeout_s=timeout_s,
            progress=progress,
        )
        self.hidden = hidden

    def _hidden(self) -> tuple[int, ...]:
        return tuple(self.hidden)
