"""A party's part of the model that a training ends with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from hekat.data import Table
from hekat.protocol.vertical_network.messages import StartMessage
from hekat.protocol.vertical_network.model_part import NO_TOP, NetworkPart
from hekat.protocol.vertical_network.own_features import OwnFeatures, kind_of
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings


def make_part(
    party: str,
    settings: VerticalNetworkSettings,
    start: StartMessage,
    table: Table,
    own: OwnFeatures,
    epochs: int,
    arrays: Mapping[str, npt.NDArray[Any]],
    top_kind: str = NO_TOP,
) -> NetworkPart:
    """The part of `party` after so many epochs."""
    return NetworkPart(
        party,
        settings.guest,
        settings.hosts,
        settings.task,
        settings.classes,
        table.feature_names,
        start.model_id,
        epochs,
        settings.host_bottom,
        settings.protection,
        kind_of(own.bottom),
        top_kind,
        settings.network,
        dict(zip(settings.parties, start.widths, strict=True)),
        settings.training.limit,
        settings.label_privacy,
        settings.labels_accepted is not None,
        settings.form,
        arrays,
    )
