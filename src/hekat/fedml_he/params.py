"""What `key_gen` is asked for: the scheme and its settings, checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, get_args

from hekat.codec.clip import check_alpha
from hekat.errors import InputError
from hekat.scheme.ckks import FLOODED, CkksParameters, Sharing
from hekat.scheme.lattice import LatticeParameters, choose_parameters

Scheme = Literal["lattice", "ckks"]
MAX_WEIGHT: Final = 1 << 40


@dataclass(frozen=True)
class Params:
    """Scheme and settings of FedML-HE; public, equal at all clients and the server.

    Args:
        scheme: "lattice" (exact sums, one-time keys) or "ckks" (approximate sums under one key pair).
        client_count: With "lattice": clients of a round at most; at least 3.
        value_bits: With "lattice": bits of one value, signed.
        alpha: With "lattice": what no |value| passes.
        weight_max: With "lattice": the largest whole weight. A client of half that weight has half as many levels.
        allow_two_clients: Allow two clients, where each learns the other's model.
        ckks_parameters: With "ckks": the parameter set.
        sharing: With "ckks": how `dec` opens, as `hekat.scheme.ckks.decrypt` says. FedML-HE's own set
            (`ckks_parameters=FEDML_HE`) opens only by "rounding", or "raw_reveals_key" where nobody but the key's
            holders sees the result.

    Raises:
        InputError: A value is out of range.

    Examples:
        >>> from hekat.fedml_he import Params
        >>> params = Params(client_count=5, weight_max=200)
        >>> params.least_clients
        4
    """

    scheme: Scheme = "lattice"
    client_count: int = 3
    value_bits: int = 16
    alpha: float = 1.0
    weight_max: int = 1
    allow_two_clients: bool = False
    ckks_parameters: CkksParameters = FLOODED
    sharing: Sharing = "flooding"

    def __post_init__(self) -> None:
        if self.scheme not in get_args(Scheme):
            raise InputError("unknown scheme", expected=" or ".join(get_args(Scheme)), got=repr(self.scheme)[:40])
        if self.sharing not in get_args(Sharing):
            raise InputError(
                "unknown way to share", expected=f"one of {', '.join(get_args(Sharing))}", got=repr(self.sharing)[:40]
            )
        if type(self.allow_two_clients) is not bool:
            raise InputError(
                "allow_two_clients refused", expected="True or False", got=repr(self.allow_two_clients)[:40]
            )
        if type(self.value_bits) is not int:
            raise InputError("value_bits refused", expected="a whole number", got=repr(self.value_bits)[:40])
        if not isinstance(self.ckks_parameters, CkksParameters):
            got = type(self.ckks_parameters).__name__
            raise InputError("ckks_parameters refused", expected="a set of hekat.scheme.ckks, as FLOODED", got=got)
        least = 2 if self.allow_two_clients else 3
        if type(self.client_count) is not int or self.client_count < least:
            raise InputError(
                "number of clients refused",
                expected=f"at least {least}",
                got=repr(self.client_count)[:40],
                cure="of two clients each learns the other's model; allow_two_clients=True where that is meant",
            )
        if type(self.weight_max) is not int or not 1 <= self.weight_max <= MAX_WEIGHT:
            raise InputError("weight_max refused", expected=f"1 to {MAX_WEIGHT}", got=repr(self.weight_max)[:40])
        check_alpha(self.alpha)
        if self.scheme == "lattice":
            choose_parameters(self.value_bits, self.client_count)

    @property
    def lattice_parameters(self) -> LatticeParameters:
        """The set of the lattice scheme with the smallest upload for these bits and clients."""
        return choose_parameters(self.value_bits, self.client_count)

    @property
    def least_clients(self) -> int:
        """Clients that a lattice sum has to hold before it is opened."""
        return max(2 if self.allow_two_clients else 3, math.ceil(2 * self.client_count / 3))
