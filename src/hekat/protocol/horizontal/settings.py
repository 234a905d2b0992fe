"""What every party and the aggregator agree on before the first round, checked once."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hekat.errors import InputError, PolicyError
from hekat.protocol.horizontal.participation_settings import check_participation, sample_size_of
from hekat.protocol.horizontal.validation_settings import ValidationSettings, check_validation
from hekat.protocol.role_names import check_role_name
from hekat.scheme.lattice import choose_parameters
from hekat.scheme.paillier.keys.parameters import MAX_KEY_BITS, MIN_KEY_BITS

Algorithm = Literal["fedsgd", "fedavg", "fedprox", "scaffold"]
Protection = Literal["lattice", "paillier", "none"]
Opening = Literal["committee", "authority", "shared"]
Clipping = Literal["adaptive", "fixed", "daciq"]

PROTECTIONS = ("lattice", "paillier", "none")
OPENINGS = ("committee", "authority", "shared")
ALGORITHMS = ("fedsgd", "fedavg", "fedprox", "scaffold")
DEFAULT_PROXIMAL_MU = 0.01
# Making a key of two safe primes takes seconds, now and then a minute on a slow machine.
KEY_TIMEOUT_S = 900.0
MAX_SEED = 2**63 - 1
MAX_LAYER_SIZE = 2**20
# A mean loss beyond this is divergence, not training: the run stops and says so. Half the square of a label of a
# billion is below it.
MAX_LOSS = 2**60
# The bounds between which adaptive clipping moves.
MIN_ALPHA, MAX_ALPHA = 2.0**-40, 2.0**40
# (setting, least, most): beyond the most lies a slip of the pen, found here and not in the middle of a run.
_COUNTS = (
    ("round_count", 1, 10**6),
    ("local_epochs", 1, 10**6),
    ("batch_rows", 0, 2**40),
    ("patience", 0, 10**6),
)


@dataclass(frozen=True)
class ModelSettings:
    """Which model, by name; `hidden` only for `mlp`; `l2` is the penalty's factor lambda in loss + lambda/2 |w|^2.

    `parameters` are shell patterns of the tensors that are trained and sent; the others stay at their first value. No
    pattern means all tensors.
    """

    name: str = "logistic"
    hidden: tuple[int, ...] = ()
    l2: float = 0.0
    seed: int = 0
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class CodecSettings:
    """How floats become lanes.

    `alpha` is the first bound (adaptive) or the bound (fixed) of what is quantised: update * weight / weight_max, where
    the weight is the party's rows behind the update. A party with few rows so has its update clipped the latest.
    """

    value_bits: int = 16
    layout: str = "balanced"
    rounding: Literal["nearest", "stochastic"] = "nearest"
    clipping: Clipping = "adaptive"
    alpha: float | None = None
    target_clipped_fraction: float = 0.001


@dataclass(frozen=True)
class TrainingSettings:
    """The algorithm and its numbers; `batch_rows` 0 means all rows; patience 0 means no early stop.

    `learning_rate` is that of local steps, of `fedsgd` that of the server; `proximal_mu` belongs to `fedprox`;
    `stop_at_loss` ends training once the loss is no more than that, 0 never does; with `error_feedback` a party adds
    what clipping and rounding took from its update to its next one.
    In each round ceil(`participation` * parties) of the parties train. A sum of fewer than `min_parties` updates is not
    opened; 0 leaves that to the protection.
    """

    algorithm: Algorithm = "fedavg"
    round_count: int = 20
    local_epochs: int = 1
    batch_rows: int = 32
    learning_rate: float = 0.1
    optimiser: str = "sgd"
    optimiser_settings: Mapping[str, float] = field(default_factory=dict)
    standardise: bool = True
    patience: int = 0
    min_improvement: float = 1e-4
    seed: int = 0
    participation: float = 1.0
    min_parties: int = 0
    proximal_mu: float = DEFAULT_PROXIMAL_MU
    stop_at_loss: float = 0.0
    error_feedback: bool = False

    @property
    def averages_changes(self) -> bool:
        """Whether what is averaged is a change of the weights after local steps, and not a gradient."""
        return self.algorithm != "fedsgd"

    @property
    def keeps_own_state(self) -> bool:
        """Whether a party carries tensors from round to round that nobody else has."""
        return self.algorithm == "scaffold" or self.error_feedback


@dataclass(frozen=True)
class HorizontalSettings:
    """Everything public about one horizontal run. `weight_max` bounds every party's row count (w_max in formulas).

    `check_sum`: parties check, under protection `lattice`, that a sum is of the uploads it is stated to be of.
    `opening` says who opens sums under protection `lattice`; `authority` names the role that does for `authority`.
    `key_bits` is the size of the key for protection `paillier`.
    """

    parties: tuple[str, ...]
    aggregator: str
    classes: tuple[str, ...] | None
    weight_max: int
    protection: Protection = "lattice"
    opening: Opening = "committee"
    authority: str | None = None
    key_bits: int = 3072
    model: ModelSettings = field(default_factory=ModelSettings)
    codec: CodecSettings = field(default_factory=CodecSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    validation: ValidationSettings = field(default_factory=ValidationSettings)
    allow_two_parties: bool = False
    check_sum: bool = False

    def __post_init__(self) -> None:
        check_parties(self.parties, self.aggregator, allow_two_parties=self.allow_two_parties)
        if not 1 <= self.weight_max < 2**40:
            _refuse("weight_max", "a row count from 1 to 2^40 - 1", self.weight_max)
        _check_choice("protection.kind", self.protection, PROTECTIONS)
        if self.protection == "paillier":
            _check_key_bits(self.key_bits)
        _check_codec(self.codec)
        _check_opening(self)
        _check_training(self.training)
        check_validation(self.validation, self.classes)
        _check_error_feedback(self)
        check_participation(self.training.participation, self.training.min_parties, len(self.parties))
        if self.model.l2 < 0 or not math.isfinite(self.model.l2):
            _refuse("model.l2", "a finite number >= 0", self.model.l2)
        if not all(1 <= size <= MAX_LAYER_SIZE for size in self.model.hidden):
            _refuse("model.hidden", f"layers of 1 to {MAX_LAYER_SIZE}", list(self.model.hidden))
        for name, seed in (("model.seed", self.model.seed), ("training.seed", self.training.seed)):
            if not 0 <= seed <= MAX_SEED:
                _refuse(name, f"a whole number from 0 to {MAX_SEED}", seed)

    @property
    def leader(self) -> str:
        """The party that makes the key pair: the first one named."""
        return self.parties[0]

    @property
    def everyone(self) -> tuple[str, ...]:
        return (*self.parties, self.aggregator, *((self.authority,) if self.authority is not None else ()))

    @property
    def sample_size(self) -> int:
        """|S|: how many parties train in a round."""
        return sample_size_of(self.training.participation, len(self.parties))

    @property
    def bears_dropouts(self) -> bool:
        """Whether rounds go on without a party that is lost."""
        return self.protection == "lattice"


def check_row_count(party: str, row_count: int, settings: HorizontalSettings) -> None:
    """Raise PolicyError where a party has more rows than the public bound on its weight."""
    if row_count > settings.weight_max:
        raise PolicyError(
            f"party {party} has more rows than the job's weight_max",
            expected=f"at most {settings.weight_max} rows",
            got=f"{row_count} rows",
            cure="raise weight_max in the job (it is public: choose a bound that tells little)",
        )


def check_parties(parties: tuple[str, ...], aggregator: str, *, allow_two_parties: bool) -> None:
    """Refuse party lists that cannot protect anybody, or that are ambiguous."""
    for name in (*parties, aggregator):
        check_role_name(name)
    if len(parties) < 2:
        raise PolicyError(
            "too few parties to train together",
            expected="at least 3 parties (2 with allow_two_parties = true)",
            got=f"{len(parties)}",
            cure="a sum over one party is that party's update: name more parties",
        )
    repeated = sorted({name for name in parties if parties.count(name) > 1})
    if repeated:
        raise PolicyError(
            "a party is named twice", expected="distinct names", got=", ".join(repeated), cure="rename or remove one"
        )
    if aggregator in parties:
        raise PolicyError(
            "the aggregator is also a party",
            expected="an aggregator that holds no data and no private key",
            got=aggregator,
            cure="give the aggregator a name of its own",
        )
    if len(parties) == 2 and not allow_two_parties:
        raise PolicyError(
            "two parties learn each other's update from every sum",
            expected="at least 3 parties",
            got="2",
            cure="add a party, or say allow_two_parties = true if both accept that",
        )


def _check_key_bits(key_bits: int) -> None:
    if key_bits < MIN_KEY_BITS:
        raise PolicyError(
            "Paillier key too small",
            expected=f"at least {MIN_KEY_BITS} bits (3072 is the default)",
            got=f"{key_bits} bits",
            cure="raise protection.key_bits",
        )
    if key_bits > MAX_KEY_BITS or key_bits % 2:
        _refuse("protection.key_bits", f"an even number of bits up to {MAX_KEY_BITS}", key_bits)


def _check_codec(codec: CodecSettings) -> None:
    if not 1 <= codec.value_bits <= 32:
        _refuse("codec.value_bits", "1 to 32", codec.value_bits)
    _check_choice("codec.layout", codec.layout, ("balanced", "offset", "two_sign_bits"))
    _check_choice("codec.rounding", codec.rounding, ("nearest", "stochastic"))
    _check_choice("codec.clipping", codec.clipping, ("adaptive", "fixed", "daciq"))
    if codec.clipping == "fixed" and codec.alpha is None:
        _refuse("codec.alpha", "a bound above 0, since codec.clipping is 'fixed'", "nothing")
    if codec.alpha is not None and not MIN_ALPHA <= codec.alpha <= MAX_ALPHA:
        _refuse("codec.alpha", "a bound from 2^-40 to 2^40", codec.alpha)
    if not 0 < codec.target_clipped_fraction < 1:
        _refuse("codec.target_clipped_fraction", "a fraction between 0 and 1", codec.target_clipped_fraction)


def _check_opening(settings: HorizontalSettings) -> None:
    if settings.protection != "lattice":
        if settings.check_sum:
            _refuse("protection.check_sum", "nothing, since protection.kind is not 'lattice'", "true")
        if settings.authority is not None:
            _refuse("protection.authority", "nothing, since protection.kind is not 'lattice'", settings.authority)
        return
    _check_choice("protection.opening", settings.opening, OPENINGS)
    if settings.codec.layout != "balanced":
        _refuse("codec.layout", "'balanced', the layout of protection 'lattice'", repr(settings.codec.layout))
    choose_parameters(settings.codec.value_bits, len(settings.parties))
    if settings.opening != "authority":
        if settings.authority is not None:
            _refuse("protection.authority", f"nothing, since opening is {settings.opening!r}", settings.authority)
        return
    if settings.authority is None:
        _refuse("protection.authority", "the name of the role that opens sums", "nothing")
    else:
        check_role_name(settings.authority)
        if settings.authority in (*settings.parties, settings.aggregator):
            raise PolicyError(
                "the key authority has another role as well",
                expected="a role that neither trains nor adds",
                got=settings.authority,
                cure="give the authority a name of its own",
            )


def _check_training(training: TrainingSettings) -> None:
    _check_choice("training.algorithm", training.algorithm, ALGORITHMS)
    for name, least, most in _COUNTS:
        if not least <= getattr(training, name) <= most:
            shown = "rounds" if name == "round_count" else name
            _refuse(f"training.{shown}", f"a whole number from {least} to {most}", getattr(training, name))
    if not (math.isfinite(training.learning_rate) and training.learning_rate > 0):
        _refuse("training.learning_rate", "a finite number above 0", training.learning_rate)
    for name in ("min_improvement", "proximal_mu", "stop_at_loss"):
        if not (math.isfinite(getattr(training, name)) and getattr(training, name) >= 0):
            _refuse(f"training.{name}", "a finite number >= 0", getattr(training, name))
    if training.algorithm == "fedsgd" and training.local_epochs != 1:
        _refuse("training.local_epochs", "1, since fedsgd sends one gradient a round", training.local_epochs)
    if training.algorithm != "fedprox" and training.proximal_mu != DEFAULT_PROXIMAL_MU:
        raise InputError(
            "setting training.proximal_mu has no effect",
            expected="training.algorithm = 'fedprox'",
            got=repr(training.algorithm),
            cure="remove training.proximal_mu, or choose fedprox",
        )


def _check_error_feedback(settings: HorizontalSettings) -> None:
    """What random rounding took is not known to the party that would have to give it back."""
    if settings.training.error_feedback and settings.codec.rounding == "stochastic":
        raise InputError(
            "setting training.error_feedback has no effect on stochastic rounding, which is right on average already",
            expected="codec.rounding = 'nearest'",
            got="'stochastic'",
            cure="remove training.error_feedback, or choose codec.rounding = 'nearest'",
        )


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        close = difflib.get_close_matches(value, choices, n=1, cutoff=0.5)
        raise InputError(
            f"setting {name} refused",
            expected=" or ".join(repr(choice) for choice in choices),
            got=repr(value),
            cure=f"did you mean {close[0]!r}?" if close else f"change {name}",
        )


def _refuse(name: str, expected: str, got: object) -> None:
    raise InputError(f"setting {name} refused", expected=expected, got=str(got), cure=f"change {name}")
