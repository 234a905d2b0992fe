"""Models whose rows' own gradients can be bounded one by one, and then summed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol, runtime_checkable

from hekat.errors import InputError
from hekat.model.parameters import FloatArray, Labels, Parameters


@runtime_checkable
class RowModel(Protocol):
    """A model that knows the norm of each row's own gradient, without the penalty, which is no row's."""

    @property
    def name(self) -> str: ...

    def sum_clipped_rows(
        self,
        params: Parameters,
        X: Any,
        y: Labels,
        factors_of: Callable[[FloatArray], FloatArray],
        names: Collection[str],
    ) -> tuple[FloatArray, Parameters]:
        """(loss of each row, sum over rows of factor times the row's gradient by the named parameters).

        `factors_of` maps the L2 norms of the rows' gradients by these parameters to the factors; a row of factor 0 is
        left out. Raises InputError.
        """
        ...

    def penalty_slope(self, params: Parameters) -> Parameters:
        """The derivative of the penalty by every parameter that it is on; {} without one."""
        ...


def as_row_model(model: Any) -> RowModel:
    """`model` where rows of it can be bounded. Raises InputError."""
    if not isinstance(model, RowModel):
        raise InputError(
            "the model does not tell the gradient of each row",
            expected="a model of Hekat's, or a PyTorch module",
            got=type(model).__name__,
            cure="set privacy.unit = 'party', which bounds the whole update",
        )
    return model
