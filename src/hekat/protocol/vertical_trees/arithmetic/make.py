"""The arithmetic that a job's protection names."""

from __future__ import annotations

from hekat.ledger import Ledger
from hekat.protocol.vertical_trees.arithmetic.interface import GuestSide, HostSide
from hekat.protocol.vertical_trees.arithmetic.plain import PlainGuest, PlainHost
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings
from hekat.protocol.vertical_trees.sums_plan import tree_ranges
from hekat.scheme.paillier import KeyPair, generate_keys


def make_guest_side(settings: VerticalTreesSettings, ledger: Ledger, key_pair: KeyPair | None = None) -> GuestSide:
    """The guest's half of the arithmetic; `ledger` hears of its keys.

    `key_pair` is a ready Paillier key; without one, protection `paillier` makes a fresh one.
    """
    if settings.protection == "none":
        return PlainGuest()
    # Imported here: a run uses one of them.
    if settings.protection == "paillier":
        from hekat.protocol.vertical_trees.arithmetic.paillier import PaillierGuest

        keys = key_pair or generate_keys(settings.key_bits)
        how = "made" if key_pair is None else "was given"
        ledger.note("setup", f"{how} a Paillier key of {keys.public.bits} bits and keeps it", "public")
        return PaillierGuest(keys, len(tree_ranges(settings)), settings.hide_partition)
    from hekat.protocol.vertical_trees.arithmetic.lattice import LatticeGuest

    return LatticeGuest(settings.target_count)


def make_host_side(settings: VerticalTreesSettings, ledger: Ledger) -> HostSide:
    """A host's half of the arithmetic; `ledger` hears of the guest's keys."""
    if settings.protection == "none":
        return PlainHost()
    if settings.protection == "paillier":
        from hekat.protocol.vertical_trees.arithmetic.paillier import PaillierHost

        return PaillierHost(settings.key_bits, len(tree_ranges(settings)), settings.hide_partition, ledger)
    from hekat.protocol.vertical_trees.arithmetic.lattice import LatticeHost

    return LatticeHost()
