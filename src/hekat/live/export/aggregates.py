"""What of a run may leave the site for a record of experiments: by name, and only what every party of it may know."""

from __future__ import annotations

from hekat.live.state import LiveState, RoundPoint

HORIZONTAL, ROW_TREES = "horizontal", "horizontal_trees"
HELD_OUT = ("accuracy", "log_loss", "auc", "rmse", "r2")
"""Metrics on the held-out rows of all parties, which a round's opened sum tells to all."""


def settings_of(state: LiveState) -> dict[str, str]:
    """The settings that every party knows: they stand in the job."""
    run = state.run
    return {"job": run.job, "protocol": run.protocol, "protection": run.protection}


def aggregates_of(state: LiveState, point: RoundPoint) -> dict[str, float]:
    """What all parties learned in that round, by name.

    The mean loss and the metrics on held-out rows come out of the opened sums of a run on rows. The loss of a
    vertical run is the guest's alone, and metrics on a test set are known where the test set is, so neither is here.
    """
    if state.run.protocol not in (HORIZONTAL, ROW_TREES) or (
        point.phase in ("alone", "plain") and state.run.protection != "none"
    ):
        return {}
    found = {} if point.loss is None else {"loss": point.loss}
    return found | {f"held_out_{name}": point.validation[name] for name in HELD_OUT if name in point.validation}


def steps_done(state: LiveState, point: RoundPoint) -> int:
    """The rounds that the model has behind it which the point's aggregates are of: an iteration of trees across rows
    tells the losses of the model before it, and the final model follows on the last round."""
    return point.number - 1 if point.is_final or state.run.protocol == ROW_TREES else point.number
