"""The key authority: holds the seeds of one upload number and opens their sum once, under the rules for the set."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Collection, Iterable
from typing import NoReturn

import numpy as np

from hekat.channel.canonical import encode_fields
from hekat.errors import InputError, ProtocolError
from hekat.protocol.horizontal.opening.field import wipe
from hekat.protocol.horizontal.opening.included import IncludedSet, check_included
from hekat.protocol.horizontal.opening.release_record import ReleaseRecord
from hekat.protocol.horizontal.opening.upload_context import UploadContext, Verify
from hekat.scheme.lattice.keys import SEED_BYTES, SecretSum, secret_from_seed, sum_secrets
from hekat.scheme.lattice.parameters import LatticeParameters

_DIGEST_LABEL = b"hekat/lattice/seed/1"


def draw_seed() -> bytes:
    """A fresh seed of one upload's secret from the operating system's randomness; secret."""
    return os.urandom(SEED_BYTES)


def seed_digest(context: UploadContext, party: str, seed: bytes) -> bytes:
    """SHA-256 over label, session, number, party and seed: the one entry of the upload's `share_digests`."""
    return hashlib.sha256(encode_fields(_DIGEST_LABEL, *context.upload_fields, party.encode(), seed)).digest()


def sum_of_seeds(parameters: LatticeParameters, seeds: Iterable[bytes]) -> SecretSum:
    """The sum of the secrets that these seeds give."""
    return sum_secrets([secret_from_seed(parameters, seed) for seed in seeds])


class Authority:
    """The seeds of one upload number, in memory alone; shows and pickles none."""

    __slots__ = ("_context", "_least_included", "_parties", "_seeds")

    def __init__(self, context: UploadContext, parties: Collection[str], least_included: int) -> None:
        self._context, self._parties, self._least_included = context, tuple(parties), least_included
        self._seeds: dict[str, bytearray] = {}

    def receive(self, party: str, seed: bytes) -> None:
        """Keep a party's seed. Raises ProtocolError for an unknown party, another length, or a second seed."""
        if party not in self._parties or party in self._seeds or len(seed) != SEED_BYTES:
            raise ProtocolError(
                "a seed is refused", expected=f"one of {SEED_BYTES} bytes from each party", got=f"{len(seed)} bytes"
            )
        if any(hmac.compare_digest(seed, known) for known in self._seeds.values()):
            raise ProtocolError("a seed is refused", expected="a fresh seed", got="that of another party")
        self._seeds[party] = bytearray(seed)

    def open(
        self,
        parameters: LatticeParameters,
        included: IncludedSet,
        record: ReleaseRecord,
        job_digest: bytes,
        verify: Verify,
    ) -> SecretSum:
        """The sum of the secrets of the stated set, after all checks, and after the record says so durably.

        Raises ProtocolError, naming whom it is about, StateError; then nothing was opened.
        """
        if parameters.name != included.context.set_name:
            raise InputError("other parameters than the statement's", expected=self._context.set_name)
        digests = {party: (seed_digest(self._context, party, bytes(seed)),) for party, seed in self._seeds.items()}
        check_included(included, self._context, self._parties, self._least_included, verify, share_digests=digests)
        record.allow(job_digest, included)
        return sum_of_seeds(parameters, (bytes(self._seeds[party]) for party in included.parties))

    def wipe(self) -> None:
        """Fill the seeds with zeros and forget them; see `field.wipe` for what Python cannot wipe."""
        wipe(*(np.frombuffer(seed, dtype=np.uint8) for seed in self._seeds.values()))
        self._seeds = {}

    def __reduce__(self) -> NoReturn:
        raise TypeError("an authority's seeds are not pickled or copied")
