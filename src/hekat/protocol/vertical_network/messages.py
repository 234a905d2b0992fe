"""Every message of a training of a split network, each field with what it discloses and to whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.wire import ciphertext, disclosed, message, public, sealed


@message("vertical-network/host-ready", version=1)
@dataclass(frozen=True)
class HostReadyMessage:
    """Host to guest, once: what both must agree on before anything is computed.

    `plan` stands for the rows of every batch. `model_id` names the model that the host goes on with, empty where it
    begins anew.
    """

    row_count: int = public()
    plan: bytes = public()
    width: int = disclosed("how many features the host's bottom gives; its columns, where it has no bottom")
    epochs_done: int = public()
    model_id: str = public()
    public_key: bytes = public()


@message("vertical-network/start", version=1)
@dataclass(frozen=True)
class StartMessage:
    """Guest to hosts, once: all have the same rows and have done as many epochs.

    `widths` are of the guest and the hosts, in the job's order. `finished`: the resumed training had ended, and nothing
    follows.
    """

    row_count: int = public()
    widths: list[int] = disclosed("how many features each party's bottom gives")
    epochs_done: int = public()
    model_id: str = public()
    finished: bool = public()
    public_key: bytes = public()


@message("vertical-network/mask-seed", version=1)
@dataclass(frozen=True)
class MaskSeedMessage:
    """Host to each later host, once: what masks follow from that cancel in the sum of both."""

    seed: bytes = sealed("the seed of masks between two hosts")


@message("vertical-network/first-addend", version=1)
@dataclass(frozen=True)
class FirstAddendMessage:
    """Host to guest, once: a uniform addend, which the host takes off its first weights and the guest adds to its own.

    Limbs, shape (m, k, 2).
    """

    addend: npt.NDArray[np.uint64] = ciphertext(under="the host's own first weights: uniform by itself")


@message("vertical-network/factors", version=1)
@dataclass(frozen=True)
class FactorsMessage:
    """Either party to the other: a matrix to be multiplied encrypted.

    Features of a batch (host), addends of weights (host or guest), or slopes of a batch (guest, to all hosts alike).
    """

    values: bytes = ciphertext(under="the sender's key")


@message("vertical-network/plain-factors", version=1)
@dataclass(frozen=True)
class PlainFactorsMessage:
    """As FactorsMessage under protection `none`."""

    values: bytes = disclosed("THE SENDER'S FEATURES, SLOPES (AND SO LABELS) OR WEIGHTS, UNENCRYPTED")


@message("vertical-network/answer", version=1)
@dataclass(frozen=True)
class AnswerMessage:
    """The answer: products of the receiver's matrix with the sender's own, under masks that the sender keeps."""

    values: bytes = ciphertext(under="the receiver's key; it opens uniform numbers: its shares of the products")


@message("vertical-network/plain-answer", version=1)
@dataclass(frozen=True)
class PlainAnswerMessage:
    """As AnswerMessage under protection `none`."""

    values: bytes = disclosed("THE PRODUCTS THEMSELVES, UNMASKED")


@message("vertical-network/outputs", version=1)
@dataclass(frozen=True)
class OutputsMessage:
    """Host to guest: its share of the layer's outputs (rows, k), under masks that cancel over the hosts."""

    share: npt.NDArray[np.uint64] = disclosed(
        "the interactive layer's outputs of each row, summed over hosts; over the steps the host's features but for a "
        "rotation"
    )


@message("vertical-network/feature-slopes", version=1)
@dataclass(frozen=True)
class FeatureSlopesMessage:
    """Guest to a host whose bottom trains: its share of the slopes of the host's features, (rows, m)."""

    share: npt.NDArray[np.uint64] = disclosed(
        "the slopes of the loss by the host's features of each row: the labels that the guest trains on, and something "
        "of the columns of the guest and of other hosts"
    )


@message("vertical-network/epoch-end", version=1)
@dataclass(frozen=True)
class EpochEndMessage:
    """Guest to hosts after every epoch: whether training goes on."""

    finished: bool = disclosed("whether the losses, which the guest alone sees, end the training")


Factors = type[FactorsMessage] | type[PlainFactorsMessage]
Answers = type[AnswerMessage] | type[PlainAnswerMessage]
FACTORS_MESSAGE: dict[str, Factors] = {"lattice": FactorsMessage, "none": PlainFactorsMessage}
ANSWER_MESSAGE: dict[str, Answers] = {"lattice": AnswerMessage, "none": PlainAnswerMessage}
