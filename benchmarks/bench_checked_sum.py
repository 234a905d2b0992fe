"""What `check_sum` adds to one sum of 1,663,370 values of 10 parties: seconds of a party and of the aggregator, bytes.

A party's part is the inner products of its own upload; its check takes the whole sum's, which it then rounds as the
aggregator would have; the rounded sum is held against the aggregator's, and the parts against the sum, before anything
is timed. Wall time on all cores, medians over turns; sealing, sending and signatures are in none of the figures.
"""

from __future__ import annotations

import argparse
import hashlib
from typing import Any

import numpy as np

from hekat.protocol.secure_sum.masked.opening.sum_check import (
    InnerProducts,
    products_agree,
    read_whole,
    row_count,
    whole_bits,
    write_whole,
)
from hekat.protocol.secure_sum.masked.slot_stream import BLOCK_SLOTS
from hekat.scheme.lattice import (
    Accumulator,
    Encryptor,
    LatticeParameters,
    block_values,
    choose_parameters,
    generate_secret,
    public_key,
)
from hekat.scheme.lattice.evaluate import read_contribution, write_rounded
from lattice.scale import SEED
from measuring.record import machine, median_s, print_rows, write_results

VALUE_COUNT, PARTY_COUNT, VALUE_BITS = 1_663_370, 10, 16
TURNS = 5
STATEMENT = hashlib.sha256(b"a statement").digest()
KEY = public_key(b"benchmark", 1, choose_parameters(VALUE_BITS, PARTY_COUNT))


class Sum:
    """Uploads of all parties in blocks, their sum, and both written as they travel."""

    def __init__(self, parameters: LatticeParameters, value_count: int, party_count: int) -> None:
        self.parameters, self.party_count = parameters, party_count
        block = block_values(parameters, BLOCK_SLOTS)
        self.counts = [min(block, value_count - start) for start in range(0, value_count, block)]
        rng = np.random.default_rng(SEED)
        self.levels = [
            rng.integers(-parameters.level, parameters.level + 1, count, dtype=np.int32) for count in self.counts
        ]
        self.accumulator, self.block = Accumulator(parameters, value_count), block
        self.parts: dict[str, Any] = {}
        for number in range(party_count):
            upload = self.mask()
            self.accumulator.add(upload)
            self.parts[str(number)] = self.part(upload)
        self.upload = upload
        self.bits = whole_bits(parameters.form, party_count)
        self.whole = self.write_whole()
        self.rounded = list(self.accumulator.write(block))

    def mask(self) -> list[bytes]:
        encryptor = Encryptor(self.parameters, generate_secret(self.parameters), KEY)
        last = len(self.levels) - 1
        return [encryptor.encrypt(levels, last=number == last) for number, levels in enumerate(self.levels)]

    def part(self, upload: list[bytes]) -> Any:
        products = self._products()
        for written, count in zip(upload, self.counts, strict=True):
            products.add(read_contribution(self.parameters, written, count))
        return products.values

    def write_whole(self) -> list[bytes]:
        return [write_whole(fields, self.bits) for fields in self.accumulator.blocks(self.block)]

    def check(self) -> list[bytes]:
        """The rounded sum from the whole one. Raises AssertionError where the parts do not add up to the sum."""
        products, rounded = self._products(), []
        for written, count in zip(self.whole, self.counts, strict=True):
            hashlib.sha256(written).digest()
            fields = read_whole(written, self.parameters.form.field_count(count), self.bits)
            products.add(fields)
            rounded.append(write_rounded(self.parameters, fields, count))
        assert products_agree(products.values, self.parts)
        return rounded

    def _products(self) -> InnerProducts:
        return InnerProducts(STATEMENT, row_count(self.parameters.form, self.party_count))


def measure(value_count: int, turns: int) -> dict[str, Any]:
    """One row, once the checked sum was found equal to the aggregator's."""
    parameters = choose_parameters(VALUE_BITS, PARTY_COUNT)
    made = Sum(parameters, value_count, PARTY_COUNT)
    assert made.check() == made.rounded
    return {
        "values": value_count,
        "parties": PARTY_COUNT,
        "set": parameters.name,
        "rows": row_count(parameters.form, PARTY_COUNT),
        "mask_s": round(median_s(made.mask, turns), 4),
        "part_s": round(median_s(lambda: made.part(made.upload), turns), 4),
        "check_s": round(median_s(made.check, turns), 4),
        "write_s": round(median_s(lambda: list(made.accumulator.write(made.block)), turns), 4),
        "write_whole_s": round(median_s(made.write_whole, turns), 4),
        "download_bytes": sum(map(len, made.rounded)),
        "whole_download_bytes": sum(map(len, made.whole)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--values", type=int, default=VALUE_COUNT)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    rows = [measure(options.values, options.turns)]
    print_rows(rows)
    print(machine())
    if not options.no_write:
        print(write_results("checked_sum", rows))


if __name__ == "__main__":
    main()
