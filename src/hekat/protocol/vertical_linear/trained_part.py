"""The part of the model that a party keeps when a training ends, in either form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from hekat.protocol.vertical_linear.columns import Targets, TrainingColumns
from hekat.protocol.vertical_linear.mixing import MIXING
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.steps import model_id_of


def make_trained_part(
    party: str,
    settings: VerticalLinearSettings,
    session_id: bytes,
    column_names: tuple[str, ...],
    columns: TrainingColumns,
    arrays: Mapping[str, npt.NDArray[Any]],
    targets: Targets | None,
) -> ModelPart:
    """The part of `party`: its `arrays`, and how its `columns` and the guest's `targets` were standardised."""
    return ModelPart(
        party=party,
        guest=settings.guest,
        hosts=settings.hosts,
        form=str(settings.form),
        task=settings.task,
        classes=settings.classes,
        columns=column_names,
        model_id=model_id_of(session_id),
        means=columns.means,
        spreads=columns.spreads,
        limit_spreads=settings.limit_spreads,
        feature_bits=settings.fixed_point.feature_bits,
        value_bits=settings.fixed_point.value_bits,
        key_bits=settings.key_bits,
        arrays={**arrays, **mixing_array(columns)},
        target_mean=0.0 if targets is None else targets.mean,
        target_spread=1.0 if targets is None else targets.spread,
        share_holders=settings.holders if settings.form == "shared_weights" and settings.quiet_parties else (),
        label_privacy=settings.label_privacy,
    )


def mixing_array(columns: TrainingColumns) -> dict[str, npt.NDArray[Any]]:
    """The mixing of a party's columns by its name, where they are mixed."""
    return {} if columns.mixing is None else {MIXING: columns.mixing}
