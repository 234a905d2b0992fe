"""Finds dealers whose shares lie on no polynomial of degree < t, before anything is uploaded.

The challenge is 8 vectors of F_65521^N that nobody knows before all digests of shares are fixed. A member's check
values for a dealer are mask share + <challenge vector, share>, 8 of them. The values of all members lie on polynomials
of degree < t if the shares do; if they do not, all 8 pass with probability 65521^-8, once for each challenge that a
dealer tries. They show nothing of the secret: each is hidden by a mask that is uniform and used once. They do not show
that the shared coefficients are small. Source: batched verification of shares, by a random linear combination hidden
behind one more shared polynomial; challenge by hashing (Fiat-Shamir).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hekat.channel.canonical import encode_fields
from hekat.protocol.secure_sum.masked.opening.field import (
    FieldArray,
    UnsignedArray,
    evaluate_at,
    is_field_vector,
    multiply_matrices,
    reduce_wide,
    take_elements,
)
from hekat.protocol.secure_sum.masked.opening.shamir import CHECKS
from hekat.protocol.secure_sum.masked.opening.share_message import REFUSALS, DigestList
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext

_CHALLENGE_LABEL = b"hekat/lattice/share-check/1"


@dataclass(frozen=True)
class CheckAnswer:
    """What a member sends back: which challenge, why it refused which dealers, and 8 values for each other one."""

    challenge_digest: bytes
    refused: dict[str, str]
    values: dict[str, UnsignedArray] = field(repr=False)


@dataclass(frozen=True)
class DealerVerdict:
    """Dealers that may upload, those left out with the reason, members whose answers do not count with the reason.

    `checked` is False where no more than t members answered: then any shares lie on a polynomial, nothing was checked.
    """

    usable: tuple[str, ...]
    refused: dict[str, str]
    faulty_members: dict[int, str]
    checked: bool


def challenge_digest_of(context: UploadContext, lists: Mapping[str, DigestList]) -> bytes:
    """SHA-256 over label, session, number, and every dealer with its digests, sorted by dealer."""
    dealers = [encode_fields(dealer.encode(), *lists[dealer].digests) for dealer in sorted(lists)]
    return hashlib.sha256(encode_fields(_CHALLENGE_LABEL, *context.upload_fields, *dealers)).digest()


def expand_challenge(challenge_digest: bytes, degree: int) -> FieldArray:
    """The challenge, (8, degree): 16-bit little-endian words below 65521 of SHAKE-256(challenge digest), in order."""
    return take_elements(hashlib.shake_256(challenge_digest).digest, CHECKS * degree).reshape(CHECKS, degree)


def check_values(challenge: FieldArray, shares: FieldArray) -> FieldArray:
    """One member's check values, (dealers, 8), of its shares (dealers, N + 8): each mask plus challenge times share."""
    degree = challenge.shape[1]
    products = multiply_matrices(shares[:, :degree], challenge.T)
    return reduce_wide(products.astype(np.uint64) + shares[:, degree:], 17)


def inconsistent_dealers(values: Mapping[str, Mapping[int, UnsignedArray]], threshold: int) -> tuple[str, ...]:
    """The dealers whose check values, by member's point, lie on no polynomial of degree < t.

    Nothing can be found of a dealer with values of t members or fewer.
    """
    return tuple(dealer for dealer, by_point in values.items() if not _lies_on_polynomial(by_point, threshold))


def judge_dealers(
    dealers: Collection[str], answers: Mapping[int, CheckAnswer], challenge_digest: bytes, threshold: int
) -> DealerVerdict:
    """What follows from the members' answers, by point: a dealer is usable if every member that counts holds its share
    and its check values agree. Where several dealers' do not, and do without one member's answer, that member is taken
    to lie: rightly if at most one lies; two that lie together can make it look like a third. Anybody who is given the
    answers comes to the same verdict."""
    faulty = {
        point: fault
        for point, answer in sorted(answers.items())
        if (fault := _fault_of(answer, dealers, challenge_digest)) is not None
    }
    sound = {point: answer for point, answer in sorted(answers.items()) if point not in faulty}
    refused = {
        dealer: f"member {point}: {answer.refused[dealer]}"
        for point, answer in reversed(sound.items())
        for dealer in dealers
        if dealer in answer.refused
    }
    values = {
        dealer: {point: answer.values[dealer] for point, answer in sound.items()}
        for dealer in dealers
        if dealer not in refused
    }
    inconsistent = inconsistent_dealers(values, threshold)
    liar = _lone_liar({dealer: values[dealer] for dealer in inconsistent}, tuple(sound), threshold)
    if liar is not None:
        others = {point: answer for point, answer in answers.items() if point != liar}
        verdict = judge_dealers(dealers, others, challenge_digest, threshold)
        return replace(verdict, faulty_members=verdict.faulty_members | {liar: "gave check values that fit no others"})
    refused |= dict.fromkeys(inconsistent, "what members answer of its shares lies on no polynomial")
    usable = tuple(dealer for dealer in dealers if dealer not in refused)
    return DealerVerdict(usable, refused, faulty, checked=len(sound) > threshold)


def _lone_liar(
    inconsistent: Mapping[str, Mapping[int, UnsignedArray]], points: Sequence[int], threshold: int
) -> int | None:
    """The one member without whose answers all of several inconsistent dealers are consistent; None without such one.

    A dealer alone may have dealt wrongly to one member: that looks the same. With t answers left nothing is compared.
    """
    if len(inconsistent) < 2 or len(points) - 1 <= threshold:
        return None
    liars = [
        liar
        for liar in points
        if all(
            _lies_on_polynomial({point: row for point, row in by_point.items() if point != liar}, threshold)
            for by_point in inconsistent.values()
        )
    ]
    return liars[0] if len(liars) == 1 else None


def _lies_on_polynomial(by_point: Mapping[int, UnsignedArray], threshold: int) -> bool:
    points: Sequence[int] = sorted(by_point)
    if len(points) <= threshold:
        return True
    rows = np.stack([by_point[point] for point in points]).astype(np.uint16)
    rest = evaluate_at(points[:threshold], rows[:threshold], points[threshold:])
    return bool(np.array_equal(rest, rows[threshold:]))


def _fault_of(answer: CheckAnswer, dealers: Collection[str], challenge_digest: bytes) -> str | None:
    if answer.challenge_digest != challenge_digest:
        return "answered another challenge"
    if answer.values.keys() | answer.refused.keys() != set(dealers) or answer.values.keys() & answer.refused.keys():
        return "did not answer for every dealer once"
    if not REFUSALS.issuperset(answer.refused.values()):
        return "refused a share for a reason that is none"
    if not all(is_field_vector(values, CHECKS) for values in answer.values.values()):
        return "gave malformed check values"
    return None
