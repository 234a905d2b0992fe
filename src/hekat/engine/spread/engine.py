"""The engine that spreads batches over several others: a CPU and GPUs, or GPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from threading import Lock
from time import perf_counter

from hekat.engine.checks import check_limbs, check_own_table, check_table, refuse_device_limbs, refuse_wide_exponent
from hekat.engine.chunk_plan import ChunkPlan
from hekat.engine.host_memory import HostMemory
from hekat.engine.interface import BoolArray, Engine, FixedBaseTable, Modulus, ResidueArray
from hekat.engine.limbs import LimbArray
from hekat.engine.random_limbs import HostRandom
from hekat.engine.spread.pool import EnginePool
from hekat.engine.spread.products import SpreadProducts
from hekat.engine.spread.residues import LEAST_WORK, call, positions_of
from hekat.engine.spread.ring import LEAST_CHUNKS, SpreadRing
from hekat.engine.workload import Clock, EngineLoad, choose_policy
from hekat.errors import EngineError


@dataclass(frozen=True, eq=False)
class _TableRequest:
    """The arguments of a member's table, and the lock that lets only one thread make it."""

    base: LimbArray
    window_bits: int | None
    uses: int | None
    made: dict[int, FixedBaseTable]
    locks: tuple[Lock, ...]


class SpreadEngine(SpreadProducts, SpreadRing, HostMemory, HostRandom):
    """Implements `hekat.engine.interface.Engine` over `engines`, which work at the same time, one thread each.

    Batches are partitioned over all of them, in proportion to their measured speeds or, with the policy `round_robin`,
    equally; a small batch goes whole to the engine that is free first, or to one engine after the other.
    `SpreadResidues` says where residues lie and what moves. Limbs lie on the host, random ones too; the first engine
    computes integers. Constant-time as its engines are; shares and moves depend on sizes, indices and times alone.

    A batch is partitioned from `least_work` on (products, each weighed by the limbs of its modulus), or from
    `least_chunks` on (ring elements). Raises EngineError for fewer than two engines, and where only some engines may
    use plain tables for randomness.
    """

    def __init__(
        self,
        engines: Sequence[Engine],
        policy: str | None = None,
        *,
        least_work: int = LEAST_WORK,
        least_chunks: int = LEAST_CHUNKS,
        clock: Clock = perf_counter,
    ) -> None:
        if len(engines) < 2:
            raise EngineError("nothing to spread over", expected="two engines or more", got=str(len(engines)))
        if len({engine.single_tenant for engine in engines}) > 1:
            raise EngineError(
                "the settings of one machine's engines differ in whether others run code on it",
                expected="one tenancy",
                got=", ".join(f"{engine.name}: single_tenant={engine.single_tenant}" for engine in engines),
            )
        chosen, self._why_policy = choose_policy(policy)
        super().__init__(EnginePool(engines, chosen, clock), least_work)
        self._least_chunks = least_chunks

    @property
    def name(self) -> str:
        return "+".join(engine.name for engine in self._pool.engines)

    @property
    def single_tenant(self) -> bool:
        return self._pool.engines[0].single_tenant

    @property
    def chunk_plan(self) -> ChunkPlan:
        """Chunks that give each engine as much at once as it takes alone, with the next chunks ready."""
        plans = [engine.chunk_plan for engine in self._pool.engines]
        factor, abreast = sum(plan.factor * plan.in_flight for plan in plans), sum(plan.abreast for plan in plans)
        return ChunkPlan(factor, in_flight=2, abreast=abreast)

    def loads(self) -> tuple[EngineLoad, ...]:
        """The load of each engine, in the order of the engines."""
        return self._pool.workload.loads()

    def describe(self) -> dict[str, str]:
        """What is active and why, with each member and its load, for `hekat doctor`."""
        shares = ", ".join(
            f"{name} {share:.0%}" for name, share in zip(self._pool.names, self._pool.shares, strict=True)
        )
        described = {"schedule": f"{self._pool.policy} ({self._why_policy})", "shares": shares}
        for name, engine, load in zip(self._pool.names, self._pool.engines, self.loads(), strict=True):
            described[f"{name}: load"] = str(load)
            described |= {f"{name}: {what}": value for what, value in engine.describe().items()}
        return described

    def __repr__(self) -> str:
        return f"SpreadEngine({', '.join(self._pool.names)})"

    # --- powers of one base ----------------------------------------------------------------------------

    def fixed_base_table(
        self,
        base: LimbArray,
        modulus: Modulus,
        exponent_bits: int,
        window_bits: int | None = None,
        *,
        uses: int | None = None,
        constant_time: bool = True,
    ) -> FixedBaseTable:
        """The table of one base in the first engine; the others make theirs when they first need it.

        Where `window_bits` is None each engine takes the window that suits it; the table states the first engine's.
        Raises InputError as one engine does; `mod_exp_fixed` raises it where another engine's table does not fit.
        """
        check_table(base, modulus, exponent_bits, window_bits, uses)
        refuse_device_limbs(base)
        first = self._pool.engines[0].fixed_base_table(
            base, modulus, exponent_bits, window_bits, uses=uses, constant_time=constant_time
        )
        locks = tuple(Lock() for _ in self._pool.engines)
        request = _TableRequest(base.copy(), window_bits, uses, {0: first}, locks)
        return FixedBaseTable(self, modulus, exponent_bits, first.window_bits, request, first.size_bytes, constant_time)

    def mod_exp_fixed(self, table: FixedBaseTable, exponents: LimbArray) -> ResidueArray:
        """base^e for exponents below 2^table.exponent_bits (InputError otherwise), constant-time if the table is."""
        check_own_table(self, table)
        shape = check_limbs(exponents, "exponents")
        refuse_device_limbs(exponents)
        count = prod(shape)
        # A small batch is not worth a table.
        partition = self._plan(count, count * table.modulus.limb_count * table.positions, sorted(table.data.made))
        flat = exponents.reshape(count, exponents.shape[-1])
        tables = self._tables(table, list(partition.counts))
        parts = self._pool.run(
            {
                owner: call("mod_exp_fixed", tables[owner], flat[positions_of(partition, owner)])
                for owner in partition.counts
            },
            partition.counts,
            kind=("mod_exp_fixed", table.modulus.limb_count, table.exponent_bits),
            refuse=lambda owner, index: refuse_wide_exponent(int(partition.positions(owner)[index]), shape, table),
        )
        return self._join(table.modulus, shape, partition, parts)

    def _tables(self, table: FixedBaseTable, owners: Sequence[int]) -> Mapping[int, FixedBaseTable]:
        """The members' own tables; the missing tables of `owners` are made, all at the same time."""
        request: _TableRequest = table.data

        def task(owner: int) -> Callable[[Engine], None]:
            def make(engine: Engine) -> None:
                with request.locks[owner]:
                    if owner not in request.made:
                        request.made[owner] = engine.fixed_base_table(
                            request.base,
                            table.modulus,
                            table.exponent_bits,
                            request.window_bits,
                            uses=request.uses,
                            constant_time=table.constant_time,
                        )

            return make

        missing = [owner for owner in owners if owner not in request.made]
        if missing:
            self._pool.run({owner: task(owner) for owner in missing}, dict.fromkeys(missing, 0))
        return request.made

    # --- integers --------------------------------------------------------------------------------------

    def int_add(self, a: LimbArray, b: LimbArray) -> LimbArray:
        """a + b with max(limbs) + 1 limbs."""
        return self._for_integers(a, b).int_add(a, b)

    def int_sub(self, a: LimbArray, b: LimbArray) -> tuple[LimbArray, BoolArray]:
        """|a - b| with max(limbs) limbs, and where a < b."""
        return self._for_integers(a, b).int_sub(a, b)

    def int_mul(self, a: LimbArray, b: LimbArray) -> LimbArray:
        """a * b with limbs(a) + limbs(b) limbs."""
        return self._for_integers(a, b).int_mul(a, b)

    def int_divmod(self, a: LimbArray, b: LimbArray) -> tuple[LimbArray, LimbArray]:
        """Quotient (limbs of a) and remainder (limbs of b), variable time. Raises InputError where a divisor is 0."""
        return self._for_integers(a, b).int_divmod(a, b)

    def _for_integers(self, *operands: LimbArray) -> Engine:
        """The engine for integers on the host: moving them elsewhere costs more than computing."""
        for operand in operands:
            refuse_device_limbs(operand)
        return self._pool.engines[0]
