"""The arithmetic that a job's protection names."""

from __future__ import annotations

from hekat.protocol.vertical_trees.arithmetic.interface import GuestSide, HostSide
from hekat.protocol.vertical_trees.arithmetic.plain import PlainGuest, PlainHost
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings


def make_guest_side(settings: VerticalTreesSettings) -> GuestSide:
    """The guest's half of the arithmetic."""
    if settings.protection == "none":
        return PlainGuest()
    # Imported here: a run uses one of them.
    from hekat.protocol.vertical_trees.arithmetic.lattice import LatticeGuest

    return LatticeGuest(settings.target_count)


def make_host_side(settings: VerticalTreesSettings) -> HostSide:
    """A host's half of the arithmetic."""
    if settings.protection == "none":
        return PlainHost()
    from hekat.protocol.vertical_trees.arithmetic.lattice import LatticeHost

    return LatticeHost()
