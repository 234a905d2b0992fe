"""The losses of a module's rows, as the vectors to go back from at its outputs: one for each direction of the label."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol

import numpy as np

from hekat.errors import InputError
from hekat.privacy.sensitivity.directions import Directions
from hekat.torch_library import import_torch

LossName = Literal["cross_entropy", "squared"]
LOSSES: tuple[LossName, ...] = ("cross_entropy", "squared")


class ModuleLoss(Protocol):
    """A loss and the labels of all rows. A slope is a vector of the outputs' shape: d^2 l / (dy dz) v, up to its
    sign."""

    is_second_order: bool
    """Whether slopes themselves depend on the weights in ways that the outputs do not show."""

    def slopes(self, outputs: Any, places: Any, directions: Directions) -> Iterator[tuple[Any, Any]]:
        """For each direction what to go back from and the vector there, for the rows at `places`. Raises InputError."""
        ...


class CrossEntropyOfClasses:
    """l = -sum_c y_c log p_c(z), y one at the row's class. d^2 l / (dy dz) v = sum(v) p - v.

    p - v alone would be another map: l times the sum of y is what it derives, and the sum is not constant in y.
    """

    is_second_order = False

    def __init__(self, labels: Any) -> None:
        classes = _whole_numbers(labels)
        if classes is None:
            raise InputError(
                "labels are no class numbers",
                expected="whole numbers of shape (rows,) for cross_entropy",
                got=_form_of(labels),
                cure="give class numbers, or loss='squared', or a function of your own",
            )
        self._classes = classes

    def slopes(self, outputs: Any, places: Any, directions: Directions) -> Iterator[tuple[Any, Any]]:
        torch = import_torch()
        width = max(2, outputs.shape[1])
        classes = self._classes[places]
        if classes.size and not 0 <= classes.min() <= classes.max() < width:
            raise InputError(
                "a label is no class of this module",
                expected=f"whole numbers from 0 to {width - 1:,}: its outputs have {outputs.shape[1]:,} columns",
                got="another number",
                cure="encode the labels by their classes, or correct the module's last layer",
            )
        own = np.zeros((len(classes), width))
        own[np.arange(len(classes)), classes] = 1.0
        with torch.no_grad():
            # One logit is the logit of the second class beside a zero.
            logits = outputs if outputs.shape[1] > 1 else torch.cat([torch.zeros_like(outputs), outputs], dim=1)
            p = torch.softmax(logits, dim=1)
        for direction in directions.of_rows(own):
            v = torch.from_numpy(direction).to(outputs)
            slope = v.sum(dim=1, keepdim=True) * p - v
            yield outputs, slope if outputs.shape[1] > 1 else slope[:, 1:]


class SquaredDistance:
    """l = |z - y|^2 / 2: d^2 l / (dy dz) v = -v; the row's gradient is along z - y."""

    is_second_order = False

    def __init__(self, labels: Any) -> None:
        self._labels = _as_matrix(labels)

    def slopes(self, outputs: Any, places: Any, directions: Directions) -> Iterator[tuple[Any, Any]]:
        torch = import_torch()
        labels = self._labels[places]
        if labels.shape != tuple(outputs.shape):
            raise InputError(
                "labels do not fit the module's outputs",
                expected=f"{outputs.shape[1]:,} numbers a row",
                got=f"{labels.shape[1]:,}",
                cure="correct the labels, or the module's last layer",
            )
        own = outputs.detach().to(device="cpu", dtype=torch.float64).numpy() - labels
        for direction in directions.of_rows(own):
            yield outputs, torch.from_numpy(direction).to(outputs)


class OtherLoss:
    """Any loss with a label of real numbers: (dl/dy)(w) . v is derived by the weights, one row at a time."""

    is_second_order = True

    def __init__(self, function: Callable[[Any, Any], Any], labels: Any) -> None:
        self._function = function
        self._labels = _as_matrix(labels)
        self._shape = tuple(np.shape(labels))[1:]

    def slopes(self, outputs: Any, places: Any, directions: Directions) -> Iterator[tuple[Any, Any]]:
        torch = import_torch()
        own = self._labels[places]
        y = torch.from_numpy(own.reshape(1, *self._shape)).to(outputs).requires_grad_()
        loss = self._function(outputs, y)
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1 or not loss.requires_grad:
            raise self._refuse("a loss that is no number with a gradient")
        if directions.mode == "label":
            yield loss, None
            return
        (by_label,) = torch.autograd.grad(loss, y, create_graph=True, allow_unused=True)
        if by_label is None or not by_label.requires_grad:
            raise self._refuse("a loss whose derivative by the label does not depend on the weights")
        for direction in directions.of_rows(own):
            yield by_label, torch.from_numpy(direction.reshape(1, *self._shape)).to(outputs)

    def _refuse(self, got: str) -> InputError:
        return InputError(
            "a loss without a sensitivity map",
            expected="one number for a row, which PyTorch can derive by the outputs and by a label of floats",
            got=got,
            cure="use loss='cross_entropy' for class numbers",
        )


def make_loss(loss: LossName | Callable[[Any, Any], Any] | None, labels: Any) -> ModuleLoss:
    """The loss that `sensitivity_map` was asked for, over all labels. Raises InputError."""
    if callable(loss):
        return OtherLoss(loss, labels)
    if loss is None:
        loss = "squared" if _whole_numbers(labels) is None else "cross_entropy"
    if loss not in LOSSES:
        close = difflib.get_close_matches(str(loss), LOSSES, n=1, cutoff=0.4)
        raise InputError(
            "there is no such loss",
            expected=f"{' or '.join(LOSSES)}, or a function of outputs and a label",
            got=repr(loss),
            cure=f"did you mean {close[0]!r}?" if close else "choose one of these",
        )
    return CrossEntropyOfClasses(labels) if loss == "cross_entropy" else SquaredDistance(labels)


def _whole_numbers(labels: Any) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    array = _to_numpy(labels)
    if array.ndim == 2 and array.shape[1] == 1 and array.dtype.kind in "iu":
        array = array[:, 0]
    return array.astype(np.int64) if array.ndim == 1 and array.dtype.kind in "iu" else None


def _as_matrix(labels: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    array = _to_numpy(labels)
    if array.ndim == 0 or array.dtype.kind not in "iuf":
        raise InputError(
            "labels are no numbers", expected="real numbers, first axis rows", got=_form_of(labels), cure="correct them"
        )
    return array.astype(np.float64).reshape(len(array), math.prod(array.shape[1:]))


def _to_numpy(labels: Any) -> np.ndarray[Any, Any]:
    detach = getattr(labels, "detach", None)
    return np.asarray(labels if detach is None else detach().cpu().numpy())


def _form_of(labels: Any) -> str:
    array = _to_numpy(labels)
    return f"shape {array.shape} of {array.dtype}"
