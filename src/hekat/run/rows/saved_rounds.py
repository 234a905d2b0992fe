"""The checkpoints of runs on rows by what they are of: rounds, or iterations of trees."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SavedRounds:
    """How the checkpoints of one job are read.

    `word` names what is counted. `end_step` fits the step in which the aggregator compares the parties' digests of a
    round; its group is the number. `done_in(path)` tells how many rounds are in the checkpoint at `path`, `is_over`
    whether training ended with it; both raise StateError where it is damaged, or of another job.
    """

    word: str
    aggregator: str
    parties: tuple[str, ...]
    end_step: re.Pattern[str]
    done_in: Callable[[Path], int]
    is_over: Callable[[Path], bool]
