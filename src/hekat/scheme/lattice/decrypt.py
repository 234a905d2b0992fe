"""Exact sums from a written sum and the sum of its contributors' secrets; noise never leaves."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from hekat.engine.ring.interface import RingArray, RingEngine, SumArray
from hekat.engine.select import get_engine
from hekat.errors import BoundError, InputError, KeyRefusedError
from hekat.scheme.lattice.evaluate import Written
from hekat.scheme.lattice.keys import SecretSum, check_public_key
from hekat.scheme.lattice.parameters import LatticeParameters
from hekat.scheme.parameter_set import check_same_parameters


class Decryptor:
    """Opens the sum of one upload, block by block.

    Args:
        parameters: The set of the upload.
        secret_sum: The sum of the contributors' secrets.
        public_key: The key of the upload, 32 bytes.
        engine: The engine that opens; the selected engine if None.

    Raises:
        InputError: The public key is malformed.
        KeyRefusedError: The sum of secrets is of another set.

    Examples:
        >>> import hekat
        >>> import numpy as np
        >>> parameters = hekat.lattice.choose_parameters(16, 10)
        >>> key = hekat.lattice.public_key(b"session 1", 1, parameters)
        >>> secret = hekat.lattice.generate_secret(parameters)
        >>> upload = hekat.lattice.encrypt(parameters, secret, key, np.array([5, -6], np.int32))
        >>> total = hekat.lattice.add(parameters, 2, [upload])
        >>> hekat.lattice.Decryptor(parameters, hekat.lattice.sum_secrets([secret]), key).decrypt(total, 2)
        array([ 5, -6])
    """

    __slots__ = ("_addend_count", "_engine", "_parameters", "_public_key", "_secret_ntt")

    def __init__(
        self, parameters: LatticeParameters, secret_sum: SecretSum, public_key: bytes, engine: RingEngine | None = None
    ) -> None:
        check_same_parameters(parameters, secret_sum.parameters, "a sum of secrets")
        check_public_key(public_key)
        self._parameters, self._public_key = parameters, public_key
        self._addend_count = secret_sum.addend_count
        self._engine: RingEngine = engine or get_engine()
        self._secret_ntt: RingArray = secret_sum.transform(self._engine)

    def decrypt(self, written: Written, value_count: int, first_chunk: int = 0) -> SumArray:
        """The sums of one written block.

        Args:
            written: The block's bytes.
            value_count: Values of the block.
            first_chunk: The number of its first chunk.

        Returns:
            int64, shape (value_count,).

        Raises:
            InputError: The size differs.
            BoundError: A chunk does not open as a sum of exactly these contributions: chunks are misplaced or altered.
        """
        form = self._parameters.form
        if value_count < 0 or first_chunk < 0:
            raise InputError(
                "block refused", expected="counts of 0 or more", got=f"{value_count} values from chunk {first_chunk}"
            )
        data = np.frombuffer(written, np.uint8)
        if data.size != form.written_sum_bytes(value_count):
            raise InputError(
                "a written sum has the wrong size",
                expected=f"{form.written_sum_bytes(value_count)} bytes for {value_count} values",
                got=f"{data.size} bytes",
            )
        try:
            sums, counts = self._engine.unmask_sum(
                form, self._public_key, self._secret_ntt, first_chunk, data, value_count
            )
        except InputError:
            raise self._does_not_open() from None
        bound = self._addend_count * self._parameters.level
        in_range = not sums.size or (int(sums.max()) <= bound and int(sums.min()) >= -bound)
        if not in_range or bool((counts != self._addend_count).any()):
            raise self._does_not_open()
        return sums

    def _does_not_open(self) -> BoundError:
        return BoundError(
            "a sum does not open",
            expected=f"the sum of exactly the {self._addend_count} contributions whose secrets are at hand",
            got="another",
            cure="abandon this upload: a chunk is missing, out of place or altered, or the included set is another",
        )

    def __repr__(self) -> str:
        return f"Decryptor({self._parameters.name}, {self._addend_count} addends)"

    def __reduce__(self) -> NoReturn:
        raise KeyRefusedError("what opens a sum is not copied or pickled", cure="make another one")


def decrypt(
    parameters: LatticeParameters,
    secret_sum: SecretSum,
    public_key: bytes,
    written: Written,
    value_count: int,
    engine: RingEngine | None = None,
) -> SumArray:
    """The sums of a whole written sum.

    Args:
        parameters: The set of the upload.
        secret_sum: The sum of the contributors' secrets.
        public_key: The key of the upload, 32 bytes.
        written: The sum's bytes, or its blocks.
        value_count: Values of each contribution.
        engine: The engine that opens; the selected engine if None.

    Returns:
        int64, shape (value_count,).

    Raises:
        InputError: Size or public key are malformed.
        BoundError: The bytes do not open as a sum of exactly these contributions.
        KeyRefusedError: The sum of secrets is of another set.

    Examples:
        >>> import hekat
        >>> import numpy as np
        >>> parameters = hekat.lattice.choose_parameters(16, 10)
        >>> key = hekat.lattice.public_key(b"session 1", 1, parameters)
        >>> secret = hekat.lattice.generate_secret(parameters)
        >>> upload = hekat.lattice.encrypt(parameters, secret, key, np.array([7], np.int32))
        >>> total = hekat.lattice.add(parameters, 1, [upload])
        >>> hekat.lattice.decrypt(parameters, hekat.lattice.sum_secrets([secret]), key, total, 1)
        array([7])
    """
    return Decryptor(parameters, secret_sum, public_key, engine).decrypt(written, value_count)
