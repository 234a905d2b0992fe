"""Every message of the horizontal protocol, each field with what it discloses and to whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.wire import ciphertext, disclosed, message, public, sealed


@message("horizontal/public-key", version=1)
@dataclass(frozen=True)
class PublicKeyMessage:
    """Leader to aggregator, once: what it needs to add ciphertexts, and nothing that opens them."""

    public_key: bytes = public()


@message("horizontal/shared-secrets", version=1)
@dataclass(frozen=True)
class SharedSecretsMessage:
    """Leader to each party, once, sealed: the key pair all parties share (BatchCrypt, Algorithm 1)."""

    private_key: bytes = sealed("the Paillier private key that all parties share")
    digest_key: bytes = sealed("the key under which parties compare model digests")


@message("horizontal/ready", version=2)
@dataclass(frozen=True)
class ReadyMessage:
    """Party to aggregator, once: the shape of its table and of its model, so that a stranger's columns or another
    model are found before training."""

    schema: str = disclosed("the digest of the party's column names and classes")
    columns: list[str] = disclosed("the names of the party's columns")
    model_code: str = disclosed("the digest of the party's model code; empty for a model of Hekat's own")
    tensors: list[str] = disclosed("names and shapes of the model's tensors")
    model_start: str = disclosed("the digest of the parameters that training begins with")


@message("horizontal/start", version=1)
@dataclass(frozen=True)
class StartMessage:
    """Aggregator to each party, once: everybody is here and their schemas agree."""

    party_count: int = public()


@message("horizontal/update", version=1)
@dataclass(frozen=True)
class UpdateMessage:
    """Party to aggregator: its packed and encrypted update, weight, counters and count lane."""

    ciphertexts: bytes = ciphertext(under="all parties (shared Paillier key)")


@message("horizontal/sum", version=1)
@dataclass(frozen=True)
class SumMessage:
    """Aggregator to each party: the sum of the updates; the parties open it and so learn the aggregate."""

    ciphertexts: bytes = ciphertext(under="all parties (shared Paillier key): each learns the sum")
    addend_count: int = public()


@message("horizontal/range", version=1)
@dataclass(frozen=True)
class RangeMessage:
    """Party to aggregator, `daciq` clipping only: per-tensor ranges (BatchCrypt, Algorithm 1, line 11)."""

    minimum: npt.NDArray[np.float64] = disclosed("the smallest value of each tensor of this party's update")
    maximum: npt.NDArray[np.float64] = disclosed("the largest value of each tensor of this party's update")
    sizes: npt.NDArray[np.int64] = public()


@message("horizontal/clip", version=1)
@dataclass(frozen=True)
class ClipMessage:
    """Aggregator to each party, `daciq` clipping only: the clipping bound of each tensor."""

    alpha: npt.NDArray[np.float64] = disclosed("clipping bounds fitted to the extreme values over all parties")


@message("horizontal/plain-update", version=1)
@dataclass(frozen=True)
class PlainUpdateMessage:
    """Party to aggregator under protection `none`: the update in the clear; counters as limbs, shape (count, 4)."""

    values: npt.NDArray[np.float64] = disclosed("THE PARTY'S UPDATE, UNENCRYPTED")
    weight: int = disclosed("the party's row count")
    counters: npt.NDArray[np.uint64] = disclosed("the party's loss and counters")


@message("horizontal/plain-mean", version=1)
@dataclass(frozen=True)
class PlainMeanMessage:
    """Aggregator to each party under protection `none`: the weighted mean; counters as limbs, shape (count, 4)."""

    values: npt.NDArray[np.float64] = disclosed("the weighted mean of the updates")
    weight_sum: int = disclosed("the rows of all parties")
    counters: npt.NDArray[np.uint64] = disclosed("the sum of the counters")


@message("horizontal/round-end", version=1)
@dataclass(frozen=True)
class RoundEndMessage:
    """Party to aggregator after every round: all models must be the same, and all must agree to go on or to stop."""

    model_digest: bytes = disclosed("a keyed digest of the model; equal or not is all the aggregator sees")
    finished: bool = public()


@message("horizontal/round-agreed", version=1)
@dataclass(frozen=True)
class RoundAgreedMessage:
    """Aggregator to each party: every party holds the same model after this round."""

    party_count: int = public()


@message("horizontal/final-model", version=1)
@dataclass(frozen=True)
class FinalModelMessage:
    """Party to each other party, once training has ended; the signature binds digest, session and party."""

    digest: bytes = disclosed(
        "a keyed digest of the final model and of the sums before it; equal or not is what it tells"
    )
    signature: bytes = public()
