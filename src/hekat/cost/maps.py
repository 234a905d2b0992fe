"""What the sensitivity maps of a job cost that masks a part of every update: seconds of a party, and memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hekat.cost.rehearsed_training import maps_in
from hekat.protocol.horizontal.training.agreed_mask import source_of_maps
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
    source = source_of_maps(inputs.make_model(settings.leader).model, settings, inputs.column_count)
    return MapCost(maps_in(settings, settings.training.round_count), seconds, source.held_bytes)
