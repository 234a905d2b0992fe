"""The ring operations of lattice aggregation on data that lies where the engine works, checked against the CPU's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpu.operations import Case
from hekat.engine.cpu import CpuEngine
from hekat.scheme.lattice import choose_parameters

KEY, ERROR_KEY = bytes(range(32)), bytes(range(32, 64))
VALUE_BITS, PARTIES = 16, 16


def ring_cases(
    engine: Any, value_count: int, put: Callable[[Any], Any], download: Callable[[Any], Any]
) -> Iterator[Case]:
    """Masking, adding, writing and opening of one update of about `value_count` values, and the transforms alone."""
    parameters = choose_parameters(VALUE_BITS, PARTIES)
    form, ring = parameters.form, parameters.form.ring
    chunks = max(1, value_count // form.values_per_chunk)
    count = chunks * form.values_per_chunk
    cpu = CpuEngine()
    few = min(chunks, 2)
    host_values = np.random.default_rng(1).integers(-1000, 1000, count).astype(np.int32)
    host_slots = cpu.expand_uniform(ring, KEY, 0, few)
    host_secret = cpu.expand_uniform(ring, ERROR_KEY, 0, 1)[0]
    values, secret = put(host_values), host_secret
    # Bytes of the first chunks are the same whatever follows.
    written_few = form.written_bytes(few * form.values_per_chunk)

    def equals(expected: Any, chunk_count: int | None = None) -> Callable[[Any], None]:
        def check(result: Any) -> None:
            found = download(result)
            assert np.array_equal(found if chunk_count is None else found[:chunk_count], expected)

        return check

    slots = engine.expand_uniform(ring, KEY, 0, chunks)
    yield Case(
        "expand_uniform, per coefficient, elements on the host",
        chunks * ring.degree,
        lambda: engine.expand_uniform(ring, KEY, 0, chunks),
        equals(host_slots, few),
    )
    yield Case(
        "ring_ntt, per coefficient, elements on the host",
        chunks * ring.degree,
        lambda: engine.ring_ntt(ring, slots),
        equals(cpu.ring_ntt(ring, host_slots), few),
    )
    yield Case(
        "ring_mul, per coefficient, elements on the host",
        chunks * ring.degree,
        lambda: engine.ring_mul(ring, slots, slots),
        equals(cpu.ring_mul(ring, host_slots, host_slots), few),
    )
    masked = cpu.mask_values(form, KEY, host_secret, ERROR_KEY, 0, host_values[: few * form.values_per_chunk])
    yield Case(
        "lattice encrypt (mask_values), per value",
        count,
        lambda: engine.mask_values(form, KEY, secret, ERROR_KEY, 0, values),
        equals(masked, written_few),
    )
    written = engine.mask_values(form, KEY, secret, ERROR_KEY, 0, values)
    total = put(np.zeros(form.field_count(count), np.uint64))
    yield Case(
        "lattice add (add_masked), per value",
        count,
        lambda: engine.add_masked(form, total, written, count),
        lambda result: None,
        device_bytes=(16 * form.field_count(count) + form.written_bytes(count)) / count,
    )

    def sum_of_two() -> Any:
        fields = put(np.zeros(form.field_count(count), np.uint64))
        for _ in range(2):
            engine.add_masked(form, fields, written, count)
        return engine.write_sum(form, fields, count)

    # The sum of two equal contributions, opened with twice the secret.
    twice = cpu.ring_add(ring, host_secret, host_secret)

    def opened(result: Any) -> None:
        sums, counts = result
        assert np.array_equal(download(sums), 2 * host_values.astype(np.int64))
        assert (download(counts) == 2).all()

    summed = sum_of_two()
    yield Case(
        "lattice decrypt (unmask_sum), per value",
        count,
        lambda: engine.unmask_sum(form, KEY, twice, 0, summed, count),
        opened,
    )
