"""One aggregation by three parties beside TenSEAL and NumPy, in turns: time by stage, bytes, values a second."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from hekat.engine.interface import Engine
from hekat.scheme.lattice import generate_secret, sum_secrets
from lattice.operations import measure_operations
from lattice.peers import FloatArray, TenSeal, WeightedMean
from lattice.round import AGGREGATOR, PARTY_READS, PARTY_SENDS, Round
from lattice.scale import WEIGHTS
from measuring.processor import Stages, clock_of, median_of

BITS = (16, 24, 32)
PASSES = 5  # of ours in a turn, whose median is the turn's
PEER_ERROR = 1e-6
# Held against 16 bits; CKKS carries about 30, and the rows of 24 and 32 bits show what that costs here.
RATIO_TO_REACH = {16: 40}
RATE_TO_REACH = {16: 120e6}


def measure_aggregation(
    updates: list[FloatArray], core_count: int, engine: Engine, tenseal: Any, turns: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of one aggregation and of throughput, for each number of bits."""
    clock = clock_of(core_count)
    rounds = {bits: Round(bits, len(updates), updates[0], engine) for bits in BITS}
    peer = None if tenseal is None else _PeerRun(TenSeal(tenseal, core_count), updates)
    mean = WeightedMean(updates, WEIGHTS)
    ours: dict[int, list[dict[str, float]]] = {bits: [] for bits in BITS}
    theirs: list[dict[str, float]] = []
    numpy_s: list[float] = []
    facts: dict[int, dict[str, Any]] = {}
    for turn in range(turns + 1):
        for bits, round_ in rounds.items():
            facts[bits] = facts.get(bits) or _check(round_, updates, engine)
            ours[bits].append(median_of([_pass(round_, updates, engine, Stages(clock)) for _ in range(PASSES)]))
        numpy_s.append(_numpy_seconds(mean, Stages(clock)))
        if peer is not None:
            theirs.append(peer.run(Stages(clock), check=turn == 0))
    aggregation, throughput = [], []
    for bits, round_ in rounds.items():
        row = {"bits": bits, "set": round_.parameters.name, "cores": core_count, "parties": len(updates)}
        passes = ours[bits][1:]
        operations = measure_operations(round_.parameters, round_.stream.slot_count, clock, engine)
        aggregation.append(
            row
            | {"values": updates[0].size}
            | _aggregation_figures(passes, theirs[1:])
            | {"to_reach": RATIO_TO_REACH.get(bits)}
            | facts[bits]
            | (peer.bytes_beside(facts[bits]) if peer is not None else {})
            | {
                "stages_ms": {stage: round_4(1e3 * seconds) for stage, seconds in median_of(passes).items()},
                "mask_operations_ms": {name: round_4(1e3 * seconds) for name, seconds in operations.items()},
            }
        )
        rates = _throughput_figures(passes, numpy_s[1:], updates[0].size)
        throughput.append(row | rates | {"to_reach": RATE_TO_REACH.get(bits)})
    return aggregation, throughput


def _pass(round_: Round, updates: list[FloatArray], engine: Engine, stages: Stages) -> dict[str, float]:
    """Seconds by stage of one party's part and the aggregator's; the other parties' uploads are made apart."""
    secrets = [generate_secret(round_.parameters, engine) for _ in updates]
    apart = Stages(lambda: 0.0)
    uploads = [
        round_.upload(update, weight, secret, apart if number else stages)
        for number, (update, weight, secret) in enumerate(zip(updates, WEIGHTS, secrets, strict=True))
    ]
    round_.open(round_.aggregate(uploads, stages), sum_secrets(secrets), stages)
    return stages.seconds


def _check(round_: Round, updates: list[FloatArray], engine: Engine) -> dict[str, Any]:
    """Bytes of one aggregation whose result was held against the float mean."""
    secrets = [generate_secret(round_.parameters, engine) for _ in updates]
    apart = Stages(lambda: 0.0)
    uploads = [
        round_.upload(update, weight, secret, apart)
        for update, weight, secret in zip(updates, WEIGHTS, secrets, strict=True)
    ]
    mean = round_.open(round_.aggregate(uploads, apart), sum_secrets(secrets), apart)
    error = float(np.abs(mean - _float_mean(updates)).max())
    allowed = round_.allowed_error(len(updates), sum(WEIGHTS))
    if not error <= allowed:
        raise SystemExit(f"{round_.parameters.name}: the decoded mean is beyond the stated bound, nothing timed")
    return {
        "upload_bytes": sum(map(len, uploads[0])),
        "upload_over_float32": round_4(sum(map(len, uploads[0])) / updates[0].nbytes),
        "download_bytes": round_.sum_bytes(),
        "largest_error": round_4(error),
        "error_bound": round_4(allowed),
    }


def _float_mean(updates: list[FloatArray]) -> np.ndarray:
    return np.average(np.stack(updates).astype(np.float64), axis=0, weights=WEIGHTS)


class _PeerRun:
    """TenSEAL on the same updates, each scaled by its party before, outside the clock."""

    def __init__(self, peer: TenSeal, updates: list[FloatArray]) -> None:
        self._peer = peer
        self._mean = _float_mean(updates)
        shares = [weight / sum(WEIGHTS) for weight in WEIGHTS]
        scaled = [update * np.float32(share) for update, share in zip(updates, shares, strict=True)]
        self._plain = peer.take(scaled[0])
        apart = Stages(lambda: 0.0)
        self._others = [peer.upload(peer.take(values), apart) for values in scaled[1:]]
        self._upload_bytes = 0

    def run(self, stages: Stages, check: bool) -> dict[str, float]:
        """Seconds by stage."""
        upload = self._peer.upload(self._plain, stages)
        self._upload_bytes = len(upload)
        opened = self._peer.open(self._peer.aggregate([upload, *self._others], stages), stages)
        if check and np.abs(np.array(opened) - self._mean).max() > PEER_ERROR:
            raise SystemExit("TenSEAL does not decrypt the mean: nothing timed")
        return stages.seconds

    def bytes_beside(self, facts: dict[str, Any]) -> dict[str, Any]:
        return {
            "tenseal_upload_bytes": self._upload_bytes,
            "times_fewer_bytes": round_4(self._upload_bytes / facts["upload_bytes"]),
        }


def _aggregation_figures(passes: list[dict[str, float]], theirs: list[dict[str, float]]) -> dict[str, Any]:
    def median(stages: tuple[str, ...]) -> float:
        return round_4(statistics.median(sum(one[stage] for stage in stages) for one in passes))

    figures: dict[str, Any] = {
        "encrypt_s": median(PARTY_SENDS),
        "aggregate_s": median(AGGREGATOR),
        "decrypt_s": median(PARTY_READS),
        "total_s": median(PARTY_SENDS + AGGREGATOR + PARTY_READS),
    }
    if theirs:
        ratios = [sum(peer.values()) / sum(own.values()) for own, peer in zip(passes, theirs, strict=True)]
        figures |= {
            "tenseal_total_s": round_4(statistics.median(sum(peer.values()) for peer in theirs)),
            "times_tenseal": round_4(statistics.median(ratios)),
            "tenseal_stages_s": {stage: round_4(seconds) for stage, seconds in median_of(theirs).items()},
        }
    return figures


def _throughput_figures(passes: list[dict[str, float]], numpy_s: list[float], count: int) -> dict[str, Any]:
    """Values a second: from float32 to bytes and back, and of the int32 levels alone."""

    def rate(stages: tuple[str, ...]) -> float:
        return round_4(count / statistics.median(sum(one[stage] for stage in stages) for one in passes))

    return {
        "encrypt_per_s": rate(PARTY_SENDS),
        "decrypt_per_s": rate(PARTY_READS),
        "encrypt_levels_per_s": rate(("mask",)),
        "decrypt_levels_per_s": rate(("unmask",)),
        "numpy_mean_per_s": round_4(count / statistics.median(numpy_s)),
    }


def _numpy_seconds(mean: WeightedMean, stages: Stages) -> float:
    mean.run()
    for _ in range(PASSES):
        with stages.measure("mean"):
            mean.run()
    return stages.total() / PASSES


def round_4(value: float) -> float:
    """Four significant digits."""
    return float(f"{value:.4g}")
