"""What of a run may leave the site for a record of experiments: by name, and only what every party of it may know."""

from __future__ import annotations

from hekat.live.state import LiveState, RoundPoint

HELD_OUT = ("accuracy", "log_loss", "auc", "rmse", "r2")
"""Metrics on the held-out rows of all parties, which a round's opened sum tells to all."""


def settings_of(state: LiveState) -> dict[str, str]:
    """The settings that every party knows: they stand in the job."""
    run = state.run
    return {"job": run.job, "protocol": run.protocol, "protection": run.protection}


def aggregates_of(state: LiveState, point: RoundPoint) -> dict[str, float]:
    """What all parties learned in that round, by name.

    The mean loss and the metrics on held-out rows come out of the opened sum of a horizontal run. The loss of a
    vertical run is the guest's alone, and metrics on a test set are known where the test set is, so neither is here.
    """
    if state.run.protocol != "horizontal" or (point.phase in ("alone", "plain") and state.run.protection != "none"):
        return {}
    found = {} if point.loss is None else {"loss": point.loss}
    return found | {f"held_out_{name}": point.validation[name] for name in HELD_OUT if name in point.validation}
