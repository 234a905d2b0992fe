"""The primal attacks on LWE: the error as the unique shortest vector, or found by one larger sieve at the end."""

from __future__ import annotations

from math import lgamma, log, pi, sqrt

from reduction import SMALLEST_BLOCK, Attack, CostModel, Instance, add_bits, log_root_hermite

LARGEST_BLOCK = 3000


def unique_svp(instance: Instance, model: CostModel) -> Attack:
    """Reduction alone: the smallest block size for which the last block holds the error's projection as its shortest.

    Succeeds where sigma sqrt(beta) <= delta^(2 beta - d) volume^(1/d), one coordinate for the embedding included.
    Source: Alkim et al., USENIX Security 2016, section 6.3; Albrecht, Göpfert, Virdia, Wunderer, Asiacrypt 2017.
    """
    low, high = SMALLEST_BLOCK, LARGEST_BLOCK
    while low < high:
        beta = (low + high) // 2
        if _margin(instance, beta, _best_dimension(instance, beta)) >= 0:
            high = beta
        else:
            low = beta + 1
    d = _smallest_dimension(instance, low)
    return Attack("primal uSVP", model.reduction_bits(low, d), low, d)


def bounded_distance(instance: Instance, model: CostModel) -> Attack:
    """Reduction with a smaller block size, then one sieve that is large enough to hold the error's projection.

    Source: Liu, Nguyen, "Solving BDD by enumeration", CT-RSA 2013, with a sieve in the place of enumeration.
    """
    start = unique_svp(instance, model)
    best = start
    for beta in range(max(SMALLEST_BLOCK, start.block_size - 40), start.block_size + 1):
        widest = _best_dimension(instance, beta)
        for d in range(widest, max(widest - 400, instance.dimension + beta), -16):
            last = _last_sieve(instance, beta, d)
            bits = add_bits(model.reduction_bits(beta, d), model.reduction_bits(last, last))
            if bits < best.bits:
                best = Attack("primal BDD", bits, beta, d)
    return best


def _margin(instance: Instance, beta: int, d: int) -> float:
    """ln of how much longer the last block's shortest vector is than the error's projection into it."""
    error = log(instance.error_deviation)
    log_length = error + log(beta) / 2
    log_volume = error + instance.log_volume(d - 1)
    return log_root_hermite(beta) * (2 * beta - d - 1) + log_volume / d - log_length


def _best_dimension(instance: Instance, beta: int) -> int:
    """The dimension in which vectors get shortest, as far as the samples reach."""
    n = instance.dimension
    best = int(sqrt(n * (instance.log_modulus - instance.log_scale) / log_root_hermite(beta))) + 1
    return int(max(min(best, n + instance.samples), beta + 1))


def _smallest_dimension(instance: Instance, beta: int) -> int:
    low, high = max(instance.dimension, beta) + 1, _best_dimension(instance, beta)
    while low < high:
        d = (low + high) // 2
        if _margin(instance, beta, d) >= 0:
            high = d
        else:
            low = d + 1
    return high


def _last_sieve(instance: Instance, beta: int, d: int) -> int:
    """Dimension of the smallest last block, embedding counted, in which the error's projection is shortest."""
    log_delta, log_volume, error = log_root_hermite(beta), instance.log_volume(d), log(instance.error_deviation)

    def holds(block: int) -> bool:
        projected = block / d * log_volume - (d - block) * block * log_delta
        log_ball = (block + 1) / 2 * log(pi) - lgamma((block + 1) / 2 + 1)
        return (projected + error - log_ball) / (block + 1) >= error + log(block + 1) / 2

    low, high = SMALLEST_BLOCK, d
    while low < high:
        block = (low + high) // 2
        if holds(block):
            high = block
        else:
            low = block + 1
    return low + 1
