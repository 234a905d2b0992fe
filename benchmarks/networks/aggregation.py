"""One aggregation of FLASH's large networks by five parties: encrypted, the same in the clear, and NumPy's mean.

In the loop every role plays on this machine through `hekat.federate`, one after the other, messages sealed, and takes
means of states of the network's shapes; the first mean, which sends whole values and deals keys, is not counted. The
operations alone, without messages, are those of `hekat.fedml_he`: one party's encryption and decryption and the
server's sum, on one core in processor time, beside NumPy's mean of float32 models. A run has a process of its own, so
its peak of memory is its own. Parties' states are windows on one array, each begins a value later: all differ, and
memory holds one. Results are checked against the mean in float64 before their times count.
"""

from __future__ import annotations

import math
import resource
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
import numpy.typing as npt

import hekat
from hekat.codec import error_bound_sum
from networks.flash_models import DENSENET169, RESNET50, VGG16, FlashNetwork, Shapes, value_count
from training.fedml_he_models import Task, draw_model
from training.fedml_he_models import measure as measure_operations
from trees.columns import Say, judge

FloatArray = npt.NDArray[np.float32]

PARTIES = tuple(f"party-{number}" for number in range(1, 6))
VALUE_BITS = 16
# Differences of values within 1 from a mean within 1.
ALPHA = 2.0
CALLS, TURNS = 2, 3
MOST_TIMES = 2.0
KNOWN = "FLASH, Fig. 10: training sped up 4.1 to 5.4 times over its CPU by an FPGA"
GIB_OF_KIB = 2**20
BLOCK = 1 << 20


@dataclass(frozen=True)
class Work:
    """One network to measure: means that are counted, and turns of all that stands side by side."""

    network: FlashNetwork
    calls: int = CALLS
    turns: int = TURNS


NETWORKS = (Work(DENSENET169), Work(RESNET50), Work(VGG16, calls=1))


def measure_aggregation(work: Work, say: Say) -> dict[str, Any]:
    """A row of results: medians over turns, ratios within a turn."""
    shapes = work.network.shapes()
    values = value_count(shapes)
    encrypted, clear, operations, plain = [], [], [], []
    for turn in range(work.turns):
        encrypted.append(_in_own_process(shapes, "lattice", work.calls))
        clear.append(_in_own_process(shapes, "none", work.calls))
        operations.append(measure_operations(Task("lattice", values, clients=len(PARTIES))))
        plain.append(measure_operations(Task("plain", values, clients=len(PARTIES))))
        say(
            f"{work.network.name}: turn {turn + 1} of {work.turns}, {encrypted[-1]['seconds']:.2f} s, in the clear "
            f"{clear[-1]['seconds']:.2f} s; operations {operations[-1]['total_s']:.2f} s, NumPy's mean "
            f"{plain[-1]['total_s']:.2f} s"
        )
    seconds = sorted(run["seconds"] for run in encrypted)
    row = {
        "part": "aggregation",
        "what": f"{work.network.name}, {len(PARTIES)} parties",
        "model": work.network.name,
        "parameters": work.network.parameters,
        "values": values,
        "tensors": len(shapes),
        "parties": len(PARTIES),
        "value_bits": VALUE_BITS,
        "calls": work.calls,
        "turns": work.turns,
        "seconds": statistics.median(seconds),
        "least_s": seconds[0],
        "most_s": seconds[-1],
        **{name: _median(encrypted, name) for name in ("cpu_s", "party_s", "aggregator_s", "peak_gib")},
        **{f"clear_{name}": _median(clear, name) for name in ("seconds", "cpu_s", "party_s", "aggregator_s")},
        "clear_peak_gib": _median(clear, "peak_gib"),
        "times_clear": _ratio(encrypted, clear, "seconds"),
        "times_clear_cpu": _ratio(encrypted, clear, "cpu_s"),
        **{name: encrypted[0][name] for name in ("up_bytes", "down_bytes")},
        **{f"clear_{name}": clear[0][name] for name in ("up_bytes", "down_bytes")},
        "float32_bytes": 4 * values,
        "largest_error": max(run["largest_error"] for run in encrypted),
        "error_bound": error_bound(),
        "operations_s": _median(operations, "total_s"),
        **{name: _median(operations, name) for name in ("encrypt_s", "aggregate_s", "decrypt_s")},
        "numpy_s": _median(plain, "total_s"),
        "times_numpy": _ratio(operations, plain, "total_s"),
        "steps_s": encrypted[0]["steps_s"],
        "clear_steps_s": clear[0]["steps_s"],
    }
    return judge(row, {"times_clear": MOST_TIMES, "times_numpy": MOST_TIMES}, {"times_clear": KNOWN})


def run_loop(shapes: Shapes, protection: str, calls: int) -> dict[str, Any]:
    """Seconds and bytes of a mean of all parties: `calls` are counted, after one that is not."""
    count = value_count(shapes)
    base = draw_model(count + len(PARTIES))
    ended: dict[int, list[tuple[float, float]]] = {}
    errors: list[float] = []

    def play(party: hekat.Party) -> None:
        first = PARTIES.index(party.name)
        state = _window(shapes, base[first : first + count])
        for call in range(calls + 1):
            mean = party.aggregate(state, weight=1)
            ended.setdefault(call, []).append((time.perf_counter(), time.process_time()))
        errors.append(_check(mean, base))

    run = hekat.federate(
        play, PARTIES, weight_max=1, protection=protection, value_bits=VALUE_BITS, clipping="fixed", alpha=ALPHA,
        progress=False,
    )  # fmt: skip
    begun, last = max(ended[0]), max(ended[calls])
    steps = {role: {step: s for step, s in of.items() if step != "train"} for role, of in run.costs.seconds.items()}
    cost = run.costs.rounds[-1]
    return {
        "seconds": (last[0] - begun[0]) / calls,
        "cpu_s": (last[1] - begun[1]) / calls,
        "party_s": statistics.median(sum(steps[name].values()) for name in PARTIES) / (calls + 1),
        "aggregator_s": sum(steps["aggregator"].values()) / (calls + 1),
        "steps_s": {step: s / (calls + 1) for step, s in run.costs.seconds_by_step.items() if step != "train"},
        "up_bytes": max(cost.bytes[name].up for name in PARTIES),
        "down_bytes": max(cost.bytes[name].down for name in PARTIES),
        "largest_error": max(errors),
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / GIB_OF_KIB,
    }


def error_bound() -> float:
    """How far a mean may be from the mean in float64: what rounding to levels costs, and float32's own rounding."""
    parties = len(PARTIES)
    return error_bound_sum(ALPHA, VALUE_BITS, parties, scale=1 / parties) + 3 * ALPHA * 2.0**-24


def _in_own_process(shapes: Shapes, protection: str, calls: int) -> dict[str, Any]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(run_loop, shapes, protection, calls).result()


def _window(shapes: Shapes, flat: FloatArray) -> dict[str, FloatArray]:
    """A state whose tensors are views of `flat`, one after the other; variances are none below zero, and copies."""
    state, start = {}, 0
    for name, shape in shapes.items():
        stop = start + math.prod(shape)
        state[name] = _as_in_state(name, flat[start:stop]).reshape(shape)
        start = stop
    return state


def _as_in_state(name: str, values: FloatArray) -> FloatArray:
    return np.abs(values) if name.endswith("running_var") else values


def _check(mean: dict[str, FloatArray], base: FloatArray) -> float:
    """The largest error of a mean of all parties. Raises AssertionError beyond the bound."""
    largest, start, allowed = 0.0, 0, error_bound()
    for name, tensor in mean.items():
        values = np.asarray(tensor).reshape(-1)
        for begin in range(0, values.size, BLOCK):
            part = values[begin : begin + BLOCK]
            exact = np.zeros(part.size)
            for party in range(len(PARTIES)):
                place = start + begin + party
                exact += _as_in_state(name, base[place : place + part.size])
            largest = max(largest, float(np.abs(part - exact / len(PARTIES)).max()))
        start += values.size
    assert start == base.size - len(PARTIES), f"{start} values came back of {base.size - len(PARTIES)}"
    assert largest <= allowed, f"an error of {largest:.3g} where {allowed:.3g} is the bound"
    return largest


def _median(runs: list[dict[str, Any]], name: str) -> float:
    return statistics.median(run[name] for run in runs)


def _ratio(runs: list[dict[str, Any]], others: list[dict[str, Any]], name: str) -> float:
    return statistics.median(one[name] / other[name] for one, other in zip(runs, others, strict=True))
