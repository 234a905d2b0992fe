"""The meaning of job files of format 1 where the same lines mean something else since format 2.

Under `fedavg` the server's adam and rmsprop took the job's learning_rate, and the optimiser's own beta_2 and epsilon;
since format 2 they have defaults of their own for mean changes (`ServerStep`). A job that says format = 1 trains as it
always did.
"""

from __future__ import annotations

from collections.abc import Mapping

from hekat.protocol.horizontal.settings import TrainingSettings

_OWN_DEFAULTS: Mapping[str, Mapping[str, float]] = {
    "adam": {"beta_2": 0.999, "epsilon": 1e-8},
    "rmsprop": {"epsilon": 1e-8},
}


def optimiser_settings_of_format_1(training: TrainingSettings) -> dict[str, float]:
    """The server optimiser's settings as format 1 means them, those that the file says included."""
    said = dict(training.optimiser_settings)
    if training.algorithm != "fedavg" or training.optimiser not in _OWN_DEFAULTS:
        return said
    return {"learning_rate": training.learning_rate, **_OWN_DEFAULTS[training.optimiser], **said}
