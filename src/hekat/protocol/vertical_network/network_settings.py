"""The shape of a split network and how it trains; VerticalNetworkSettings checks both as a whole."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Final

from hekat.model.dense_layers import Activation
from hekat.protocol.setting_checks import MAX_SEED, is_whole
from hekat.protocol.vertical.job_settings import refuse_setting

ACTIVATIONS = ("relu", "tanh")
SHARED_OPTIMISERS = ("sgd", "momentum")
MOST_WIDTH: Final = 256
"""The most inputs or units of the interactive layer: the room of a product is reckoned for so many."""
MOST_LAYER: Final = 4096
MOST_BATCH_ROWS: Final = 1 << 14
RATE_BITS: Final = 24
MOMENTUM_BITS: Final = 8
BY_RULE: Final = 0.0
MOST_RULED_RATE: Final = 0.2


@dataclass(frozen=True)
class NetworkShape:
    """Sizes of all layers.

    `units` is k, the width of the interactive layer. A bottom maps columns to the inputs of the interactive layer:
    `guest_width` at the guest, and at a host its entry of `host_widths`, or `host_width` where it has none; under
    host_bottom `source` a host's width is its number of columns. `bottom_hidden` are the hidden layers of the bottoms
    that train (a PyTorch module has its own). `top_hidden` are the hidden layers of the top, which begins with
    the activation of the interactive layer.
    """

    units: int = 32
    guest_width: int = 32
    host_width: int = 32
    host_widths: Mapping[str, int] = field(default_factory=dict)
    bottom_hidden: tuple[int, ...] = ()
    top_hidden: tuple[int, ...] = ()
    activation: Activation = "relu"

    def __post_init__(self) -> None:
        object.__setattr__(self, "host_widths", dict(self.host_widths))
        for name in ("bottom_hidden", "top_hidden"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
            for size in getattr(self, name):
                _check_whole(f"network.{name}", size, 1, MOST_LAYER)
        widths = {f"network.host_widths.{host}": width for host, width in self.host_widths.items()}
        for name, size in (
            ("network.units", self.units),
            ("network.guest_width", self.guest_width),
            ("network.host_width", self.host_width),
            *widths.items(),
        ):
            _check_whole(name, size, 1, MOST_WIDTH)
        if self.activation not in ACTIVATIONS:
            refuse_setting("network.activation", " or ".join(map(repr, ACTIVATIONS)), repr(self.activation))

    def width_of(self, host: str) -> int:
        """m, the inputs that a host's bottom gives."""
        return self.host_widths.get(host, self.host_width)


@dataclass(frozen=True)
class NetworkTraining:
    """How weights move.

    `learning_rate` is Adam's, for the guest's networks and for bottoms of hosts that train. The shared layer moves by
    `shared_optimiser` ("sgd" or "momentum") at `shared_rate`, which is taken in units of 2^-24 over the rows of a
    batch; 0 means by rule, and settings of a training then hold what `rule_rate` says. `momentum` is taken to a
    multiple of 2^-8. `l2` is the penalty of the shared layer and of the guest's part of the interactive layer.

    `validation_fraction` of the common rows train nothing; the guest hears their outputs after every epoch, and with
    `patience` training ends once as many epochs bring no better loss of them (of training rows where none are held
    out). Columns are standardised unless the job says no; `limit_spreads` bounds them (0: no limit).
    """

    epochs: int = 10
    batch_rows: int = 1024
    learning_rate: float = 0.01
    shared_optimiser: str = "momentum"
    shared_rate: float = BY_RULE
    momentum: float = 0.9
    l2: float = 0.0
    standardise: bool = True
    limit_spreads: float = 5.0
    validation_fraction: float = 0.0
    patience: int = 0
    min_improvement: float = 0.0
    stop_at_loss: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        _check_whole("training.epochs", self.epochs, 1, MAX_SEED)
        _check_whole("training.batch_rows", self.batch_rows, 1, MOST_BATCH_ROWS)
        _check_whole("training.patience", self.patience, 0, MAX_SEED)
        _check_whole("training.seed", self.seed, 0, MAX_SEED)
        if self.shared_optimiser not in SHARED_OPTIMISERS:
            refuse_setting(
                "training.shared_optimiser",
                "'sgd' or 'momentum': others need squares of gradients, which nobody sees",
                repr(self.shared_optimiser),
            )
        if not isinstance(self.standardise, bool):
            refuse_setting("training.standardise", "true or false", repr(self.standardise))
        _check_real("training.learning_rate", self.learning_rate, 1e-9, 10.0)
        if self.shared_rate != BY_RULE:
            _check_real("training.shared_rate", self.shared_rate, 2.0**-RATE_BITS, 8.0)
        _check_real("training.momentum", self.momentum, 0.0, 0.99)
        _check_real("training.l2", self.l2, 0.0, 1.0)
        _check_real("training.limit_spreads", self.limit_spreads, 0.0, 1000.0)
        _check_real("training.validation_fraction", self.validation_fraction, 0.0, 0.5)
        _check_real("training.min_improvement", self.min_improvement, 0.0, math.inf)
        _check_real("training.stop_at_loss", self.stop_at_loss, 0.0, math.inf)

    @property
    def limit(self) -> float:
        """How many spreads a standardised column may lie from its mean; 0: no limit."""
        return self.limit_spreads if self.standardise else 0.0

    @property
    def momentum_units(self) -> int:
        """The momentum at 2^-8; 0 for sgd."""
        return round(self.momentum * 2**MOMENTUM_BITS) if self.shared_optimiser == "momentum" else 0

    def rate_units(self, row_count: int, rate_bits: int = RATE_BITS) -> int:
        """What a batch of `row_count` rows multiplies the summed gradient with: the rate over its rows, at
        2^-rate_bits.

        Raises JobError for a rate that is less than one unit.
        """
        units = round(self.shared_rate * (1 << rate_bits) / row_count)
        if not units:
            refuse_setting(
                "training.shared_rate",
                f"{row_count / (1 << rate_bits):.1e} or more for {row_count:,} rows",
                self.shared_rate,
            )
        return units

    def taken_rate(self, row_count: int, rate_bits: int = RATE_BITS) -> float:
        """The rate of the shared layer in a batch of `row_count` rows, as its units have it."""
        return self.rate_units(row_count, rate_bits) * row_count / (1 << rate_bits)


def rule_rate(feature_count: int, *, is_regression: bool) -> float:
    """The rate of the shared layer for so many features of all hosts together, where the job names none.

    A step overshoots where the loss curves most. That grows with the number of features, and the squared error curves
    four times as much as the log loss of two classes. Figures: docs/explanation/split_networks.md.
    """
    return min(MOST_RULED_RATE, (1.6 if is_regression else 6.4) / feature_count)


def _check_whole(name: str, value: object, least: int, most: int) -> None:
    if not is_whole(value) or not least <= value <= most:  # type: ignore[operator]
        refuse_setting(name, f"a whole number of {least} to {most}", value)


def _check_real(name: str, value: object, least: float, most: float) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not least <= float(value) <= most:  # type: ignore[arg-type]
        refuse_setting(name, f"a number of {least:g} to {most:g}", value)
