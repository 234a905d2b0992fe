"""The three schemes that open a sum: a committee of parties, a key authority, one key that all parties share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hekat.errors import ProtocolError
from hekat.protocol.secure_sum.masked.opening.authority import check_seed, draw_seed, seed_digest, sum_of_seeds
from hekat.protocol.secure_sum.masked.opening.committee import (
    Committee,
    deal,
    equivocation_bound,
    form_committee,
    is_drawn,
    least_included,
    member_count_of,
    open_sum,
    read_share,
    sum_shares,
)
from hekat.protocol.secure_sum.masked.opening.field import ELEMENT_BYTES, FieldArray, read_elements, write_elements
from hekat.protocol.secure_sum.masked.opening.opening_scheme import Dealt, OpeningScheme
from hekat.protocol.secure_sum.masked.opening.shamir import CHECKS
from hekat.protocol.secure_sum.masked.opening.share_check import check_values, expand_challenge
from hekat.protocol.secure_sum.masked.opening.share_keys import ShareKeys
from hekat.protocol.secure_sum.masked.opening.share_message import offset_bytes
from hekat.protocol.secure_sum.masked.opening.shared import derive_seed, draw_salt, open_shared, salt_digest
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.scheme.lattice import LatticeParameters, SecretSum, choose_parameters, generate_secret, secret_from_seed


def make_opening_scheme(
    settings: SumSettings, shared_key: bytes = b"", members: Sequence[str] | None = None
) -> OpeningScheme:
    """The scheme that the settings name; `shared_key` is for `shared`, at parties alone.

    `members`: of the committee, as drawn; None where all parties are members. Raises InputError for a committee that no
    draw gives.
    """
    if settings.opening == "authority":
        assert settings.authority is not None  # checked by the settings
        return AuthorityScheme(settings.authority)
    if settings.opening == "shared":
        return SharedKeyScheme(shared_key)
    return CommitteeScheme(committee_of(settings, members))


def needs_draw(settings: SumSettings) -> bool:
    """Whether sums are opened by a committee that is smaller than all parties."""
    return settings.protection == "lattice" and settings.opening == "committee" and is_drawn(settings.parties)


def members_for_sizes(settings: SumSettings) -> tuple[str, ...] | None:
    """Names that stand for members before a draw, for what depends on their number alone; never used in a run.

    None where no draw is needed.
    """
    return settings.parties[: member_count_of(len(settings.parties))] if needs_draw(settings) else None


def committee_of(settings: SumSettings, members: Sequence[str] | None = None) -> Committee:
    """The job's committee; its least set is a round's, in which perhaps a sample of the parties takes part."""
    committee = form_committee(settings.parties, members, allow_two_parties=settings.allow_two_parties)
    return replace(committee, least_included=least_parties(settings, settings.sample_size))


def least_parties(settings: SumSettings, party_count: int | None = None) -> int:
    """u_min of a sum in which `party_count` of the job's parties (None: all) take part, under every scheme."""
    count = len(settings.parties) if party_count is None else party_count
    least = least_included(count, allow_two_parties=settings.allow_two_parties)
    return max(least, settings.min_parties)


def parameters_of_sum(
    settings: SumSettings, value_bits: int, uploader_count: int, slot_count: int | None
) -> LatticeParameters:
    """The set for a sum of `slot_count` slots (None: of many) that `uploader_count` parties upload.

    With a committee a party sends for each coefficient of its secret, too, and takes a smaller ring for few slots.
    """
    if settings.opening != "committee":
        return choose_parameters(value_bits, uploader_count)
    return choose_parameters(value_bits, uploader_count, slot_count, degree_bytes=ELEMENT_BYTES)


def _count_colluders(parties: int, members: int) -> str:
    if not parties:
        return "no party"
    count = "1 party" if parties == 1 else f"{parties} parties"
    return count if members == parties else f"{count}, {members} of them members,"


class CommitteeScheme:
    """Every secret is shared out to members; t of them open a sum."""

    def __init__(self, committee: Committee) -> None:
        self._committee = committee

    @property
    def members(self) -> tuple[str, ...]:
        return self._committee.members

    @property
    def quorum(self) -> int:
        return self._committee.threshold

    def describe(self) -> str:
        spare = len(self.members) - self.quorum
        parties = max(0, self._committee.least_included - 2)
        among = min(parties, equivocation_bound(len(self.members), self.quorum))
        return (
            f"sums are opened by {self.quorum} of {len(self.members)} members ({', '.join(self.members)}): "
            f"{spare} may be lost; {_count_colluders(parties, among)} may work with the aggregator"
        )

    def draw_keys(self) -> ShareKeys:
        return ShareKeys.draw(len(self.members), self.quorum)

    def deal(self, context: UploadContext, dealer: str, parameters: LatticeParameters, keys: ShareKeys | None) -> Dealt:
        assert keys is not None  # made by `draw_keys`
        secret = generate_secret(parameters)
        dealing = deal(self._committee, context, dealer, secret.coefficients, keys)
        return Dealt(secret, dealing.messages, dealing.offset, dealing.digests)

    def offset_bytes(self, degree: int) -> int:
        return offset_bytes(degree)

    def read(
        self,
        context: UploadContext,
        dealer: str,
        member: str,
        message: bytes,
        offset: bytes,
        digest: bytes,
        degree: int,
    ) -> FieldArray:
        return read_share(self._committee, context, dealer, member, message, offset, digest, degree)

    def check_values(
        self, challenge_digest: bytes, kept: Mapping[str, FieldArray], degree: int
    ) -> dict[str, FieldArray]:
        if not kept:
            return {}
        values = check_values(expand_challenge(challenge_digest, degree), np.stack(list(kept.values())))
        return dict(zip(kept, values, strict=True))

    def combine(self, kept: Mapping[str, FieldArray], parameters: LatticeParameters) -> bytes:
        return write_elements(sum_shares(kept.values(), parameters.form.ring.degree))

    def release_bytes(self, degree: int) -> int:
        return ELEMENT_BYTES * degree

    def open(
        self,
        context: UploadContext,
        parameters: LatticeParameters,
        releases: Mapping[str, bytes],
        salts: Mapping[str, bytes],
    ) -> tuple[SecretSum, list[str]]:
        degree = parameters.form.ring.degree
        sums = {self._committee.point_of(name): _read_release(data, degree) for name, data in releases.items()}
        coefficients, wrong = open_sum(sums, self.quorum, len(salts), degree)
        return SecretSum(parameters, coefficients, len(salts)), [self._committee.name_of(point) for point in wrong]


def _read_release(data: bytes, degree: int) -> FieldArray:
    """A member's share sums; an empty array where they are malformed, which `open_sum` takes for a wrong release."""
    try:
        return read_elements(data, degree)
    except ProtocolError:
        return np.zeros(0, np.uint16)


class AuthorityScheme:
    """The seeds of secrets go to one role that opens every sum once."""

    def __init__(self, authority: str) -> None:
        self._authority = authority

    @property
    def members(self) -> tuple[str, ...]:
        return (self._authority,)

    @property
    def quorum(self) -> int:
        return 1

    def describe(self) -> str:
        return f"sums are opened by {self._authority}, which could open every update as well"

    def draw_keys(self) -> None:
        return None

    def deal(self, context: UploadContext, dealer: str, parameters: LatticeParameters, keys: ShareKeys | None) -> Dealt:
        seed = draw_seed()
        secret = secret_from_seed(parameters, seed)
        return Dealt(secret, {self._authority: seed}, digests=(seed_digest(context, dealer, seed),))

    def offset_bytes(self, degree: int) -> int:
        return 0

    def read(
        self,
        context: UploadContext,
        dealer: str,
        member: str,
        message: bytes,
        offset: bytes,
        digest: bytes,
        degree: int,
    ) -> FieldArray:
        check_seed(context, dealer, message, digest)
        return np.frombuffer(message, "<u2").astype(np.uint16)

    def check_values(
        self, challenge_digest: bytes, kept: Mapping[str, FieldArray], degree: int
    ) -> dict[str, FieldArray]:
        """Zeros: whatever a seed is, it gives a secret of the right form."""
        return {dealer: np.zeros(CHECKS, np.uint16) for dealer in kept}

    def combine(self, kept: Mapping[str, FieldArray], parameters: LatticeParameters) -> bytes:
        secret_sum = sum_of_seeds(parameters, (seed.astype("<u2").tobytes() for seed in kept.values()))
        return secret_sum.coefficients.astype("<i4").tobytes()

    def release_bytes(self, degree: int) -> int:
        return 4 * degree

    def open(
        self,
        context: UploadContext,
        parameters: LatticeParameters,
        releases: Mapping[str, bytes],
        salts: Mapping[str, bytes],
    ) -> tuple[SecretSum, list[str]]:
        degree = parameters.form.ring.degree
        data = releases.get(self._authority, b"")
        if len(data) != self.release_bytes(degree):
            raise ProtocolError(
                f"{self._authority} released no sum of secrets",
                expected=f"{self.release_bytes(degree)} bytes",
                got=f"{len(data)}",
            )
        return SecretSum(parameters, np.frombuffer(data, "<i4").astype(np.int32), len(salts)), []


class SharedKeyScheme:
    """Every party derives all secrets from one key and opens sums by itself."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @property
    def members(self) -> tuple[str, ...]:
        return ()

    @property
    def quorum(self) -> int:
        return 0

    def describe(self) -> str:
        return "all parties share one key: any of them, with the aggregator, can open every update"

    def draw_keys(self) -> None:
        return None

    def deal(self, context: UploadContext, dealer: str, parameters: LatticeParameters, keys: ShareKeys | None) -> Dealt:
        salt = draw_salt()
        secret = secret_from_seed(parameters, derive_seed(self._key, context, dealer, salt))
        return Dealt(secret, digests=(salt_digest(context, dealer, salt),), salt=salt)

    def offset_bytes(self, degree: int) -> int:
        return 0

    def read(
        self,
        context: UploadContext,
        dealer: str,
        member: str,
        message: bytes,
        offset: bytes,
        digest: bytes,
        degree: int,
    ) -> FieldArray:
        raise ProtocolError("opening 'shared' has no members", expected="no shares", got="one")

    def check_values(
        self, challenge_digest: bytes, kept: Mapping[str, FieldArray], degree: int
    ) -> dict[str, FieldArray]:
        return {}

    def combine(self, kept: Mapping[str, FieldArray], parameters: LatticeParameters) -> bytes:
        return b""

    def release_bytes(self, degree: int) -> int:
        return 0

    def open(
        self,
        context: UploadContext,
        parameters: LatticeParameters,
        releases: Mapping[str, bytes],
        salts: Mapping[str, bytes],
    ) -> tuple[SecretSum, list[str]]:
        return open_shared(parameters, self._key, context, salts), []
