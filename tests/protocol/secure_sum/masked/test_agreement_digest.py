"""The digest of what parties take for granted: of any number of counters, and another for anything that differs."""

from __future__ import annotations

import pytest

from hekat.protocol.secure_sum.aggregation import Counter, SumRequest
from hekat.protocol.secure_sum.agreement.upload_agreement import agreement_of


def digest_of(
    bounds: dict[str, float],
    counters: list[Counter],
    *,
    step: str = "s",
    bits: int = 8,
    members: tuple[str, ...] = ("a", "b"),
    key_fingerprint: bytes = b"",
    model: bytes = b"model",
    key: bytes = b"key",
) -> bytes:
    request = SumRequest(step, bounds=bounds, counters=counters)
    return agreement_of(key, model, key_fingerprint, members, request, bits)


def test_whatever_differs_makes_another_digest() -> None:
    bounds = {"a": 1.0, "b": 2.0}
    counters = [Counter("c", 1, maximum=4), Counter("d", 0, maximum=4)]
    variants = [
        digest_of(bounds, counters),
        digest_of(bounds, counters, step="t"),
        digest_of(bounds, counters, bits=9),
        digest_of({"a": 1.0}, counters),
        digest_of({"a": 1.0, "b": 3.0}, counters),
        digest_of(bounds, counters[:1]),
        digest_of(bounds, counters[::-1]),
        digest_of(bounds, [counters[0], Counter("d", 0, maximum=5)]),
        digest_of({}, counters),
        digest_of(bounds, []),
        digest_of(bounds, counters, members=("a", "c")),
        digest_of(bounds, counters, members=("a",)),
        digest_of(bounds, counters, key_fingerprint=bytes(32)),
        digest_of(bounds, counters, key_fingerprint=bytes(31) + b"\1"),
        digest_of(bounds, counters, model=b"another"),
        digest_of(bounds, counters, key=b"another"),
    ]
    assert len(set(variants)) == len(variants)
    assert digest_of(dict(reversed(bounds.items())), [Counter("c", 0, maximum=4), counters[1]]) == variants[0]


@pytest.mark.long
def test_a_wide_table_has_more_counters_than_one_encoding_has_fields() -> None:
    counters = [Counter(f"{column}/{exponent}", 0, maximum=1) for column in range(1000) for exponent in range(81)]
    assert len({digest_of({}, counters), digest_of({}, counters[:-1])}) == 2
