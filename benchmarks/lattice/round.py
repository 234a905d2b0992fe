"""One aggregation as the protocol does it, without network: a party's upload, the sum of the uploads, the mean of it.

Made of the functions that the roles call, in blocks of the same size; sealing, the ledger and shares are apart. What a
party signs is made of the digests that its ledger takes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from hekat.codec import error_bound_sum
from hekat.engine.interface import Engine
from hekat.protocol.secure_sum.masked.slot_stream import BLOCK_SLOTS, SlotStream
from hekat.scheme.lattice import (
    Accumulator,
    Decryptor,
    Encryptor,
    LatticeParameters,
    SecretKey,
    SecretSum,
    block_values,
    choose_parameters,
)
from measuring.processor import Stages

FloatArray = npt.NDArray[np.float32]

ALPHA = 1.0
WEIGHT_MAX = 1000
NAME = "update"
PUBLIC_KEY = hashlib.sha256(b"hekat benchmark: public, of no real upload").digest()

PARTY_SENDS = ("quantise", "mask")
AGGREGATOR = ("add", "write sum")
PARTY_READS = ("unmask", "dequantise")


class Round:
    """One sum of `party_count` updates of one float32 vector, values within ALPHA."""

    def __init__(self, value_bits: int, party_count: int, like: FloatArray, engine: Engine) -> None:
        self.parameters: LatticeParameters = choose_parameters(value_bits, party_count)
        self._engine = engine
        self.stream = SlotStream(
            {NAME: like}, {NAME: ALPHA}, (), value_bits=value_bits, weight_max=WEIGHT_MAX, rounding="nearest"
        )
        self._block_slots = block_values(self.parameters, BLOCK_SLOTS)

    def upload(self, values: FloatArray, weight: int, secret: SecretKey, stages: Stages) -> list[bytes]:
        """One party's update, from floats to the bytes of its blocks."""
        return list(self.masked_blocks(values, weight, secret, stages))

    def masked_blocks(self, values: FloatArray, weight: int, secret: SecretKey, stages: Stages) -> Iterator[bytes]:
        """The blocks of one update as they leave, one after the other."""
        with stages.measure("mask"):
            encryptor = Encryptor(self.parameters, secret, PUBLIC_KEY, self._engine)
        blocks = self.stream.blocks({NAME: values}, weight, self._block_slots)
        left = self.stream.slot_count
        while left:
            with stages.measure("quantise"):
                block = next(blocks)
            left -= block.size
            with stages.measure("mask"):
                written = encryptor.encrypt(block, last=not left)
            yield written

    def accumulator(self) -> Accumulator:
        return Accumulator(self.parameters, self.stream.slot_count, self._engine)

    def add(self, accumulator: Accumulator, upload: Sequence[bytes], stages: Stages) -> None:
        """What the aggregator does with one upload once it is whole."""
        with stages.measure("add"):
            accumulator.add(upload)

    def write(self, accumulator: Accumulator, stages: Stages) -> Iterator[bytes]:
        """The sum's blocks."""
        blocks = accumulator.write(self._block_slots)
        while True:
            with stages.measure("write sum"):
                written = next(blocks, None)
            if written is None:
                return
            yield written

    def aggregate(self, uploads: Sequence[Sequence[bytes]], stages: Stages) -> list[bytes]:
        """The sum of all uploads, from bytes to bytes."""
        with stages.measure("add"):
            accumulator = self.accumulator()
        for upload in uploads:
            self.add(accumulator, upload, stages)
        return list(self.write(accumulator, stages))

    def open(self, blocks: Iterable[bytes], secret_sum: SecretSum, stages: Stages) -> FloatArray:
        """The weighted mean, float32, from the sum's bytes."""
        with stages.measure("unmask"):
            decryptor = Decryptor(self.parameters, secret_sum, PUBLIC_KEY, self._engine)
        with stages.measure("dequantise"):
            reader = self.stream.reader(secret_sum.addend_count)
        start = 0
        for written in blocks:
            count = min(self._block_slots, self.stream.slot_count - start)
            with stages.measure("unmask"):
                sums = decryptor.decrypt(written, count, start // self.parameters.form.values_per_chunk)
            with stages.measure("dequantise"):
                reader.read(sums)
            start += count
        with stages.measure("dequantise"):
            mean: FloatArray = reader.finish().mean[NAME]
        return mean

    def allowed_error(self, party_count: int, weight_sum: int) -> float:
        """The stated bound on a mean's error, and half a unit in the last place of a float32 below ALPHA."""
        bound = error_bound_sum(ALPHA, self.parameters.value_bits, party_count, scale=WEIGHT_MAX / weight_sum)
        return bound + float(np.spacing(np.float32(ALPHA))) / 4

    def sum_bytes(self) -> int:
        """Bytes of the written sum: one party's download."""
        return self.parameters.form.written_sum_bytes(self.stream.slot_count)
