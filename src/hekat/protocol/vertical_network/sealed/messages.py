"""Every message of a sealed network's batches, each field with what it discloses and to whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.wire import ciphertext, disclosed, message


@message("vertical-network/sealed-factors", version=1)
@dataclass(frozen=True)
class SealedFactorsMessage:
    """Either party to the other: shares of weights, units, residuals or slopes, to be multiplied encrypted.

    A matrix is one field, numbers in slots are one for each plaintext prime.
    """

    values: list[bytes] = ciphertext(under="the sender's key; the numbers are shares: uniform by themselves")


@message("vertical-network/plain-sealed-factors", version=1)
@dataclass(frozen=True)
class PlainSealedFactorsMessage:
    """As SealedFactorsMessage under protection `none`."""

    values: list[bytes] = disclosed("THE SENDER'S SHARES OF WEIGHTS, UNITS, RESIDUALS OR SLOPES, UNENCRYPTED")


@message("vertical-network/sealed-answer", version=1)
@dataclass(frozen=True)
class SealedAnswerMessage:
    """The answer: products of the receiver's numbers with the sender's own, under masks that the sender keeps."""

    values: list[bytes] = ciphertext(under="the receiver's key; it opens uniform numbers: its shares of the products")


@message("vertical-network/plain-sealed-answer", version=1)
@dataclass(frozen=True)
class PlainSealedAnswerMessage:
    """As SealedAnswerMessage under protection `none`."""

    values: list[bytes] = disclosed("THE PRODUCTS THEMSELVES, UNMASKED")


@message("vertical-network/sealed-loss", version=1)
@dataclass(frozen=True)
class SealedLossMessage:
    """Host to guest: its share of the cut sum of squared residuals of an epoch, one number."""

    share: npt.NDArray[np.uint64] = disclosed(
        "the mean loss of the epoch, cut to a bit for a row in the whole run; to a guest that lies all bits that leave"
    )


Factors = type[SealedFactorsMessage] | type[PlainSealedFactorsMessage]
Answers = type[SealedAnswerMessage] | type[PlainSealedAnswerMessage]
FACTORS_MESSAGE: dict[str, Factors] = {"lattice": SealedFactorsMessage, "none": PlainSealedFactorsMessage}
ANSWER_MESSAGE: dict[str, Answers] = {"lattice": SealedAnswerMessage, "none": PlainSealedAnswerMessage}
