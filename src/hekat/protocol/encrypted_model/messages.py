"""Every message of a training on an encrypted model, each field with what it discloses and to whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.wire import ciphertext, disclosed, message, public, sealed

_UNDER = "the arbiter's key"


@message("encrypted-model/key", version=1)
@dataclass(frozen=True)
class KeyMessage:
    """Arbiter to hosts and aggregator, once; the key is empty under protection `none`."""

    public_key: bytes = public()
    rounds_done: int = public()


@message("encrypted-model/ready", version=1)
@dataclass(frozen=True)
class ReadyMessage:
    """Host to aggregator, once: its columns, so that others are found before training."""

    columns: list[str] = disclosed("the names of the host's columns")
    rounds_done: int = public()


@message("encrypted-model/start", version=1)
@dataclass(frozen=True)
class StartMessage:
    """Aggregator to hosts and arbiter, once: all hosts have the same columns and have done as many rounds."""

    column_count: int = public()
    rounds_done: int = public()


@message("encrypted-model/seed", version=1)
@dataclass(frozen=True)
class SeedMessage:
    """Host to host, once: what their masks grow from; these cancel in sums over all hosts."""

    seed: bytes = sealed("the seed of masks that two hosts share")


@message("encrypted-model/common-seed", version=1)
@dataclass(frozen=True)
class CommonSeedMessage:
    """The first host to each other host, once: the seed of a mask that hosts take off sums over their rows."""

    seed: bytes = sealed("the seed of a mask that all hosts share and nobody else")


@message("encrypted-model/masked-moments", version=1)
@dataclass(frozen=True)
class MaskedMomentsMessage:
    """Host to aggregator: sums over its rows mod 2^256, as limbs (sums, 4), under masks."""

    values: npt.NDArray[np.uint64] = ciphertext(under="masks that the hosts alone know")


@message("encrypted-model/moments", version=1)
@dataclass(frozen=True)
class MomentsMessage:
    """Aggregator to each host: the sums over all hosts' rows, as limbs (sums, 4), under the mask that hosts share."""

    values: npt.NDArray[np.uint64] = disclosed(
        "how many rows all hosts have; where columns are standardised, mean and spread of each column over these rows, "
        "in a regression of the label too; of two hosts each has the other's by subtraction"
    )


@message("encrypted-model/facts", version=1)
@dataclass(frozen=True)
class FactsMessage:
    """Each host to an owner that is none of them, once: what a model is of."""

    columns: list[str] = disclosed("the names of the columns")
    row_count: int = disclosed("how many rows all hosts have")
    means: npt.NDArray[np.float64] = disclosed("the mean of each column, and of a regression's label, over all rows")
    spreads: npt.NDArray[np.float64] = disclosed("the spread of each column, and of the label, over all rows")


@message("encrypted-model/share", version=1)
@dataclass(frozen=True)
class ShareMessage:
    """Arbiter to aggregator, each round: its share of the weights. `transcript` is as in ModelShareMessage."""

    values: bytes = ciphertext(under=_UNDER)
    transcript: bytes = public()


@message("encrypted-model/weights", version=1)
@dataclass(frozen=True)
class WeightsMessage:
    """Aggregator to each host, each round: the weights, its own share added to the arbiter's."""

    values: bytes = ciphertext(under=_UNDER)


@message("encrypted-model/update", version=1)
@dataclass(frozen=True)
class UpdateMessage:
    """Host to aggregator, each round: the weights after its local epochs times its part of all rows, re-randomised and
    under masks that cancel over hosts."""

    values: bytes = ciphertext(under=f"{_UNDER}, and under masks that cancel over hosts")


@message("encrypted-model/sum", version=1)
@dataclass(frozen=True)
class SumMessage:
    """Aggregator to arbiter, each round: the sum of all updates under a mask uniform in the whole ring."""

    values: bytes = ciphertext(under=f"{_UNDER}; it opens uniform numbers: its share of the new weights")


@message("encrypted-model/model-share", version=1)
@dataclass(frozen=True)
class ModelShareMessage:
    """Arbiter and aggregator each to the owner, after the last round and those that are reported.

    `share` (numbers, K, 2) are limbs mod 2^128. `transcript` (32 bytes) is a digest of what both saw so far.
    """

    share: npt.NDArray[np.uint64] = disclosed("the model of this round, with the other share of it")
    transcript: bytes = public()


@message("encrypted-model/round-end", version=1)
@dataclass(frozen=True)
class RoundEndMessage:
    """Aggregator to an owner that is no host, after each round."""

    round_number: int = public()


@message("encrypted-model/plain-share", version=1)
@dataclass(frozen=True)
class PlainShareMessage:
    """As ShareMessage under protection `none`."""

    values: bytes = disclosed("THE MODEL OF EVERY ROUND, UNENCRYPTED")
    transcript: bytes = public()


@message("encrypted-model/plain-weights", version=1)
@dataclass(frozen=True)
class PlainWeightsMessage:
    """As WeightsMessage under protection `none`."""

    values: bytes = disclosed("THE MODEL OF EVERY ROUND, UNENCRYPTED")


@message("encrypted-model/plain-update", version=1)
@dataclass(frozen=True)
class PlainUpdateMessage:
    """As UpdateMessage under protection `none`."""

    values: bytes = disclosed("THE HOST'S OWN UPDATE OF EVERY ROUND, UNENCRYPTED AND UNMASKED")


@message("encrypted-model/plain-sum", version=1)
@dataclass(frozen=True)
class PlainSumMessage:
    """As SumMessage under protection `none`."""

    values: bytes = disclosed("THE SUM OF ALL UPDATES OF EVERY ROUND, UNENCRYPTED AND UNMASKED")


def _by_protection(encrypted: type[Any], plain: type[Any]) -> dict[str, type[Any]]:
    return {"lattice": encrypted, "paillier": encrypted, "none": plain}


SHARES = _by_protection(ShareMessage, PlainShareMessage)
WEIGHTS = _by_protection(WeightsMessage, PlainWeightsMessage)
UPDATES = _by_protection(UpdateMessage, PlainUpdateMessage)
SUMS = _by_protection(SumMessage, PlainSumMessage)
