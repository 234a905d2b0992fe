"""Every message of a set intersection, each field with what it discloses and to whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.wire import ciphertext, disclosed, message, public


@message("psi/announcement", version=1)
@dataclass(frozen=True)
class AnnouncementMessage:
    """Each party to every party that it compares with, once: the digest of its settings, the kinds of its id columns,
    and the length of its list."""

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
    """Answerer to asker, a part of the asker's list times the answerer's scalar, shape (count, 32)."""

    rows: npt.NDArray[np.uint8] = ciphertext(
        under="the scalars of both: compared with the other list, they tell the receiver what is common to the two"
    )


@message("psi/signing-key", version=1)
@dataclass(frozen=True)
class SigningKeyMessage:
    """Answerer to asker, once: its key of this run, and the proof that blinding hides under the key."""

    public_key: bytes = public()
    proof: bytes = public()


@message("psi/blinded-ids", version=1)
@dataclass(frozen=True)
class BlindedIdsMessage:
    """Asker to answerer, a part of the asker's list: ids and padding, blinded, in a random order."""

    elements: bytes = ciphertext(under="the sender's blinding: uniform, whatever the ids are")


@message("psi/blind-signatures", version=1)
@dataclass(frozen=True)
class BlindSignaturesMessage:
    """Answerer to asker: signatures of one part of the asker's list, in the order in which it came."""

    elements: bytes = ciphertext(under="the receiver's blinding")


@message("psi/tags", version=1)
@dataclass(frozen=True)
class TagsMessage:
    """Answerer to asker, a part of the answerer's list: tags (count, 32) of its ids and padding, shuffled."""

    rows: npt.NDArray[np.uint8] = ciphertext(
        under="the signer's key: the receiver, who has signatures of its own ids, learns what is common to the two"
    )


@message("psi/common-rows", version=1)
@dataclass(frozen=True)
class CommonRowsMessage:
    """Asker to answerer: which places of the answerer's list are common to all parties."""

    places: npt.NDArray[np.uint8] = disclosed("which of the receiver's rows are common to all parties")
    set_digest: bytes = disclosed("a digest of the common ids, which the receiver has anyway")


@message("psi/common-count", version=1)
@dataclass(frozen=True)
class CommonCountMessage:
    """Asker to answerer, with `cardinality_only`: how many rows are common, shape (1,); the message always has one
    size."""

    count: npt.NDArray[np.int64] = disclosed("how many of the receiver's rows are common to both parties")
