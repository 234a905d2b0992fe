"""What secret coins for rows bring: a Renyi bound for Poisson subsampling of a sum with symmetric noise on a lattice.

P is the law of the sum without a row, Q with it, z = dQ/dP, and M = (1 - q) P + q Q what others see, given all else.

1. E_P[(dM/dP)^a] = sum over k of C(a, k) (1 - q)^(a-k) q^k E_P[z^k], and E_P[z^k] <= exp(k (k - 1) rho) by zCDP.
2. The other direction, E_M[(dP/dM)^a], is no larger. Noise N is symmetric, and the row moves the sum by a whole vector
   r: y -> 2 S + r - y exchanges P and Q, so that z pairs with 1/z. With u = 1 - q + q z and w = z / (q + (1 - q) z) the
   two terms of a pair differ by u^a - u^(1-a) - z (w^(a-1) - w^-a), that is 2 sqrt(u) sinh((a - 1/2) ln u) less
   2 z / sqrt(w) sinh((a - 1/2) ln w). For a = 1 that is nothing, and u >= w >= 1 for z >= 1, so that it grows with a.

So the bound of the sampled continuous Gaussian at whole orders holds for sums of discrete ones. Source: Mironov, Talwar
and Zhang 2019, section 3.3, for the sum; Zhu and Wang 2019 bound any mechanism, by up to six times as much here.
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
    """The sum of 1, in logarithms: terms pass what a float holds."""
    log_q, log_rest = math.log(q), math.log1p(-q)
    terms = [_log_choose(order, k) + k * log_q + (order - k) * log_rest + k * (k - 1) * rho for k in range(order + 1)]
    highest = max(terms)
    total = highest + math.log(math.fsum(math.exp(term - highest) for term in terms))
    # A sum of logarithms near 0 may round below it.
    return max(total, 0.0) / (order - 1)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
