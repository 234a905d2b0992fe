"""How the roles of a run were played, as far as its summary tells: in turn, at once, or one of them alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CLOCKS = {
    "in turn": "All roles ran on this one machine and took turns{at}, so each figure is what a machine of its own "
    "would take",
    "at once": "Each role ran in a process of its own on this machine, all at once, so they shared its processors",
    "alone": "By the clock of this one role; figures of the others are at their sites, and not known here",
}


def is_of_one_role(summary: Mapping[str, Any]) -> bool:
    """Whether the summary is what one role alone knows of its run."""
    return played(summary) == "alone"


def clock_sentence(summary: Mapping[str, Any], at: str = "") -> str:
    """What seconds by role are seconds of, without a full stop; `at` says at what roles took turns."""
    return _CLOCKS[played(summary)].format(at=at)


def played(summary: Mapping[str, Any]) -> str:
    """ "in turn" also of a summary that an earlier release wrote."""
    return str(summary.get("played", "in turn"))
