"""A model's sensitivity map: how much each weight's gradient says about the labels of the rows it is computed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hekat.errors import InputError
from hekat.privacy.mask_rules import check_fraction, count_of
from hekat.privacy.sensitivity.directions import Directions, Mode
from hekat.privacy.sensitivity.module_loss import LossName
from hekat.privacy.sensitivity.module_source import ModuleSource
from hekat.privacy.sensitivity.source import AnyFloats, MappedModel, Places, SensitivitySource
from hekat.privacy.top_values import choose_top, overlap_of
from hekat.torch_library import is_module

LEAST_COMPARED_ROWS = 16
"""A map of fewer rows is not compared with the map of half as many."""
ENOUGH_OVERLAP = 0.95


@dataclass(frozen=True)
class SensitivityMap:
    """How sensitive each weight of a model is, over some of its rows.

    Attributes:
        tensors: by name, the mean over the rows, non-negative, in the shape of the tensor; weights of one tensor that
            a module holds under two names stand under the first.
        row_count: the rows in the mean.
        mode: how they were looked at.
        overlap: the part of the largest values that the map of half of these rows has in common with this one; None
            where the rows were too few to compare.
        embeddings: names of tensors that are tables of embeddings.
        output_axis: the axis of a layer's weight along which its outputs lie: 0 for modules, 1 for Hekat's models.

    Examples:
        >>> import numpy as np
        >>> from hekat.privacy import SensitivityMap
        >>> SensitivityMap({"weight": np.array([0.5, 0.25])}, row_count=4, mode="label")
        SensitivityMap(2 values of 1 tensor, 4 rows, label)
    """

    tensors: Mapping[str, AnyFloats] = field(repr=False)
    row_count: int
    mode: Mode
    overlap: float | None = None
    embeddings: tuple[str, ...] = ()
    output_axis: int = 0

    def __repr__(self) -> str:
        values = sum(one.size for one in self.tensors.values())
        tensors = f"{len(self.tensors):,} tensor{'' if len(self.tensors) == 1 else 's'}"
        return f"SensitivityMap({values:,} values of {tensors}, {self.row_count:,} rows, {self.mode})"


def sensitivity_map(
    model: Any,
    rows: Any,
    labels: Any,
    *,
    params: Mapping[str, Any] | None = None,
    mode: Mode = "random",
    loss: LossName | Callable[[Any, Any], Any] | None = None,
    row_count: int = 256,
    fraction: float = 0.1,
    seed: int = 0,
) -> SensitivityMap:
    """The mean over rows of |d/dy (dl/dw)|, for each trained weight w of a model, the loss l and the label y.

    A label of C classes is embedded as a vector y of C numbers, one at its class, and l = -sum y_c log p_c, so that the
    derivative is exact and takes no second-order graph. `random` estimates `exact` up to a constant for all weights,
    at the cost of one gradient a row: E |J v| = sqrt(2/pi) |J| for v ~ N(0, I). A module is looked at in evaluation
    mode, in its own precision, and is left as it was: modes, gradients and weights. Memory: one tensor's gradient and
    one sum of the size of the model beside it, and under `exact` sums of squares of a third of it, or of one tensor:
    weights are taken in parts, and each row goes back through the layers of each.

    Under differential privacy a map is a release of the rows it is computed on: compute it on public rows.

    Args:
        model: a torch.nn.Module of float32 or float64, or a model of Hekat's (then with `params`).
        rows: what the model takes, first axis rows: an array, a tensor, or a tuple of them for a module of several
            inputs.
        labels: class numbers (rows,), or numbers of shape (rows,) or (rows, C).
        params: the weights of a model of Hekat's; None for a module, which holds its own.
        mode: `label`: |d log p_y/dw|, which is the row's |gradient|; `random`: |J v|, a fresh v ~ N(0, I) for each
            row; `exact`: the norm over all C derivatives, at C gradients a row and up to half as many passes more.
        loss: `cross_entropy`: outputs (rows, C) are logits, or (rows, 1) the logit of the second of two classes;
            `squared`: half the squared distance of outputs and labels; or a function of outputs (1, ...) and one label
            (1, ...), a tensor of floats, that returns a number which PyTorch can derive by both. None: cross_entropy
            for whole labels, squared for others. A model of Hekat's has its own.
        row_count: the most rows that are looked at, drawn from all of them by `seed`; fewer where the set of largest
            values has settled: when at least 95 % of it was in the set of half as many rows.
        fraction: which part of all values counts as the largest then, in (0, 1].
        seed: what rows and directions are drawn from; a run states it in its job.

    Returns:
        The map, in float32 for a module of float32.

    Raises:
        InputError: an unknown mode or loss, rows or labels that do not fit, a module without gradients, a module whose
            rows have no gradient of their own (batch normalisation without running statistics), or NaN in the map.

    Examples:
        >>> import numpy as np
        >>> from hekat.model import make_model
        >>> from hekat.privacy import sensitivity_map
        >>> model = make_model("logistic", feature_count=2, class_count=2)
        >>> rows, labels = np.array([[1.0, 0.0], [3.0, 0.0]]), np.array([0, 1])
        >>> found = sensitivity_map(model, rows, labels, params=model.init(0), mode="label")
        >>> found.tensors["weight"].ravel().tolist()
        [1.0, 0.0]

    Source: Jin et al. 2023 (FedML-HE), section 4.2.1.
    """
    _check_counts(row_count, fraction)
    directions = Directions(mode, seed)
    source = source_of(model, rows, labels, params, loss, directions)
    if source.row_count == 0:
        raise InputError("a sensitivity map of no rows", expected="at least one row", got="none")
    order = np.random.default_rng([int(seed), 0]).permutation(source.row_count)[:row_count]
    done, overlap = _add_until_settled(source, order, fraction)
    tensors = source.sums()
    for values in tensors.values():
        np.divide(values, done, out=values)
    return SensitivityMap(tensors, done, mode, overlap, source.embeddings, source.output_axis)


def source_of(
    model: Any,
    rows: Any,
    labels: Any,
    params: Mapping[str, Any] | None,
    loss: LossName | Callable[[Any, Any], Any] | None,
    directions: Directions,
) -> SensitivitySource:
    """What a map of `model` is read from; raises InputError for a model that has none. As in `sensitivity_map`."""
    if is_module(model):
        if params is not None:
            raise InputError("weights beside a module", expected="params for models of Hekat's alone", got="a module")
        return ModuleSource(model, rows, labels, loss, directions)
    if not isinstance(model, MappedModel):
        raise InputError(
            "there is no sensitivity map of this",
            expected="a torch.nn.Module, or a model of hekat.model",
            got=type(model).__name__,
            cure="give the module itself, not a function that makes it",
        )
    if params is None or loss is not None:
        raise InputError(
            "the map of a model of Hekat's",
            expected="its weights in params, and no loss: the model has its own",
            got="no params" if params is None else "a loss",
        )
    return model.sensitivity_source(params, rows, labels, directions)


def _add_until_settled(source: SensitivitySource, order: Places, fraction: float) -> tuple[int, float | None]:
    """Add rows in their order, twice as many each time; how many were, and the overlap with half as many."""
    ends = [len(order)]
    while ends[-1] // 2 >= LEAST_COMPARED_ROWS // 2:
        ends.append(ends[-1] // 2)
    done, overlap, before = 0, None, None
    for end in reversed(ends):
        source.add_rows(order[done:end])
        done, sums = end, source.sums()
        _check_finite(sums)
        if len(ends) > 1:
            chosen = choose_top(sums, count_of(fraction, sum(one.size for one in sums.values())))
            overlap = None if before is None else overlap_of(before, chosen)
            if overlap is not None and overlap >= ENOUGH_OVERLAP:
                break
            before = chosen
    return done, overlap


def _check_finite(sums: Mapping[str, AnyFloats]) -> None:
    for name, values in sums.items():
        if not np.isfinite(values).all():
            raise InputError(
                f"the sensitivity map has NaN or infinity in {name}",
                expected="finite numbers for every weight",
                got="others",
                cure="look for NaN in the rows, and for weights that have grown beyond bounds",
            )


def _check_counts(row_count: int, fraction: float) -> None:
    if isinstance(row_count, bool) or not isinstance(row_count, int | np.integer) or row_count < 1:
        raise InputError(
            "rows of a sensitivity map refused",
            expected="a whole number from 1",
            got=repr(row_count),
            cure="correct it",
        )
    check_fraction(fraction)
