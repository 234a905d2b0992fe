"""The common step of a job: an optimiser's, or for `lbfgs` the line search."""

from __future__ import annotations

from collections.abc import Sequence

from hekat.data import Features
from hekat.model import Model, OptimiserState
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.gram import empty_curvature, has_gram, sum_curvature
from hekat.protocol.horizontal.training.line_search import LineSearchStep
from hekat.protocol.horizontal.training.server_step import ServerStep
from hekat.protocol.horizontal.training.standardise import Reach
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.secure_sum.aggregation import Aggregation
from hekat.protocol.secure_sum.streamed_tensor import Tensors


def make_step(model: Model, trained: TrainedTensors, settings: HorizontalSettings) -> ServerStep | LineSearchStep:
    """The step for `model`; `trained` says what moves."""
    if settings.training.searches_line:
        return LineSearchStep(trained, model.parameter_shapes, is_least_squares=settings.model.name == "linear")
    return ServerStep(trained, settings.training)


def curvature_factor(settings: HorizontalSettings) -> float | None:
    """What a Gram matrix is multiplied by to bound the curvature of the mean loss; None for a model that is not linear.

    Source: Boehning 1992, for classes.
    """
    if not settings.is_linear:
        return None
    if settings.classes is None:
        return 1.0
    return 0.25 if len(settings.classes) == 2 else 0.5


def first_search(
    step: LineSearchStep,
    aggregation: Aggregation,
    features: Features,
    settings: HorizontalSettings,
    *,
    indicators: Sequence[int],
    reach: Reach | None,
) -> OptimiserState:
    """The state that a line search begins with, from one encrypted sum over the rows; the rest as `sum_curvature`."""
    curvature = sum_curvature(
        aggregation,
        features,
        factor=curvature_factor(settings),
        weight_max=settings.weight_max,
        party_count=len(settings.parties),
        value_bits=settings.codec.value_bits,
        indicators=indicators,
        reach=reach,
    )
    penalty = settings.penalty_by_rows / curvature.row_count
    return step.init_state(curvature, penalty=penalty, own_penalty=settings.model.own_l2)


def state_like(
    step: ServerStep | LineSearchStep, settings: HorizontalSettings, parameters: Tensors, column_count: int
) -> OptimiserState:
    """A state of the step in the shapes that every one of its states has, for tables of `column_count` columns."""
    if isinstance(step, LineSearchStep):
        columns = column_count if has_gram(column_count, is_linear=settings.is_linear) else None
        return step.init_state(empty_curvature(columns), penalty=0.0, own_penalty=0.0)
    return step.init_state(parameters)
