"""Products of many residues that lie in several engines: partial products where the parts lie, then joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from hekat.engine.checks import (
    Shape,
    check_axis,
    check_multi_exp,
    check_own,
    check_segments,
    check_sparse_multi_exp,
    refuse_device_limbs,
    refuse_not_invertible,
)
from hekat.engine.interface import BoolArray, Engine, IndexArray, Modulus, ResidueArray
from hekat.engine.limbs import LimbArray
from hekat.engine.reduction_groups import groups_of_members, offsets_of, renumber
from hekat.engine.sparse_exponents import SparseExponents
from hekat.engine.spread.partition import Partition
from hekat.engine.spread.residues import SpreadResidues, nothing
from hekat.errors import InputError


@dataclass(frozen=True, eq=False)
class _Groups:
    """One member's partial products: the ascending numbers of their results, and the products."""

    numbers: IndexArray
    products: ResidueArray


class SpreadProducts(SpreadResidues):
    """`mod_product`, `mod_segment_product` and `mod_multi_exp` over parts.

    Where one member has all factors of a result, the result stays there. The other results are partitioned like a new
    batch, and a partial product moves only where its result lies elsewhere: at most results * (members - 1) moves.
    """

    def mod_product(self, a: ResidueArray, axis: int = 0) -> ResidueArray:
        """Product along one axis; the empty product is 1."""
        check_own(self._self, a)
        axis = check_axis(a, axis)
        shape = a.shape[:axis] + a.shape[axis + 1 :]
        if a.data.partition.is_whole:
            return self._whole(a, shape, lambda engine, part: engine.mod_product(engine.reshape(part, a.shape), axis))
        groups = np.expand_dims(np.arange(prod(shape), dtype=np.int64).reshape(shape), axis)
        return self._group_products(a, np.broadcast_to(groups, a.shape).ravel(), shape)

    def mod_segment_product(
        self, a: ResidueArray, segments: IndexArray, segment_count: int, members: IndexArray | None = None
    ) -> ResidueArray:
        """The (segment_count,) products of each segment's residues; an empty segment is 1."""
        check_own(self._self, a)
        check_segments(a, segments, segment_count, members)
        shape = (segment_count,)
        if a.data.partition.is_whole:
            return self._whole(
                a, shape, lambda engine, part: engine.mod_segment_product(part, segments, segment_count, members)
            )
        return self._group_products(a, segments, shape, members)

    def mod_multi_exp(
        self, a: ResidueArray, exponents: LimbArray | SparseExponents, negative: BoolArray | None = None
    ) -> ResidueArray:
        """The (m,) products over i of a_i^(+-E_ij); a row with a minus sign needs an invertible a_i (InputError)."""
        check_own(self._self, a)
        if isinstance(exponents, SparseExponents):
            check_sparse_multi_exp(a, exponents, negative)
            result_count = exponents.result_count
        else:
            _, result_count = check_multi_exp(a, exponents, negative)
            refuse_device_limbs(exponents)
        if a.data.partition.is_whole:
            return self._whole(a, (result_count,), lambda engine, part: engine.mod_multi_exp(part, exponents, negative))
        if isinstance(exponents, SparseExponents):
            tasks = {owner: self._sparse_powers(a, owner, exponents) for owner in a.data.of}
        else:
            tasks = {owner: self._dense_powers(a, owner, exponents, negative) for owner in a.data.of}
        return self._join_groups(a, tasks, (result_count,))

    def _whole(
        self, a: ResidueArray, shape: Shape, operation: Callable[[Engine, ResidueArray], ResidueArray]
    ) -> ResidueArray:
        """Residues of a single member stay there with their products."""
        ((owner, part),) = a.data.of.items()
        flat = (prod(shape),)
        result = self._pool.run({owner: lambda engine: engine.reshape(operation(engine, part), flat)}, {owner: a.size})[
            owner
        ]
        partition = Partition.whole(result.size, owner)
        if not result.size:
            return self._join(a.modulus, shape, partition, {0: nothing(self._pool.engines[0], a.modulus)})
        return self._join(a.modulus, shape, partition, {owner: result})

    # --- partial products ------------------------------------------------------------------------------

    def _group_products(
        self, a: ResidueArray, groups: IndexArray, shape: Shape, members: IndexArray | None = None
    ) -> ResidueArray:
        """The product of each group's residues; `groups` names the result of each residue, or of each member."""
        count = prod(shape)
        partition: Partition = a.data.partition

        def task(owner: int) -> Callable[[Engine], _Groups]:
            part = a.data.of[owner]
            if members is None:
                numbers, own = renumber(groups[partition.positions(owner)], count)
                return lambda engine: _Groups(numbers, engine.mod_segment_product(part, own, numbers.size))
            entries = np.flatnonzero(partition.owners[members] == owner)
            numbers, own = renumber(groups[entries], count)
            ranks = partition.ranks[members[entries]]
            return lambda engine: _Groups(numbers, engine.mod_segment_product(part, own, numbers.size, ranks))

        return self._join_groups(a, {owner: task(owner) for owner in a.data.of}, shape)

    def _dense_powers(
        self, a: ResidueArray, owner: int, exponents: LimbArray, negative: BoolArray | None
    ) -> Callable[[Engine], _Groups]:
        positions = a.data.partition.positions(owner)
        own, signs = exponents[positions], None if negative is None else negative[positions]
        numbers = np.arange(exponents.shape[1], dtype=np.int64)
        return lambda engine: _Groups(numbers, engine.mod_multi_exp(a.data.of[owner], own, signs))

    def _sparse_powers(self, a: ResidueArray, owner: int, exponents: SparseExponents) -> Callable[[Engine], _Groups]:
        partition: Partition = a.data.partition
        entries = np.flatnonzero(partition.owners[exponents.bases] == owner)
        numbers, own = renumber(groups_of_members(exponents.offsets)[entries], exponents.result_count)
        sparse = SparseExponents(
            exponents.limbs[entries],
            partition.ranks[exponents.bases[entries]],
            offsets_of(np.bincount(own, minlength=numbers.size)),
            None if exponents.negative is None else exponents.negative[entries],
        )
        return lambda engine: _Groups(numbers, engine.mod_multi_exp(a.data.of[owner], sparse))

    # --- joining ---------------------------------------------------------------------------------------

    def _join_groups(
        self, a: ResidueArray, tasks: Mapping[int, Callable[[Engine], _Groups]], shape: Shape
    ) -> ResidueArray:
        """The products of all members' partial products; a result without factors is 1."""

        def refuse(owner: int, index: int) -> InputError:
            return refuse_not_invertible(int(a.data.partition.positions(owner)[index]), a.shape)

        partial = self._pool.run(tasks, a.data.partition.counts, refuse=refuse)
        count = prod(shape)
        partition = self._partition_groups(partial, count, a.modulus)
        moves = {
            (home, to): np.flatnonzero(partition.owners[groups.numbers] == to)
            for home, groups in partial.items()
            for to in partition.counts
            if home != to
        }
        moves = {pair: ranks for pair, ranks in moves.items() if ranks.size}
        moved = self._store_ranks({home: groups.products for home, groups in partial.items()}, moves)

        def join(to: int) -> Callable[[Engine], ResidueArray]:
            def task(engine: Engine) -> ResidueArray:
                pieces, numbers = [], []
                if to in partial:
                    own = np.flatnonzero(partition.owners[partial[to].numbers] == to)
                    pieces.append(engine.take(partial[to].products, own))
                    numbers.append(partial[to].numbers[own])
                for pair, limbs in moved.items():
                    if pair[1] == to:
                        pieces.append(engine.load(limbs, a.modulus))
                        numbers.append(partial[pair[0]].numbers[moves[pair]])
                if not pieces:
                    pieces.append(nothing(engine, a.modulus))
                    numbers.append(np.zeros(0, np.int64))
                result_count = partition.counts[to]
                if len(pieces) == 1 and pieces[0].size == result_count:
                    return pieces[0]
                groups = partition.ranks[np.concatenate(numbers)]
                return engine.mod_segment_product(engine.concatenate(pieces), groups, result_count)

            return task

        parts = self._pool.run({to: join(to) for to in partition.counts}, partition.counts)
        return self._join(a.modulus, shape, partition, parts)

    def _partition_groups(self, partial: Mapping[int, _Groups], count: int, modulus: Modulus) -> Partition:
        """Each result at the member that has all its factors; planned as a new batch where no member has all."""
        planned = self._plan(count, count * modulus.limb_count, sorted(partial))
        contributors = np.zeros(count, np.int64)
        last = np.zeros(count, np.uint8)
        for owner, groups in partial.items():
            contributors[groups.numbers] += 1
            last[groups.numbers] = owner
        return Partition(np.where(contributors == 1, last, planned.owners))
