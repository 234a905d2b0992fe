"""Memory for large updates that are masked in part: blocks at a time, no second copy of an update."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from hekat.privacy import Mask
from hekat.protocol.secure_sum.aggregation import SumRequest
from hekat.protocol.secure_sum.masked.blocks.clear_levels import ClearSum
from hekat.protocol.secure_sum.masked.blocks.receive_sum import SumBlocks
from hekat.protocol.secure_sum.masked.blocks.receive_upload import ReceivedUpload, RunningSum
from hekat.protocol.secure_sum.masked.blocks.send_upload import UploadBlocks
from hekat.protocol.secure_sum.masked.blocks.sum_streams import streams_of_request
from hekat.protocol.secure_sum.masked.leg import Leg
from hekat.protocol.secure_sum.masked.messages import ClearSumBlockMessage, SumBlockMessage
from hekat.protocol.secure_sum.masked.slot_stream import block_slots_of
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.lattice import (
    Accumulator,
    Decryptor,
    Encryptor,
    choose_parameters,
    generate_secret,
    public_key,
    sum_secrets,
)

from .conftest import make_settings

VALUE_COUNT = 6_000_000
# A block's levels, bytes, numbers of eight bytes and their bits, and what the engine keeps between calls.
CONSTANT_BYTES = 12 << 20


def peak_of(work) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.long
def test_a_party_sends_block_by_block_and_reads_into_one_mean() -> None:
    settings, parameters = make_settings(5), choose_parameters(16, 5)
    rng = np.random.default_rng(4)
    values = rng.uniform(-4, 4, VALUE_COUNT).astype(np.float32)
    mask = Mask.from_arrays({"w": rng.random(VALUE_COUNT) < 0.5})
    request = SumRequest("round-1", {"w": values}, {"w": 4.0}, 64, mask=mask)
    streams = streams_of_request(settings, request, 16)
    key = public_key(b"memory", 1, parameters)
    secret = generate_secret(parameters)
    open_with = Decryptor(parameters, sum_secrets([secret]), key)
    blocks = UploadBlocks(streams, request, Stopwatch(), None)
    total = RunningSum(
        parameters,
        streams.slot_count,
        Accumulator(parameters, streams.slot_count),
        ClearSum(streams.clear_count, streams.clear_form),
    )
    kept = ReceivedUpload([], [], [])

    def send(masked_with, keep: bool) -> None:
        encryptor = Encryptor(parameters, masked_with, key)
        for masked in blocks.masked(encryptor, parameters):
            if keep:
                kept.masked.append(masked.written)
        for clear in blocks.clear():
            if keep:
                kept.clear.append(np.frombuffer(clear.levels, "<i2"))

    send(secret, keep=True)
    assert peak_of(lambda: send(generate_secret(parameters), keep=False)) < CONSTANT_BYTES
    total.add(kept)
    messages = [SumBlockMessage(one) for one in total.masked.write(block_slots_of(parameters))]
    messages += [ClearSumBlockMessage(one) for one in total.clear.write()]
    left = iter(messages)
    found = []

    def read() -> None:
        own = streams_of_request(settings, request, 16)
        sums = SumBlocks(
            lambda step, kind: (next(left), b""), Leg("round-1", 1, ()), parameters, own, Stopwatch(), None
        )
        found.append(sums.read(open_with, 1).mean["w"])

    assert peak_of(read) < values.nbytes + CONSTANT_BYTES
    assert np.abs(found[0] - values).max() <= 0.6 * 4.0 / 32767
