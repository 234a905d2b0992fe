"""Lattice aggregation of a large model block by block, and of rounds from three parties to two hundred."""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hekat.engine.interface import Engine
from hekat.scheme.lattice import generate_secret, sum_secrets
from lattice.committee import CommitteeOpening
from lattice.round import ALPHA, FloatArray, Round
from measuring.processor import PeakMemory, Stages, clock_of, median_of, touch_memory

SEED = 20261122
GIGABIT_BYTES_PER_S = 125e6
# Powers of two: what an update is of the first one is exact in float32.
SHARES = (1.0, -0.5, 0.25)
WEIGHTS = (1000, 700, 400)
LARGE_PASSES = 3


def draw_update(count: int, seed: int = SEED) -> FloatArray:
    """float32 values spread like an update's, within ALPHA."""
    values = np.random.default_rng(seed).standard_normal(count, dtype=np.float32)
    values *= np.float32(0.2)
    return np.clip(values, -ALPHA, ALPHA, out=values)


def measure_large(value_count: int, value_bits: int, core_count: int, engine: Engine) -> dict[str, Any]:
    """A model of so many values, three parties: seconds of one party and of the aggregator, peaks of memory.

    Memory is how far resident memory rises in each role's part; a party's own update is there before and not in it.
    """
    clock = clock_of(core_count)
    values = draw_update(value_count)
    passes, rises = [], []
    for _ in range(LARGE_PASSES):
        seconds, rise = _aggregate_large(values, value_bits, clock, engine)
        passes.append(seconds)
        rises.append(rise)
    seconds = median_of(passes)
    round_ = Round(value_bits, len(SHARES), values, engine)
    upload_bytes = round_.parameters.form.written_bytes(round_.stream.slot_count)
    upload_s = upload_bytes / GIGABIT_BYTES_PER_S
    return {
        "values": value_count,
        "bits": value_bits,
        "set": round_.parameters.name,
        "parties": len(SHARES),
        "cores": core_count,
        **seconds,
        "upload_bytes": upload_bytes,
        "upload_at_1_gbit_s": upload_s,
        "time_over_upload": seconds["total_s"] / upload_s,
        "update_bytes": values.nbytes,
        **{name: max(rise[name] for rise in rises) for name in rises[0]},
    }


def _aggregate_large(
    values: FloatArray, value_bits: int, clock: Callable[[], float], engine: Engine
) -> tuple[dict[str, float], dict[str, int]]:
    """Seconds and rises of memory of one pass. `values` is scaled in place for each party, and put back."""
    round_ = Round(value_bits, len(SHARES), values, engine)
    secrets = [generate_secret(round_.parameters, engine) for _ in (0, *SHARES)]
    rises: dict[str, int] = {}

    peak = PeakMemory()
    for _ in round_.masked_blocks(values, WEIGHTS[0], secrets.pop(), Stages(clock)):
        pass  # sent and forgotten
    rises["party_sends_rise_bytes"] = peak.rise_bytes()

    sends, adds = [], Stages(clock)
    # The accumulator and one upload; below the mean: both about as large as the update, or smaller.
    touch_memory(2 * values.nbytes)
    peak = PeakMemory()
    accumulator = round_.accumulator()
    previous = 1.0
    for share, weight, secret in zip(SHARES, WEIGHTS, secrets, strict=True):
        values *= np.float32(share / previous)
        previous = share
        send = Stages(clock)
        upload = round_.upload(values, weight, secret, send)
        sends.append(send.total())
        round_.add(accumulator, upload, adds)
        del upload
    values *= np.float32(1 / previous)
    rises["aggregator_rise_bytes"] = peak.rise_bytes()

    reads, writes = Stages(clock), Stages(clock)
    touch_memory(values.nbytes)
    peak = PeakMemory()
    mean = round_.open(round_.write(accumulator, writes), sum_secrets(secrets), reads)
    rises["party_reads_rise_bytes"] = peak.rise_bytes()

    del accumulator
    _check_mean(mean, values, round_)
    encrypt_s, decrypt_s = statistics.median(sends), reads.total()
    aggregate_s = adds.total() + writes.total()
    seconds = {
        "encrypt_s": encrypt_s,
        "aggregate_s": aggregate_s,
        "decrypt_s": decrypt_s,
        "total_s": encrypt_s + aggregate_s + decrypt_s,
    }
    return seconds, rises


def _check_mean(mean: FloatArray, values: FloatArray, round_: Round) -> None:
    factor = sum(share * weight for share, weight in zip(SHARES, WEIGHTS, strict=True)) / sum(WEIGHTS)
    allowed = round_.allowed_error(len(SHARES), sum(WEIGHTS))
    block = 1 << 20
    for start in range(0, len(values), block):
        part = slice(start, start + block)
        error = np.abs(mean[part] - values[part].astype(np.float64) * factor).max()
        assert error <= allowed, "the decoded mean is beyond the stated bound"


def measure_round(
    party_count: int, value_count: int, value_bits: int, core_count: int, engine: Engine
) -> dict[str, Any]:
    """A round of so many parties, each with an update of its own weight: time by role, the aggregator's memory."""
    clock = clock_of(core_count)
    base = draw_update(value_count)
    halves = base * np.float32(-0.5)
    round_ = Round(value_bits, party_count, base, engine)
    weights = [500 + number for number in range(party_count)]
    secrets = [generate_secret(round_.parameters, engine) for _ in range(party_count)]
    adds, writes, reads, sends = Stages(clock), Stages(clock), Stages(clock), []
    accumulator = round_.accumulator()
    for number, (weight, secret) in enumerate(zip(weights, secrets, strict=True)):
        send = Stages(clock)
        upload = round_.upload(halves if number % 2 else base, weight, secret, send)
        sends.append(send.total())
        round_.add(accumulator, upload, adds)
    mean = round_.open(round_.write(accumulator, writes), sum_secrets(secrets), reads)
    factor = (sum(weights[::2]) - 0.5 * sum(weights[1::2])) / sum(weights)
    error = np.abs(mean - base.astype(np.float64) * factor).max()
    allowed = round_.allowed_error(party_count, sum(weights))
    assert error <= allowed, "the decoded mean is beyond the stated bound"
    return {
        "parties": party_count,
        "values": value_count,
        "bits": value_bits,
        "set": round_.parameters.name,
        "cores": core_count,
        "party_s": statistics.median(sends) + reads.total(),
        "encrypt_s": statistics.median(sends),
        "decrypt_s": reads.total(),
        "aggregator_s": adds.total() + writes.total(),
        "aggregator_s_per_party": (adds.total() + writes.total()) / party_count,
        "aggregator_peak_bytes": _aggregator_peak_bytes(round_, upload, party_count),
        "upload_bytes": round_.parameters.form.written_bytes(round_.stream.slot_count),
        "largest_error_over_bound": float(error) / allowed,
        **CommitteeOpening(round_.parameters, party_count, clock).measure(),
    }


def _aggregator_peak_bytes(round_: Round, upload: Sequence[bytes], party_count: int) -> int:
    """Most that so many uploads of this size take at the aggregator: what it allocates, and the one it is adding."""
    tracemalloc.start()
    accumulator = round_.accumulator()
    for _ in range(party_count):
        round_.add(accumulator, upload, Stages(time.perf_counter))
    for _ in round_.write(accumulator, Stages(time.perf_counter)):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak + sum(map(len, upload))
