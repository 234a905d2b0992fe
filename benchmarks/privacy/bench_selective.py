"""One sum of 25,557,032 values (ResNet-50), masked in part: bytes, and CPU seconds of a party and the aggregator.

The values are float32, masks are random. The mean is held against the one of a sum that is masked whole: they are equal
bit for bit. CPU seconds of all threads together, medians of some turns; dealing, sealing, sending and signatures are in
none of the figures. A party sends once and reads once a round; the aggregator adds each party's upload and writes the
sum once. Beside them the same mean of plain float32 in NumPy. Run it in benchmarks/: python -m privacy.bench_selective.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.privacy import Mask
from hekat.protocol.secure_sum.aggregation import Aggregate, SumRequest
from hekat.protocol.secure_sum.masked.blocks.clear_levels import ClearSum
from hekat.protocol.secure_sum.masked.blocks.receive_sum import SumBlocks
from hekat.protocol.secure_sum.masked.blocks.receive_upload import ReceivedUpload, RunningSum
from hekat.protocol.secure_sum.masked.blocks.send_upload import UploadBlocks
from hekat.protocol.secure_sum.masked.blocks.sum_streams import SumStreams, streams_of_request
from hekat.protocol.secure_sum.masked.leg import Leg
from hekat.protocol.secure_sum.masked.messages import ClearSumBlockMessage, SumBlockMessage
from hekat.protocol.secure_sum.masked.slot_stream import block_slots_of
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.lattice import (
    Accumulator,
    Decryptor,
    Encryptor,
    SecretKey,
    choose_parameters,
    generate_secret,
    public_key,
    sum_secrets,
)
from measuring.record import machine, print_rows, write_results

VALUE_COUNT, PARTY_COUNT, VALUE_BITS, WEIGHT_MAX = 25_557_032, 5, 16, 1000
TURNS = 5
FRACTIONS = (0.0, 0.1, 0.3, 0.5, 1.0)
PARTIES = ("a", "b", "c", "d", "e")
NAME, SEED = "weight", 7
PARAMETERS = choose_parameters(VALUE_BITS, PARTY_COUNT)
KEY = public_key(b"benchmark", 1, PARAMETERS)
SETTINGS = SumSettings(PARTIES, "hub", WEIGHT_MAX)
FloatArray = npt.NDArray[np.float32]


class Sum:
    """One sum of the same values at every party, under a mask or (None) masked whole."""

    def __init__(self, values: FloatArray, mask: Mask | None) -> None:
        self.request = SumRequest("round-1", {NAME: values}, {NAME: 4.0}, 700, mask=mask)
        self._block_slots = block_slots_of(PARAMETERS)

    def streams(self) -> SumStreams:
        return streams_of_request(SETTINGS, self.request, VALUE_BITS)

    def send(self, secret: SecretKey) -> tuple[list[bytes], list[bytes]]:
        """A party's masked blocks, and its blocks in the clear."""
        blocks = UploadBlocks(self.streams(), self.request, Stopwatch(), None)
        encryptor = Encryptor(PARAMETERS, secret, KEY)
        masked = [block.written for block in blocks.masked(encryptor, PARAMETERS)]
        return masked, [block.levels for block in blocks.clear()]

    def send_all(self, secrets: list[SecretKey]) -> list[tuple[list[bytes], list[bytes]]]:
        """What each party sends."""
        return [self.send(secret) for secret in secrets]

    def begin(self) -> RunningSum:
        """The aggregator's sum, of nothing yet."""
        streams = self.streams()
        slot_count, clear = streams.slot_count, ClearSum(streams.clear_count, streams.clear_form)
        return RunningSum(PARAMETERS, slot_count, Accumulator(PARAMETERS, slot_count), clear)

    def add(self, total: RunningSum, upload: tuple[list[bytes], list[bytes]]) -> None:
        """What the aggregator does with one upload, the check of levels included."""
        masked, clear = upload
        form = total.clear.form
        levels = [form.read_levels(block, len(block) // form.level_bytes) for block in clear]
        total.add(ReceivedUpload(masked, levels, []))

    def add_all(self, total: RunningSum, uploads: list[tuple[list[bytes], list[bytes]]]) -> None:
        for upload in uploads:
            self.add(total, upload)

    def write(self, total: RunningSum) -> list[Any]:
        """The sum's messages."""
        masked = [SumBlockMessage(written) for written in total.masked.write(self._block_slots)]
        return [*masked, *map(ClearSumBlockMessage, total.clear.write())]

    def read(self, messages: list[Any], decryptor: Decryptor) -> Aggregate:
        """What a party does with them."""
        left: Iterator[Any] = iter(messages)
        leg = Leg("round-1", 1, PARTIES)
        blocks = SumBlocks(lambda step, kind: (next(left), b""), leg, PARAMETERS, self.streams(), Stopwatch(), None)
        return blocks.read(decryptor, PARTY_COUNT)


class Stopwatches:
    """CPU seconds by step, a figure for each turn."""

    def __init__(self) -> None:
        self._turns: dict[str, list[float]] = {step: [] for step in ("send_s", "add_s", "write_s", "read_s")}

    def time(self, step: str, times: int, work: Callable[..., Any], *given: Any) -> Any:
        """What `work` returned; its time is that of `times` equal works."""
        start = time.process_time()
        result = work(*given)
        self._turns[step].append((time.process_time() - start) / times)
        return result

    def medians(self) -> dict[str, float]:
        return {step: round(statistics.median(turns), 3) for step, turns in self._turns.items()}


def measure(values: FloatArray, fraction: float, whole: FloatArray | None, turns: int) -> tuple[dict[str, Any], Any]:
    """One row and the mean, once that was found equal to the mean of a sum that is masked whole."""
    chosen = np.random.default_rng(SEED).random(values.size) < fraction
    made = Sum(values, None if fraction == 1 else Mask.from_arrays({NAME: chosen}))
    watches = Stopwatches()
    for _ in range(turns):
        secrets = [generate_secret(PARAMETERS) for _ in range(PARTY_COUNT)]
        decryptor = Decryptor(PARAMETERS, sum_secrets(secrets), KEY)
        uploads = watches.time("send_s", PARTY_COUNT, made.send_all, secrets)
        total = made.begin()
        watches.time("add_s", PARTY_COUNT, made.add_all, total, uploads)
        messages = watches.time("write_s", 1, made.write, total)
        mean = watches.time("read_s", 1, made.read, messages, decryptor).mean[NAME]
        assert whole is None or np.array_equal(mean, whole)
    upload_bytes = sum(len(block) for part in uploads[0] for block in part)
    download_bytes = sum(len(one.sums if isinstance(one, ClearSumBlockMessage) else one.written) for one in messages)
    row = {"masked": fraction, "values": values.size, "in_the_clear": made.streams().clear_count}
    return row | _sizes(upload_bytes, download_bytes, values) | watches.medians(), mean


def measure_plain(values: FloatArray, turns: int) -> dict[str, Any]:
    """The same mean without any protection: float32 as bytes, weighted and added in float32."""
    watches = Stopwatches()
    weight = np.float32(1 / PARTY_COUNT)
    for _ in range(turns):
        uploads = watches.time("send_s", PARTY_COUNT, lambda: [values.tobytes() for _ in range(PARTY_COUNT)])
        total = np.zeros_like(values)

        def add_all(total: FloatArray = total, uploads: list[bytes] = uploads) -> None:
            for upload in uploads:
                np.add(total, np.frombuffer(upload, np.float32) * weight, out=total)

        watches.time("add_s", PARTY_COUNT, add_all)
        download = watches.time("write_s", 1, total.tobytes)
        mean = watches.time("read_s", 1, lambda sent=download: np.frombuffer(sent, np.float32).copy())
        assert np.allclose(mean, values, rtol=1e-5)
    row = {"masked": None, "values": values.size, "in_the_clear": values.size}
    return row | _sizes(values.nbytes, len(download), values) | watches.medians()


def _sizes(upload_bytes: int, download_bytes: int, values: FloatArray) -> dict[str, Any]:
    return {
        "upload_mb": round(upload_bytes / 1e6, 1),
        "to_float32": round(upload_bytes / values.nbytes, 2),
        "download_mb": round(download_bytes / 1e6, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--values", type=int, default=VALUE_COUNT)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    values = np.random.default_rng(SEED).normal(size=options.values).astype(np.float32)
    row, whole = measure(values, 1.0, None, options.turns)
    rows = [measure(values, fraction, whole, options.turns)[0] for fraction in FRACTIONS if fraction < 1]
    rows += [row, measure_plain(values, options.turns)]
    print_rows(rows)
    print(machine())
    if not options.no_write:
        print(write_results("selective", rows))


if __name__ == "__main__":
    main()
