"""One round of a committee as the tests of openers need it: parties with keys, fresh shares, members, uploads."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Collection, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pytest

from hekat.channel.party_key import PartyKey
from hekat.channel.statements import Statements
from hekat.protocol.secure_sum.masked.opening.committee import (
    Committee,
    Dealing,
    deal,
    form_committee,
    read_share,
    sum_shares,
)
from hekat.protocol.secure_sum.masked.opening.included import (
    UPLOAD_PURPOSE,
    IncludedSet,
    IncludedUpload,
    check_included,
    state_included,
    upload_fields,
)
from hekat.protocol.secure_sum.masked.opening.release_record import ReleaseRecord
from hekat.protocol.secure_sum.masked.opening.share_check import (
    CheckAnswer,
    challenge_digest_of,
    check_values,
    expand_challenge,
)
from hekat.protocol.secure_sum.masked.opening.share_keys import ShareKeys
from hekat.protocol.secure_sum.masked.opening.share_message import (
    DEALING_PURPOSE,
    DigestList,
    dealing_fields,
)
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext

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
        self.committee: Committee = form_committee(self.parties, self.parties[:7])
        self.context = UploadContext(session, number, step, "A16-16")
        generator = np.random.default_rng(seed)
        self.secrets = {p: generator.integers(-21, 22, DEGREE).astype(np.int8) for p in self.parties}
        self.job_digest = b"j" * 32

    def draw_keys(self) -> ShareKeys:
        return ShareKeys.draw(len(self.committee.members), self.committee.threshold)

    @cached_property
    def dealings(self) -> dict[str, Dealing]:
        return {
            party: deal(self.committee, self.context, party, s, self.draw_keys()) for party, s in self.secrets.items()
        }

    @cached_property
    def lists(self) -> dict[str, DigestList]:
        return {
            party: self.sign_list(party, dealing.digests, dealing.offset) for party, dealing in self.dealings.items()
        }

    def sign_list(self, party: str, digests: tuple[bytes, ...], offset: bytes) -> DigestList:
        fields = dealing_fields(self.context, digests, offset)
        return DigestList(digests, self.keys[party].sign(DEALING_PURPOSE, *fields), offset)

    def verify(self, party: str, signature: bytes, purpose: str, *fields: bytes) -> bool:
        return party in self.keys and self.keys[party].public.verify(signature, purpose, *fields)

    def find_unsigned(self, purpose: str, statements: Statements) -> str | None:
        return next(
            (party for party, *signed, fields in statements if not self.verify(party, *signed, purpose, *fields)), None
        )

    def messages_for(self, member: str) -> dict[str, bytes]:
        return {party: dealing.messages[member] for party, dealing in self.dealings.items()}

    def keep(self, member: str) -> Mapping[str, npt.NDArray[np.uint16]]:
        """What an honest member keeps of all dealers."""
        point = self.committee.point_of(member)
        kept = {}
        for party, message in self.messages_for(member).items():
            told = self.lists[party]
            stated = told.digests[point - 1]
            kept[party] = read_share(self.committee, self.context, party, member, message, told.offset, stated, DEGREE)
        return kept

    def answers(self) -> dict[int, CheckAnswer]:
        """Every member's honest answer to the challenge, by point."""
        digest = challenge_digest_of(self.context, self.lists)
        challenge = expand_challenge(digest, DEGREE)
        answers = {}
        for point, name in enumerate(self.committee.members, start=1):
            kept = self.keep(name)
            values = check_values(challenge, np.stack(list(kept.values())))
            answers[point] = CheckAnswer(digest, {}, dict(zip(kept, values, strict=True)))
        return answers

    def release(self, member: str, included: IncludedSet, record: ReleaseRecord) -> npt.NDArray[np.uint16]:
        """What an honest member releases, after all it checks; or its refusal."""
        digests = {party: shown.digests for party, shown in self.lists.items()}
        committee = self.committee
        check_included(
            included,
            self.context,
            committee.parties,
            committee.least_included,
            self.find_unsigned,
            share_digests=digests,
        )
        record.allow(self.job_digest, committee.parties, included)
        return self.sum_kept(member, included)

    def sum_kept(self, member: str, included: IncludedSet) -> npt.NDArray[np.uint16]:
        """What a dishonest member releases for any set."""
        kept = self.keep(member)
        return sum_shares([kept[party] for party in included.parties], DEGREE)

    def upload(self, party: str, content: bytes = b"") -> IncludedUpload:
        digest = hashlib.sha256(content or party.encode()).digest()
        share_digests = self.lists[party].digests
        signature = self.keys[party].sign(UPLOAD_PURPOSE, *upload_fields(self.context, digest, share_digests))
        return IncludedUpload(party, digest, share_digests, signature)

    def included(self, parties: Collection[str] | None = None) -> IncludedSet:
        return state_included(self.context, [self.upload(party) for party in parties or self.parties])

    def sum_of_secrets(self, parties: Collection[str] | None = None) -> npt.NDArray[np.int32]:
        return np.sum([self.secrets[p].astype(np.int32) for p in parties or self.parties], axis=0, dtype=np.int32)


@pytest.fixture
def make_round() -> Callable[..., Round]:
    return Round
