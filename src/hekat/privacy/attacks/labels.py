"""Reads labels off the gradient of the last layer, whose row of a class is negative where the class was the label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hekat.privacy.attacks.last_layer import LastLayer
from hekat.privacy.attacks.visible_update import VisibleUpdate

# Slopes of outputs below this share of the largest count as none: float32 gradients carry such noise.
_NOISE = 1e-4


@dataclass(frozen=True)
class LabelReading:
    """`labels`, one for each row, where they could be read; else None, and each label is one of `candidates`, some of
    `class_count` classes."""

    labels: tuple[int, ...] | None
    candidates: tuple[int, ...]
    class_count: int

    @classmethod
    def known(cls, labels: Sequence[int], class_count: int) -> LabelReading:
        """Labels that the attacker knows from elsewhere."""
        return cls(tuple(labels), tuple(sorted(set(labels))), class_count)

    @classmethod
    def unread(cls, class_count: int) -> LabelReading:
        """Nothing is known of the labels: any class."""
        return cls(None, tuple(range(class_count)), class_count)


def read_label(layer: LastLayer, seen: VisibleUpdate) -> LabelReading:
    """The label of one row from what is visible of the last layer's gradient.

    The gradient is the outer product of delta = p - onehot(label) and the inputs. With inputs that are not negative
    (after sigmoid or ReLU), or one visible bias, the one negative entry of delta is the label; entries of delta sum to
    0. Classes whose whole rows are hidden are all that is left where no visible entry is negative.

    Args:
        layer: The last layer.
        seen: The update of a batch of one row.

    Returns:
        The label, or the classes that it is one of: whole rows that are hidden, or every class.

    Examples:
        >>> import torch
        >>> from hekat.privacy import Mask
        >>> from hekat.privacy.attacks import AttackedModel, LastLayer, VisibleUpdate, read_label
        >>> _ = torch.manual_seed(1)
        >>> model = AttackedModel(torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Sigmoid(), torch.nn.Linear(6, 3)))
        >>> update = model.gradient(torch.rand(1, 4), torch.tensor([2]))
        >>> mask = Mask.nothing({name: tensor.numel() for name, tensor in update.items()})
        >>> read_label(LastLayer.of(model), VisibleUpdate.adaptive(update, mask)).labels
        (2,)

    Source: Zhao et al., iDLG (2020), section 3; hidden rows and the completion are ours.
    """
    found = layer.factors(seen)
    delta = found.left
    if found.known_columns[-1] and found.right[-1] < 0:
        delta = -delta  # the bias's input is 1
    class_count = max(2, layer.output_count)
    noise = _NOISE * float(np.abs(delta).max(initial=0.0))
    if layer.output_count == 1:
        # One logit: delta is p - label.
        is_told = abs(delta[0]) > noise
        return LabelReading.known((int(delta[0] < 0),), 2) if is_told else LabelReading.unread(2)
    lowest = int(np.argmin(delta))
    if delta[lowest] < -noise:
        return LabelReading.known((lowest,), class_count)
    hidden = tuple(np.flatnonzero(~found.known_rows).tolist())
    if len(hidden) == 1:
        return LabelReading.known(hidden, class_count)
    return LabelReading(None, hidden, class_count) if hidden else LabelReading.unread(class_count)


def read_labels(layer: LastLayer, seen: VisibleUpdate, row_count: int) -> LabelReading:
    """The labels of a batch: the classes whose visible entries have the lowest minima; of one row as `read_label`.

    Rows of a batch whose labels repeat give fewer negative minima than rows; then the lowest ones repeat.

    Args:
        layer: The last layer, with inputs that are not negative.
        seen: The update of the batch.
        row_count: Rows of the batch.

    Returns:
        As many labels as rows, in ascending order, or every class where no visible entry is negative.

    Examples:
        >>> import torch
        >>> from hekat.privacy import Mask
        >>> from hekat.privacy.attacks import AttackedModel, LastLayer, VisibleUpdate, read_labels
        >>> _ = torch.manual_seed(1)
        >>> model = AttackedModel(torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Sigmoid(), torch.nn.Linear(6, 3)))
        >>> update = model.gradient(torch.rand(2, 4), torch.tensor([2, 0]))
        >>> mask = Mask.nothing({name: tensor.numel() for name, tensor in update.items()})
        >>> read_labels(LastLayer.of(model), VisibleUpdate.adaptive(update, mask), 2).labels
        (0, 2)

    Source: Yin et al., See through Gradients (2021), section 3.2.
    """
    if row_count == 1 or layer.output_count == 1:
        return read_label(layer, seen)
    values, visible = layer.read(seen)
    lowest = np.where(visible, values, 0.0).min(axis=1)
    order = np.argsort(lowest, kind="stable")
    negative = [int(place) for place in order if lowest[place] < 0][:row_count]
    if not negative:
        return LabelReading.unread(layer.output_count)
    labels = tuple(sorted(negative[place % len(negative)] for place in range(row_count)))
    return LabelReading.known(labels, layer.output_count)
