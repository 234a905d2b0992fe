"""The interface for dealing parties, members and opening parties, the same for every opener of sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hekat.protocol.secure_sum.masked.opening.share_keys import ShareKeys
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext
from hekat.scheme.lattice import LatticeParameters, SecretKey, SecretSum

FieldArray = npt.NDArray[np.uint16]


@dataclass(frozen=True)
class Dealt:
    """A fresh secret, and what the dealer tells of it: an offset or a salt for everybody, a message for an authority.

    `messages`: what each member reads its share from, secret; a committee has it from the keys of the session.
    """

    secret: SecretKey | None
    messages: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    offset: bytes = b""
    digests: tuple[bytes, ...] = ()
    salt: bytes = b""


class OpeningScheme(Protocol):
    """One scheme. What a member keeps of a dealer is an array of uint16 or uint8, to be wiped."""

    @property
    def members(self) -> tuple[str, ...]:
        """The roles that open together, in the order of their points; none where every party opens by itself."""
        ...

    @property
    def quorum(self) -> int:
        """How many members have to release."""
        ...

    def describe(self) -> str:
        """The openers, in a sentence for the ledger."""
        ...

    def draw_keys(self) -> ShareKeys | None:
        """Fresh keys of one dealer for a session; None where members are sent something in every upload, or nothing."""
        ...

    def deal(self, context: UploadContext, dealer: str, parameters: LatticeParameters, keys: ShareKeys | None) -> Dealt:
        """A fresh secret of the party `dealer`; `keys`, of `draw_keys`, move on to the next upload."""
        ...

    def offset_bytes(self, degree: int) -> int:
        """How long the offset of a dealing is: 0 where there is none."""
        ...

    def read(
        self,
        context: UploadContext,
        dealer: str,
        member: str,
        message: bytes,
        offset: bytes,
        digest: bytes,
        degree: int,
    ) -> npt.NDArray[np.uint16]:
        """What a member keeps of a dealer's message. Raises ProtocolError, `what` fit to be told to others."""
        ...

    def check_values(
        self, challenge_digest: bytes, kept: Mapping[str, FieldArray], degree: int
    ) -> dict[str, FieldArray]:
        """A member's check values by dealer, so that inconsistent dealing is found."""
        ...

    def combine(self, kept: Mapping[str, FieldArray], parameters: LatticeParameters) -> bytes:
        """What a member releases for the parties in `kept`: the sum over them."""
        ...

    def release_bytes(self, degree: int) -> int:
        """How long what a member releases is, before it is sealed."""
        ...

    def open(
        self,
        context: UploadContext,
        parameters: LatticeParameters,
        releases: Mapping[str, bytes],
        salts: Mapping[str, bytes],
    ) -> tuple[SecretSum, list[str]]:
        """The sum of the secrets of the included parties, the keys of `salts`; and members whose release is wrong.

        Raises ProtocolError or BoundError where no such sum comes of the releases.
        """
        ...
