"""The least noise that keeps a number of rounds to a wanted epsilon."""

from __future__ import annotations

import math

from hekat.errors import InputError
from hekat.privacy.accounting.mechanism import LEAST_STD
from hekat.privacy.accounting.releases import Neighbours, Release, epsilon_of

_LEAST, _MOST = 2.0**-5, 2.0**20


def noise_for(
    epsilon: float,
    *,
    delta: float,
    rounds: int,
    sampling: float = 1.0,
    neighbours: Neighbours = "zero-out",
    value_count: int = 1,
    party_count: int = 1,
) -> float:
    """The least multiplier z, up to four digits, by which `rounds` releases are proved to keep to `epsilon` at `delta`.

    Args:
        epsilon: The loss of all rounds, above 0.
        delta: Above 0, below 1.
        rounds: Releases, at least 1.
        sampling: The chance of a row to be in a round by a secret coin; 1 where all are.
        neighbours: As `epsilon_of`.
        value_count: Values of one release, for what cutting noise is charged.
        party_count: Parties of one release, for the same.

    Returns:
        z, rounded up.

    Raises:
        InputError: No noise keeps to it, since rounding and cutting alone use up delta; dp-accounting is not installed.

    Examples:
        >>> from hekat.privacy.accounting import noise_for
        >>> noise_for(6.9, delta=1e-5, rounds=30)
        3.958
    """

    def keeps(noise: float) -> bool:
        # The least std gives the largest error of a sum's shape.
        one = Release(noise, sampling, value_count, party_count, LEAST_STD)
        return epsilon_of({one: rounds}, delta, neighbours) <= epsilon

    if not keeps(_MOST):
        raise InputError(
            f"no noise keeps {rounds} rounds to epsilon {epsilon:g}",
            expected="an epsilon and a delta that leave room for what rounding may break",
            got=f"delta {delta:g}",
            cure="raise privacy.epsilon or privacy.delta, or train fewer rounds",
        )
    low, high = _LEAST, _MOST
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if keeps(middle) else (middle, high)
    unit = 10.0 ** (math.floor(math.log10(high)) - 3)
    # Division and multiplication may leave digits behind the fourth.
    return float(f"{math.ceil(high / unit) * unit:.4g}")
