"""What the sensitivity maps of a job cost that masks a part of every update: seconds of a party, and memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hekat.cost.rehearsed_training import maps_in
from hekat.privacy.sensitivity.directions import Directions
from hekat.privacy.sensitivity.source import MappedModel
from hekat.run.horizontal.load_inputs import HorizontalInputs


@dataclass(frozen=True)
class MapCost:
    """`count` maps in the run, at most; each party's seconds for one, and the most bytes of sums and gradients that it
    holds beside the model, activations of rows apart."""

    count: int
    seconds: Mapping[str, float]
    held_bytes: int


def cost_of_maps(inputs: HorizontalInputs, seconds: Mapping[str, float]) -> MapCost | None:
    """The cost of a job's maps, whose `seconds` a rehearsal found by party; None where updates are masked whole."""
    settings = inputs.job.settings
    if settings.selective is None:
        return None
    model = inputs.make_model(settings.leader).model
    assert isinstance(model, MappedModel)  # the rehearsal has computed its map
    # How much is held does not depend on what is in the rows.
    rows, labels = np.zeros((1, inputs.column_count)), np.zeros(1, dtype=np.int64)
    source = model.sensitivity_source(
        model.init(settings.model.seed), rows, labels, Directions(settings.selective.mode, settings.training.seed)
    )
    return MapCost(maps_in(settings, settings.training.round_count), seconds, source.held_bytes)
