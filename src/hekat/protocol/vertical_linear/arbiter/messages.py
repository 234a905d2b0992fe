"""Every message of regression with an arbiter, each field with what it discloses and to whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.wire import ciphertext, disclosed, message, public

_UNDER = "the arbiter's key"


@message("vertical-linear/host-ready", version=2)
@dataclass(frozen=True)
class HostReadyMessage:
    """Host to guest, once: what the guest checks before anything of the labels leaves it."""

    row_count: int = public()
    column_count: int = public()
    high_leverage_columns: int = disclosed("in how many columns of the host one row outweighs the rest of a batch")
    feature_bits: int = disclosed("the bit length of the host's largest prepared feature")
    epochs_done: int = public()


@message("vertical-linear/start", version=2)
@dataclass(frozen=True)
class StartMessage:
    """Guest to hosts and arbiter, once: all hosts have the same rows and have done as many epochs; and the counts that
    hosts check before anything of their columns leaves them.

    Version 2 lays sums out with slots that are 16 bits wider.
    """

    row_count: int = public()
    column_counts: list[int] = public()
    high_leverage_columns: int = disclosed("in how many columns of the guest one row outweighs the rest of a batch")
    feature_bits: int = disclosed("the bit length of the largest prepared feature of any party")
    target_bits: int = disclosed("the bit length of the largest target in magnitude; 1 for classes")
    epochs_done: int = public()
    finished: bool = public()


@message("vertical-linear/public-key", version=2)
@dataclass(frozen=True)
class PublicKeyMessage:
    """Arbiter to guest and hosts, once; the key is empty under protection `none`.

    `start_digest` is a digest of the sizes that the arbiter heard, so that every party finds out whether the guest told
    all the same. Version 1 had none.
    """

    public_key: bytes = public()
    start_digest: bytes = public()


@message("vertical-linear/scores", version=1)
@dataclass(frozen=True)
class ScoresMessage:
    """Host to guest: its part of the residual of each row of the batch."""

    values: bytes = ciphertext(under=_UNDER)


@message("vertical-linear/residuals", version=1)
@dataclass(frozen=True)
class ResidualsMessage:
    """Guest to each host: the residual of each row of the batch, under fresh randomisers."""

    values: bytes = ciphertext(under=_UNDER)


@message("vertical-linear/masked-gradient", version=1)
@dataclass(frozen=True)
class MaskedGradientMessage:
    """Guest or host to arbiter: its gradient under masks uniform mod n, or mod q under BFV, re-randomised."""

    values: bytes = ciphertext(under=f"{_UNDER}; it opens the gradient plus a mask that the sender alone knows: noise")


@message("vertical-linear/opened-gradient", version=1)
@dataclass(frozen=True)
class OpenedGradientMessage:
    """Arbiter to guest or host: the one slot of each sum that holds the gradient, as limbs (values, limbs)."""

    values: npt.NDArray[np.uint64] = disclosed("the party's own gradient, once it takes its mask away")


@message("vertical-linear/loss-part", version=1)
@dataclass(frozen=True)
class LossPartMessage:
    """Host to guest, once an epoch: its part of the epoch's loss."""

    values: bytes = ciphertext(under=_UNDER)


@message("vertical-linear/masked-loss", version=1)
@dataclass(frozen=True)
class MaskedLossMessage:
    """Guest to arbiter, once an epoch: the epoch's loss under a uniform mask, re-randomised."""

    values: bytes = ciphertext(under=f"{_UNDER}; it opens the loss plus a mask that the guest alone knows: noise")


@message("vertical-linear/opened-loss", version=2)
@dataclass(frozen=True)
class OpenedLossMessage:
    """Arbiter to guest: the upper bits of the one slot that holds the loss, as limbs (1, limbs); version 1 told all."""

    values: npt.NDArray[np.uint64] = disclosed("the epoch's loss to 2^-24 or less, once the guest takes its mask away")


@message("vertical-linear/epoch-end", version=1)
@dataclass(frozen=True)
class EpochEndMessage:
    """Guest to hosts and arbiter after every epoch: whether another one follows."""

    finished: bool = disclosed("whether what the guest alone sees ends the training")


@message("vertical-linear/plain-scores", version=1)
@dataclass(frozen=True)
class PlainScoresMessage:
    """As ScoresMessage under protection `none`."""

    values: bytes = disclosed("THE HOST'S SCORES, UNENCRYPTED")


@message("vertical-linear/plain-residuals", version=1)
@dataclass(frozen=True)
class PlainResidualsMessage:
    """As ResidualsMessage under protection `none`."""

    values: bytes = disclosed("THE RESIDUALS, AND SO THE LABELS, UNENCRYPTED")


@message("vertical-linear/plain-gradient", version=1)
@dataclass(frozen=True)
class PlainGradientMessage:
    """As MaskedGradientMessage under protection `none`."""

    values: bytes = disclosed("THE PARTY'S GRADIENT, UNENCRYPTED AND UNMASKED")


@message("vertical-linear/plain-loss-part", version=1)
@dataclass(frozen=True)
class PlainLossPartMessage:
    """As LossPartMessage under protection `none`."""

    values: bytes = disclosed("THE HOST'S PART OF THE LOSS, UNENCRYPTED")


@message("vertical-linear/plain-loss", version=1)
@dataclass(frozen=True)
class PlainLossMessage:
    """As MaskedLossMessage under protection `none`."""

    values: bytes = disclosed("THE EPOCH'S LOSS, UNENCRYPTED AND UNMASKED")


def _by_protection(encrypted: type[Any], plain: type[Any]) -> dict[str, type[Any]]:
    return {"paillier": encrypted, "lattice": encrypted, "none": plain}


SCORES = _by_protection(ScoresMessage, PlainScoresMessage)
RESIDUALS = _by_protection(ResidualsMessage, PlainResidualsMessage)
GRADIENTS = _by_protection(MaskedGradientMessage, PlainGradientMessage)
LOSS_PARTS = _by_protection(LossPartMessage, PlainLossPartMessage)
LOSSES = _by_protection(MaskedLossMessage, PlainLossMessage)
