"""Labels of the rows of a rehearsal: every class alike, or numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def deal_labels(classes: tuple[str, ...] | None, row_count: int, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Labels (rows,) in chance order: names of classes in turn, or the numbers of the rows where there are none."""
    numbers = rng.permutation(row_count)
    return numbers * 1.0 if classes is None else np.array(classes)[numbers % len(classes)]
