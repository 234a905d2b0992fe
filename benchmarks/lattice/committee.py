"""What opening a sum by committee costs each role: deal, check, release, open, without network and without the disk."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from hekat.channel.party_key import PartyKey
from hekat.protocol.secure_sum.masked.opening.committee import form_committee, member_count_of
from hekat.protocol.secure_sum.masked.opening.field import FieldArray
from hekat.protocol.secure_sum.masked.opening.included import (
    UPLOAD_PURPOSE,
    IncludedUpload,
    check_included,
    state_included,
    upload_fields,
)
from hekat.protocol.secure_sum.masked.opening.opening_scheme import Dealt
from hekat.protocol.secure_sum.masked.opening.opening_schemes import CommitteeScheme
from hekat.protocol.secure_sum.masked.opening.share_check import CheckAnswer, challenge_digest_of, judge_dealers
from hekat.protocol.secure_sum.masked.opening.share_message import DEALING_PURPOSE, DigestList, dealing_fields
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext
from hekat.scheme.lattice import LatticeParameters, sum_secrets

REPEATS = 3
STEP = "round 1"
SESSION = hashlib.sha256(b"hekat benchmark: no session").digest()

T = TypeVar("T")


@dataclass(frozen=True)
class _Dealer:
    """One party, what it dealt, and its two signatures."""

    key: PartyKey
    dealt: Dealt
    digests: DigestList
    upload: IncludedUpload


class CommitteeOpening:
    """One upload number of so many parties, every step of its opening timed and checked."""

    def __init__(self, parameters: LatticeParameters, party_count: int, clock: Callable[[], float]) -> None:
        self._parameters, self._clock = parameters, clock
        self._parties = [f"party {number:03}" for number in range(1, party_count + 1)]
        self._committee = form_committee(self._parties, self._parties[: member_count_of(len(self._parties))])
        self._scheme = CommitteeScheme(self._committee)
        self._context = UploadContext(SESSION, 1, STEP, parameters.name)
        self._dealers: dict[str, _Dealer] = {}

    def measure(self) -> dict[str, Any]:
        """Milliseconds of each role's steps, and bytes of the shares of one party and the release of one member."""
        deal_s = self._deal()
        check_s, kept = self._check_all()
        judge_s = self._judge(kept)
        included = state_included(self._context, [dealer.upload for dealer in self._dealers.values()])
        member = self._committee.members[0]
        release_s, _ = self._timed(lambda: (self._check_included(included), self._combine(kept[member])))
        releases = {name: self._combine(kept[name]) for name in self._committee.members}
        open_s, (secret_sum, wrong) = self._timed(
            lambda: self._scheme.open(self._context, self._parameters, releases, dict.fromkeys(self._parties, b""))
        )
        expected = sum_secrets([dealer.dealt.secret for dealer in self._dealers.values()])
        assert not wrong, "a release does not fit"
        assert np.array_equal(secret_sum.coefficients, expected.coefficients), "the opened sum is another"
        return {
            "members": len(self._committee.members),
            "threshold": self._committee.threshold,
            "deal_ms": 1e3 * deal_s,
            "check_ms": 1e3 * check_s,
            "judge_ms": 1e3 * judge_s,
            "release_ms": 1e3 * release_s,
            "open_ms": 1e3 * open_s,
            "share_bytes": len(self._dealers[member].dealt.offset),
            "release_bytes": len(releases[member]) * len(self._parties),
        }

    def _deal(self) -> float:
        """Every party deals and signs; median seconds of one."""
        seconds = []
        for party in self._parties:
            key, keys = PartyKey.generate(), self._scheme.draw_keys()
            start = self._clock()
            dealt = self._scheme.deal(self._context, party, self._parameters, keys)
            signature = key.sign(DEALING_PURPOSE, *dealing_fields(self._context, dealt.digests, dealt.offset))
            seconds.append(self._clock() - start)
            upload_digest = hashlib.sha256(party.encode()).digest()
            fields = upload_fields(self._context, upload_digest, dealt.digests)
            upload = IncludedUpload(party, upload_digest, dealt.digests, key.sign(UPLOAD_PURPOSE, *fields))
            self._dealers[party] = _Dealer(key, dealt, DigestList(dealt.digests, signature, dealt.offset), upload)
        return statistics.median(seconds)

    def _check_all(self) -> tuple[float, dict[str, dict[str, FieldArray]]]:
        """Every member checks what it was dealt; median seconds of the first, and what each keeps."""
        members = self._committee.members
        check_s, _ = self._timed(lambda: self._check(members[0]))
        return check_s, {member: self._check(member)[0] for member in members}

    def _check(self, member: str) -> tuple[dict[str, FieldArray], CheckAnswer]:
        position = self._committee.members.index(member)
        degree = self._parameters.form.ring.degree
        kept = {}
        for party, dealer in self._dealers.items():
            fields = dealing_fields(self._context, dealer.digests.digests, dealer.digests.offset)
            assert dealer.key.public.verify(dealer.digests.signature, DEALING_PURPOSE, *fields)
            message, digest = dealer.dealt.messages[member], dealer.digests.digests[position]
            kept[party] = self._scheme.read(self._context, party, member, message, dealer.dealt.offset, digest, degree)
        challenge = self._challenge()
        return kept, CheckAnswer(challenge, {}, self._scheme.check_values(challenge, kept, degree))

    def _challenge(self) -> bytes:
        return challenge_digest_of(self._context, {party: dealer.digests for party, dealer in self._dealers.items()})

    def _judge(self, kept: dict[str, dict[str, FieldArray]]) -> float:
        """The aggregator compares the members' answers; its median seconds."""
        degree, challenge = self._parameters.form.ring.degree, self._challenge()
        answers = {
            self._committee.point_of(member): CheckAnswer(
                challenge, {}, self._scheme.check_values(challenge, shares, degree)
            )
            for member, shares in kept.items()
        }
        judge_s, verdict = self._timed(
            lambda: judge_dealers(self._parties, answers, self._challenge(), self._committee.threshold)
        )
        assert list(verdict.usable) == self._parties, "honest shares were refused"
        return judge_s

    def _check_included(self, included: Any) -> None:
        def find_unsigned(purpose: str, statements: Any) -> str | None:
            for party, signature, fields in statements:
                if not self._dealers[party].key.public.verify(signature, purpose, *fields):
                    return str(party)
            return None

        check_included(included, self._context, self._parties, self._committee.least_included, find_unsigned)

    def _combine(self, shares: dict[str, FieldArray]) -> bytes:
        return self._scheme.combine(shares, self._parameters)

    def _timed(self, function: Callable[[], T]) -> tuple[float, T]:
        seconds = []
        for _ in range(REPEATS):
            start = self._clock()
            result = function()
            seconds.append(self._clock() - start)
        return statistics.median(seconds), result
