"""Encryption b = a s + e + Delta m, value block by value block, each contribution under a secret of its own."""

from __future__ import annotations

import os
import threading
from typing import NoReturn

import numpy as np

from hekat.engine.ring.interface import CHACHA20_KEY_BYTES, LevelArray, RingArray, RingEngine
from hekat.engine.select import get_engine
from hekat.errors import BoundError, InputError, KeyRefusedError
from hekat.scheme.lattice.keys import SecretKey, check_public_key
from hekat.scheme.lattice.parameters import LatticeParameters
from hekat.scheme.parameter_set import check_same_parameters


class Encryptor:
    """One contribution on its way out, block by block: chunks are numbered in the order of the calls.

    Errors come from 32 fresh bytes of the operating system. The encryptor overwrites the transformed secret and the key
    of the errors with zeros after the last block, and where a block fails. Several threads may call it. It refuses a
    forked process, a copy, and a call after a failed one: each could mask other values with the same secret and error.

    Args:
        parameters: The set of the upload.
        secret: A fresh secret; the encryptor uses it up.
        public_key: The key of the upload, 32 bytes.
        engine: The engine that masks; the selected engine if None.

    Raises:
        InputError: The public key is malformed.
        KeyRefusedError: The secret is of another set, or was used.

    Examples:
        >>> import hekat
        >>> import numpy as np
        >>> parameters = hekat.lattice.choose_parameters(16, 10)
        >>> key = hekat.lattice.public_key(b"session 1", 1, parameters)
        >>> encryptor = hekat.lattice.Encryptor(parameters, hekat.lattice.generate_secret(parameters), key)
        >>> written = encryptor.encrypt(np.array([1, -2, 3], np.int32), last=True)
        >>> len(written) == parameters.form.written_bytes(3)
        True
    """

    __slots__ = ("_engine", "_error_key", "_lock", "_maker", "_next_chunk", "_parameters", "_public_key", "_secret_ntt")

    def __init__(
        self, parameters: LatticeParameters, secret: SecretKey, public_key: bytes, engine: RingEngine | None = None
    ) -> None:
        check_same_parameters(parameters, secret.parameters, "a secret")
        check_public_key(public_key)
        secret.use_up()
        self._parameters, self._public_key = parameters, public_key
        self._engine: RingEngine = engine or get_engine()
        self._secret_ntt: RingArray | None = secret.transform(self._engine)
        # An array, because bytes cannot be overwritten.
        self._error_key = bytearray(os.urandom(CHACHA20_KEY_BYTES))
        self._maker = os.getpid()
        self._next_chunk = 0
        self._lock = threading.Lock()

    def encrypt(self, levels: LevelArray, last: bool = False) -> bytes:
        """The next values as written, masked bytes; joined blocks are one whole contribution.

        Args:
            levels: int32 values, shape (count,). Only the last block may end within a chunk.
            last: Whether this is the last block. A contribution without values is one chunk, for its count.

        Returns:
            The block's bytes, as `MaskFormat` lays them out.

        Raises:
            InputError: The layout differs, or a block before the last one ends within a chunk.
            BoundError: A value is beyond the set's `level`; the message does not show it.
            KeyRefusedError: The last block was written, a block failed before, or this is a forked process.
        """
        form = self._parameters.form
        with self._lock:
            if self._secret_ntt is None or os.getpid() != self._maker:
                raise _refuse_more()
            check_levels(self._parameters, levels)
            if not last and levels.size % form.values_per_chunk:
                raise InputError(
                    "a block ends within a chunk",
                    expected=f"a multiple of {form.values_per_chunk} values before the last block",
                    got=f"{levels.size}",
                    cure="cut blocks by hekat.lattice.block_values",
                )
            # Taken away during the work: whatever stops it, these chunks are never masked a second time.
            secret_ntt, self._secret_ntt = self._secret_ntt, None
            written = b""
            try:
                if levels.size or (last and self._next_chunk == 0):
                    written = self._engine.mask_values(
                        form, self._public_key, secret_ntt, self._error_key, self._next_chunk, levels
                    ).tobytes()
                    self._next_chunk += form.chunk_count(levels.size)
                if not last:
                    self._secret_ntt = secret_ntt
            finally:
                if self._secret_ntt is None:
                    self._wipe(secret_ntt)
            return written

    def wipe(self) -> None:
        """Write zeros over the secret's transform and the key of errors; nothing is masked with them from then on."""
        with self._lock:
            secret_ntt, self._secret_ntt = self._secret_ntt, None
            if secret_ntt is not None:
                self._wipe(secret_ntt)

    def _wipe(self, secret_ntt: RingArray) -> None:
        secret_ntt.fill(0)
        self._error_key[:] = bytes(len(self._error_key))

    def __repr__(self) -> str:
        return f"Encryptor({self._parameters.name}, {self._next_chunk} chunks written)"

    def __reduce__(self) -> NoReturn:
        raise KeyRefusedError(
            "what encrypts a contribution is not copied or pickled", cure="make another one, with a fresh secret"
        )


def encrypt(
    parameters: LatticeParameters,
    secret: SecretKey,
    public_key: bytes,
    levels: LevelArray,
    engine: RingEngine | None = None,
) -> bytes:
    """A whole contribution at once.

    Args:
        parameters: The set of the upload.
        secret: A fresh secret. It is used up, unless the levels are refused.
        public_key: The key of the upload, 32 bytes.
        levels: int32 values, shape (count,), each within the set's `level`.
        engine: The engine that masks; the selected engine if None.

    Returns:
        The contribution's bytes.

    Raises:
        InputError: Layout or public key are malformed.
        BoundError: A value is beyond the set's `level`.
        KeyRefusedError: The secret is of another set, or was used.

    Examples:
        >>> import hekat
        >>> import numpy as np
        >>> parameters = hekat.lattice.choose_parameters(16, 10)
        >>> key = hekat.lattice.public_key(b"session 1", 1, parameters)
        >>> secrets = [hekat.lattice.generate_secret(parameters) for _ in range(3)]
        >>> levels = np.array([1, -2, 3], np.int32)
        >>> uploads = [hekat.lattice.encrypt(parameters, secret, key, levels) for secret in secrets]
        >>> total = hekat.lattice.add(parameters, 3, uploads)
        >>> hekat.lattice.decrypt(parameters, hekat.lattice.sum_secrets(secrets), key, total, 3)
        array([ 3, -6,  9])
    """
    check_levels(parameters, levels)
    return Encryptor(parameters, secret, public_key, engine).encrypt(levels, last=True)


def block_values(parameters: LatticeParameters, target_values: int) -> int:
    """How many values make a block of whole chunks.

    Args:
        parameters: The set of the upload.
        target_values: The most values that the block should have; a block has at least one chunk.

    Returns:
        A multiple of the values of a chunk.

    Examples:
        >>> import hekat
        >>> parameters = hekat.lattice.choose_parameters(16, 10)
        >>> hekat.lattice.block_values(parameters, 100_000) % parameters.form.values_per_chunk
        0
    """
    per_chunk = parameters.form.values_per_chunk
    return max(1, target_values // per_chunk) * per_chunk


def check_levels(parameters: LatticeParameters, levels: LevelArray) -> None:
    """Raise InputError unless `levels` is an int32 vector, BoundError where one is beyond the set's level."""
    if not isinstance(levels, np.ndarray) or levels.dtype != np.int32 or levels.ndim != 1:
        got = type(levels).__name__
        if isinstance(levels, np.ndarray):
            got = f"shape {levels.shape} of {levels.dtype}"
        raise InputError("levels have the wrong layout", expected="a vector of int32", got=got)
    if levels.size and (int(levels.max()) > parameters.level or int(levels.min()) < -parameters.level):
        raise BoundError(
            "a value does not fit the parameter set",
            expected=f"{parameters.value_bits} bits: within +-{parameters.level}",
            got="one beyond",
            cure="clip to the level, or choose a set for more bits",
        )


def _refuse_more() -> KeyRefusedError:
    return KeyRefusedError(
        "this contribution takes no more values",
        expected="a contribution that is not finished, in the process that began it",
        got="one whose last block was written or failed, or that was begun before this process forked",
        cure="begin another upload with a fresh secret",
    )
