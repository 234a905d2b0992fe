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
    """Fresh keys, pk and sk: FedML-HE's first operation.

    Args:
        params: the scheme and its settings.

    Returns:
        With "lattice", for one aggregation: pk[i] is client i's alone, sk opens the sum of one set of clients. With
        "ckks": one public key, and the private key that opens everything.

    Raises:
        InputError: "ckks" without its library, or what is no `Params`.

    Examples:
        >>> pk, sk = fedml_he.key_gen(fedml_he.Params(client_count=3))
        >>> len(pk)
        3
    """
    if not isinstance(params, Params):
        raise InputError("not the parameters of a scheme", expected="Params(...)", got=type(params).__name__)
    return over_lattice.make_keys(params) if params.scheme == "lattice" else over_ckks.make_keys(params)


def enc(pk: ClientKey | PublicKey, vector: FloatVector, weight: int | None = None) -> EncryptedModel | Ciphertexts:
    """The encrypted model of one client.

    Args:
        pk: with "lattice" the client's own key, which serves once; with "ckks" the public key.
        vector: float32 or float64, shape (count,), as `flatten` gives it.
        weight: with "lattice" alone: a whole number up to `weight_max`, which is the default.

    Returns:
        What may leave the client.

    Raises:
        InputError: a vector or weight of another kind.
        BoundError: a value beyond the bound; nothing is clipped.
        KeyRefusedError: a client's key that was used.

    Examples:
        >>> pk, sk = fedml_he.key_gen(fedml_he.Params(client_count=3))
        >>> models = [fedml_he.enc(key, np.full(2, x, np.float32)) for key, x in zip(pk, (0.1, 0.2, 0.6))]
        >>> fedml_he.dec(sk, fedml_he.he_aggregate(models)).round(3)
        array([0.3, 0.3], dtype=float32)
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

    Args:
        enc_models: of the clients.
        weight_factors: with "ckks" alone: one for each model, used as they are. None: 1/n each. With "lattice" the mean
            is by the weights of the clients.

    Returns:
        What `dec` opens.

    Raises:
        InputError: no models, models of two schemes or rounds, and weights where the scheme takes none.

    Examples:
        >>> pk, sk = fedml_he.key_gen(fedml_he.Params(client_count=3, weight_max=3))
        >>> models = [fedml_he.enc(key, np.ones(2, np.float32) / n, weight=n) for n, key in enumerate(pk, 1)]
        >>> fedml_he.dec(sk, fedml_he.he_aggregate(models)).round(3)
        array([0.5, 0.5], dtype=float32)
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
    """The global model as a flat vector.

    Args:
        sk: what `key_gen` gave beside the clients' keys.
        enc_model: what `he_aggregate` gave.

    Returns:
        With "lattice" the weighted mean, with "ckks" the sum by weight factors, shape (count,).

    Raises:
        InputError: a key and a model of two schemes.
        PolicyError: a lattice sum that is not to be opened: of too few clients, or another set than the one opened.
        KeyRefusedError: keys of others.
        BoundError: CKKS' parameters leave no room to share a result.

    Examples:
        >>> pk, sk = fedml_he.key_gen(fedml_he.Params(client_count=3))
        >>> models = [fedml_he.enc(key, np.zeros(2, np.float32)) for key in pk]
        >>> fedml_he.dec(sk, fedml_he.he_aggregate(models)).shape
        (2,)
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
