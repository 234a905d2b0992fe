"""PTX text as instructions: what an entry consists of, in the forms that the compiler writes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_ENTRY = re.compile(r"\.entry\s+(\w+)\s*\((.*?)\)(.*?)\n\{(.*?)\n\}", re.DOTALL)
_SHARED = re.compile(r"\.shared\s+\.align\s+(\d+)\s+\.b8\s+(\w+)\[(\d*)\]")
_VECTOR = re.compile(r"\{([^}]*)\}")
# What declares names that are told from their use, or speaks to ptxas alone.
_IGNORED = (".reg", ".pragma", ".loc", ".file", ".shared", "{", "}")


@dataclass(frozen=True)
class Instruction:
    """One instruction: `opcode` split at its dots; an operand in braces or with `|` is a tuple of names."""

    opcode: tuple[str, ...]
    operands: tuple[str | tuple[str, ...], ...]
    predicate: str | None = None
    text: str = ""


@dataclass(frozen=True)
class Entry:
    """A kernel: its parameters in order, instructions, and labels as indices into them."""

    name: str
    parameters: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    labels: dict[str, int] = field(default_factory=dict)
    shared: dict[str, tuple[int, int]] = field(default_factory=dict)  # name: first byte, bytes (0: as launched)

    def leaders(self) -> set[int]:
        """Where straight-line pieces begin."""
        after = {i + 1 for i, one in enumerate(self.instructions) if one.opcode[0] in ("bra", "ret", "bar")}
        at = {i for i, one in enumerate(self.instructions) if one.opcode[0] == "bar"}
        return {0, len(self.instructions)} | set(self.labels.values()) | after | at


def parse(ptx: str) -> dict[str, Entry]:
    """The entries of a module by name."""
    text = re.sub(r"//[^\n]*", "", ptx)
    if ".func" in text or ".local" in text:
        raise ValueError("a module with calls or local memory")
    shared, size = {}, 0
    for align, name, length in _SHARED.findall(text):
        size = -(-size // int(align)) * int(align)
        shared[name] = (size, int(length or 0))
        size += int(length or 0)
    return {name: _entry(name, parameters, body, shared) for name, parameters, _, body in _ENTRY.findall(text)}


def _entry(name: str, parameters: str, body: str, shared: dict[str, tuple[int, int]]) -> Entry:
    instructions: list[Instruction] = []
    labels = {}
    # A label ends with a colon, everything else with a semicolon.
    for statement in re.split(r";|(?<=:)\s", body):
        line = " ".join(statement.split())
        if line.endswith(":"):
            labels[line[:-1]] = len(instructions)
        elif line and not line.startswith(_IGNORED):
            instructions.append(_instruction(line))
    names = tuple(part.split()[-1] for part in parameters.split(",") if part.strip())
    return Entry(name, names, tuple(instructions), labels, shared)


def _instruction(line: str) -> Instruction:
    predicate, rest = None, line
    if line.startswith("@"):
        predicate, rest = line[1:].split(" ", 1)
    opcode, _, operands = rest.partition(" ")
    # Commas within braces do not part operands.
    joined = _VECTOR.sub(lambda found: found.group(1).replace(",", "|"), operands)
    parts = [part.strip() for part in joined.split(",") if part.strip()]
    split = tuple(tuple(x.strip() for x in part.split("|")) if "|" in part else part for part in parts)
    return Instruction(tuple(opcode.split(".")), split, predicate, line)
