"""Sums of contributions, without any key: one accumulator adds up the fields of written chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hekat.engine.ring.interface import ByteArray, RingArray, RingEngine
from hekat.engine.select import get_engine
from hekat.errors import BoundError, InputError
from hekat.scheme.lattice.parameters import LatticeParameters

Written = bytes | bytearray | memoryview


class Accumulator:
    """The sum of contributions, without any key: one uint64 a field, however many are added.

    Args:
        parameters: The set of the upload.
        value_count: Values of each contribution.
        engine: The engine that adds; the selected engine if None.

    Examples:
        >>> import hekat
        >>> import numpy as np
        >>> parameters = hekat.lattice.choose_parameters(16, 10)
        >>> key = hekat.lattice.public_key(b"session 1", 1, parameters)
        >>> accumulator = hekat.lattice.Accumulator(parameters, 2)
        >>> for _ in range(3):
        ...     secret = hekat.lattice.generate_secret(parameters)
        ...     accumulator.add(hekat.lattice.encrypt(parameters, secret, key, np.array([1, 2], np.int32)))
        >>> accumulator.addend_count
        3
    """

    __slots__ = ("_addend_count", "_engine", "_fields", "_parameters", "_value_count")

    def __init__(self, parameters: LatticeParameters, value_count: int, engine: RingEngine | None = None) -> None:
        if value_count < 0:
            raise InputError("number of values refused", expected="0 or more", got=str(value_count))
        self._parameters, self._value_count = parameters, value_count
        self._engine: RingEngine = engine or get_engine()
        self._fields: RingArray = np.zeros(parameters.form.field_count(value_count), np.uint64)
        self._addend_count = 0

    @property
    def addend_count(self) -> int:
        """Contributions added so far."""
        return self._addend_count

    def add(self, written: Written | Sequence[Written]) -> None:
        """Add one whole contribution; after an error the sum is as it was.

        Args:
            written: The contribution's bytes, or its blocks in order, each of whole chunks but the last.

        Raises:
            InputError: Sizes differ, padding bits are not zero, or a block is cut within a chunk.
            BoundError: More than the set's `max_parties` contributions.
        """
        parameters = self._parameters
        if self._addend_count == parameters.max_parties:
            raise BoundError(
                "the sum is full",
                expected=f"at most {parameters.max_parties} contributions, by the parameter set",
                got="one more",
                cure="choose a set for more parties",
            )
        blocks = [written] if isinstance(written, Written) else list(written)
        arrays = [np.frombuffer(block, np.uint8) for block in blocks]
        value_counts = self._value_counts([array.size for array in arrays])
        # The last block goes first: it alone has padding, and the engine refuses padding that is not zero.
        start = self._value_count
        for array, value_count in zip(reversed(arrays), reversed(value_counts), strict=True):
            start -= value_count
            self._add_block(array, start, value_count)
        self._addend_count += 1

    def write(self, block_values: int | None = None) -> Iterator[bytes]:
        """The sum as written bytes, as `MaskFormat` lays them out.

        Args:
            block_values: Values to a block, whole chunks; all in one block if None.

        Returns:
            An iterator over the blocks.

        Raises:
            InputError: A block ends within a chunk, or nothing was added.
        """
        per_chunk = self._parameters.form.values_per_chunk
        if block_values is None:
            block_values = self._parameters.form.chunk_count(self._value_count) * per_chunk
        if block_values <= 0 or block_values % per_chunk:
            raise InputError("block size refused", expected=f"a multiple of {per_chunk} values", got=str(block_values))
        if not self._addend_count:
            raise InputError("there is no sum to write", expected="at least one contribution", got="none")
        return self._blocks(block_values)

    def blocks(self, block_values: int) -> Iterator[RingArray]:
        """The fields of the sum with no bits dropped.

        Args:
            block_values: Values to a block, whole chunks.

        Returns:
            An iterator over uint64 views, which are not to be changed.

        Raises:
            InputError: A block ends within a chunk, or nothing was added.
        """
        for start in range(0, max(self._value_count, 1), block_values):
            yield self._part(start, min(block_values, self._value_count - start))

    def _blocks(self, block_values: int) -> Iterator[bytes]:
        # A contribution without values still has one chunk, for the count.
        for start in range(0, max(self._value_count, 1), block_values):
            count = min(block_values, self._value_count - start)
            yield self._engine.write_sum(self._parameters.form, self._part(start, count), count).tobytes()

    def _add_block(self, written: ByteArray, start: int, value_count: int) -> None:
        self._engine.add_masked(self._parameters.form, self._part(start, value_count), written, value_count)

    def _part(self, start: int, value_count: int) -> RingArray:
        """The fields of `value_count` values from value `start` on, which begins a chunk."""
        form = self._parameters.form
        first = start // form.values_per_chunk * form.ring.degree * len(form.ring.primes)
        return self._fields[first : first + form.field_count(value_count)]

    def _value_counts(self, sizes: Sequence[int]) -> list[int]:
        """Values in each of the blocks of so many bytes. Raises InputError where they make no whole contribution."""
        form = self._parameters.form
        chunk_bytes = form.written_bytes(form.values_per_chunk)
        expected_bytes = form.written_bytes(self._value_count)
        cut = any(size == 0 or size % chunk_bytes for size in sizes[:-1])
        if not sizes or sum(sizes) != expected_bytes or cut or sizes[-1] == 0:
            raise InputError(
                "a contribution has the wrong size",
                expected=f"{expected_bytes} bytes, blocks of a multiple of {chunk_bytes} before the last",
                got=f"{sum(sizes)} bytes in {len(sizes)} blocks",
                cure="its sender uses another set or number of values, or a block is missing",
            )
        counts = [size // chunk_bytes * form.values_per_chunk for size in sizes[:-1]]
        return [*counts, self._value_count - sum(counts)]

    def __repr__(self) -> str:
        return f"Accumulator({self._parameters.name}, {self._value_count} values, {self._addend_count} addends)"


def read_contribution(
    parameters: LatticeParameters, written: Written, value_count: int, engine: RingEngine | None = None
) -> RingArray:
    """The fields of one written block of a contribution. Raises InputError for another size and nonzero padding."""
    fields: RingArray = np.zeros(parameters.form.field_count(value_count), np.uint64)
    (engine or get_engine()).add_masked(parameters.form, fields, np.frombuffer(written, np.uint8), value_count)
    return fields


def write_rounded(
    parameters: LatticeParameters, fields: RingArray, value_count: int, engine: RingEngine | None = None
) -> bytes:
    """A block of a sum's fields as `Accumulator.write` gives it: rounded. Raises InputError for another size."""
    return (engine or get_engine()).write_sum(parameters.form, fields, value_count).tobytes()


def add(
    parameters: LatticeParameters,
    value_count: int,
    contributions: Sequence[Written],
    engine: RingEngine | None = None,
) -> bytes:
    """The written sum of whole contributions.

    Args:
        parameters: The set of the upload.
        value_count: Values of each contribution.
        contributions: The bytes of each, or its blocks in order.
        engine: The engine that adds; the selected engine if None.

    Returns:
        The sum's bytes.

    Raises:
        InputError: Sizes differ, padding bits are not zero, or there is no contribution.
        BoundError: More than the set's `max_parties` contributions.

    Examples:
        >>> import hekat
        >>> import numpy as np
        >>> parameters = hekat.lattice.choose_parameters(16, 10)
        >>> key = hekat.lattice.public_key(b"session 1", 1, parameters)
        >>> secret = hekat.lattice.generate_secret(parameters)
        >>> upload = hekat.lattice.encrypt(parameters, secret, key, np.array([5], np.int32))
        >>> len(hekat.lattice.add(parameters, 1, [upload])) == parameters.form.written_sum_bytes(1)
        True
    """
    accumulator = Accumulator(parameters, value_count, engine)
    for written in contributions:
        accumulator.add(written)
    return b"".join(accumulator.write())
