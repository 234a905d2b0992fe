"""One line of a site's policy held against one job, and all lines that refuse it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hekat.errors import HekatError, PolicyError

APPLIES_NOT = "does not apply"


@dataclass(frozen=True)
class PolicyCheck:
    """`check` raises PolicyError where the job asks for more than `line`, such as "policy.max_rounds", allows.

    `asked` and `allowed` say both in words that tell no row, no path and no column's name: they go into a ledger.
    """

    line: str
    asked: str
    allowed: str
    check: Callable[[], None]


@dataclass(frozen=True)
class Refusal:
    """A line that refuses a job, and the error that says so with its cure."""

    line: str
    asked: str
    allowed: str
    error: PolicyError


def refusals_of(checks: Iterable[PolicyCheck]) -> tuple[Refusal, ...]:
    """Every line that refuses the job, in the order of `checks`.

    Another error than a PolicyError ends the checks: it is raised where no line refused the job before.
    """
    found = []
    for one in checks:
        try:
            one.check()
        except PolicyError as error:
            found.append(Refusal(one.line, one.asked, one.allowed, error))
        except HekatError:
            if not found:
                raise
            break
    return tuple(found)


def refuse_first(refusals: tuple[Refusal, ...]) -> None:
    """Raise the first refusal, with a note of the other lines; nothing where there is none."""
    if not refusals:
        return
    first, *others = refusals
    if others:
        lines = ", ".join(dict.fromkeys(one.line for one in others))
        first.error.add_note(f"other lines refuse the job as well: {lines} (see: hekat site check JOB)")
    raise first.error
