"""FedML-HE's operations over the lattice scheme: one-time keys for each client, one sum opened once.

Slots of an upload: the digits of the weight, then the values times weight / weight_max, in levels. So value and weight
are scaled by the same whole number, and the mean is the sum of the values over the sum of the weights.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from hekat.codec import dequantise_sums, error_bound_sum, quantise_levels
from hekat.codec.counters import decode_counter_sums, digit_count, encode_counters
from hekat.errors import BoundError, InputError, KeyRefusedError, PolicyError
from hekat.fedml_he.clear_part import (
    BoolVector,
    ClearPart,
    add_clear,
    check_mask,
    digest_mask,
    read_sums,
    write_clear,
)
from hekat.fedml_he.params import Params
from hekat.scheme.lattice import (
    Accumulator,
    Decryptor,
    Encryptor,
    SecretKey,
    SecretSum,
    block_values,
    generate_secret,
    public_key,
    sum_secrets,
)

FloatVector = npt.NDArray[np.floating[Any]]
LevelVector = npt.NDArray[np.int32]
# Slots worked on at once: their levels and bytes stay in the processor's outer cache.
BLOCK_SLOTS: Final = 1 << 18
SESSION_BYTES: Final = 32
UPLOAD_FORM: Final = 2
"""How an upload holds its weight: 1 in plain digits, 2 in digits that hide what sums do not say: decision 0059."""
_FORM_LIMIT: Final = 1 << 16
_CLEAR_LABEL: Final = b"hekat/fedml-he/clear/1"


@dataclass(frozen=True, repr=False)
class ClientKey:
    """One client's key for one upload: its holder can read that upload. The upload uses it up; it is not pickled.

    Attributes:
        params: Scheme and settings.
        round_key: What the uploads of a round share, 32 bytes.
        client: The client's number, from 0.
        secret: What masks the upload.

    Examples:
        >>> from hekat.fedml_he import Params, key_gen
        >>> pk, sk = key_gen(Params(client_count=3))
        >>> pk[2]
        ClientKey(client 2 of 3)
    """

    params: Params
    round_key: bytes
    client: int
    secret: SecretKey = field(compare=False)

    def __repr__(self) -> str:
        return f"ClientKey(client {self.client} of {self.params.client_count})"


@dataclass(frozen=True, repr=False)
class EncryptedModel:
    """One upload, or the sum of several: blocks of bytes that nothing opens but the sum of the secrets.

    Attributes:
        params: Scheme and settings.
        round_key: What the uploads of a round share, 32 bytes.
        clients: The clients whose uploads were added, by number.
        value_count: Values of the vector.
        dtype: "float32" or "float64".
        blocks: The masked bytes.
        form: How the weight stands in them, UPLOAD_FORM. Models pickled before forms were named are of form 1.
        clear: The values that a mask leaves out, which the server and everybody else reads; None where all are masked.

    Examples:
        >>> import numpy as np
        >>> from hekat.fedml_he import Params, enc, he_aggregate, key_gen
        >>> pk, sk = key_gen(Params(client_count=3))
        >>> he_aggregate([enc(key, np.array([0.5])) for key in pk]).clients
        (0, 1, 2)
    """

    params: Params
    round_key: bytes
    clients: tuple[int, ...]
    value_count: int
    dtype: str
    blocks: tuple[bytes, ...]
    form: int
    clear: ClearPart | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"form": 1, "clear": None, **state})

    @property
    def nbytes(self) -> int:
        """Bytes of all blocks, and of what is in the clear."""
        return sum(map(len, self.blocks)) + (0 if self.clear is None else len(self.clear.levels))

    def __repr__(self) -> str:
        clear = "" if self.clear is None else f", {self.clear.count} of them IN THE CLEAR"
        return f"EncryptedModel({self.value_count} values of clients {self.clients}{clear}, {self.nbytes} bytes)"


class OpeningKey:
    """Every client's secret of one round, until a sum was opened; from then on the sum of the secrets alone.

    Its holder can read each upload until a sum is opened: it belongs to an authority that the clients trust not to work
    with the server. It opens the sum of one set of clients: of two sets, the difference would be a client's model.

    Args:
        params: Scheme and settings.
        round_key: What the uploads of a round share, 32 bytes.
        secrets: Each client's secret.

    Examples:
        >>> from hekat.fedml_he import Params, key_gen
        >>> pk, sk = key_gen(Params(client_count=3))
        >>> sk
        OpeningKey(3 clients, not used)
    """

    __slots__ = ("_lock", "_opened", "_secret_sum", "_secrets", "params", "round_key")

    def __init__(self, params: Params, round_key: bytes, secrets: Sequence[SecretKey]) -> None:
        self.params, self.round_key = params, round_key
        self._secrets: tuple[SecretKey, ...] = tuple(secrets)
        self._opened: tuple[int, ...] | None = None
        self._secret_sum: SecretSum | None = None
        self._lock = threading.Lock()

    def secret_sum_of(self, clients: tuple[int, ...]) -> SecretSum:
        """What opens the sum of some clients, each counted once.

        Args:
            clients: The clients' numbers, rising.

        Returns:
            The sum of their secrets.

        Raises:
            PolicyError: There are too few clients, one is named twice, or the sum of others was opened before.
        """
        _check_clients(self.params, clients)
        least = self.params.least_clients
        if len(clients) < least:
            raise PolicyError(
                "a sum of too few clients is not opened",
                expected=f"at least {least} of {self.params.client_count}",
                got=str(len(clients)),
                cure="wait for more uploads, or begin another round with fewer clients",
            )
        with self._lock:
            if self._secret_sum is None:
                self._secret_sum = sum_secrets([self._secrets[client] for client in clients])
                self._opened, self._secrets = clients, ()
            elif clients != self._opened:
                raise PolicyError(
                    "this key has opened the sum of other clients",
                    expected="one set of clients in a round",
                    got="another",
                    cure="begin another round: key_gen(params), and fresh uploads",
                )
            return self._secret_sum

    def __repr__(self) -> str:
        return f"OpeningKey({self.params.client_count} clients, {'not ' if self._opened is None else ''}used)"

    def __reduce__(self) -> NoReturn:
        raise KeyRefusedError("keys that open sums are not pickled", cure="open the sum where the key was made")


def make_keys(params: Params) -> tuple[tuple[ClientKey, ...], OpeningKey]:
    """Fresh keys of one round: one for each client, and the one that opens their sum."""
    round_key = public_key(os.urandom(SESSION_BYTES), 1, params.lattice_parameters)
    secrets = [generate_secret(params.lattice_parameters) for _ in range(params.client_count)]
    clients = tuple(ClientKey(params, round_key, number, secret) for number, secret in enumerate(secrets))
    return clients, OpeningKey(params, round_key, secrets)


def encrypt_model(key: ClientKey, vector: FloatVector, weight: int, mask: BoolVector | None = None) -> EncryptedModel:
    """`vector`, float32 or float64, times its whole weight; of a `mask` (count,) only the values that it chooses are
    masked. The key is used up unless vector, weight or mask are refused."""
    params = key.params
    _check_vector(params, vector)
    _check_weight(params, weight)
    parameters = params.lattice_parameters
    clear, masked = None, vector
    if mask is not None and not check_mask(mask, vector.size).all():
        factor = weight / params.weight_max * (parameters.level / params.alpha)
        clear, masked = write_clear(vector[~mask], mask, factor, parameters.level), vector[mask]
    encryptor = Encryptor(parameters, key.secret, _mask_key(params, key.round_key, clear))
    blocks, left = [], _slot_count(params, masked.size)
    for levels in _blocks(params, masked, weight):
        left -= levels.size
        blocks.append(encryptor.encrypt(levels, last=not left))
    name = vector.dtype.name
    return EncryptedModel(params, key.round_key, (key.client,), vector.size, name, tuple(blocks), UPLOAD_FORM, clear)


def aggregate_models(models: Sequence[EncryptedModel]) -> EncryptedModel:
    """The sum of single uploads of one round, without any key."""
    first = models[0]
    clients = [client for model in models for client in model.clients]
    for model in models:
        _check_upload_form(model)
        same = (model.params, model.round_key, model.value_count) == (first.params, first.round_key, first.value_count)
        if not same or model.dtype != first.dtype or len(model.clients) != 1:
            raise InputError(
                "encrypted models do not belong together",
                expected="single uploads of one round, of equal size and dtype",
                got="others, or a sum",
                cure="take the keys of one key_gen and models of one shape",
            )
    if len(set(clients)) < len(clients):
        raise InputError("a client's model is there twice", expected="one upload of each client", got="more")
    parameters = first.params.lattice_parameters
    clear = _add_clear(models, parameters.level)
    slot_count = _slot_count(first.params, _masked_count(first))
    accumulator = Accumulator(parameters, slot_count)
    for model in models:
        accumulator.add(model.blocks)
    blocks = tuple(accumulator.write(block_values(parameters, BLOCK_SLOTS)))
    return replace(first, clients=tuple(sorted(clients)), blocks=blocks, clear=clear)


def decrypt_model(key: OpeningKey, model: EncryptedModel, mask: BoolVector | None = None) -> FloatVector:
    """The weighted mean, in the dtype of the uploads; with the `mask` of uploads that have a part in the clear.

    Raises as `OpeningKey.secret_sum_of`, BoundError for no sum, InputError for another mask.
    """
    params, parameters = key.params, key.params.lattice_parameters
    _check_upload_form(model)
    if (model.params, model.round_key) != (params, key.round_key):
        raise KeyRefusedError("the encrypted model is of another round", expected="one key_gen for both", got="two")
    _check_form(model)
    sums_in_clear = _open_clear(model, mask, parameters.level)
    secret_sum = key.secret_sum_of(model.clients)
    decryptor = Decryptor(parameters, secret_sum, _mask_key(params, key.round_key, model.clear))
    step, head = block_values(parameters, BLOCK_SLOTS), _digit_count(params)
    masked_count = _masked_count(model)
    slot_count = _slot_count(params, masked_count)
    mean: FloatVector = np.empty(masked_count, model.dtype)
    factor = 0.0
    for number, start in enumerate(range(0, slot_count, step)):
        first_chunk = start // parameters.form.values_per_chunk
        sums = decryptor.decrypt(model.blocks[number], min(step, slot_count - start), first_chunk)
        if start == 0:
            weight_sum = _weight_sum(params, sums[:head], len(model.clients))
            factor = params.alpha / parameters.level * params.weight_max / weight_sum
            sums = sums[head:]
        begin = max(start - head, 0)
        dequantise_sums(sums, factor, mean[begin : begin + sums.size])
    if sums_in_clear is None or mask is None:
        return mean
    rest: FloatVector = np.empty(sums_in_clear.size, model.dtype)
    dequantise_sums(sums_in_clear, factor, rest)
    whole: FloatVector = np.empty(model.value_count, model.dtype)
    whole[mask], whole[~mask] = mean, rest
    return whole


def mean_error_bound(params: Params, client_count: int, weight_sum: int) -> float:
    """How far an opened mean can lie from the mean in float64, for every value.

    Args:
        params: Scheme and settings.
        client_count: How many uploads were added.
        weight_sum: The sum of their weights.

    Returns:
        The bound, in the values' own units; rounding to the uploads' dtype comes on top.

    Examples:
        >>> from hekat.fedml_he import Params, mean_error_bound
        >>> mean_error_bound(Params(client_count=3), 3, 3) < 2e-5
        True
    """
    return error_bound_sum(
        params.alpha, params.lattice_parameters.value_bits, client_count, scale=params.weight_max / weight_sum
    )


def _blocks(params: Params, vector: FloatVector, weight: int) -> Iterator[LevelVector]:
    level, head = params.lattice_parameters.level, _weight_digits(params, weight)
    factor = weight / params.weight_max * (level / params.alpha)
    step, slot_count = block_values(params.lattice_parameters, BLOCK_SLOTS), _slot_count(params, vector.size)
    for start in range(0, slot_count, step):
        block = np.empty(min(step, slot_count - start), np.int32)
        filled = head.size if start == 0 else 0
        block[:filled] = head[:filled]
        begin = start + filled - head.size
        quantise_levels(vector[begin : begin + block.size - filled], factor, level, block[filled:])
        yield block


def _check_clients(params: Params, clients: tuple[int, ...]) -> None:
    """One client named three times would pass for three, and three times its upload opens to its own model."""
    known = range(params.client_count)
    plain = isinstance(clients, tuple) and all(type(client) is int and client in known for client in clients)
    if not plain or any(first >= second for first, second in itertools.pairwise(clients)):
        raise PolicyError(
            "a sum of other than distinct clients is not opened",
            expected=f"numbers from 0 to {params.client_count - 1}, each once and in order",
            got="others",
            cure="find out who made this encrypted model: he_aggregate makes none like it",
        )


def _masked_count(model: EncryptedModel) -> int:
    return model.value_count - (0 if model.clear is None else model.clear.count)


def _add_clear(models: Sequence[EncryptedModel], level: int) -> ClearPart | None:
    parts = [model.clear for model in models if model.clear is not None]
    if parts and len(parts) < len(models):
        raise InputError(
            "some clients mask every value and some do not",
            expected="one mask at all clients, or none",
            got="both",
            cure="give every client the same mask",
        )
    return add_clear(parts, level) if parts else None


def _open_clear(model: EncryptedModel, mask: BoolVector | None, level: int) -> npt.NDArray[np.int64] | None:
    """The sums in the clear. Raises InputError unless the mask is the one that they were made by."""
    if model.clear is None:
        if mask is not None and not check_mask(mask, model.value_count).all():
            raise InputError("the model has no part in the clear", expected="no mask", got="one")
        return None
    if mask is None or digest_mask(check_mask(mask, model.value_count)) != model.clear.mask_digest:
        raise InputError(
            "the model was masked by a part",
            expected="the mask that all clients gave",
            got="none" if mask is None else "another",
            cure="dec(sk, model, mask=mask)",
        )
    return read_sums(model.clear, len(model.clients), level)


def _mask_key(params: Params, round_key: bytes, clear: ClearPart | None = None) -> bytes:
    """The key of a round's masks. It follows from the form too, and from what is left in the clear: who takes another
    form or mask for granted opens nothing."""
    key = public_key(round_key, UPLOAD_FORM, params.lattice_parameters)
    return key if clear is None else hashlib.sha256(_CLEAR_LABEL + key + clear.mask_digest).digest()


def _check_upload_form(model: EncryptedModel) -> None:
    """Raise InputError for a model whose weight stands there in another form than this release writes."""
    known = type(model.form) is int and 0 < model.form < _FORM_LIMIT
    if not known or model.form != UPLOAD_FORM:
        raise InputError(
            "the encrypted model holds its weight in another form",
            expected=f"form {UPLOAD_FORM}, as this release of Hekat writes it",
            got=f"form {model.form}" if known else "none",
            cure="install the same release at all clients, the server and the opener, and begin another round",
        )


def _check_form(model: EncryptedModel) -> None:
    """Raise InputError for a sum that `aggregate_models` did not make; what its blocks hold shows when it opens."""
    counted = type(model.value_count) is int and model.value_count > 0 and model.dtype in ("float32", "float64")
    if model.clear is not None:
        part = model.clear
        counted = counted and isinstance(part, ClearPart) and type(part.count) is int
        counted = counted and 0 < part.count < model.value_count and isinstance(part.mask_digest, bytes)
    held = isinstance(model.blocks, tuple) and all(isinstance(block, bytes) for block in model.blocks)
    step = block_values(model.params.lattice_parameters, BLOCK_SLOTS)
    if not (counted and held and len(model.blocks) == -(-_slot_count(model.params, _masked_count(model)) // step)):
        raise InputError(
            "not an encrypted model",
            expected="a number of float32 or float64 values, and the blocks of bytes that they take",
            got="other parts",
            cure="take what he_aggregate gives as it is",
        )


def _digit_count(params: Params) -> int:
    return digit_count(params.weight_max, params.lattice_parameters.level)


def _weight_digits(params: Params, weight: int) -> LevelVector:
    return encode_counters([weight], [params.weight_max], params.lattice_parameters.level).astype(np.int32)


def _weight_sum(params: Params, digit_sums: npt.NDArray[np.int64], client_count: int) -> int:
    level = params.lattice_parameters.level
    (total,) = decode_counter_sums(digit_sums, [params.weight_max], level, client_count)
    if not client_count <= total <= client_count * params.weight_max:
        raise BoundError(
            "the sum of weights is none that clients could have sent",
            expected=f"{client_count} to {client_count * params.weight_max}",
            got="another",
            cure="abandon this round: an upload was not made as it should be",
        )
    return total


def _slot_count(params: Params, value_count: int) -> int:
    return _digit_count(params) + value_count


def _check_weight(params: Params, weight: int) -> None:
    # With less, the largest value would be less than one level.
    least = -(-params.weight_max // params.lattice_parameters.level)
    if type(weight) is not int or not least <= weight <= params.weight_max:
        raise InputError(
            "weight refused",
            expected=f"a whole number from {least} to weight_max, {params.weight_max}",
            got=repr(weight)[:40],
            cure="set Params.weight_max to the largest weight of any client; or more value_bits",
        )


def _check_vector(params: Params, vector: FloatVector) -> None:
    fits = isinstance(vector, np.ndarray) and vector.dtype in (np.float32, np.float64) and vector.ndim == 1
    if not fits or not vector.size:
        got = f"shape {vector.shape} of {vector.dtype}" if isinstance(vector, np.ndarray) else type(vector).__name__
        raise InputError("model vector refused", expected="a vector of float32 or float64, as flatten gives", got=got)
    largest = max(float(vector.max()), -float(vector.min()))
    if not math.isfinite(largest):
        raise InputError("values are not finite", expected="finite floats", got="NaN or infinity among them")
    if largest > params.alpha:
        raise BoundError(
            "a value lies beyond alpha",
            expected=f"values within +-{params.alpha:g}",
            got="one beyond",
            cure="a larger Params.alpha, or clip the values, as hekat run does by encrypted counts",
        )
