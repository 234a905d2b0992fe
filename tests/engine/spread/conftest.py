"""An engine over two members that tell what passes into and out of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from hekat.engine.cpu import CpuEngine
from hekat.engine.interface import Modulus
from hekat.engine.limbs import limbs_from_ints
from hekat.engine.spread.engine import SpreadEngine
from hekat.engine.spread.partition import Partition
from hekat.errors import EngineError

N = Modulus((2**89 - 1) ** 2, root=2**89 - 1)


class TellingEngine(CpuEngine):
    """The native engine, with counts of the residues it loaded and stored, and the operations it was asked for."""

    def __init__(self) -> None:
        super().__init__(1)
        self.loaded = self.stored = 0
        self.operations: list[str] = []
        self.fails: str | None = None

    def load(self, limbs, modulus):
        self.loaded += len(limbs)
        return super().load(limbs, modulus)

    def store(self, a):
        self.stored += a.size
        return super().store(a)

    def __getattribute__(self, name):
        if name.startswith("mod_") or name in ("fixed_base_table", "reduce"):
            self.operations.append(name)
            if name == self.fails:
                raise EngineError(f"{name} is broken")
        return super().__getattribute__(name)


@dataclass
class Spread:
    """The engine, its members, and integers in and out of it."""

    engine: SpreadEngine
    members: list[TellingEngine] = field(default_factory=list)

    def load(self, values, modulus=N):
        values = np.asarray(values, object)
        limbs = limbs_from_ints(values.ravel().tolist(), modulus.limb_count)
        return self.engine.load(limbs.reshape(*values.shape, modulus.limb_count), modulus)

    def load_cut(self, values, owners):
        """`values` with the owners given, by taking them out of an array in two halves."""
        values, owners = np.asarray(values, object), np.asarray(owners)
        order = np.argsort(owners, kind="stable")
        padded, half = [], max(np.bincount(owners, minlength=2))
        for owner in (0, 1):
            own = values[order[owners[order] == owner]].tolist()
            padded += own + [0] * (half - len(own))
        ranks = Partition(owners.astype(np.uint8)).ranks
        return self.engine.take(self.load(padded), (owners * half + ranks).astype(np.int64))

    def moved(self, work: Callable[[], object]) -> tuple[int, int]:
        """Residues that `work` stored from members and loaded into them."""
        before = sum(member.stored for member in self.members), sum(member.loaded for member in self.members)
        work()
        after = sum(member.stored for member in self.members), sum(member.loaded for member in self.members)
        return after[0] - before[0], after[1] - before[1]

    @staticmethod
    def owners(a) -> list[int]:
        return a.data.partition.owners.tolist()


def make_spread(**settings) -> Spread:
    members = [TellingEngine(), TellingEngine()]
    return Spread(SpreadEngine(members, **{"least_work": 1, "least_chunks": 2, **settings}), members)


@pytest.fixture
def spread() -> Spread:
    """Batches of two and more are cut."""
    return make_spread()
