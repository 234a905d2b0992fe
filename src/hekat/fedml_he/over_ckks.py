"""FedML-HE's operations over CKKS: one key pair, plaintext weights at the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.fedml_he.params import Params
from hekat.scheme.ckks import Ciphertexts, PrivateKey, PublicKey, Sharing, decrypt, generate_keys, weighted_sum


@dataclass(frozen=True)
class CkksOpeningKey:
    """The private key, and how what it opens may be shared."""

    private: PrivateKey
    sharing: Sharing


def make_keys(params: Params) -> tuple[PublicKey, CkksOpeningKey]:
    """A fresh pair, for as many rounds as the set's `shared_count` allows."""
    pair = generate_keys(params.ckks_parameters)
    return pair.public, CkksOpeningKey(pair.private, params.sharing)


def aggregate_models(models: Sequence[Ciphertexts], weights: Sequence[float] | None) -> Ciphertexts:
    """The sum of the models times their weights, by default the mean."""
    return weighted_sum(models, [1 / len(models)] * len(models) if weights is None else weights)


def decrypt_model(key: CkksOpeningKey, model: Ciphertexts) -> npt.NDArray[np.float64]:
    """The values, as `hekat.scheme.ckks.decrypt` gives them in the key's way of sharing."""
    return decrypt(key.private, model, key.sharing)
