"""One block of threads that runs an entry, in lockstep where they are at the same place.

The threads that are farthest behind go first: after a branch that parts them they meet again where its ways do. At
a shuffle or a vote a warp waits for all of its threads, at a barrier the block does. Refused are waiting for ever, a
carry flag read where a branch or a label lies between, two threads that store in one place at once, and shared memory
that one warp stores to and another one uses with no barrier between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import arithmetic
from .arithmetic import Words
from .memory import Memory
from .program import Entry, Instruction

WARP = 32
_CARRIES = ("add", "addc", "sub", "subc", "mad", "madc")
_IGNORED_LOADS = ("gpu", "cta", "nc", "volatile", "relaxed", "weak", "ca", "cg")
Step = Callable[[Any], None]


class Block:
    """State of the threads of one block: registers, carry flags and where each of them is."""

    def __init__(
        self, entry: Entry, memory: Memory, parameters: Mapping[str, int], threads: int, block: int, blocks: int
    ) -> None:
        if threads % WARP:
            raise ValueError("a block consists of whole warps")
        self._entry, self._memory, self._parameters, self._threads = entry, memory, parameters, threads
        self._registers: dict[str, Words] = {}
        self._flag: Words | None = None
        self._index = index = np.arange(threads, dtype=np.uint64)
        self._special = {
            "%tid.x": index, "%ntid.x": self._fill(threads), "%ctaid.x": self._fill(block),
            "%nctaid.x": self._fill(blocks), "%laneid": index % np.uint64(WARP),
        }  # fmt: skip
        self._end = len(entry.instructions)
        self._leaders = entry.leaders()
        self._meets = np.array([one.opcode[0] in ("shfl", "vote") for one in entry.instructions] + [False])

    def run(self, steps: int = 20_000_000) -> None:
        """Until all threads have returned. Raises RuntimeError after `steps` instructions."""
        places = np.zeros(self._threads, np.int64)
        waiting = np.zeros(self._threads, bool)
        instructions = self._entry.instructions
        while (places < self._end).any():
            alive = places < self._end
            going = alive & ~waiting & ~self._parted(places)
            if not going.any():
                self._refuse_waiting(places[alive], waiting[alive])
                waiting[:] = False
                places[alive] += 1
                self._memory.meet()
                continue
            at = int(places[going].min())
            active = going & (places == at)
            everyone = None if active.all() else active
            self._flag = None
            while True:
                instruction = instructions[at]
                steps -= 1
                if steps < 0:
                    raise RuntimeError("an entry that does not end")
                match instruction.opcode[0]:
                    case "bra":
                        taken = self._holds(instruction, active)
                        places[active] = at + 1
                        places[taken] = self._entry.labels[str(instruction.operands[0])]
                        break
                    case "ret":
                        returns = self._holds(instruction, active)
                        places[active] = at + 1
                        places[returns] = self._end
                        break
                    case "bar":
                        places[active] = at
                        waiting |= active
                        break
                if everyone is not None and self._meets[at]:
                    places[active] = at
                    # Others may have waited here.
                    if (active & self._parted(places)).any() or not np.array_equal(active, places == at):
                        break
                self._execute(instruction, everyone)
                at += 1
                if at in self._leaders:
                    places[active] = at
                    break

    def _parted(self, places: Any) -> Any:
        """Which threads are at a shuffle or a vote that others of their warp have not reached."""
        warps = places.reshape(-1, WARP)
        together = (warps == warps[:, :1]).all(axis=1)
        return self._meets[places] & ~np.repeat(together, WARP)

    def _refuse_waiting(self, places: Any, at_barrier: Any) -> None:
        """Unless all threads wait at one barrier."""
        if not at_barrier.all() or len(np.unique(places)) != 1:
            raise ValueError("threads wait for others that never come")

    def _fill(self, value: int) -> Words:
        return np.full(self._threads, value & 0xFFFFFFFFFFFFFFFF, np.uint64)

    # --- operands --------------------------------------------------------------------------------------

    def _holds(self, instruction: Instruction, active: Any) -> Any:
        """Which of `active` the predicate lets take part."""
        if instruction.predicate is None:
            return active
        return active & self._predicate(instruction.predicate)

    def _predicate(self, name: str) -> Any:
        return ~self._registers[name[1:]] if name.startswith("!") else self._registers[name]

    def _value(self, name: Any, width: int = 64) -> Words:
        if name in self._registers:
            return self._registers[name]
        if name in self._special:
            return self._special[name]
        if name in self._entry.shared:
            return self._fill(self._entry.shared[name][0])
        if name.startswith("!"):
            return self._predicate(name)
        return arithmetic.cut(self._fill(int(name, 0)), width)

    def _write(self, name: str, value: Words, active: Any) -> None:
        if name == "_":
            return
        if active is not None:
            value = np.where(active, value, self._registers.get(name, np.zeros_like(value)))
        self._registers[name] = value

    def _addresses(self, operand: Any) -> Words:
        base, _, offset = operand.strip("[]").partition("+")
        address = self._value(base)
        return address + np.uint64(int(offset, 0) % 2**64) if offset else address

    # --- instructions ----------------------------------------------------------------------------------

    def _execute(self, instruction: Instruction, active: Any) -> None:
        if instruction.predicate is not None:
            held = self._holds(instruction, np.ones(self._threads, bool) if active is None else active)
            active = None if held.all() else held
        opcode = instruction.opcode
        try:
            match opcode[0]:
                case "ld" | "ldu":
                    self._load(instruction, active)
                case "st":
                    self._store(instruction, active)
                case "mov" | "cvta":
                    self._move(instruction, active)
                case "atom" | "red":
                    self._atomic(instruction, active)
                case "shfl":
                    self._shuffle(instruction, active)
                case "vote":
                    self._vote(instruction, active)
                case name if name in _CARRIES and (name.endswith("c") or "cc" in opcode):
                    self._carry(instruction, active)
                case _:
                    width = arithmetic.width_of(opcode[-1])
                    sources = [self._value(name, width) for name in instruction.operands[1:]]
                    if opcode[0] in ("div", "rem") and active is not None:
                        sources[1] = np.where(active, sources[1], np.uint64(1))
                    self._write(str(instruction.operands[0]), arithmetic.pure(opcode, sources), active)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise ValueError(f"{instruction.text}: {error}") from error

    def _carry(self, instruction: Instruction, active: Any) -> None:
        opcode = instruction.opcode
        flag: Words = np.uint64(0)
        if opcode[0].endswith("c"):
            if self._flag is None:
                raise ValueError("reads a carry flag that nothing in its straight line has set")
            flag = self._flag
        sources = [self._value(name, 32) for name in instruction.operands[1:]]
        result, carry = arithmetic.with_carry(opcode, sources, flag)
        self._write(str(instruction.operands[0]), result, active)
        if "cc" in opcode:
            if instruction.predicate is not None:
                raise ValueError("sets the carry flag in some threads only")
            self._flag = carry

    def _move(self, instruction: Instruction, active: Any) -> None:
        to, source = instruction.operands
        width = arithmetic.width_of(instruction.opcode[-1])
        if isinstance(source, tuple):  # two halves into one
            low, high = (self._value(name) for name in source)
            self._write(str(to), low | high << np.uint64(width // 2), active)
        elif isinstance(to, tuple):
            whole = self._value(source)
            for name, half in zip(to, (arithmetic.cut(whole, width // 2), whole >> np.uint64(width // 2)), strict=True):
                self._write(name, half, active)
        else:
            value = self._value(source, width)
            self._write(str(to), value != 0 if width == 1 else value, active)

    def _load(self, instruction: Instruction, active: Any) -> None:
        opcode = [part for part in instruction.opcode if part not in _IGNORED_LOADS]
        to, source = instruction.operands
        if opcode[1] == "param":
            return self._write(str(to), self._fill(self._parameters[str(source).strip("[]")]), active)
        self._check_space(opcode[1])
        names = to if isinstance(to, tuple) else (to,)
        kind = opcode[-1]
        width = arithmetic.width_of(kind)
        addresses = self._addresses(source)
        chosen = slice(None) if active is None else active
        columns = self._memory.load(addresses[chosen], width, len(names), self._index[chosen])
        for name, column in zip(names, columns, strict=True):
            value = np.zeros(self._threads, np.uint64)
            value[chosen] = column
            if kind[0] == "s":
                # As wide as the register, which its name tells.
                register = 64 if name.startswith("%rd") else 16 if name.startswith("%rs") else 32
                value = arithmetic.cut(arithmetic.signed(value, width).view(np.uint64), register)
            self._write(name, value, active)

    def _store(self, instruction: Instruction, active: Any) -> None:
        opcode = [part for part in instruction.opcode if part not in _IGNORED_LOADS]
        self._check_space(opcode[1])
        target, source = instruction.operands
        names = source if isinstance(source, tuple) else (source,)
        width = arithmetic.width_of(opcode[-1])
        chosen = slice(None) if active is None else active
        values = [self._value(name, width)[chosen] for name in names]
        self._memory.store(self._addresses(target)[chosen], width, values, self._index[chosen])

    def _atomic(self, instruction: Instruction, active: Any) -> None:
        """atom and red, one thread after the other."""
        opcode = [part for part in instruction.opcode if part not in _IGNORED_LOADS]
        self._check_space(opcode[1])
        width = arithmetic.width_of(opcode[-1])
        *to, target, source = instruction.operands
        addresses, values = self._addresses(target), self._value(source, width)
        found = np.zeros(self._threads, np.uint64)
        for thread in np.flatnonzero(np.ones(self._threads, bool) if active is None else active):
            one = slice(thread, thread + 1)
            (before,) = self._memory.load(addresses[one], width, 1, self._index[one], "atomic")
            kind = (opcode[-2], opcode[-1])
            after = [arithmetic.pure(kind, [before, values[one]])]
            self._memory.store(addresses[one], width, after, self._index[one], "atomic")
            found[one] = before
        if to:
            self._write(str(to[0]), found, active)

    def _check_space(self, space: str) -> None:
        # Without a space an address says itself where it is.
        if space not in ("global", "shared") and space[0] not in "bus":
            raise ValueError(f"memory of the space {space} is unknown here")

    def _shuffle(self, instruction: Instruction, active: Any) -> None:
        """shfl.sync, as the ISA's pseudo-code has it."""
        names, *rest = instruction.operands
        to = names if isinstance(names, tuple) else (names, "_")
        source, by, clamp, _ = (self._value(name, 32) for name in rest)
        self._refuse_part_of_warp(rest[-1], active)
        lane = self._special["%laneid"]
        segment, clamp = (clamp >> np.uint64(8)) & np.uint64(31), clamp & np.uint64(31)
        by = by & np.uint64(31)
        lowest = lane & segment
        highest = lowest | (clamp & ~segment)
        match instruction.opcode[2]:
            case "up":
                at, is_in = lane - by, lane.view(np.int64) - by.view(np.int64) >= highest.view(np.int64)
            case "down":
                at, is_in = lane + by, lane + by <= highest
            case "bfly":
                at, is_in = lane ^ by, (lane ^ by) <= highest
            case "idx":
                at = lowest | (by & ~segment)
                is_in = at <= highest
            case mode:
                raise ValueError(f"shuffles in the mode {mode} are unknown here")
        at = np.where(is_in, at, lane)
        warp = np.arange(self._threads, dtype=np.uint64) - lane
        self._write(to[0], source[warp + at], active)
        self._write(to[1], is_in, active)

    def _vote(self, instruction: Instruction, active: Any) -> None:
        to, source, mask = instruction.operands
        flags = self._value(source, 1).astype(bool).reshape(-1, WARP)
        self._refuse_part_of_warp(mask, active)
        match instruction.opcode[2]:
            case "ballot":
                bits = flags.astype(np.uint64) << np.arange(WARP, dtype=np.uint64)
                found = bits.sum(axis=1, dtype=np.uint64)
            case "any":
                found = flags.any(axis=1)
            case "all":
                found = flags.all(axis=1)
            case mode:
                raise ValueError(f"votes in the mode {mode} are unknown here")
        self._write(str(to), np.repeat(found, WARP), active)

    def _refuse_part_of_warp(self, mask: Any, active: Any) -> None:
        """All threads of a warp take part, and all of them are here."""
        if active is not None and (active.reshape(-1, WARP) != active[::WARP, None]).any():
            raise ValueError("in part of a warp only")
        named = self._value(mask, 32)
        if ((named if active is None else named[active]) != 0xFFFFFFFF).any():
            raise ValueError("the mask does not name the whole warp")
