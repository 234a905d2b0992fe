"""The tensors of a state that are averaged, the ones that stay as they are, and names that share one tensor."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from hekat.errors import InputError
from hekat.own_loop.held_tensor import HeldTensor

# The entry of torch's state_dict that is no tensor.
_EXTRA_STATE = "_extra_state"
_MAX_SHOWN = 5


@dataclass(frozen=True)
class Selection:
    """`averaged` by name, each tensor once; `tied` maps a further name of one of them to that name.

    `local` are names of integer and bool tensors that were selected, and stay where they are all the same.
    """

    averaged: dict[str, HeldTensor]
    tied: dict[str, str]
    local: tuple[str, ...]


def select_tensors(
    state: Mapping[str, Any],
    patterns: str | Sequence[str] | None = None,
    frozen: Collection[str] = (),
    *,
    party: str,
) -> Selection:
    """The tensors of `state` that one of the shell `patterns` matches (None: all) and that are not `frozen`.

    Names of one tensor (tied weights) go together, whichever of them is selected. Tensors without values are left out.
    Raises InputError for a pattern that matches no name, for what is no tensor of real numbers, and where nothing is
    left to average.
    """
    if not isinstance(state, Mapping) or not all(isinstance(name, str) and name for name in state):
        raise InputError(
            f"party {party}: no state to average",
            expected="a mapping of names to NumPy arrays or torch tensors, as model.state_dict() is",
            got=type(state).__name__,
            cure="pass model.state_dict(), or {'name': array}",
        )
    chosen = _match(state, patterns, party)
    averaged: dict[str, HeldTensor] = {}
    local: list[str] = []
    for name in chosen:
        if name in frozen or _is_extra_state(name):
            continue
        held = HeldTensor(name, state[name], party)
        if held.is_local:
            local.append(name)
        elif held.size:
            averaged[name] = held
    tied = _find_tied(state, averaged)
    averaged = {name: held for name, held in averaged.items() if name not in tied}
    if not averaged:
        raise InputError(
            f"party {party}: nothing to average",
            expected="at least one float tensor with values that is selected and not frozen",
            got=f"{len(state)} entries, none of them",
            cure="widen `parameters`, or pass the model's state",
        )
    return Selection(averaged, tied, tuple(local))


def _match(state: Mapping[str, Any], patterns: str | Sequence[str] | None, party: str) -> list[str]:
    if patterns is None:
        return list(state)
    if not isinstance(patterns, (str, Iterable)):
        raise InputError(
            f"party {party}: no patterns of names",
            expected="a shell pattern or a list of them; None for all tensors",
            got=type(patterns).__name__,
            cure="change `parameters`: 'head.*' takes the head, '*lora_*' all adapters",
        )
    listed = [patterns] if isinstance(patterns, str) else list(patterns)
    for pattern in listed:
        if not isinstance(pattern, str) or not any(fnmatchcase(name, pattern) for name in state):
            raise InputError(
                f"party {party}: the pattern {pattern!r} matches no tensor",
                expected=f"shell patterns of names such as {', '.join(list(state)[:_MAX_SHOWN])}",
                got=repr(pattern),
                cure="change `parameters`: 'head.*' takes the head, '*lora_*' all adapters",
            )
    return [name for name in state if any(fnmatchcase(name, pattern) for pattern in listed)]


def _is_extra_state(name: str) -> bool:
    return name.rpartition(".")[2] == _EXTRA_STATE


def _find_tied(state: Mapping[str, Any], averaged: Mapping[str, HeldTensor]) -> dict[str, str]:
    """Further names of the averaged tensors, in the order of the state, each with the first name that is averaged."""
    first: dict[tuple[Any, ...], str] = {}
    for name, held in averaged.items():
        first.setdefault(held.place, name)
    tied = {}
    for name in state:
        seen = averaged.get(name) or _held_or_none(name, state[name])
        original = None if seen is None else first.get(seen.place)
        if original is not None and original != name:
            tied[name] = original
    return tied


def _held_or_none(name: str, value: Any) -> HeldTensor | None:
    """An entry that is not selected may be anything; only a tensor that could be averaged can share one that is."""
    try:
        held = HeldTensor(name, value, "")
    except InputError:
        return None
    return held if held.is_averaged and held.size else None
