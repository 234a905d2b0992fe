"""Gradients of one row, taken tensor by tensor as they come and freed: never a whole gradient beside the sums."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hekat.errors import InputError
from hekat.privacy.sensitivity.directions import mark_last
from hekat.torch_library import import_torch


class RowGradients:
    """Adds |gradient| of each row, or the norm over a row's gradients, to sums of the weights' shapes."""

    def __init__(self, weights: dict[str, Any], sums: dict[str, Any], *, takes_off: bool = False) -> None:
        """`takes_off`: sums lose what they would get."""
        self._weights, self._sums, self._sign = weights, sums, -1 if takes_off else 1
        self._squares: dict[str, Any] = {}
        self._has_several = False
        self._taken: set[str] = set()

    @property
    def weights(self) -> list[Any]:
        """The tensors whose gradients are taken."""
        return list(self._weights.values())

    @contextmanager
    def taking(self) -> Iterator[None]:
        """A block in which gradients that arrive at the weights are taken from there."""
        hooks = [
            tensor.register_post_accumulate_grad_hook(lambda weight, name=name: self._take(name, weight))
            for name, tensor in self._weights.items()
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def add_row(self, slopes: Iterator[tuple[Any, Any]]) -> None:
        """Go back from each origin and its vector, and add what comes of them all."""
        for (origin, slope), is_last in mark_last(slopes):
            self.begin(is_last=is_last)
            origin.backward(slope, retain_graph=not is_last)
        self.end_row()

    def begin(self, *, is_last: bool) -> None:
        """Say that the next gradients are of another direction of the row, and whether of its last one."""
        torch = import_torch()
        if not is_last and not self._squares:
            self._squares = {name: torch.zeros_like(self._sums[name]) for name in self._weights}
        self._has_several = self._has_several or not is_last
        self._taken.clear()

    def end_row(self) -> None:
        """Add what came of all directions of the row."""
        if self._has_several:
            for name, squares in self._squares.items():
                self._sums[name].add_(squares.sqrt_(), alpha=self._sign)
                squares.zero_()
        self._has_several = False

    def _take(self, name: str, weight: Any) -> None:
        if name in self._taken:
            # A part that is computed again goes back by itself, and the absolute values of two parts are not the sum's.
            raise InputError(
                "a weight's gradient comes in parts",
                expected="one gradient of each weight a row",
                got=f"two of {name}",
                cure="use torch.utils.checkpoint with use_reentrant=False",
            )
        self._taken.add(name)
        torch = import_torch()
        with torch.no_grad():
            gradient, weight.grad = weight.grad, None
            gradient = gradient.to_dense() if gradient.is_sparse else gradient
            if self._has_several:
                self._squares[name].addcmul_(gradient, gradient)
            else:
                self._sums[name].add_(gradient.abs_(), alpha=self._sign)
