"""An iteration of trees across rows, for the event log and the terminal."""

from __future__ import annotations

from dataclasses import asdict

from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.protocol.horizontal_trees.state import TreesState
from hekat.protocol.horizontal_trees.training import IterationRecord
from hekat.state import EventLog


def phase_of(job: RowTreesJob) -> str:
    """The name of a run of the job, as events and terminals have it."""
    return "plain" if job.settings.protection == "none" else "encrypted"


def write_iteration(events: EventLog, job: RowTreesJob, record: IterationRecord) -> None:
    """Write the iteration into the log; `loss` is of the model before it. Raises StateError."""
    phase, validation = phase_of(job), record.held_out
    cost = {} if record.cost is None else {"privacy": asdict(record.cost)}
    events.write("iteration", phase=phase, iteration=record.iteration, loss=record.loss, validation=validation, **cost)


def write_final(events: EventLog, job: RowTreesJob, state: TreesState) -> None:
    """Write the losses of the final model into the log, of a state that is measured. Raises StateError."""
    metrics = state.held_out[-1] if state.held_out else {}
    if not state.losses:
        return
    done, loss = state.iterations_done, state.losses[-1]
    events.write("validation", phase=phase_of(job), iterations=done, loss=loss, metrics=metrics)


def describe_iteration(record: IterationRecord) -> str:
    """The losses before the iteration, for a line on the terminal."""
    if record.loss is None:
        told = f"iteration {record.iteration}, {record.leaf_count:,} leaves"
        return told if record.cost is None else f"{told}, epsilon {record.cost.epsilon:.3g}"
    found = record.held_out
    shown = next((f", held out {found[name]:.4f}" for name in ("log_loss", "rmse") if name in found), "")
    return f"iteration {record.iteration}, loss before it {record.loss:.4f}{shown}"
