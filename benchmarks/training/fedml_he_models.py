"""The models of FedML-HE's Table 3, and one aggregation of any size by `hekat.fedml_he`: plain, lattice or CKKS.

A measurement runs in a process of its own, on one core, so that its peak of memory is its own. Clients are played one
after the other, each timed alone. With CKKS a model goes through block by block, every client, the server and the
opening before the next block: memory does not grow with it. Every result is checked before its times are taken.
"""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
import numpy.typing as npt

from measuring.processor import Stages

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Model:
    """One row of the paper's Table 3: values, and the authors' seconds and bytes on their own machine, 3 clients."""

    name: str
    values: int
    paper_he_s: float
    paper_plain_s: float
    paper_ciphertext: str


# Source: FedML-HE, Table 3.
MODELS = (
    Model("Linear Model", 101, 0.216, 0.001, "266.00 KB"),
    Model("TimeSeries Transformer", 5_609, 2.792, 0.233, "532.00 KB"),
    Model("MLP (2 FC)", 79_510, 0.586, 0.010, "5.20 MB"),
    Model("LeNet", 88_648, 0.619, 0.011, "5.97 MB"),
    Model("RNN (2 LSTM + 1 FC)", 822_570, 1.195, 0.013, "52.47 MB"),
    Model("CNN (2 Conv + 2 FC)", 1_663_370, 2.456, 0.058, "103.15 MB"),
    Model("MobileNet", 3_315_428, 9.481, 1.031, "210.41 MB"),
    Model("ResNet-18", 12_556_426, 19.950, 1.100, "796.70 MB"),
    Model("ResNet-34", 21_797_672, 37.555, 2.925, "1.35 GB"),
    Model("ResNet-50", 25_557_032, 46.672, 5.379, "1.58 GB"),
    Model("GroupViT", 55_726_609, 86.098, 19.921, "3.45 GB"),
    Model("Vision Transformer", 86_389_248, 112.504, 17.739, "5.35 GB"),
    Model("BERT", 109_482_240, 136.914, 19.674, "6.78 GB"),
)
CNN = MODELS[5]

SEED = 20261122
# Powers of two: what a client's model is of the first one is exact in float32.
SHARES = (1.0, -0.5, 0.25)
ALPHA = 1.0
# Ciphertexts of a block: about 16 MB a client.
BLOCK_CIPHERTEXTS = 64
# More clients than these send what one of these sent, so that not all 200 have to encrypt with CKKS.
DISTINCT_CLIENTS = 10


@dataclass(frozen=True)
class Task:
    """One aggregation to measure. `value_bits` are the lattice's, `scale_bits` and `batch` CKKS'."""

    scheme: str
    values: int
    clients: int = 3
    turns: int = 1
    value_bits: int = 16
    scale_bits: int = 52
    batch: int = 4096


def measure(task: Task) -> dict[str, Any]:
    """One row, from a fresh process on one core. A lack of memory is said in the row, not raised."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_use_one_core) as pool:
        try:
            return pool.submit(_measure_here, task).result()
        except MemoryError:
            return _head(task) | {"missing": "not enough memory"}
        except BrokenProcessPool:
            return _head(task) | {"missing": "the system ended the process, most likely for its memory"}


def turns_for(values: int, most: int) -> int:
    """Turns whose work stays about as long as one turn of the largest model."""
    return max(1, min(most, 40_000_000 // values))


def _use_one_core() -> None:
    os.environ["HEKAT_THREADS"] = "1"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def _head(task: Task) -> dict[str, Any]:
    return {"scheme": task.scheme, "values": task.values, "clients": task.clients}


def _measure_here(task: Task) -> dict[str, Any]:
    run = {"plain": _run_plain, "lattice": _run_lattice, "ckks": _run_ckks}[task.scheme]
    base = draw_model(task.values)
    # What is made once, tables and threads, is made by a small one that is not counted.
    run(task, base[:5000])
    runs = [run(task, base) for _ in range(task.turns)]
    medians = {name: statistics.median(one[name] for one in runs) for name in runs[0] if name.endswith("_s")}
    row = _head(task) | {"turns": task.turns} | runs[0] | medians
    row["largest_error"] = max(one["largest_error"] for one in runs)
    row["client_s"] = row["encrypt_s"] + row["decrypt_s"]
    row["total_s"] = row["client_s"] + row["aggregate_s"]
    # The base model and what is compared with it are the measurement's own: the plain row shows how much that is.
    row["peak_rss_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return row


def draw_model(count: int) -> FloatArray:
    """float32 values spread like a model's, within ALPHA."""
    values = np.random.default_rng(SEED).standard_normal(count, dtype=np.float32)
    values *= np.float32(0.2)
    return np.clip(values, -ALPHA, ALPHA, out=values)


def _share(client: int) -> np.float32:
    return np.float32(SHARES[client % len(SHARES)])


def _mean_share(clients: int) -> float:
    return sum(float(_share(client)) for client in range(clients)) / clients


def _check(opened: npt.NDArray[Any], base: FloatArray, clients: int, allowed: float) -> float:
    """The largest error of an opened mean. Raises AssertionError beyond what is allowed."""
    factor, largest = _mean_share(clients), 0.0
    for start in range(0, base.size, 1 << 20):
        part = slice(start, start + (1 << 20))
        largest = max(largest, float(np.abs(opened[part] - base[part].astype(np.float64) * factor).max()))
    assert largest <= allowed, f"an error of {largest:.3g} where {allowed:.3g} is the bound"
    return largest


def _summary(encrypts: Sequence[Stages], aggregate: Stages, decrypt: Stages) -> dict[str, float]:
    return {
        "encrypt_s": statistics.median(stages.total() for stages in encrypts),
        "aggregate_s": aggregate.total(),
        "decrypt_s": decrypt.total(),
    }


def _run_plain(task: Task, base: FloatArray) -> dict[str, Any]:
    """NumPy's weighted mean, into memory that is there; models are bytes already."""
    clock = time.process_time
    weight, product, mean = np.float32(1 / task.clients), np.empty_like(base), np.zeros_like(base)
    aggregate = Stages(clock)
    for client in range(task.clients):
        sent = base * _share(client)
        with aggregate.measure("add"):
            np.multiply(sent, weight, out=product)
            np.add(mean, product, out=mean)
    allowed = (task.clients + 2) * 2.0**-23
    return _summary([Stages(clock)], aggregate, Stages(clock)) | {
        "upload_bytes": base.nbytes,
        "download_bytes": base.nbytes,
        "largest_error": _check(mean, base, task.clients, allowed),
    }


def _run_lattice(task: Task, base: FloatArray) -> dict[str, Any]:
    from hekat import fedml_he

    clock = time.process_time
    params = fedml_he.Params(client_count=task.clients, value_bits=task.value_bits, alpha=ALPHA)
    aggregate, decrypt, encrypts, uploads = Stages(clock), Stages(clock), [], []
    keys, opening_key = fedml_he.key_gen(params)
    for client, key in enumerate(keys):
        vector, stages = base * _share(client), Stages(clock)
        with stages.measure("encrypt"):
            uploads.append(fedml_he.enc(key, vector))
        encrypts.append(stages)
        del vector
    with aggregate.measure("add"):
        total = fedml_he.he_aggregate(uploads)
    upload_bytes = uploads[0].nbytes
    uploads.clear()
    with decrypt.measure("decrypt"):
        opened = fedml_he.dec(opening_key, total)
    allowed = fedml_he.mean_error_bound(params, task.clients, task.clients) + 2.0**-25
    return _summary(encrypts, aggregate, decrypt) | {
        "set": params.lattice_parameters.name,
        "upload_bytes": upload_bytes,
        "download_bytes": total.nbytes,
        "largest_error": _check(opened, base, task.clients, allowed),
    }


def _run_ckks(task: Task, base: FloatArray) -> dict[str, Any]:
    """FedML-HE's own setting: its parameters, weights at the server, results among the holders of the key."""
    from hekat import fedml_he
    from hekat.scheme.ckks import error_bound, make_parameters

    parameters = make_parameters(task.scale_bits, task.batch)
    params = fedml_he.Params("ckks", ckks_parameters=parameters, sharing="raw_reveals_key")
    key, opening_key = fedml_he.key_gen(params)
    clock = time.process_time
    distinct = min(task.clients, DISTINCT_CLIENTS - DISTINCT_CLIENTS % len(SHARES))
    encrypts = [Stages(clock) for _ in range(distinct)]
    aggregate, decrypt = Stages(clock), Stages(clock)
    sizes, largest = [0, 0], 0.0
    allowed = error_bound(parameters, 1, 1, task.clients)
    for block in _blocks(base, BLOCK_CIPHERTEXTS * task.batch):
        uploads = [_send(key, block * _share(client), encrypts[client]) for client in range(distinct)]
        sizes[0] += len(uploads[0])
        answer = _add(key, uploads, task.clients, aggregate)
        sizes[1] += len(answer)
        opened = _open(key, opening_key, answer, decrypt)
        largest = max(largest, _check(opened, block, task.clients, allowed))
    return _summary(encrypts, aggregate, decrypt) | {
        "set": parameters.name,
        "clients_encrypting": distinct,
        "upload_bytes": sizes[0],
        "download_bytes": sizes[1],
        "largest_error": largest,
        "error_bound": allowed,
        "encrypt_stages": encrypts[0].seconds,
        "aggregate_stages": aggregate.seconds,
        "decrypt_stages": decrypt.seconds,
    }


def _blocks(values: FloatArray, size: int) -> Iterator[FloatArray]:
    for start in range(0, values.size, size):
        yield values[start : start + size]


def _send(key: Any, vector: FloatArray, stages: Stages) -> bytes:
    from hekat import fedml_he
    from hekat.wire import to_bytes

    with stages.measure("encrypt"):
        encrypted = fedml_he.enc(key, vector)
    with stages.measure("serialise"):
        return to_bytes(encrypted)


def _add(key: Any, uploads: Sequence[bytes], clients: int, stages: Stages) -> bytes:
    """The server: reads each upload, adds it with its weight, and lets it go."""
    from hekat.scheme.ckks import Accumulator, Ciphertexts
    from hekat.wire import from_bytes, to_bytes

    total: Any = None
    for client in range(clients):
        with stages.measure("deserialise"):
            read = from_bytes(uploads[client % len(uploads)], Ciphertexts, public_key=key)
        with stages.measure("add"):
            total = total or Accumulator(key, read.value_count, weighted=True)
            total.add(read, 1 / clients)
    with stages.measure("add"):
        summed = total.finish()
    with stages.measure("serialise"):
        return to_bytes(summed)


def _open(key: Any, opening_key: Any, answer: bytes, stages: Stages) -> npt.NDArray[np.float64]:
    from hekat import fedml_he
    from hekat.scheme.ckks import Ciphertexts
    from hekat.wire import from_bytes

    with stages.measure("deserialise"):
        read = from_bytes(answer, Ciphertexts, public_key=key)
    with stages.measure("decrypt"):
        return fedml_he.dec(opening_key, read)
