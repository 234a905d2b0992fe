"""Names the role whose bytes could not be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hekat.errors import InputError, KeyRefusedError, ProtocolError, WireError


@contextmanager
def blame(sender: str) -> Iterator[None]:
    """What is raised within for bytes of `sender` becomes a ProtocolError that names it."""
    try:
        yield
    except (WireError, InputError, KeyRefusedError) as error:
        raise ProtocolError(
            f"{sender!r} sent numbers that cannot be: {error.what}",
            expected=error.expected,
            got=error.got,
            cure=error.cure or "all roles must run the same job and release",
        ) from error
