"""The registry of all classes that have wire bytes, and the two functions that write and read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hekat.errors import InputError, KeyRefusedError, WireKindError, WireVersionError
from hekat.wire.body import pack_body, unpack_body
from hekat.wire.frame import MAX_FRAME_BYTES, Buffer, check_kind, read_frame, write_frame

if TYPE_CHECKING:
    from hekat.engine.interface import Engine
    from hekat.scheme.ckks import PublicKey as CkksPublicKey
    from hekat.scheme.paillier.keys.key_pair import PublicKey as PaillierPublicKey
    from hekat.scheme.rsa.keys import PublicKey as RsaPublicKey

T = TypeVar("T")

_OF_SCHEMES: Final = ("bfv", "bin_sums", "ckks", "lattice", "paillier", "rsa", "shared_products", "slot_products")
"""The modules here that register or withhold the classes of schemes."""


@dataclass(frozen=True)
class ReadingContext:
    """A reader's requirements: the key that values must be under, their engine, whether small keys may pass."""

    public_key: CkksPublicKey | PaillierPublicKey | RsaPublicKey | None = None
    engine: Engine | None = None
    unsafe_for_benchmark: bool = False


@dataclass(frozen=True)
class Kind:
    """One kind of object: `to_items` gives what `pack_body` packs, `from_items` takes what `unpack_body` gives."""

    name: str
    version: int
    cls: type[Any]
    to_items: Callable[[Any], Any]
    from_items: Callable[[Any, ReadingContext], Any]


_by_class: dict[type[Any], Kind] = {}
_by_name: dict[str, Kind] = {}
_withheld: dict[type[Any], tuple[str, str]] = {}


def register(kind: Kind) -> None:
    """Make `kind` known. Raises InputError where its name or its class is taken."""
    check_kind(kind.name, kind.version)
    taken = _by_name.get(kind.name) or _by_class.get(kind.cls)
    if taken is not None:
        raise InputError(
            f"wire kind {kind.name} is taken",
            expected="one name for one class",
            got=f"{kind.cls.__qualname__}, but {taken.name} is {taken.cls.__module__}.{taken.cls.__qualname__}",
            cure="choose another name",
        )
    _by_name[kind.name] = kind
    _by_class[kind.cls] = kind


def withhold(cls: type[Any], what: str, cure: str) -> None:
    """Make `to_bytes` refuse objects of `cls`, called `what`, with `cure`: secrets that stay where they were made."""
    _withheld[cls] = (what, cure)


def kind_of(cls: type[Any]) -> Kind:
    """The kind of class `cls`. Raises InputError where there is none, KeyRefusedError for secrets."""
    if isinstance(cls, type) and cls not in _by_class and cls not in _withheld:
        # Loaded here: all schemes together take a fifth of a start-up, and what sends messages alone needs none.
        for name in _OF_SCHEMES:
            import_module(f"hekat.wire.{name}")
    if isinstance(cls, type) and cls in _withheld:
        what, cure = _withheld[cls]
        raise KeyRefusedError(f"{what} not sent", expected="what may leave the place where it was made", cure=cure)
    kind = _by_class.get(cls) if isinstance(cls, type) else None
    if kind is None:
        raise InputError(
            f"{getattr(cls, '__qualname__', type(cls).__qualname__)} has no wire bytes",
            expected="a key, ciphertexts, or a class decorated with @message",
            cure="decorate the frozen dataclass with @message(name, version=...)",
        )
    return kind


def to_bytes(obj: Any) -> bytes:
    """The canonical, versioned, self-describing bytes of a key, of ciphertexts or of a message.

    Bytes of a private key hold it in the clear: for a sealed field of a message only; files go through
    `hekat.wire.keyfile`.

    Args:
        obj: the object.

    Returns:
        The bytes.

    Raises:
        InputError: values that a message's annotations do not allow.
        KeyRefusedError: an object that is secret and so has no bytes.

    Examples:
        >>> keys = rsa.generate_keys(2048)
        >>> wire.from_bytes(wire.to_bytes(keys.public), rsa.PublicKey) == keys.public
        True
    """
    kind = kind_of(type(obj))
    return write_frame(kind.name, kind.version, pack_body(kind.to_items(obj)))


def from_bytes(
    data: Buffer,
    kind: type[T],
    *,
    max_bytes: int = MAX_FRAME_BYTES,
    authenticated: bool = False,
    public_key: CkksPublicKey | PaillierPublicKey | RsaPublicKey | None = None,
    engine: Engine | None = None,
    unsafe_for_benchmark: bool = False,
) -> T:
    """The object of class `kind` that `data` holds.

    Whatever `data` holds, this raises only the errors below, and allocates at most a small multiple of its size.

    Args:
        data: what `to_bytes` gave, or anybody's bytes.
        kind: the class that is expected.
        max_bytes: refuse what declares more.
        authenticated: `data` came out of a seal, which has shown that nobody changed it: its checksum is not computed
            again. All else is checked as ever.
        public_key: the key that ciphertexts and signatures are under.
        engine: for ciphertexts. None: the active one.
        unsafe_for_benchmark: take a key below the size floor; the bytes have no say in it.

    Returns:
        The object.

    Raises:
        WireError: bytes that are no such object; the class says what is wrong with them.
        KeyRefusedError: a well-formed key that is not safe.

    Examples:
        >>> from hekat.errors import WireTruncatedError
        >>> data = wire.to_bytes(rsa.generate_keys(2048).public)
        >>> try:
        ...     wire.from_bytes(data[:-1], rsa.PublicKey)
        ... except WireTruncatedError as error:
        ...     print(bool(error.cure))
        True
    """
    wanted = kind_of(kind)
    frame = read_frame(data, max_bytes=max_bytes, authenticated=authenticated)
    if frame.kind != wanted.name:
        raise WireKindError(
            "bytes hold another kind of object", expected=wanted.name, got=frame.kind, cure="check what was sent"
        )
    if frame.kind_version != wanted.version:
        raise WireVersionError(
            f"version of {wanted.name} not known to this release",
            expected=f"version {wanted.version}",
            got=f"version {frame.kind_version}",
            cure="bring all parties to the same release",
        )
    result: T = wanted.from_items(unpack_body(frame.body), ReadingContext(public_key, engine, unsafe_for_benchmark))
    return result
