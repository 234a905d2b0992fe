"""Checks parsed JSON against a described shape and names the first place that does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

# A check returns None where the value fits, else (place, expected); the place is relative to the value.
Fault = tuple[str, str]
Check = Callable[[Any], Fault | None]

# Sums and margins of such numbers stay finite, so that they can be drawn.
MAX_MAGNITUDE = 1e100
MAX_COUNT = 2**53


def text(value: Any) -> Fault | None:
    """A text."""
    return None if isinstance(value, str) else ("", "a text")


def number(value: Any) -> Fault | None:
    """A finite number of a magnitude that no measurement passes; true and false are none."""
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MAX_MAGNITUDE
    return None if fits else ("", "a finite number")


def amount(value: Any) -> Fault | None:
    """A finite number of at least 0."""
    return None if number(value) is None and value >= 0 else ("", "a finite number of at least 0")


def count(value: Any) -> Fault | None:
    """A whole number of at least 0."""
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT
    return None if fits else ("", "a whole number of at least 0")


def scalar(value: Any) -> Fault | None:
    """A text, a finite number, true or false."""
    return None if isinstance(value, (str, bool)) or number(value) is None else ("", "a text or a number")


def one_of(*choices: Any) -> Check:
    """One of these values, of the same type."""

    def check(value: Any) -> Fault | None:
        fits = any(value == choice and type(value) is type(choice) for choice in choices)
        return None if fits else ("", " or ".join(repr(choice) for choice in choices))

    return check


def nullable(inner: Check) -> Check:
    """What `inner` takes, or null."""
    return lambda value: None if value is None else inner(value)


def empty_or(inner: Check) -> Check:
    """What `inner` takes, or an empty table."""
    return lambda value: None if value == {} else inner(value)


def list_of(inner: Check, *, least: int = 0) -> Check:
    """A list of what `inner` takes, with at least `least` entries."""

    def check(value: Any) -> Fault | None:
        if not isinstance(value, list):
            return "", "a list"
        if len(value) < least:
            return "", f"a list with at least {least} entries"
        return _first_fault(((f"[{index}]", inner, item) for index, item in enumerate(value)))

    return check


def map_of(inner: Check) -> Check:
    """A table whose every value `inner` takes."""

    def check(value: Any) -> Fault | None:
        if not isinstance(value, dict):
            return "", "a table"
        return _first_fault(((f".{key}", inner, item) for key, item in value.items()))

    return check


def record(fields: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """A table with these fields; `optional` ones may be absent; others are allowed, so that a summary may grow."""

    def check(value: Any) -> Fault | None:
        if not isinstance(value, dict):
            return "", "a table"
        missing = next((key for key in fields if key not in value), None)
        if missing is not None:
            return f".{missing}", "a value, and it is missing"
        known = {**fields, **(optional or {})}
        return _first_fault((f".{key}", known[key], value[key]) for key in known if key in value)

    return check


def same_lengths(inner: Check) -> Check:
    """What `inner` takes, where every list of numbers at any depth is as long as every other."""

    def check(value: Any) -> Fault | None:
        fault = inner(value)
        if fault is not None or len(set(_lengths(value))) <= 1:
            return fault
        return "", "lists with one number for each round"

    return check


def _lengths(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _lengths(item)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for item in value:
            yield from _lengths(item)
    elif isinstance(value, list):
        yield len(value)


def _first_fault(parts: Any) -> Fault | None:
    for place, inner, item in parts:
        fault = inner(item)
        if fault is not None:
            return place + fault[0], fault[1]
    return None
