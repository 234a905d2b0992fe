"""FedML-HE's operations on keys and encrypted models, handed to the scheme that they are of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.fedml_he import over_ckks, over_lattice
from hekat.fedml_he.clear_part import BoolVector
from hekat.fedml_he.over_ckks import CkksOpeningKey
from hekat.fedml_he.over_lattice import ClientKey, EncryptedModel, OpeningKey
from hekat.fedml_he.params import Params
from hekat.scheme.ckks import Ciphertexts, PublicKey, encrypt

FloatVector = npt.NDArray[np.floating[Any]]


def key_gen(params: Params) -> tuple[tuple[ClientKey, ...], OpeningKey] | tuple[PublicKey, CkksOpeningKey]:
    """Fresh keys, pk and sk.

    Args:
        params: Scheme and settings.

    Returns:
        With "lattice", for one aggregation: a key for each client, its own alone, and the key that opens their sum.
        With
        "ckks": the public key of all clients, and the key that opens.

    Raises:
        InputError: `params` is no `Params`, or the library of "ckks" is missing.

    Examples:
        >>> from hekat.fedml_he import Params, key_gen
        >>> pk, sk = key_gen(Params(client_count=3))
        >>> len(pk)
        3
    """
    if not isinstance(params, Params):
        raise InputError("not the parameters of a scheme", expected="Params(...)", got=type(params).__name__)
    return over_lattice.make_keys(params) if params.scheme == "lattice" else over_ckks.make_keys(params)


def enc(
    pk: ClientKey | PublicKey, vector: FloatVector, weight: int | None = None, mask: BoolVector | None = None
) -> EncryptedModel | Ciphertexts:
    """The encrypted model of one client.

    Args:
        pk: With "lattice" the client's own key, which is used up; with "ckks" the public key.
        vector: float32 or float64, shape (count,), as `flatten` gives it.
        weight: With "lattice" alone: a whole number, by default `weight_max`.
        mask: With "lattice" alone: booleans (count,), as `flatten_mask` gives them, the same at all clients. Only the
            values that it chooses are masked: the server reads all others.

    Returns:
        What the client sends to the server.

    Raises:
        InputError: Vector, weight or mask are of another kind, or the mask chooses nothing.
        BoundError: A value is beyond the bound.
        KeyRefusedError: The client's key was used before.

    Examples:
        >>> import numpy as np
        >>> from hekat.fedml_he import Params, enc, key_gen
        >>> pk, sk = key_gen(Params(client_count=3))
        >>> enc(pk[0], np.array([0.5, -0.25])).clients
        (0,)
    """
    if isinstance(pk, ClientKey):
        return over_lattice.encrypt_model(pk, vector, pk.params.weight_max if weight is None else weight, mask)
    if isinstance(pk, PublicKey):
        if mask is not None:
            raise InputError(
                "a part in the clear is there for the lattice scheme alone",
                expected="no mask",
                got="one",
                cure="Params(scheme='lattice'), which masks every value for fewer bytes than CKKS a tenth",
            )
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
    """The encrypted global model; the server makes it without any key.

    Args:
        enc_models: What the clients' `enc` gave, all of one scheme and round.
        weight_factors: With "ckks" alone: one for each model, used as they are; by default 1/n each. With "lattice" the
            clients weigh.

    Returns:
        The encrypted sum.

    Raises:
        InputError: There are no models, the models are of two schemes or rounds, or the scheme takes no weights here.

    Examples:
        >>> import numpy as np
        >>> from hekat.fedml_he import Params, dec, enc, he_aggregate, key_gen
        >>> pk, sk = key_gen(Params(client_count=3))
        >>> models = [np.array([0.25, value]) for value in (0.0, 0.5, 1.0)]
        >>> total = he_aggregate([enc(key, model) for key, model in zip(pk, models)])
        >>> dec(sk, total).round(3)
        array([0.25, 0.5 ])
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


def dec(
    sk: OpeningKey | CkksOpeningKey, enc_model: EncryptedModel | Ciphertexts, mask: BoolVector | None = None
) -> FloatVector:
    """The global model as a flat vector.

    Args:
        sk: The key of `key_gen` that opens.
        enc_model: What `he_aggregate` gave.
        mask: The mask that all clients gave, where they gave one.

    Returns:
        With "lattice" the weighted mean, with "ckks" the sum by weight factors; shape (count,).

    Raises:
        InputError: Key and model are of two schemes, or the mask is another one.
        PolicyError: A lattice sum of too few clients, or of others than were opened before.
        KeyRefusedError: The model is under keys of another round.
        BoundError: The parameters of CKKS leave no room to share a result, or a lattice sum does not open.

    Examples:
        >>> import numpy as np
        >>> from hekat.fedml_he import Params, dec, enc, he_aggregate, key_gen
        >>> pk, sk = key_gen(Params(client_count=3, weight_max=2))
        >>> total = he_aggregate([enc(key, np.array([0.5]), weight=w) for key, w in zip(pk, (2, 1, 1))])
        >>> dec(sk, total).round(3)
        array([0.5])
    """
    if isinstance(sk, OpeningKey) and isinstance(enc_model, EncryptedModel):
        return over_lattice.decrypt_model(sk, enc_model, mask)
    if isinstance(sk, CkksOpeningKey) and isinstance(enc_model, Ciphertexts) and mask is None:
        return over_ckks.decrypt_model(sk, enc_model)
    raise InputError(
        "key and encrypted model do not belong together",
        expected="sk of key_gen and what he_aggregate gave, of one scheme",
        got=f"{type(sk).__name__} and {type(enc_model).__name__}",
    )
