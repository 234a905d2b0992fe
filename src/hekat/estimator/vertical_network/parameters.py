"""The parameters of split networks: a job file's settings under plain names, and their settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hekat.errors import InputError
from hekat.estimator.common_rows import DEFAULT_TIMEOUT_S
from hekat.estimator.data_frames import IdName
from hekat.estimator.joint.training import JointTraining
from hekat.estimator.party_tables import Columns
from hekat.model.dense_layers import Activation
from hekat.model.split import BottomMaker, TopMaker
from hekat.protocol.vertical.prediction_limit import MAX_PREDICTIONS
from hekat.protocol.vertical_network.network_settings import NetworkShape, NetworkTraining
from hekat.protocol.vertical_network.prediction.settings import NetworkPredictionSettings
from hekat.protocol.vertical_network.settings import (
    SEALED,
    SHARED,
    HostBottom,
    Protection,
    VerticalNetworkSettings,
    usual_host_bottom,
    usual_training,
)


class NetworkParameters(JointTraining):
    """The parameters of a split network: a job file's settings under plain names, checked when `fit` begins.

    Args:
        columns: Who holds which columns, where X is one array: `{party: slice, positions, mask or names}`.
        guest: The party with the labels; None: the first one named.
        id: The column of every party's data frame that says which record a row is, or `{party: column}`; `"index"`: the
            frames' index. Common rows are then found by intersection. None: rows align, or Tables have ids.
        column_leak_accepted: The words by which each host lets the guest learn what it makes of its columns: "the guest
            may learn my columns but for a rotation". Form `"sealed"` alone trains without them.
        protection: `"lattice"`; `"none"`: everything in the clear.
        form: `"shared"`: weights of a host's side lie in shares; `"guest_layer"`: FATE's form, to compare, with
            `host_bottom="trained"` and what that needs; `"sealed"`: two parties, two classes, squares of sums of
            columns; nothing but the mean loss opens in training.
        host_bottom: What a host puts before the interactive layer: `"frozen"`, a fixed map of its columns; `"source"`,
            the columns; `"trained"`, a network whose gradients open to it, which tell it labels. None: `"source"` in
            form `"sealed"`, else `"frozen"`.
        label_privacy: The epsilon by which labels are replaced once, by chance, 0.1 to 8; None: labels as they are.
            Rows need ids, by which a later fit replaces the same labels.
        label_flips: The file at the guest that all replacements follow from, one for each column of labels; None: this
            estimator's own, in memory, for `fit` alone, where one process has the tables of all parties anyway.
        label_leak_accepted: The words by which `"trained"`, and hosts among `receivers`, do without: "the host may
            learn labels".
        slope_leak_accepted: The words that `"trained"` needs besides: "hosts may learn columns of the guest and of each
            other".
        units: Units of the interactive layer, where columns of all parties meet.
        guest_width: Inputs of the interactive layer at the guest.
        host_width: The same at a host, unless `host_widths` says otherwise or it puts in its columns.
        host_widths: The same by host.
        bottom_hidden: Hidden layers of bottoms that train.
        top_hidden: Hidden layers after the interactive one.
        activation: `"relu"` or `"tanh"`.
        bottoms: By party what makes its bottom from a `hekat.model.split.BottomTask`, such as
            `hekat.model.split.module_bottom(make_module)` for a PyTorch module; others have Hekat's own.
        top: What makes the guest's top from a `hekat.model.split.TopTask`, such as
            `hekat.model.split.module_top(make_module)` for a PyTorch module from (rows, `units`) to (rows, outputs),
            which begins with the activation of the interactive layer; None: a dense network by `top_hidden`.
        epochs: How often training goes over all rows, at most.
        batch_rows: The rows of a batch.
        learning_rate: Of Adam: the guest's layers, and bottoms of hosts that train.
        shared_optimiser: How the layer in shares moves: `"momentum"` or `"sgd"`.
        shared_rate: Its learning rate; 0: by rule, from the kind of target and the features of hosts.
        momentum: Its momentum.
        l2: The penalty on squares of the interactive layer's weights.
        standardise: Whether each party standardises its columns, and the guest a regression's target.
        limit_spreads: How many spreads a standardised value may lie from 0; 0: no limit; None: 3 in form `"sealed"`,
            whose units are squares, else 5.
        validation_fraction: The part of the rows that trains nothing and ends training by `patience`.
        patience: Epochs without enough improvement that end training; 0: off.
        min_improvement: By how much an epoch's loss must improve.
        stop_at_loss: The loss that ends training; 0: off.
        seed: What batches are drawn from; public. Weights begin with secrets of the parties.
        warm_start: Whether `fit` goes on from the network of the last `fit`.
        intersection: How common rows are found where tables have ids: `"ecdh"` or `"rsa_blind"`; None: rows align.
        receivers: Who learns the scores of a prediction, the guest among them unless the form is `"sealed"`; None: the
            guest.
        max_predictions: How many rows a fitted model lets be predicted in all, at each party.
        timeout_s: How long a role waits for one message, in seconds.
        progress: Whether `fit` and predictions show on stderr how far they are, once they take longer than two seconds;
            None: where stderr is a terminal, and in a notebook.
    """

    def __init__(
        self,
        *,
        columns: Columns | None = None,
        guest: str | None = None,
        id: IdName = None,
        column_leak_accepted: str | None = None,
        protection: Protection = "lattice",
        form: str = SHARED,
        host_bottom: HostBottom | None = None,
        label_privacy: float | None = None,
        label_flips: str | Path | None = None,
        label_leak_accepted: str | None = None,
        slope_leak_accepted: str | None = None,
        units: int = 32,
        guest_width: int = 32,
        host_width: int = 32,
        host_widths: Mapping[str, int] | None = None,
        bottom_hidden: Sequence[int] = (),
        top_hidden: Sequence[int] = (),
        activation: Activation = "relu",
        bottoms: Mapping[str, BottomMaker] | None = None,
        top: TopMaker | None = None,
        epochs: int = 10,
        batch_rows: int = 1024,
        learning_rate: float = 0.01,
        shared_optimiser: str = "momentum",
        shared_rate: float = 0.0,
        momentum: float = 0.9,
        l2: float = 0.0,
        standardise: bool = True,
        limit_spreads: float | None = None,
        validation_fraction: float = 0.0,
        patience: int = 0,
        min_improvement: float = 0.0,
        stop_at_loss: float = 0.0,
        seed: int = 1,
        warm_start: bool = False,
        intersection: str | None = "ecdh",
        receivers: Sequence[str] | None = None,
        max_predictions: int = MAX_PREDICTIONS,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        progress: bool | None = None,
    ) -> None:
        self.columns = columns
        self.guest = guest
        self.id = id
        self.column_leak_accepted = column_leak_accepted
        self.protection = protection
        self.form = form
        self.host_bottom = host_bottom
        self.label_privacy = label_privacy
        self.label_flips = label_flips
        self.label_leak_accepted = label_leak_accepted
        self.slope_leak_accepted = slope_leak_accepted
        self.units = units
        self.guest_width = guest_width
        self.host_width = host_width
        self.host_widths = host_widths
        self.bottom_hidden = bottom_hidden
        self.top_hidden = top_hidden
        self.activation = activation
        self.bottoms = bottoms
        self.top = top
        self.epochs = epochs
        self.batch_rows = batch_rows
        self.learning_rate = learning_rate
        self.shared_optimiser = shared_optimiser
        self.shared_rate = shared_rate
        self.momentum = momentum
        self.l2 = l2
        self.standardise = standardise
        self.limit_spreads = limit_spreads
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.min_improvement = min_improvement
        self.stop_at_loss = stop_at_loss
        self.seed = seed
        self.warm_start = warm_start
        self.intersection = intersection
        self.receivers = receivers
        self.max_predictions = max_predictions
        self.timeout_s = timeout_s
        self.progress = progress

    def _settings(self, parties: tuple[str, ...], classes: tuple[str, ...] | None) -> VerticalNetworkSettings:
        self._check_choices(parties)
        self._check_bottoms(parties)
        self._check_top()
        return VerticalNetworkSettings(
            guest=parties[0],
            hosts=parties[1:],
            task="regression" if classes is None else "binary" if len(classes) == 2 else "multiclass",
            classes=classes,
            form=self.form,
            protection=self.protection,
            host_bottom=usual_host_bottom(self.form) if self.host_bottom is None else self.host_bottom,
            network=self._shape(),
            training=self._training(),
            label_privacy=self.label_privacy,
            rotation_accepted=self.column_leak_accepted,
            labels_accepted=self.label_leak_accepted,
            slopes_accepted=self.slope_leak_accepted,
        )

    def _shape(self) -> NetworkShape:
        return NetworkShape(
            units=self.units,
            guest_width=self.guest_width,
            host_width=self.host_width,
            host_widths=self.host_widths or {},
            bottom_hidden=tuple(self.bottom_hidden),
            top_hidden=tuple(self.top_hidden),
            activation=self.activation,
        )

    def _training(self) -> NetworkTraining:
        limit = usual_training(self.form).limit_spreads if self.limit_spreads is None else self.limit_spreads
        return NetworkTraining(
            epochs=self.epochs,
            batch_rows=self.batch_rows,
            learning_rate=self.learning_rate,
            shared_optimiser=self.shared_optimiser,
            shared_rate=self.shared_rate,
            momentum=self.momentum,
            l2=self.l2,
            standardise=self.standardise,
            limit_spreads=limit,
            validation_fraction=self.validation_fraction,
            patience=self.patience,
            min_improvement=self.min_improvement,
            stop_at_loss=self.stop_at_loss,
            seed=self.seed,
        )

    def _prediction_settings(self, parties: tuple[str, ...]) -> NetworkPredictionSettings:
        settings = NetworkPredictionSettings(parties[0], parties[1:], self._receivers(parties), self.form)
        settings.check_told_hosts(self.label_privacy, labels_accepted=self.label_leak_accepted is not None)
        return settings

    def _check_bottoms(self, parties: tuple[str, ...]) -> None:
        """Raise InputError for a bottom of a party that does not train."""
        unknown = [name for name in self.bottoms or {} if name not in parties]
        if unknown:
            raise InputError(
                "bottoms names no party",
                expected=f"names among {', '.join(parties)}",
                got=repr(unknown[0]),
                cure="correct bottoms",
            )

    def _check_top(self) -> None:
        """Raise InputError for a top that nobody has a use for."""
        if self.top is not None and (self.form == SEALED or self.top_hidden):
            raise InputError(
                "top has no use",
                expected="top alone, without top_hidden, in form 'shared' or 'guest_layer'",
                got="form 'sealed'" if self.form == SEALED else "top_hidden as well",
                cure="leave top out, or top_hidden",
            )
