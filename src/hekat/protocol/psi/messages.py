"""Every message of a set intersection, each field with what it discloses and to whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.wire import ciphertext, disclosed, message, public


@message("psi/announcement", version=1)
@dataclass(frozen=True)
class AnnouncementMessage:
    """Each party to each that it compares with, once: what the job says, what the ids are, and how long its list."""

    settings_digest: bytes = public()
    kinds: tuple[str, ...] = disclosed("of each id column, whether it holds texts or whole numbers")
    padded_count: int = disclosed("the size of the sender's set, rounded up to a rung of a public ladder")


@message("psi/masked-points", version=1)
@dataclass(frozen=True)
class MaskedPointsMessage:
    """Either party to the other, a part of its list: points (count, 32) of its ids and padding, in a random order."""

    rows: npt.NDArray[np.uint8] = ciphertext(under="the sender's scalar of this run")


@message("psi/answered-points", version=1)
@dataclass(frozen=True)
class AnsweredPointsMessage:
    """To the party that compares, a part of its own list with the sender's scalar on top, shape (count, 32)."""

    rows: npt.NDArray[np.uint8] = ciphertext(
        under="the scalars of both: compared with the other list, they tell the receiver what is common to the two"
    )


@message("psi/signing-key", version=1)
@dataclass(frozen=True)
class SigningKeyMessage:
    """Signer to the party that compares, once: its key of this run, and the proof that blinding hides under it."""

    public_key: bytes = public()
    proof: bytes = public()


@message("psi/blinded-ids", version=1)
@dataclass(frozen=True)
class BlindedIdsMessage:
    """To the signer, a part of the list of the party that compares: ids and padding, blinded, in a random order."""

    elements: bytes = ciphertext(under="the sender's blinding: uniform, whatever the ids are")


@message("psi/blind-signatures", version=1)
@dataclass(frozen=True)
class BlindSignaturesMessage:
    """Signer to the party that compares: signatures of one part of its list, in the order they came."""

    elements: bytes = ciphertext(under="the receiver's blinding")


@message("psi/tags", version=1)
@dataclass(frozen=True)
class TagsMessage:
    """Signer to the party that compares, a part of its list: tags (count, 32) of its ids and padding, shuffled."""

    rows: npt.NDArray[np.uint8] = ciphertext(
        under="the signer's key: the receiver, who has signatures of its own ids, learns what is common to the two"
    )


@message("psi/common-rows", version=1)
@dataclass(frozen=True)
class CommonRowsMessage:
    """From the party that compared: which places of the receiver's list are common to all parties."""

    places: npt.NDArray[np.uint8] = disclosed("which of the receiver's rows are common to all parties")
    set_digest: bytes = disclosed("a digest of the common ids, all of which the receiver has")


@message("psi/common-count", version=1)
@dataclass(frozen=True)
class CommonCountMessage:
    """From the party that compared, `cardinality_only`: how many, shape (1,), of one size on its way whatever it is."""

    count: npt.NDArray[np.int64] = disclosed("how many of the receiver's rows are common to both parties")
