"""The four disclosure classes and the field markers that declare them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hekat.errors import InputError

DisclosureClass = Literal["public", "disclosed", "ciphertext", "sealed"]

_METADATA_KEY = "hekat.disclosure"


@dataclass(frozen=True)
class Disclosure:
    """What one field of a message gives away, as the ledger records it.

    `kind` is the class. `detail` is empty for `public`; for `disclosed` it says what the receiver learns, for
    `ciphertext` whose key opens the field, for `sealed` what the content is.
    """

    kind: DisclosureClass
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


def public() -> Any:
    """Marks a message field that tells nothing beyond the job: settings, counts, public keys.

    Returns:
        A dataclass field.

    Examples:
        >>> from dataclasses import dataclass
        >>> @wire.message("docs/public", version=1)
        ... @dataclass(frozen=True)
        ... class Begin:
        ...     number: int = wire.public()
        >>> wire.disclosure_of(Begin)["number"].kind
        'public'
    """
    return _marker(Disclosure("public"))


def disclosed(what: str) -> Any:
    """Marks a field that tells its receiver `what`, in the clear once the channel's seal is opened.

    Args:
        what: The content, in the words of an audit.

    Returns:
        A dataclass field.

    Examples:
        >>> from dataclasses import dataclass
        >>> @wire.message("docs/disclosed", version=1)
        ... @dataclass(frozen=True)
        ... class Size:
        ...     rows: int = wire.disclosed("how many rows the party has")
        >>> wire.disclosure_of(Size)["rows"].detail
        'how many rows the party has'
    """
    return _marker(Disclosure("disclosed", _described("disclosed", what)))


def ciphertext(*, under: str) -> Any:
    """Marks a field that only the holder of the key named in `under` can open.

    Args:
        under: Whose key opens the field.

    Returns:
        A dataclass field.

    Examples:
        >>> from dataclasses import dataclass
        >>> @wire.message("docs/ciphertext", version=1)
        ... @dataclass(frozen=True)
        ... class Block:
        ...     written: bytes = wire.ciphertext(under="the party's secret of this upload")
        >>> wire.disclosure_of(Block)["written"].kind
        'ciphertext'
    """
    return _marker(Disclosure("ciphertext", _described("ciphertext", under)))


def sealed(what: str) -> Any:
    """Marks content for the receiver's eyes only, such as key material; it leaves only through a sealed channel.

    Args:
        what: The content, in the words of an audit.

    Returns:
        A dataclass field.

    Examples:
        >>> from dataclasses import dataclass
        >>> @wire.message("docs/sealed", version=1)
        ... @dataclass(frozen=True)
        ... class Share:
        ...     content: bytes = wire.sealed("a share of the party's secret")
        >>> wire.disclosure_of(Share)["content"].kind
        'sealed'
    """
    return _marker(Disclosure("sealed", _described("sealed", what)))


def marker_of(metadata: Mapping[Any, Any]) -> Disclosure | None:
    """The disclosure in a dataclass field's metadata, or None for a field without a marker."""
    found = metadata.get(_METADATA_KEY)
    return found if isinstance(found, Disclosure) else None


def _marker(disclosure: Disclosure) -> Any:
    # Only public fields show in a repr: a value disclosed to one receiver has no place in a log.
    return dataclasses.field(repr=disclosure.kind == "public", metadata={_METADATA_KEY: disclosure})


def _described(marker: str, text: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"a {marker} field without a description", expected="a phrase for the ledger", got="nothing")
    return text
