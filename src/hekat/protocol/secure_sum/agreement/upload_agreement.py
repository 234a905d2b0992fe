"""What parties take for granted of one another before a sum, as one keyed digest."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from functools import lru_cache

from hekat.channel.canonical import encode_fields, encode_number
from hekat.protocol.secure_sum.aggregation import SumRequest

_AGREEMENT_LABEL = b"hekat/lattice/agreement/5"
_HELD_LABEL = b"hekat/lattice/held/1"


class HeldSoFar:
    """What a party holds before its next sum: a model, then one thing after the other that it was told or agreed on.

    Every sum that opened is in it. Who knows what opens sums can make up a sum for one party; what this party sends
    from then on may follow from that, and is in no sum with what the others send.
    """

    def __init__(self, model_digest: bytes) -> None:
        """`model_digest`: of the model that a resumed run goes on from."""
        self.digest = model_digest

    def add(self, *digests: bytes) -> None:
        """Any number of digests, together one thing."""
        digest = hashlib.sha256(encode_fields(_HELD_LABEL, self.digest, encode_number(len(digests))))
        for one in digests:
            digest.update(one)
        self.digest = digest.digest()


def agreement_of(
    digest_key: bytes,
    held_digest: bytes,
    key_fingerprint: bytes,
    members: Sequence[str],
    request: SumRequest,
    bits: int,
) -> bytes:
    """HMAC-SHA-256 of all that the parties must agree on: every upload is masked with it, and signed unless it is
    for a further sum of a group.

    Otherwise an aggregator that told parties different bounds, or sums, could single one update out. The digest
    covers the members and the key of releases: no sum opens with updates of parties that know others. It covers the
    mask: no sum opens with what another party left in the clear.
    """
    names = [member.encode() for member in members]
    sizes = [encode_number(size) for size in (bits, len(names), len(request.bounds), len(request.counters))]
    digest = hmac.new(digest_key, digestmod=hashlib.sha256)
    mask = b"" if request.mask is None else request.mask.digest(b"")
    fields = (request.step.encode(), held_digest, key_fingerprint, mask, *sizes, *names)
    digest.update(encode_fields(_AGREEMENT_LABEL, *fields))
    # One by one, since standardising wide tables has more counters than one encoding has fields.
    for name, bound in sorted(request.bounds.items()):
        digest.update(encode_fields(name.encode(), bound.hex().encode()))
    digest.update(b"".join([_fields_of_counter(counter.name, counter.maximum) for counter in request.counters]))
    return digest.digest()


@lru_cache(maxsize=4096)
def _fields_of_counter(name: str, maximum: int) -> bytes:
    """What is digested of a counter: a run asks for sums of the same ones over and over."""
    return encode_fields(name.encode(), str(maximum).encode())
