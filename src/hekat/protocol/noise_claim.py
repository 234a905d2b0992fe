"""What every job with noise says of it: how much, at which delta, and against how many parties together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hekat.errors import InputError
from hekat.privacy.accounting import NEIGHBOURS, Neighbours, noise_for, usual_colluders
from hekat.privacy.accounting.largest_delta import delta_below
from hekat.protocol.setting_checks import check_choice, refuse_setting

_MOST = 2.0**40


class NoiseClaim(Protocol):
    """`noise` is the multiplier z, or follows from `epsilon` at `delta`; `colluders` is t_c, None for the default."""

    @property
    def delta(self) -> float: ...

    @property
    def noise(self) -> float | None: ...

    @property
    def epsilon(self) -> float | None: ...

    @property
    def colluders(self) -> int | None: ...

    @property
    def neighbours(self) -> Neighbours: ...


def check_noise_claim(claim: NoiseClaim, positive: Sequence[str] = ("noise", "epsilon")) -> None:
    """Raise InputError for settings that cannot be; `positive` names those that are numbers above 0, or None."""
    check_choice("privacy.neighbours", claim.neighbours, NEIGHBOURS)
    for name in positive:
        value = getattr(claim, name)
        if value is not None and not 1 / _MOST <= value <= _MOST:
            refuse_setting(f"privacy.{name}", "a number from 2^-40 to 2^40", value)
    if not 0 < claim.delta < 1:
        refuse_setting("privacy.delta", "a chance above 0, below 1: far less than one over the rows", claim.delta)
    if (claim.noise is None) == (claim.epsilon is None):
        got = "neither" if claim.noise is None else "both"
        refuse_setting("privacy.noise", "the multiplier, or privacy.epsilon, which it then follows from", got)


def colluders_of(claim: NoiseClaim, least_parties: int) -> int:
    """t_c: all but two of the fewest parties in a sum, unless the job says it."""
    return usual_colluders(least_parties) if claim.colluders is None else claim.colluders


def noise_of(claim: NoiseClaim, *, rounds: int, value_count: int, party_count: int, sampling: float = 1.0) -> float:
    """z: as the job says, or the least that keeps `rounds` sums to its epsilon. Raises InputError where none does."""
    if claim.noise is not None:
        return claim.noise
    assert claim.epsilon is not None  # `check_noise_claim`
    return noise_for(
        claim.epsilon,
        delta=claim.delta,
        rounds=rounds,
        sampling=sampling,
        neighbours=claim.neighbours,
        value_count=value_count,
        party_count=party_count,
    )


def check_delta(delta: float, count: int, units: str) -> None:
    """Raise InputError for a delta that lets one of `count` rows or parties show whole; `units` says which ones."""
    if expected := delta_below(delta, count, units):
        raise InputError(
            f"delta is too large for {units}", expected=expected, got=f"{delta:g}", cure="lower delta (privacy.delta)"
        )


def refuse_exact(name: str, expected: str, got: object) -> None:
    """Raise InputError for a setting by which something would be summed without noise, or twice, or for nothing."""
    raise InputError(
        f"setting {name} refused in a job with differential privacy",
        expected=expected,
        got=str(got),
        cure=f"change {name}, or remove [privacy]",
    )
