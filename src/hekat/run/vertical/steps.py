"""How the steps of a training on columns are counted, told and saved: epochs of a regression, iterations of trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hekat.job.vertical.columns_job import ColumnsJob
from hekat.run.vertical.checkpoint_files import CheckpointForm


@dataclass(frozen=True)
class TrainingSteps:
    """The steps of one job: `most` at the most, saved in `form`.

    `number_of(record)` is the number of a step that ended, from 1; its record has a `loss`, None where a role does not
    learn it. `save_part(folder, part)` writes a party's part of the model.
    """

    job: ColumnsJob
    form: CheckpointForm[Any]
    most: int
    number_of: Callable[[Any], int]
    save_part: Callable[[Path, Any], None]

    def event(self, record: Any) -> dict[str, Any]:
        """The line of events.jsonl for a step that ended."""
        return {"event": self.form.word, self.form.word: self.number_of(record), "loss": record.loss}

    def say(self, number: int, loss: float | None) -> str:
        """A step that ended, for the terminal."""
        return f"{self.form.word} {number}" + ("" if loss is None else f", loss {loss:.4f}")

    def steps_of(self, state: Any) -> int:
        """How many steps a saved state has behind it."""
        return self.form.steps_of(state)
