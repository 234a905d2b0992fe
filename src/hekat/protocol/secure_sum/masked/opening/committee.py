"""The committee: its size, its threshold, what a dealer gives its members, and how their releases open a sum.

| symbol | here |
|---|---|
| P | parties |
| c | members, at points 1 to c of the sharing |
| t | `threshold`: releases that open a sum |
| u_min | `least_included`: parties that a sum must have |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.engine.ring.interface import CBD_BOUND
from hekat.errors import InputError, PolicyError, ProtocolError
from hekat.protocol.secure_sum.masked.opening.field import (
    PRIME,
    WRONG_LENGTH,
    FieldArray,
    UnsignedArray,
    centre,
    evaluate_at,
    is_field_vector,
    reduce_wide,
    wipe,
)
from hekat.protocol.secure_sum.masked.opening.shamir import CHECKS, hide_secret, share_at
from hekat.protocol.secure_sum.masked.opening.share_keys import ShareKeys, expand_keys, key_bytes_of_member
from hekat.protocol.secure_sum.masked.opening.share_message import (
    WRONG_DIGEST,
    draw_salt,
    read_offset,
    share_digest,
    write_offset,
)
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext

MAX_MEMBERS = 7
# Sums of more secrets than this could pass half the prime.
MAX_ADDENDS = (PRIME // 2) // CBD_BOUND


def member_count_of(party_count: int) -> int:
    """c = min(P, 7)."""
    return min(party_count, MAX_MEMBERS)


def threshold_of(member_count: int) -> int:
    """t = floor(2 c / 3) + 1."""
    return 2 * member_count // 3 + 1


def least_included(party_count: int, *, allow_two_parties: bool = False) -> int:
    """u_min = max(3, ceil(2 P / 3)); 2 for two parties, who then learn each other's update.

    Raises PolicyError below three parties, where the job does not allow two.
    """
    if party_count == 2 and allow_two_parties:
        return 2
    if party_count < 3:
        raise PolicyError(
            "too few parties to hide an update among them",
            expected="3 or more",
            got=str(party_count),
            cure="two parties learn each other's update: say allow_two_parties if that is meant",
        )
    return max(3, -(-2 * party_count // 3))


def equivocation_bound(member_count: int, threshold: int) -> int:
    """The most dishonest members, 2t - c - 1, that cannot have two sets of one group opened.

    f of them release for both sets, each honest one for one: two openings need 2 (t - f) <= c - f, so f >= 2t - c.
    """
    return 2 * threshold - member_count - 1


@dataclass(frozen=True)
class Committee:
    """All parties, the members among them (in the order of their points), t and u_min. Public."""

    parties: tuple[str, ...]
    members: tuple[str, ...]
    threshold: int
    least_included: int

    def point_of(self, member: str) -> int:
        """The member's point of the sharing, from 1. Raises InputError for any other role."""
        if member not in self.members:
            raise InputError("not a member of the committee", expected=", ".join(self.members), got=repr(member)[:40])
        return self.members.index(member) + 1

    def name_of(self, point: int) -> str:
        """The member at this point."""
        return self.members[point - 1]


def form_committee(
    parties: Sequence[str], members: Sequence[str] | None = None, *, allow_two_parties: bool = False
) -> Committee:
    """The committee of the `members` drawn from the `parties`; None where all parties are members.

    Points follow the order in which the job names the parties. Raises InputError, above all
    for members that no draw gives, and PolicyError.
    """
    if len(set(parties)) != len(parties) or len(parties) > MAX_ADDENDS:
        raise InputError("not the parties of a job", expected=f"at most {MAX_ADDENDS} different names")
    least = least_included(len(parties), allow_two_parties=allow_two_parties)
    member_count = member_count_of(len(parties))
    chosen = tuple(parties) if members is None else tuple(members)
    if len(chosen) != member_count or chosen != tuple(name for name in parties if name in chosen):
        raise InputError(
            "not the members of a committee",
            expected=f"{member_count} of the job's parties, in its order",
            got=f"{len(chosen)} names",
            cure="members are drawn when a run begins",
        )
    return Committee(tuple(parties), chosen, threshold_of(member_count), least)


def is_drawn(parties: Sequence[str]) -> bool:
    """Whether there are more parties than members, so that members are drawn."""
    return len(parties) > MAX_MEMBERS


def say_members(parties: Sequence[str]) -> str:
    """The members, in words, as far as they are known before a run."""
    if not is_drawn(parties):
        return "all parties"
    return f"{MAX_MEMBERS} of {len(parties)} parties, drawn when the run begins"


@dataclass(frozen=True)
class Dealing:
    """One upload's shares: each member's keys, secret; the offset and the digests in the members' order, public."""

    messages: dict[str, bytes] = field(repr=False)
    offset: bytes
    digests: tuple[bytes, ...]


def deal(
    committee: Committee,
    context: UploadContext,
    dealer: str,
    coefficients: npt.NDArray[np.signedinteger[Any]],
    keys: ShareKeys,
) -> Dealing:
    """Shares of a secret's N coefficients for every member, also for the dealer where it is a member.

    `keys` move on to the next upload.
    """
    salt = draw_salt()
    numbers = expand_keys(keys.as_bytes, context, dealer, salt, len(coefficients) + CHECKS)
    offset = write_offset(salt, hide_secret(coefficients, numbers))
    wipe(numbers)
    member_count, threshold = len(committee.members), committee.threshold
    messages = {
        member: keys.held_by(point, member_count, threshold) for point, member in enumerate(committee.members, start=1)
    }
    keys.advance()
    digests = tuple(share_digest(context, dealer, member, held, offset) for member, held in messages.items())
    return Dealing(messages, offset, digests)


def read_share(
    committee: Committee,
    context: UploadContext,
    dealer: str,
    member: str,
    keys: bytes,
    offset: bytes,
    digest: bytes,
    degree: int,
) -> FieldArray:
    """The N + 8 values of a member's share, from its keys of the dealer and the offset; an array that can be wiped.

    Raises ProtocolError whose `what` is one of REFUSALS: for another length, another digest (a share of another
    session, number, dealer or member has one), and words of the offset from the prime on.
    """
    member_count, threshold = len(committee.members), committee.threshold
    if len(keys) != key_bytes_of_member(member_count, threshold):
        expected = key_bytes_of_member(member_count, threshold)
        raise ProtocolError(WRONG_LENGTH, expected=f"{expected} bytes", got=f"{len(keys)}")
    salt, hidden = read_offset(offset, degree)
    if share_digest(context, dealer, member, keys, offset) != digest:
        raise ProtocolError(WRONG_DIGEST, expected="keys and an offset of the stated digest")
    numbers = expand_keys(keys, context, dealer, salt, degree + CHECKS)
    share = share_at(committee.point_of(member), member_count, threshold, numbers, hidden)
    wipe(numbers)
    return share


def sum_shares(shares: Iterable[FieldArray], degree: int) -> FieldArray:
    """The sum of the first `degree` values of every share, mod 65521: a member's share of the sum of the secrets."""
    total = np.zeros(degree, dtype=np.uint64)
    for share in shares:
        total += share[:degree]
    sums = reduce_wide(total)
    wipe(total)
    return sums


def open_sum(
    releases: Mapping[int, UnsignedArray], threshold: int, addend_count: int, degree: int
) -> tuple[npt.NDArray[np.int32], tuple[int, ...]]:
    """(S, points of the members whose release is wrong) from the share sums of at least t members for one set.

    S, int32 (degree,), is the only vector within +-21 * addend_count on a polynomial of degree < t through t or more of
    the releases. With t right releases it is the true one, or this raises ProtocolError. With exactly t releases only
    the bound shows a wrong one, which cannot be named; a release that is shaped to hold the bound is found later, by
    the count slots of the decryption. Raises ProtocolError: fewer than t, no such vector, or several.
    """
    if not 1 <= addend_count <= MAX_ADDENDS or len(releases) > MAX_MEMBERS:
        raise InputError(
            "not the releases of a sum", expected=f"1 to {MAX_ADDENDS} addends, up to {MAX_MEMBERS} members"
        )
    points = tuple(point for point in sorted(releases) if is_field_vector(releases[point], degree))
    if len(points) < threshold:
        raise ProtocolError(
            "too few members released",
            expected=f"well-formed releases of {threshold} members",
            got=f"{len(points)} well-formed of {len(releases)}",
            cure="abandon this upload number",
        )
    values = np.stack([releases[point] for point in points]).astype(np.uint16)
    found = _bounded_polynomials(points, values, threshold, CBD_BOUND * addend_count)
    wipe(values)
    if len(found) != 1:
        raise _opening_error(points, threshold, list(found))
    ((agreeing, coefficients),) = found.items()
    return coefficients, tuple(point for point in sorted(releases) if point not in agreeing)


def _bounded_polynomials(
    points: tuple[int, ...], values: FieldArray, threshold: int, bound: int
) -> dict[frozenset[int], npt.NDArray[np.int32]]:
    """f(0) of every polynomial through t or more rows that is within the bound there, by the points it goes through."""
    found: dict[frozenset[int], npt.NDArray[np.int32]] = {}
    seen: list[frozenset[int]] = []
    for subset in combinations(range(len(points)), threshold):
        through = tuple(points[row] for row in subset)
        if any(agreeing.issuperset(through) for agreeing in seen):
            continue
        curve = evaluate_at(through, values[list(subset)], (0, *points))
        agreeing = frozenset(np.array(points)[np.all(curve[1:] == values, axis=1)].tolist())
        seen.append(agreeing)
        coefficients = centre(curve[0])
        if np.all(np.abs(coefficients) <= bound):
            found[agreeing] = coefficients
        if len(agreeing) == len(points):
            break
    return found


def _opening_error(points: tuple[int, ...], threshold: int, found: list[frozenset[int]]) -> ProtocolError:
    what = "the releases do not open to a sum of secrets"
    cure = "abandon this upload number"
    if len(found) > 1:
        texts = " or ".join(", ".join(map(str, sorted(set(points) - agreeing))) for agreeing in found)
        return ProtocolError(what, expected="one sum", got=f"several: wrong is member {texts}", cure=cure)
    if len(points) == threshold:
        got = f"a wrong one among {threshold}; with no release to spare, whose cannot be told"
    else:
        got = f"fewer than {threshold} right ones among {len(points)}"
    return ProtocolError(what, expected=f"{threshold} right releases", got=got, cure=cure)
