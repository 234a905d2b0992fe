"""The names of a run's steps, as ledgers and time-outs show them."""

from __future__ import annotations

from typing import Final

KEY_STEP: Final = "setup/key"
READY_STEP: Final = "setup/ready"
START_STEP: Final = "setup/start"
SEED_STEP: Final = "setup/seed"
COMMON_SEED_STEP: Final = "setup/common-seed"
FACTS_STEP: Final = "setup/facts"
SUMS: Final = "sums"
SQUARES: Final = "squares"


def moments_step(which: str) -> str:
    """The step of one of the sums over all rows before training, SUMS or SQUARES."""
    return f"moments/{which}"


def round_step(round_number: int, what: str) -> str:
    """A step of a round, such as "round-3/update"; the first round is 1."""
    return f"round-{round_number}/{what}"
