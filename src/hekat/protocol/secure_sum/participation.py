"""The parties that train and upload in a step: all, or in a round the sample that follows from the job.

Source: docs/spec/participation.md, which gives the bytes that are hashed, and a worked example.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from functools import lru_cache

from hekat.channel.canonical import encode_fields
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.masked.opening.opening_schemes import least_parties
from hekat.protocol.secure_sum.masked.opening.upload_context import group_of
from hekat.protocol.secure_sum.settings import SumSettings

NOT_SAMPLED = "this party is not in the sample of this round: nothing of its own was sent"
_LABEL = b"hekat/participation/1"
_ROUND = "round-"


def draw_sample(parties: Collection[str], size: int, job_digest: bytes, group: str) -> tuple[str, ...]:
    """The `size` parties whose SHA-256 over label, job digest, group and name is least, in the order of `parties`."""
    return _draw(tuple(parties), size, job_digest, group)


# A round asks for its sample many times, and one process may play hundreds of parties that all ask for the same one.
@lru_cache(maxsize=16)
def _draw(parties: tuple[str, ...], size: int, job_digest: bytes, group: str) -> tuple[str, ...]:
    fields = (_LABEL, job_digest, group.encode())
    drawn = set(sorted(parties, key=lambda name: hashlib.sha256(encode_fields(*fields, name.encode())).digest())[:size])
    return tuple(name for name in parties if name in drawn)


class Participation:
    """A job's samples. Every role computes them by itself; they are the same in every session of the job."""

    def __init__(self, settings: SumSettings, job_digest: bytes) -> None:
        self._settings, self._job_digest = settings, job_digest

    def parties_in(self, step: str) -> tuple[str, ...]:
        """The parties that upload in the step, in the job's order; the same for all sums of a group ("round-3")."""
        settings, group = self._settings, group_of(step)
        if not group.startswith(_ROUND) or settings.sample_size == len(settings.parties):
            return settings.parties
        return draw_sample(settings.parties, settings.sample_size, self._job_digest, group)

    def least_in(self, step: str) -> int:
        """u_min: the least number of updates in a sum of the step that may be opened."""
        return least_parties(self._settings, len(self.parties_in(step)))


def participation_of(channel: RecordedChannel, settings: SumSettings) -> Participation:
    """The samples of this session's job."""
    samples = settings.sample_size < len(settings.parties)
    return Participation(settings, channel.job_digest if samples else b"")
