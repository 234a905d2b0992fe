"""One round of a committee as the tests of openers need it: parties with keys, fresh shares, members, uploads."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Collection
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pytest

from hekat.channel.party_key import PartyKey
from hekat.protocol.horizontal.opening.committee import Committee, Dealing, deal, form_committee
from hekat.protocol.horizontal.opening.included import (
    UPLOAD_PURPOSE,
    IncludedSet,
    IncludedUpload,
    state_included,
    upload_fields,
)
from hekat.protocol.horizontal.opening.member import Member
from hekat.protocol.horizontal.opening.share_check import CheckAnswer, expand_challenge
from hekat.protocol.horizontal.opening.share_message import DEALING_PURPOSE, DigestList, dealing_fields
from hekat.protocol.horizontal.opening.upload_context import UploadContext

KEYS = [PartyKey.generate() for _ in range(9)]
DEGREE = 32


class Round:
    """`party_count` parties who each deal a secret of `degree` coefficients; everything public and secret of it."""

    def __init__(
        self, party_count: int, *, seed: int, number: int = 4, step: str = "round-1", session: bytes = b"s" * 32
    ) -> None:
        print(f"seed {seed}")
        self.random = random.Random(seed)
        self.parties = tuple(f"party-{index}" for index in range(party_count))
        self.keys = dict(zip(self.parties, KEYS, strict=False))
        self.committee: Committee = form_committee(self.parties)
        self.context = UploadContext(session, number, step, "A16-16")
        generator = np.random.default_rng(seed)
        self.secrets = {p: generator.integers(-21, 22, DEGREE).astype(np.int8) for p in self.parties}
        self.job_digest = b"j" * 32

    @cached_property
    def dealings(self) -> dict[str, Dealing]:
        return {party: deal(self.committee, self.context, party, s) for party, s in self.secrets.items()}

    @cached_property
    def lists(self) -> dict[str, DigestList]:
        return {party: self.sign_list(party, dealing.digests) for party, dealing in self.dealings.items()}

    def sign_list(self, party: str, digests: tuple[bytes, ...]) -> DigestList:
        return DigestList(digests, self.keys[party].sign(DEALING_PURPOSE, *dealing_fields(self.context, digests)))

    def verify(self, party: str, signature: bytes, purpose: str, *fields: bytes) -> bool:
        return party in self.keys and self.keys[party].public.verify(signature, purpose, *fields)

    def messages_for(self, member: str) -> dict[str, bytes]:
        return {party: dealing.messages[member] for party, dealing in self.dealings.items()}

    def member(self, name: str) -> Member:
        return Member(self.committee, name, self.context, DEGREE)

    def checked_members(self) -> tuple[dict[str, Member], dict[int, CheckAnswer]]:
        members = {name: self.member(name) for name in self.committee.members}
        answers = {
            self.committee.point_of(name): member.check(self.messages_for(name), self.lists, self.verify)
            for name, member in members.items()
        }
        return members, answers

    def upload(self, party: str, content: bytes = b"") -> IncludedUpload:
        digest = hashlib.sha256(content or party.encode()).digest()
        share_digests = self.lists[party].digests
        signature = self.keys[party].sign(UPLOAD_PURPOSE, *upload_fields(self.context, digest, share_digests))
        return IncludedUpload(party, digest, share_digests, signature)

    def included(self, parties: Collection[str] | None = None) -> IncludedSet:
        return state_included(self.context, [self.upload(party) for party in parties or self.parties])

    def sum_of_secrets(self, parties: Collection[str] | None = None) -> npt.NDArray[np.int32]:
        return np.sum([self.secrets[p].astype(np.int32) for p in parties or self.parties], axis=0, dtype=np.int32)

    def challenge(self, answers: dict[int, CheckAnswer]) -> npt.NDArray[np.uint16]:
        return expand_challenge(next(iter(answers.values())).challenge_digest, DEGREE)


@pytest.fixture
def make_round() -> Callable[..., Round]:
    return Round
