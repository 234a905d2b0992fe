"""FedML-HE's operations on keys and encrypted models, handed to the scheme that they are of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.fedml_he import over_ckks, over_lattice
from hekat.fedml_he.over_ckks import CkksOpeningKey
from hekat.fedml_he.over_lattice import ClientKey, EncryptedModel, OpeningKey
from hekat.fedml_he.params import Params
from hekat.scheme.ckks import Ciphertexts, PublicKey, encrypt

FloatVector = npt.NDArray[np.floating[Any]]


def key_gen(params: Params) -> tuple[tuple[ClientKey, ...], OpeningKey] | tuple[PublicKey, CkksOpeningKey]:
    """Fresh keys, pk and sk. With "lattice" for one aggregation: pk[i] is client i's alone, sk opens their sum.

    Raises InputError for "ckks" without its library, and for what is no `Params`.
    """
    if not isinstance(params, Params):
        raise InputError("not the parameters of a scheme", expected="Params(...)", got=type(params).__name__)
    return over_lattice.make_keys(params) if params.scheme == "lattice" else over_ckks.make_keys(params)


def enc(pk: ClientKey | PublicKey, vector: FloatVector, weight: int | None = None) -> EncryptedModel | Ciphertexts:
    """The encrypted model. `weight`, with "lattice" alone: a whole number, by default `weight_max`.

    Raises InputError for a vector or weight of another kind, BoundError for a value beyond the bound,
    KeyRefusedError for a client's key that was used.
    """
    if isinstance(pk, ClientKey):
        return over_lattice.encrypt_model(pk, vector, pk.params.weight_max if weight is None else weight)
    if isinstance(pk, PublicKey):
        if weight is not None:
            raise InputError(
                "with CKKS the server applies the weights",
                expected="no weight",
                got="one",
                cure="he_aggregate(enc_models, weight_factors)",
            )
        return encrypt(pk, vector)
    hint = "with the lattice scheme each client has a key of its own: enc(pk[i], vector)" if type(pk) is tuple else ""
    raise InputError("not a key to encrypt with", expected="pk of key_gen", got=type(pk).__name__, cure=hint)


def he_aggregate(
    enc_models: Sequence[EncryptedModel] | Sequence[Ciphertexts], weight_factors: Sequence[float] | None = None
) -> EncryptedModel | Ciphertexts:
    """The encrypted global model, by the server, without any key.

    `weight_factors`, with "ckks" alone: one for each model, used as they are; by default 1/n each. With "lattice" the
    mean is by the weights of the clients.
    Raises InputError for no models, models of two schemes or rounds, and weights where the scheme takes none.
    """
    if not isinstance(enc_models, Sequence):
        raise InputError("no encrypted models", expected="a list of what enc gave", got=type(enc_models).__name__)
    lattice = [model for model in enc_models if isinstance(model, EncryptedModel)]
    ckks = [model for model in enc_models if isinstance(model, Ciphertexts)]
    if not enc_models or len(enc_models) not in (len(lattice), len(ckks)):
        raise InputError("not encrypted models of one scheme", expected="what enc gave, at least one", got="other")
    if ckks:
        return over_ckks.aggregate_models(ckks, weight_factors)
    if weight_factors is not None:
        raise InputError(
            "the server applies no weights with the lattice scheme",
            expected="no weight_factors",
            got="some: from a sum with unequal weights, once it is opened, single secrets can be read",
            cure="enc(pk[i], vector, weight=n_i) at the clients; or Params(scheme='ckks')",
        )
    return over_lattice.aggregate_models(lattice)


def dec(sk: OpeningKey | CkksOpeningKey, enc_model: EncryptedModel | Ciphertexts) -> FloatVector:
    """The global model as a flat vector: with "lattice" the weighted mean, with "ckks" the sum by weight factors.

    Raises InputError for a key and a model of two schemes, PolicyError for a lattice sum that is not to be opened,
    KeyRefusedError for keys of others, BoundError where CKKS' parameters leave no room to share a result.
    """
    if isinstance(sk, OpeningKey) and isinstance(enc_model, EncryptedModel):
        return over_lattice.decrypt_model(sk, enc_model)
    if isinstance(sk, CkksOpeningKey) and isinstance(enc_model, Ciphertexts):
        return over_ckks.decrypt_model(sk, enc_model)
    raise InputError(
        "key and encrypted model do not belong together",
        expected="sk of key_gen and what he_aggregate gave, of one scheme",
        got=f"{type(sk).__name__} and {type(enc_model).__name__}",
    )
