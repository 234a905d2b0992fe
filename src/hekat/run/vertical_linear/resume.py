"""A resumed regression, as the release that began it understood its job."""

from __future__ import annotations

from dataclasses import replace

from hekat.protocol.vertical_linear.mixing import MIXING
from hekat.run.vertical_linear.epochs import EpochCheckpoint
from hekat.run.vertical_linear.load_inputs import VerticalInputs


def as_begun(inputs: VerticalInputs, kept: EpochCheckpoint | None) -> VerticalInputs:
    """The job as the release that began the run understood it: its limit on values, and whether columns are mixed.

    `kept` is None at an arbiter, which has no rows.
    """
    if kept is None:
        return inputs
    job, settings = inputs.job, inputs.job.settings
    training = settings.training
    if training.mixes_columns and MIXING not in kept.state.arrays:
        training = training.without_mixing()
    training = replace(training, limit_spreads=kept.limit_spreads)
    return replace(inputs, job=replace(job, settings=replace(settings, training=training)))
