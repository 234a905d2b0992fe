"""The server's filters of a protected app: the model goes to sites once, and a zero for each tensor comes back.

The engine's workflow averages, keeps and sends a model of the app's shapes in every round. Sites train on the first one
that it sends, then on the mean that they opened: what else it sends and gets would be zeros of that size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from nvflare.apis.dxo import DXO, from_shareable
from nvflare.apis.filter import Filter
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.app_constant import AppConstants

from hekat.launch.nvflare.protected.components import HekatAggregator
from hekat.launch.nvflare.protected.tensors import zero_each, zeros_of

SHAPES_ID = "hekat_aggregator"
"""The component that keeps the shapes of the first model as `model_shapes`, for both filters."""


class SendModelOnce(Filter):  # type: ignore[misc]
    """The server's output filter of the app's task."""

    def process(self, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        dxo = _model_in(shareable)
        if dxo is None:
            return shareable
        kept = aggregator_of(fl_ctx)
        if not kept.model_shapes:
            kept.model_shapes = {name: tuple(np.shape(value)) for name, value in dxo.data.items()}
        round_number = shareable.get_header(AppConstants.CURRENT_ROUND)
        if not isinstance(round_number, int) or round_number == 0:
            return shareable
        dxo.data = zero_each(dxo.data)
        changed: Shareable = dxo.update_shareable(shareable)
        return changed


class SpreadZeros(Filter):  # type: ignore[misc]
    """The server's input filter of the app's result: zeros of the first model's shapes, for a workflow that checks."""

    def process(self, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        if shareable.get_return_code() not in (None, ReturnCode.OK):
            return shareable
        dxo = _model_in(shareable)
        if dxo is None:
            return shareable
        shapes = aggregator_of(fl_ctx).model_shapes
        dxo.data = {name: zeros_of(value, shapes.get(name, (1,))) for name, value in dxo.data.items()}
        changed: Shareable = dxo.update_shareable(shareable)
        return changed


def aggregator_of(fl_ctx: FLContext) -> HekatAggregator:
    """Hekat's component of this server. Raises RuntimeError where the job has none."""
    found = fl_ctx.get_engine().get_component(SHAPES_ID)
    if not isinstance(found, HekatAggregator):
        raise RuntimeError(f"hekat: the job has no HekatAggregator called {SHAPES_ID}")
    return found


def _model_in(shareable: Shareable) -> DXO | None:
    try:
        dxo: Any = from_shareable(shareable)
    except ValueError:
        return None
    return dxo if isinstance(dxo.data, dict) else None
