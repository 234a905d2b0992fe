"""Joins rows of an audit that say the same of other peers, steps or fields, so that people can read them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from hekat.ledger.disclosed import Disclosed

SPREAD = "…"
"""Begins a step that came in each of several; `Condensed.spread` names these."""
# Two steps with the same message are told apart; from three on they are named once for the whole table.
_LEAST_SPREAD = 3


@dataclass(frozen=True)
class CondensedRow:
    """One kind of message and what its fields of one class tell, over all peers, steps and messages."""

    disclosure_class: str
    kind: str
    explanation: str
    peers: tuple[str, ...]
    steps: tuple[str, ...]
    fields: tuple[str, ...]
    message_count: int
    byte_count: int


@dataclass(frozen=True)
class Condensed:
    """Rows in the order of what they were made of; `spread` is what "…" stands for in their steps."""

    rows: tuple[CondensedRow, ...]
    spread: tuple[str, ...]


@dataclass
class _Gathered:
    peers: dict[str, None] = field(default_factory=dict)
    steps: dict[str, None] = field(default_factory=dict)
    fields: dict[str, None] = field(default_factory=dict)
    message_counts: dict[tuple[str, str], int] = field(default_factory=dict)
    byte_count: int = 0


def condense(rows: Iterable[Disclosed]) -> Condensed:
    """The rows by class, message and explanation; fields of a message that tell the same count as one message.

    Args:
        rows: what an audit says was disclosed.

    Returns:
        One row for each kind of message and what its fields of one class tell.

    Examples:
        >>> condense(audit(ledger_file, public_key).learned).rows[0].message_count > 0
        True
    """
    gathered: dict[tuple[str, str, str], _Gathered] = {}
    for row in rows:
        group = gathered.setdefault((row.disclosure_class, row.kind, row.explanation), _Gathered())
        group.peers[row.peer] = group.steps[row.step] = group.fields[row.field] = None
        place = (row.peer, row.step)
        group.message_counts[place] = max(group.message_counts.get(place, 0), row.message_count)
        group.byte_count += row.byte_count
    spread = _find_spread([tuple(group.steps) for group in gathered.values()])
    return Condensed(
        tuple(
            CondensedRow(
                disclosure_class=disclosure_class,
                kind=kind,
                explanation=explanation,
                peers=tuple(group.peers),
                steps=_name_steps(tuple(group.steps), spread),
                fields=tuple(group.fields),
                message_count=sum(group.message_counts.values()),
                byte_count=group.byte_count,
            )
            for (disclosure_class, kind, explanation), group in gathered.items()
        ),
        spread,
    )


def _find_spread(groups: list[tuple[str, ...]]) -> tuple[str, ...]:
    """What stands before the common ends of steps, in the group that has most."""
    ended = [(steps, end) for steps in groups if len(steps) >= _LEAST_SPREAD and (end := _common_end(steps))]
    return max((tuple(step.removesuffix(f"/{end}") for step in steps) for steps, end in ended), key=len, default=())


def _name_steps(steps: tuple[str, ...], spread: tuple[str, ...]) -> tuple[str, ...]:
    end = _common_end(steps)
    if end and {step.removesuffix(f"/{end}") for step in steps} == set(spread):
        return (f"{SPREAD}/{end}",)
    return steps


def _common_end(steps: tuple[str, ...]) -> str:
    """The parts that all steps end with; empty where they share none, or one of them has no other."""
    split = [step.split("/")[::-1] for step in steps]
    common: list[str] = []
    for parts in zip(*split, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return "/".join(reversed(common)) if all(len(parts) > len(common) for parts in split) else ""
