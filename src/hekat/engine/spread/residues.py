"""Residues partitioned over several engines: in and out, shapes, and element-wise operations where the parts lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from threading import Lock
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

import numpy as np

from hekat.engine.checks import (
    Shape,
    broadcast_shape,
    check_concatenate,
    check_indices,
    check_limbs,
    check_load,
    check_one_plus,
    check_own,
    check_reduce,
    check_reshape,
    refuse_device_limbs,
    refuse_not_below_modulus,
    refuse_not_below_root,
    refuse_not_invertible,
)
from hekat.engine.interface import Engine, IndexArray, Modulus, ResidueArray, check_same_modulus
from hekat.engine.limbs import LimbArray
from hekat.engine.spread.partition import Partition
from hekat.engine.spread.pool import EnginePool
from hekat.errors import InputError

# A batch is cut from this work on, its products weighed by the limbs of their modulus: 512 products modulo the square
# of a 2048-bit key, 0.35 ms of one core with AVX-512 IFMA, where waking a second member took 0.05 ms.
LEAST_WORK: Final = 1 << 15

Argument = Callable[[int], Any]
"""What one member gets of an operand, made in its own thread."""
_Moved = Mapping[tuple[int, int], LimbArray]


@dataclass(frozen=True, eq=False)
class Parts:
    """The data of a ResidueArray: which member owns which residue, and each owner's residues, one axis, in C order."""

    partition: Partition
    of: Mapping[int, ResidueArray]


class SpreadResidues:
    """The part of the engine that every other part stands on.

    A ResidueArray's data is `Parts`. Limbs lie on the host. An operation runs on each member with the parts it holds.
    Where operands are partitioned differently, those residues of the second operand that lie elsewhere than their
    partners are stored and loaded again; nothing else moves. A single residue combined with an array is copied to each
    member once.
    """

    def __init__(self, pool: EnginePool, least_work: int) -> None:
        self._pool = pool
        self._least_work = least_work
        self._lock = Lock()
        self._copies: WeakKeyDictionary[ResidueArray, dict[int, ResidueArray]] = WeakKeyDictionary()
        self._cut_by_shares: Final = lru_cache(maxsize=32)(Partition.by_shares)

    @property
    def _self(self) -> Engine:
        """This object, typed as the engine that it is a part of."""
        return cast(Engine, self)

    # --- which member takes what -----------------------------------------------------------------------

    def _plan(self, count: int, work: int, among: Sequence[int] = ()) -> Partition:
        """The partition of a new batch of `count`: over all members by the policy, whole where there is little `work`.

        `among`: the members that may take the whole batch; all members if empty.
        """
        if work >= self._least_work and count > 1:
            return self._cut_by_shares(count, self._pool.shares)
        return Partition.whole(count, self._pool.next_member(among))

    def _join(
        self, modulus: Modulus, shape: Shape, partition: Partition, parts: Mapping[int, ResidueArray]
    ) -> ResidueArray:
        return ResidueArray(self._self, modulus, shape, Parts(partition, parts))

    # --- host <-> engine -------------------------------------------------------------------------------

    def load(self, limbs: LimbArray, modulus: Modulus) -> ResidueArray:
        """Canonical (..., k) limbs with k <= modulus.limb_count, each value < modulus (InputError otherwise)."""
        shape = check_load(limbs, modulus)
        return self._enter("load", limbs, modulus, shape)

    def reduce(self, limbs: LimbArray, modulus: Modulus) -> ResidueArray:
        """Canonical (..., k) limbs with k <= 2 * modulus.limb_count, reduced mod `modulus`."""
        return self._enter("reduce", limbs, modulus, check_reduce(limbs, modulus))

    def _enter(self, name: str, limbs: LimbArray, modulus: Modulus, shape: Shape) -> ResidueArray:
        refuse_device_limbs(limbs)
        count = prod(shape)
        partition = self._plan(count, count * modulus.limb_count)
        flat = limbs.reshape(count, limbs.shape[-1])
        parts = self._pool.run(
            {owner: call(name, flat[positions_of(partition, owner)], modulus) for owner in partition.counts},
            partition.counts,
            refuse=lambda owner, index: refuse_not_below_modulus(
                int(partition.positions(owner)[index]), shape, modulus
            ),
        )
        return self._join(modulus, shape, partition, parts)

    def store(self, a: ResidueArray) -> LimbArray:
        """The residues as canonical limbs, shape a.shape + (modulus.limb_count,)."""
        check_own(self._self, a)
        partition = a.data.partition
        stored = self._pool.run({owner: call("store", part) for owner, part in a.data.of.items()}, partition.counts)
        out = np.empty((a.size, a.modulus.limb_count), np.uint64)
        for owner, limbs in stored.items():
            out[positions_of(partition, owner)] = limbs
        return out.reshape(*a.shape, a.modulus.limb_count)

    # --- shape -----------------------------------------------------------------------------------------

    def take(self, a: ResidueArray, indices: IndexArray) -> ResidueArray:
        """The residues at flat `indices`, in the shape of `indices`, where they lie."""
        check_own(self._self, a)
        check_indices(indices, a.size)
        flat = indices.ravel()
        partition = Partition(a.data.partition.owners[flat])
        ranks = a.data.partition.ranks[flat]
        parts = self._pool.run(
            {
                owner: call("take", self._part(a, owner), ranks[positions_of(partition, owner)])
                for owner in partition.counts
            },
            partition.counts,
        )
        return self._join(a.modulus, indices.shape, partition, parts)

    def reshape(self, a: ResidueArray, shape: tuple[int, ...]) -> ResidueArray:
        """The same residues under another shape of equal size."""
        check_own(self._self, a)
        return ResidueArray(self._self, a.modulus, check_reshape(a, shape), a.data)

    def concatenate(self, arrays: Sequence[ResidueArray]) -> ResidueArray:
        """Joined along the first axis, each residue where it lies."""
        shape = check_concatenate(self._self, arrays)
        partition = Partition(np.concatenate([a.data.partition.owners for a in arrays]))
        parts = self._pool.run(
            {
                owner: call("concatenate", [a.data.of[owner] for a in arrays if owner in a.data.of])
                if any(owner in a.data.of for a in arrays)
                else lambda engine: nothing(engine, arrays[0].modulus)
                for owner in partition.counts
            },
            partition.counts,
        )
        return self._join(arrays[0].modulus, shape, partition, parts)

    # --- element-wise ----------------------------------------------------------------------------------

    def mod_mul(self, a: ResidueArray, b: ResidueArray) -> ResidueArray:
        """Element-wise product, shapes broadcast."""
        check_own(self._self, a)
        check_own(self._self, b)
        check_same_modulus(a, b)
        shape = broadcast_shape(a.shape, b.shape)
        partition = self._choose_partition(a.modulus, shape, [a, b], 1)
        return self._each(
            "mod_mul", a.modulus, shape, partition, [self._bring(a, shape, partition), self._bring(b, shape, partition)]
        )

    def mod_mul_one_plus(self, a: ResidueArray, values: LimbArray) -> ResidueArray:
        """Element-wise a (1 + v root), shapes broadcast."""
        check_own(self._self, a)
        shape, _ = check_one_plus(a, values)
        partition = self._choose_partition(a.modulus, shape, [a], 1)
        arguments = [self._bring(a, shape, partition), _slices(values, shape, partition)]
        return self._each("mod_mul_one_plus", a.modulus, shape, partition, arguments, refuse=refuse_not_below_root)

    def mod_exp(self, a: ResidueArray, exponents: LimbArray) -> ResidueArray:
        """Element-wise power a^e through all bits of the exponents' limbs, constant-time; shapes broadcast; 0^0 = 1."""
        return self._exp("mod_exp", a, exponents)

    def mod_exp_vartime(self, a: ResidueArray, exponents: LimbArray) -> ResidueArray:
        """The same power for public exponents; variable time."""
        return self._exp("mod_exp_vartime", a, exponents)

    def _exp(self, name: str, a: ResidueArray, exponents: LimbArray) -> ResidueArray:
        check_own(self._self, a)
        shape = broadcast_shape(a.shape, check_limbs(exponents, "exponents"))
        partition = self._choose_partition(a.modulus, shape, [a], 64 * exponents.shape[-1])
        arguments = [self._bring(a, shape, partition), _slices(exponents, shape, partition)]
        return self._each(name, a.modulus, shape, partition, arguments)

    def mod_inv(self, a: ResidueArray) -> ResidueArray:
        """Element-wise inverse, one true inversion a member. Raises InputError naming the first index without one."""
        check_own(self._self, a)
        partition = a.data.partition
        arguments = [self._bring(a, a.shape, partition)]
        refuse = lambda index, shape, _: refuse_not_invertible(index, shape)  # noqa: E731
        return self._each("mod_inv", a.modulus, a.shape, partition, arguments, refuse=refuse)

    def _each(
        self,
        name: str,
        modulus: Modulus,
        shape: Shape,
        partition: Partition,
        arguments: Sequence[Argument],
        *,
        refuse: Callable[[int, Shape, Modulus], InputError] | None = None,
    ) -> ResidueArray:
        """The operation `name` on each owner in the result's `partition`, with its part of each operand."""

        def task(owner: int) -> Callable[[Engine], ResidueArray]:
            return lambda engine: getattr(engine, name)(*[argument(owner) for argument in arguments])

        def refuse_at(owner: int, index: int) -> InputError:
            assert refuse is not None
            return refuse(int(partition.positions(owner)[index]), shape, modulus)

        tasks = {owner: task(owner) for owner in partition.counts}
        kind = (name, modulus.limb_count)
        parts = self._pool.run(tasks, partition.counts, kind=kind, refuse=refuse_at if refuse else None)
        return self._join(modulus, shape, partition, parts)

    # --- where operands lie ----------------------------------------------------------------------------

    def _choose_partition(
        self, modulus: Modulus, shape: Shape, operands: Sequence[ResidueArray], products: int
    ) -> Partition:
        """The partition of an element-wise result: the partition of an operand of its size, so that this operand stays.

        An operand that lies whole in one member moves only for operations with many `products` an item.
        """
        count = prod(shape)
        like: list[Partition] = [a.data.partition for a in operands if a.size == count]
        for partition in like:
            if not partition.is_whole:
                return partition
        if like and products == 1:
            return like[0]
        partition = self._plan(count, count * modulus.limb_count * products)
        if not partition.is_whole:
            return partition
        owner = next(iter(operands[0].data.partition.counts))
        return like[0] if like else Partition.whole(count, owner)

    def _bring(self, a: ResidueArray, shape: Shape, partition: Partition) -> Argument:
        """The part of `a`, broadcast to `shape`, for each owner in `partition`."""
        parts: Parts = a.data
        if a.size == 1 and partition.size != 0:
            return self._copy(a, partition)
        if a.size == partition.size and parts.partition.is_like(partition):
            return parts.of.__getitem__
        sources = np.broadcast_to(np.arange(a.size, dtype=np.int64).reshape(a.shape), shape).ravel()
        wanted = {owner: sources[positions_of(partition, owner)] for owner in partition.counts}
        moved = self._move(a, wanted)
        return lambda owner: self._gather(a, owner, wanted[owner], moved)

    def _copy(self, a: ResidueArray, partition: Partition) -> Argument:
        """A single residue, at each owner in `partition`: copied there once, kept as long as `a` lives."""
        (home,) = a.data.of
        with self._lock:
            copies = self._copies.setdefault(a, {home: a.data.of[home]})
            missing = [owner for owner in partition.counts if owner not in copies]
        if missing:
            limbs = self._pool.run({home: call("store", copies[home])}, {home: 1})[home]
            tasks = {owner: call("load", limbs, a.modulus) for owner in missing}
            made = self._pool.run(tasks, dict.fromkeys(missing, 1))
            with self._lock:
                copies.update(made)
        return copies.__getitem__

    def _move(self, a: ResidueArray, wanted: Mapping[int, IndexArray]) -> _Moved:
        """The limbs of the `wanted` residues of `a` that lie elsewhere, each once, by (member with the residues, other
        member).
        """
        partition: Partition = a.data.partition
        moves: dict[tuple[int, int], IndexArray] = {}
        for to, sources in wanted.items():
            is_wanted = np.zeros(a.size, np.bool_)
            is_wanted[sources] = True
            for home in partition.counts:
                there = is_wanted & (partition.owners == home)
                if home != to and there.any():
                    moves[home, to] = partition.ranks[there]
        return self._store_ranks(a.data.of, moves)

    def _store_ranks(self, parts: Mapping[int, ResidueArray], moves: Mapping[tuple[int, int], IndexArray]) -> _Moved:
        """The limbs at some ranks of `parts`, for each (from, to)."""
        homes = sorted({home for home, _ in moves})

        def task(home: int) -> Callable[[Engine], dict[tuple[int, int], LimbArray]]:
            own = {pair: ranks for pair, ranks in moves.items() if pair[0] == home}
            return lambda engine: {pair: engine.store(engine.take(parts[home], ranks)) for pair, ranks in own.items()}

        if not homes:
            return {}
        items = {home: sum(ranks.size for (own, _), ranks in moves.items() if own == home) for home in homes}
        stored = self._pool.run({home: task(home) for home in homes}, items)
        return {pair: limbs for of_home in stored.values() for pair, limbs in of_home.items()}

    def _gather(self, a: ResidueArray, owner: int, sources: IndexArray, moved: _Moved) -> ResidueArray:
        """The residues of `a` at flat `sources` as one array of member `owner`: its own, and residues moved to it."""
        engine, partition = self._pool.engines[owner], a.data.partition
        # The place of each wanted residue of `a` in the owner's own part followed by the residues moved there.
        places = np.full(a.size, -1, np.int64)
        pieces = [self._part(a, owner)]
        places[partition.positions(owner)] = np.arange(pieces[0].size, dtype=np.int64)
        at = pieces[0].size
        is_wanted = np.zeros(a.size, np.bool_)
        is_wanted[sources] = True
        for (home, to), limbs in moved.items():
            if to == owner:
                places[is_wanted & (partition.owners == home)] = np.arange(at, at + len(limbs), dtype=np.int64)
                pieces.append(engine.load(limbs, a.modulus))
                at += len(limbs)
        joined = pieces[0] if len(pieces) == 1 else engine.concatenate(pieces)
        return engine.take(joined, places[sources])

    def _part(self, a: ResidueArray, owner: int) -> ResidueArray:
        """The residues of `a` that `owner` holds; an empty array where it holds none."""
        part: ResidueArray | None = a.data.of.get(owner)
        if part is None:
            part = nothing(self._pool.engines[owner], a.modulus)
        return part


def nothing(engine: Engine, modulus: Modulus) -> ResidueArray:
    """An array without residues, in `engine`."""
    return engine.load(np.zeros((0, 1), np.uint64), modulus)


def positions_of(partition: Partition, owner: int) -> IndexArray | slice:
    """Where an owner's residues stand; one piece with all of them where there is only one owner."""
    return slice(None) if partition.is_whole else partition.positions(owner)


def _slices(limbs: LimbArray, shape: Shape, partition: Partition) -> Argument:
    """The part of host limbs, broadcast to `shape`, for each owner in `partition`."""
    refuse_device_limbs(limbs)
    if prod(limbs.shape[:-1]) == 1 and partition.size:
        single = limbs.reshape(1, limbs.shape[-1])
        return lambda owner: single
    flat = np.broadcast_to(limbs, (*shape, limbs.shape[-1])).reshape(partition.size, limbs.shape[-1])
    return lambda owner: flat[positions_of(partition, owner)]


def call(name: str, *arguments: Any) -> Callable[[Engine], Any]:
    """The engine operation `name` with `arguments`, for whichever member runs it."""
    return lambda engine: getattr(engine, name)(*arguments)
