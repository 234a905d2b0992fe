"""What secret coins for rows bring: an RDP bound for Poisson subsampling of any mechanism, at whole orders.

The bound holds for the sum of discrete Gaussians, whose zCDP is all that is proved; tighter ones of the library are for
the continuous Gaussian.

Source: Zhu and Wang 2019, Poisson subsampled Renyi differential privacy, Theorem 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def subsampled_rdp(rho: float, sampling: float, orders: Sequence[float]) -> FloatArray:
    """RDP of one release where each row is in it by a coin of chance `sampling` that stays secret.

    Args:
        rho: The zCDP of the release of all chosen rows: RDP of order a is at most a rho.
        sampling: q, above 0, below 1.
        orders: Orders a above 1.

    Returns:
        A bound for each order; infinity where the order is not whole.

    Examples:
        >>> from hekat.privacy.accounting.poisson import subsampled_rdp
        >>> subsampled_rdp(0.125, 0.01, (2.0, 2.5)).round(6).tolist()
        [2.8e-05, inf]
    """
    return np.array([_at_order(rho, sampling, int(a)) if a == int(a) and a >= 2 else math.inf for a in orders])


def _at_order(rho: float, q: float, order: int) -> float:
    """Theorem 5 with epsilon(l) = l rho, in logarithms: terms pass what a float holds."""
    log_q, log_rest = math.log(q), math.log1p(-q)
    terms = [
        (order - 1) * log_rest + math.log(order * q - q + 1),
        _log_choose(order, 2) + 2 * log_q + (order - 2) * log_rest + 2 * rho,
    ]
    for taken in range(3, order + 1):
        exponent = (taken - 1) * taken * rho
        terms.append(math.log(3) + _log_choose(order, taken) + taken * log_q + (order - taken) * log_rest + exponent)
    highest = max(terms)
    total = highest + math.log(math.fsum(math.exp(term - highest) for term in terms))
    # Sampling never costs more than taking all rows; a sum of logarithms near 0 may round below it.
    return min(max(total, 0.0) / (order - 1), order * rho)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
