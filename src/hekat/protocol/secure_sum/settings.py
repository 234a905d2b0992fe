"""The settings on which all roles agree before the first sum: parties, protection, encoding of floats."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hekat.errors import PolicyError
from hekat.protocol.role_names import check_role_name
from hekat.protocol.secure_sum.index_sets.settings import KeepSettings, check_keep
from hekat.protocol.secure_sum.participation_settings import check_participation, sample_size_of
from hekat.protocol.setting_checks import check_choice, refuse_setting
from hekat.scheme.lattice import choose_parameters
from hekat.scheme.paillier.keys.parameters import MAX_KEY_BITS, MIN_KEY_BITS

Protection = Literal["lattice", "paillier", "none"]
Opening = Literal["committee", "authority", "shared"]
Clipping = Literal["adaptive", "fixed", "daciq"]

PROTECTIONS = ("lattice", "paillier", "none")
OPENINGS = ("committee", "authority", "shared")
# Making a key takes a second or some; a release that looked for safe primes took up to a minute on a slow machine.
KEY_TIMEOUT_S = 900.0
# The bounds between which adaptive clipping moves.
MIN_ALPHA, MAX_ALPHA = 2.0**-40, 2.0**40


@dataclass(frozen=True)
class CodecSettings:
    """How floats become slots.

    `alpha` is the first bound (adaptive) or the bound (fixed) of the quantised value, update * weight / weight_max; the
    weight is the party's rows behind the update. Updates of parties with few rows are therefore clipped last.
    `max_norm` is the greatest L2 norm of an update, all its tensors together: a party scales a longer one down to it,
    and no party uses a mean that is longer (`update_norm.py`); 0: no bound.
    """

    value_bits: int = 16
    layout: str = "balanced"
    rounding: Literal["nearest", "stochastic"] = "nearest"
    clipping: Clipping = "adaptive"
    alpha: float | None = None
    target_clipped_fraction: float = 0.001
    max_norm: float = 0.0


@dataclass(frozen=True)
class SumSettings:
    """Everything public about the sums of one run. `weight_max` bounds every party's weight (w_max in formulas).

    `check_sum`: under protection `lattice`, parties check a sum against the uploads that it is stated to hold.
    `opening` names the roles that open sums under protection `lattice`; `authority` is the key authority's name.
    `key_bits` is the size of the key for protection `paillier`.
    In each round ceil(`participation` * parties) of the parties upload. A sum of fewer than `min_parties` updates is
    not opened; 0 leaves that to the protection. `keep`: which part of an update a party sends.
    """

    parties: tuple[str, ...]
    aggregator: str
    weight_max: int
    protection: Protection = "lattice"
    opening: Opening = "committee"
    authority: str | None = None
    key_bits: int = 3072
    codec: CodecSettings = field(default_factory=CodecSettings)
    allow_two_parties: bool = False
    check_sum: bool = False
    participation: float = 1.0
    min_parties: int = 0
    keep: KeepSettings = field(default_factory=KeepSettings)

    def __post_init__(self) -> None:
        check_parties(self.parties, self.aggregator, allow_two_parties=self.allow_two_parties)
        if not 1 <= self.weight_max < 2**40:
            refuse_setting("weight_max", "a row count from 1 to 2^40 - 1", self.weight_max)
        check_choice("protection.kind", self.protection, PROTECTIONS)
        if self.protection == "paillier":
            _check_key_bits(self.key_bits)
        _check_codec(self.codec)
        _check_opening(self)
        check_participation(self.participation, self.min_parties, len(self.parties))
        check_keep(self.keep, share_name="keep", by_name="keep_by")
        if self.keep.is_on:
            _check_owed(self.codec)

    @property
    def leader(self) -> str:
        """The party that makes the key pair: the first one named."""
        return self.parties[0]

    @property
    def everyone(self) -> tuple[str, ...]:
        """Every role: the parties, the aggregator, and the key authority where there is one."""
        return (*self.parties, self.aggregator, *((self.authority,) if self.authority is not None else ()))

    @property
    def sample_size(self) -> int:
        """|S|: how many parties upload in a round."""
        return sample_size_of(self.participation, len(self.parties))

    @property
    def bears_dropouts(self) -> bool:
        """Whether sums go on when a party drops out."""
        return self.protection == "lattice"


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
        refuse_setting("protection.key_bits", f"an even number of bits up to {MAX_KEY_BITS}", key_bits)


def _check_codec(codec: CodecSettings) -> None:
    if not 1 <= codec.value_bits <= 32:
        refuse_setting("codec.value_bits", "1 to 32", codec.value_bits)
    check_choice("codec.layout", codec.layout, ("balanced", "offset", "two_sign_bits"))
    check_choice("codec.rounding", codec.rounding, ("nearest", "stochastic"))
    check_choice("codec.clipping", codec.clipping, ("adaptive", "fixed", "daciq"))
    if codec.clipping == "fixed" and codec.alpha is None:
        refuse_setting("codec.alpha", "a bound above 0, since codec.clipping is 'fixed'", "nothing")
    if codec.alpha is not None and not MIN_ALPHA <= codec.alpha <= MAX_ALPHA:
        refuse_setting("codec.alpha", "a bound from 2^-40 to 2^40", codec.alpha)
    if codec.max_norm and not MIN_ALPHA <= codec.max_norm <= MAX_ALPHA:
        refuse_setting("codec.max_norm", "a bound from 2^-40 to 2^40, or 0 for none", codec.max_norm)
    if not 0 < codec.target_clipped_fraction < 1:
        refuse_setting("codec.target_clipped_fraction", "a fraction between 0 and 1", codec.target_clipped_fraction)


def _check_owed(codec: CodecSettings) -> None:
    """Refuse codecs under which a party that sends a part of its update cannot say what it owes, or is cut badly."""
    reason = "since keep leaves values at home"
    if codec.rounding == "stochastic":
        refuse_setting("codec.rounding", f"'nearest', {reason} that a party knows exactly", "'stochastic'")
    if codec.clipping == "daciq":
        expected = f"'adaptive' or 'fixed', {reason}: the largest ones are not spread as dACIQ takes them to be"
        refuse_setting("codec.clipping", expected, "'daciq'")


def _check_opening(settings: SumSettings) -> None:
    if settings.protection != "lattice":
        if settings.check_sum:
            refuse_setting("protection.check_sum", "nothing, since protection.kind is not 'lattice'", "true")
        if settings.authority is not None:
            refuse_setting(
                "protection.authority", "nothing, since protection.kind is not 'lattice'", settings.authority
            )
        return
    check_choice("protection.opening", settings.opening, OPENINGS)
    if settings.codec.layout != "balanced":
        refuse_setting("codec.layout", "'balanced', the layout of protection 'lattice'", repr(settings.codec.layout))
    choose_parameters(settings.codec.value_bits, len(settings.parties))
    if settings.opening != "authority":
        if settings.authority is not None:
            refuse_setting(
                "protection.authority", f"nothing, since opening is {settings.opening!r}", settings.authority
            )
        return
    if settings.authority is None:
        refuse_setting("protection.authority", "the name of the role that opens sums", "nothing")
    else:
        check_role_name(settings.authority)
        if settings.authority in (*settings.parties, settings.aggregator):
            raise PolicyError(
                "the key authority has another role as well",
                expected="a role that neither trains nor adds",
                got=settings.authority,
                cure="give the authority a name of its own",
            )
