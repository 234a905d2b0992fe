"""Secrets of one contribution, sums of secrets, and the public key of an upload.

A secret polynomial masks one contribution and is never used again; the sum of the secrets of all whose contributions
were added opens their sum and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from typing import Final, NoReturn

import numpy as np
import numpy.typing as npt

from hekat.engine.ring.interface import CBD_BOUND, CHACHA20_KEY_BYTES, RingArray, RingEngine, SmallArray
from hekat.engine.ring.parameters import Ring
from hekat.engine.select import get_engine
from hekat.errors import BoundError, InputError, KeyRefusedError
from hekat.scheme.immutable_key import ImmutableKey
from hekat.scheme.lattice.parameters import LatticeParameters
from hekat.scheme.parameter_set import check_same_parameters

SEED_BYTES: Final = CHACHA20_KEY_BYTES
PUBLIC_KEY_DOMAIN: Final = b"hekat-a-v1"
PURPOSE_DOMAIN: Final = b"hekat-a-v2"

SecretSumArray = npt.NDArray[np.int32]


class SecretKey(ImmutableKey):
    """The secret of one contribution: small coefficients that mask it. Shows, pickles and compares none.

    Args:
        parameters: The set of the secret.
        coefficients: int8, shape (N,), in [-21, 21].

    Raises:
        InputError: The coefficients are of another type, shape or range.

    Examples:
        >>> import hekat
        >>> parameters = hekat.lattice.choose_parameters(16, 10)
        >>> secret = hekat.lattice.generate_secret(parameters)
        >>> secret.coefficients.shape == (parameters.form.ring.degree,)
        True
    """

    __slots__ = ("__weakref__", "_coefficients", "_maker", "_transformed", "_unused", "_whole", "parameters")

    parameters: LatticeParameters
    _coefficients: SmallArray
    _maker: int
    _transformed: tuple[RingEngine, RingArray] | None
    _unused: threading.Lock
    _whole: threading.Lock
    """Held while the coefficients are copied or wiped: half of a secret masks nothing."""

    def __init__(self, parameters: LatticeParameters, coefficients: SmallArray) -> None:
        kept = _kept(parameters, coefficients, np.int8)
        if int(kept.min()) < -CBD_BOUND or int(kept.max()) > CBD_BOUND:
            raise InputError("a secret is out of range", expected=f"coefficients within +-{CBD_BOUND}", got="others")
        self._begin(parameters, kept, None)

    def _begin(
        self, parameters: LatticeParameters, kept: SmallArray, transformed: tuple[RingEngine, RingArray] | None
    ) -> None:
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "_coefficients", kept)
        object.__setattr__(self, "_transformed", transformed)
        object.__setattr__(self, "_maker", os.getpid())
        object.__setattr__(self, "_unused", threading.Lock())
        object.__setattr__(self, "_whole", threading.Lock())

    @property
    def coefficients(self) -> SmallArray:
        """The coefficients, read-only; secret."""
        return self._coefficients

    def use_up(self) -> None:
        """Mark the secret as used; whatever masks with it calls this first.

        Two contributions under one secret reveal their difference, and a forked process has a copy of its parent's
        secret.

        Raises:
            KeyRefusedError: The secret was used before, or this is a forked process.
        """
        if os.getpid() != self._maker or not self._unused.acquire(blocking=False):
            raise _used_up()

    def once_more(self, engine: RingEngine | None = None) -> SecretKey:
        """The same secret for one of several contributions, as a key of its own that is used up and wiped by itself.

        Whoever masks under several of them takes another public key for each: under the same one, two contributions
        reveal their difference. This key keeps the transformed secret for the next call, until it is wiped.

        Args:
            engine: The engine that masks; the selected engine if None.

        Returns:
            A key that has masked nothing.

        Raises:
            KeyRefusedError: This key was used or wiped, or this is a forked process.

        Examples:
            >>> import hekat
            >>> secret = hekat.lattice.generate_secret(hekat.lattice.choose_parameters(16, 10))
            >>> bool((secret.once_more().coefficients == secret.coefficients).all())
            True
        """
        if os.getpid() != self._maker:
            raise _used_up()
        with self._whole:
            if self._unused.locked():
                raise _used_up()
            engine = engine or get_engine()
            if self._transformed is None or self._transformed[0] is not engine:
                transformed = engine, self.transform(engine)
                self._wipe_transformed()
                object.__setattr__(self, "_transformed", transformed)
            assert self._transformed is not None
            other = SecretKey.__new__(SecretKey)
            coefficients = self._coefficients.copy()
            coefficients.flags.writeable = False
            other._begin(self.parameters, coefficients, (engine, self._transformed[1].copy()))
            return other

    def wipe(self) -> None:
        """Write zeros over the coefficients once the party has dealt shares and masked: nobody can use the key then."""
        self._unused.acquire(blocking=False)
        with self._whole:
            self._coefficients.flags.writeable = True
            self._coefficients.fill(0)
            self._coefficients.flags.writeable = False
            self._wipe_transformed()

    def _wipe_transformed(self) -> None:
        if self._transformed is not None:
            self._transformed[1].fill(0)
            object.__setattr__(self, "_transformed", None)

    def transform(self, engine: RingEngine) -> RingArray:
        """The secret in transformed form; secret, and the caller's to overwrite.

        Args:
            engine: The engine that transforms it.

        Returns:
            uint64 residues, shape (primes, N).
        """
        if self._transformed is not None and self._transformed[0] is engine:
            return self._transformed[1].copy()
        return _transform(self.parameters.form.ring, self._coefficients, engine)

    def __repr__(self) -> str:
        return f"SecretKey({self.parameters.name})"

    def __reduce__(self) -> NoReturn:
        raise _not_pickled("secrets of contributions")


class SecretSum(ImmutableKey):
    """The sum of several secrets: it opens the sum of their contributions, and none of them alone.

    Args:
        parameters: The set of the secrets.
        coefficients: int32, shape (N,): the secrets' coefficients, added up.
        addend_count: How many secrets were added.

    Raises:
        InputError: Type or shape differ, or the count is not from 1 to the set's `max_parties`.
        BoundError: A coefficient passes 21 * addend_count.

    Examples:
        >>> import hekat
        >>> parameters = hekat.lattice.choose_parameters(16, 10)
        >>> secrets = [hekat.lattice.generate_secret(parameters) for _ in range(3)]
        >>> hekat.lattice.sum_secrets(secrets).addend_count
        3
    """

    __slots__ = ("_coefficients", "_transformed", "addend_count", "parameters")

    parameters: LatticeParameters
    addend_count: int
    _coefficients: SecretSumArray
    _transformed: tuple[RingEngine, RingArray] | None

    def __init__(self, parameters: LatticeParameters, coefficients: SecretSumArray, addend_count: int) -> None:
        if not 1 <= addend_count <= parameters.max_parties:
            raise InputError(
                "number of addends refused", expected=f"1 to {parameters.max_parties}", got=str(addend_count)
            )
        kept = _kept(parameters, coefficients, np.int32)
        bound = CBD_BOUND * addend_count
        if int(kept.min()) < -bound or int(kept.max()) > bound:
            raise BoundError(
                f"this is no sum of {addend_count} secrets",
                expected=f"coefficients within +-{bound}",
                got="others",
                cure="a share or a seed is wrong: abandon this upload",
            )
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "addend_count", addend_count)
        object.__setattr__(self, "_coefficients", kept)
        object.__setattr__(self, "_transformed", None)

    @property
    def coefficients(self) -> SecretSumArray:
        """The coefficients, read-only; only for parties that may see the sum."""
        return self._coefficients

    def transform(self, engine: RingEngine) -> RingArray:
        """The sum in transformed form; secret. It is kept: one sum of secrets may open several sums.

        Args:
            engine: The engine that transforms it.

        Returns:
            uint64 residues, shape (primes, N), not to be changed.
        """
        kept = self._transformed
        if kept is None or kept[0] is not engine:
            kept = engine, _transform(self.parameters.form.ring, self._coefficients, engine)
            object.__setattr__(self, "_transformed", kept)
        return kept[1]

    def __repr__(self) -> str:
        return f"SecretSum({self.parameters.name}, {self.addend_count} addends)"

    def __reduce__(self) -> NoReturn:
        raise _not_pickled("sums of secrets")


def generate_secret(parameters: LatticeParameters, engine: RingEngine | None = None) -> SecretKey:
    """A fresh secret from the operating system's randomness, each coefficient CBD(21).

    Args:
        parameters: The set of the contribution.
        engine: The engine that expands the randomness; the selected engine if None.

    Returns:
        A secret for one contribution.

    Examples:
        >>> import hekat
        >>> parameters = hekat.lattice.choose_parameters(16, 10)
        >>> secret = hekat.lattice.generate_secret(parameters)
        >>> bool(abs(secret.coefficients).max() <= 21)
        True
    """
    return secret_from_seed(parameters, os.urandom(SEED_BYTES), engine)


def secret_from_seed(parameters: LatticeParameters, seed: bytes, engine: RingEngine | None = None) -> SecretKey:
    """The secret that a seed stands for: chunk 0 of `sample_cbd(seed)`.

    Args:
        parameters: The set of the contribution.
        seed: 32 secret bytes.
        engine: The engine that expands the seed; the selected engine if None.

    Returns:
        The same secret for the same seed and set.

    Raises:
        InputError: The seed has another length.

    Examples:
        >>> import hekat
        >>> parameters = hekat.lattice.choose_parameters(16, 10)
        >>> one, same = (hekat.lattice.secret_from_seed(parameters, bytes(32)) for _ in range(2))
        >>> bool((one.coefficients == same.coefficients).all())
        True
    """
    _check_bytes("seed", seed, SEED_BYTES)
    engine = engine or get_engine()
    drawn = engine.sample_cbd(seed, 0, 1, parameters.form.ring.degree)
    secret = SecretKey(parameters, drawn[0])
    drawn.fill(0)
    return secret


def sum_secrets(secrets: Sequence[SecretKey]) -> SecretSum:
    """The sum of secrets of one set.

    Args:
        secrets: From one to `max_parties` secrets.

    Returns:
        What opens the sum of their contributions.

    Raises:
        InputError: There is no secret.
        KeyRefusedError: The secrets are of different sets.

    Examples:
        >>> import hekat
        >>> parameters = hekat.lattice.choose_parameters(16, 10)
        >>> secrets = [hekat.lattice.generate_secret(parameters) for _ in range(2)]
        >>> total = hekat.lattice.sum_secrets(secrets)
        >>> bool((total.coefficients == secrets[0].coefficients.astype("int32") + secrets[1].coefficients).all())
        True
    """
    if not secrets:
        raise InputError("no secrets to add", expected="at least one", got="none")
    parameters = secrets[0].parameters
    total = np.zeros(parameters.form.ring.degree, np.int32)
    for secret in secrets:
        check_same_parameters(parameters, secret.parameters, "a secret")
        total += secret.coefficients
    return SecretSum(parameters, total, len(secrets))


def public_key(session_id: bytes, upload_number: int, parameters: LatticeParameters, purpose: bytes = b"") -> bytes:
    """The key of `a` in one upload, equal at all parties, never repeated.

    SHA-256 of four fields, each behind its length in four big-endian bytes: b"hekat-a-v1", the session id, the number
    as eight big-endian bytes, the set's name in UTF-8. With a purpose the first field is b"hekat-a-v2", and the purpose
    is a fifth one.

    Args:
        session_id: What names the session at all parties; not empty.
        upload_number: Counts the uploads of a session, in [0, 2^64).
        parameters: The set of the upload.
        purpose: What tells uploads under one number apart; parties of other purposes mask under other polynomials.

    Returns:
        32 bytes.

    Raises:
        InputError: The session id is empty, or the number out of range.

    Examples:
        >>> import hekat
        >>> parameters = hekat.lattice.choose_parameters(16, 10)
        >>> first, second = (hekat.lattice.public_key(b"session 1", number, parameters) for number in (1, 2))
        >>> len(first), first == second
        (32, False)
    """
    if not isinstance(session_id, bytes) or not session_id:
        raise InputError("session id refused", expected="at least one byte", got="none, or no bytes")
    if not 0 <= upload_number < 1 << 64:
        raise InputError("upload number refused", expected="0 to 2^64 - 1", got=str(upload_number))
    fields = [PUBLIC_KEY_DOMAIN, session_id, upload_number.to_bytes(8, "big"), parameters.name.encode()]
    if purpose:
        fields = [PURPOSE_DOMAIN, *fields[1:], purpose]
    return hashlib.sha256(b"".join(len(field).to_bytes(4, "big") + field for field in fields)).digest()


def check_public_key(key: bytes) -> None:
    """Raise InputError unless `key` is 32 bytes, as `public_key` gives."""
    _check_bytes("public key", key, hashlib.sha256().digest_size)


def _check_bytes(what: str, data: bytes, length: int) -> None:
    if not isinstance(data, bytes) or len(data) != length:
        got = f"{len(data)} bytes" if isinstance(data, bytes) else f"a {type(data).__name__}"
        raise InputError(f"{what} refused", expected=f"{length} bytes", got=got)


def _kept(
    parameters: LatticeParameters, coefficients: npt.NDArray[np.signedinteger], dtype: type[np.signedinteger]
) -> npt.NDArray[np.signedinteger]:
    """A read-only copy. Raises InputError for another type or shape."""
    degree = parameters.form.ring.degree
    if not isinstance(coefficients, np.ndarray) or coefficients.dtype != dtype or coefficients.shape != (degree,):
        got = type(coefficients).__name__
        if isinstance(coefficients, np.ndarray):
            got = f"shape {coefficients.shape} of {coefficients.dtype}"
        raise InputError(
            "coefficients of a secret refused", expected=f"shape ({degree},) of {np.dtype(dtype).name}", got=got
        )
    kept = coefficients.copy()
    kept.flags.writeable = False
    return kept


def _transform(ring: Ring, coefficients: npt.NDArray[np.signedinteger], engine: RingEngine) -> RingArray:
    signed = coefficients.astype(np.int64)
    # The sign spread over the word picks the prime or nothing: no branch and no division on a secret.
    negative = signed >> 63
    residues = np.stack([(signed + (negative & p)).view(np.uint64) for p in ring.primes])
    transformed = engine.ring_ntt(ring, residues)
    for passed in (signed, residues):
        passed.fill(0)
    return transformed


def _used_up() -> KeyRefusedError:
    return KeyRefusedError(
        "a secret masks one contribution only",
        expected="a secret made for this contribution, in this process",
        got="one that was used, or was made before this process forked",
        cure="make a fresh one: hekat.lattice.generate_secret(parameters)",
    )


def _not_pickled(what: str) -> KeyRefusedError:
    return KeyRefusedError(
        f"{what} are not pickled",
        expected="shares, a seed or a sum in a sealed message",
        cure="let the protocol's opener carry it",
    )
