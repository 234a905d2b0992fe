"""The beginning of a run, up to the first sum, which needs everybody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hekat.errors import PartyLostError, PartyStoppedError


@contextmanager
def needs_everybody() -> Iterator[None]:
    """A loss within ends the run for all, in the lost party's name: raises PartyStoppedError that names it."""
    try:
        yield
    except PartyLostError as error:
        raise PartyStoppedError(
            f"the run cannot begin without all parties: {error.what}", party=error.party, step=error.step
        ) from error
