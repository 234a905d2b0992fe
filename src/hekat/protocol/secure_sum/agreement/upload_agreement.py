"""What parties take for granted of one another before a sum, as one keyed digest."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from hekat.channel.canonical import encode_fields, encode_number
from hekat.protocol.secure_sum.aggregation import SumRequest

_AGREEMENT_LABEL = b"hekat/lattice/agreement/3"


def agreement_of(
    digest_key: bytes,
    model_digest: bytes,
    key_fingerprint: bytes,
    members: Sequence[str],
    request: SumRequest,
    bits: int,
) -> bytes:
    """HMAC-SHA-256 of all that the parties must agree on: every upload is signed, and masked, with it.

    Otherwise an aggregator that told parties different bounds, or sums, could single one update out. The digest
    covers the members and the key of releases: no sum opens with updates of parties that know others.
    """
    names = [member.encode() for member in members]
    sizes = [encode_number(size) for size in (bits, len(names), len(request.bounds), len(request.counters))]
    digest = hmac.new(digest_key, digestmod=hashlib.sha256)
    fields = (request.step.encode(), model_digest, key_fingerprint, *sizes, *names)
    digest.update(encode_fields(_AGREEMENT_LABEL, *fields))
    # One by one, since standardising wide tables has more counters than one encoding has fields.
    for name, bound in sorted(request.bounds.items()):
        digest.update(encode_fields(name.encode(), bound.hex().encode()))
    for counter in request.counters:
        digest.update(encode_fields(counter.name.encode(), str(counter.maximum).encode()))
    return digest.digest()
