"""The model that an attack knows: its loss and its gradient, differentiable in the rows and labels that are guessed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from hekat.errors import InputError
from hekat.first_few import first_few
from hekat.privacy.attacks.second_derivative import derive_again, leaves_of, refusing_single_derivatives
from hekat.torch_library import import_torch

Tensors = dict[str, Any]
"""PyTorch tensors by their names in the module's state dict."""


class AttackedModel:
    """A classifying torch.nn.Module at the weights of a round's start.

    The module is put into eval() mode: a row's gradient does not exist where a batch normalisation mixes rows, and a
    dropout would be another net each time. The loss is the mean cross-entropy; a module with one output gives the logit
    of the second of two classes.

    Args:
        module: Maps rows, in whatever shape they have, to logits of shape (rows, classes) or (rows, 1).

    Raises:
        InputError: `module` is no module, or no parameter requires a gradient.

    Examples:
        >>> import torch
        >>> from hekat.privacy.attacks import AttackedModel
        >>> model = AttackedModel(torch.nn.Linear(3, 2))
        >>> found = model.gradient(torch.ones(1, 3), torch.tensor([1]))
        >>> {name: tuple(tensor.shape) for name, tensor in found.items()}
        {'weight': (2, 3), 'bias': (2,)}
    """

    def __init__(self, module: Any) -> None:
        torch = import_torch()
        if not isinstance(module, torch.nn.Module):
            raise _refusal("there is no module to attack", "a torch.nn.Module", type(module).__name__)
        self.module = module.eval()
        # Parameters that a module holds under two names come once, under the first.
        self.parameters: Tensors = {
            name: tensor.detach() for name, tensor in module.named_parameters() if tensor.requires_grad
        }
        if not self.parameters:
            raise _refusal(
                "the module has no gradient to attack",
                "at least one parameter that requires a gradient",
                f"{sum(1 for _ in module.parameters())} parameters, all frozen",
            )

    def gradient(
        self, rows: Any, labels: Any, *, at: Mapping[str, Any] | None = None, differentiable: bool = False
    ) -> Tensors:
        """The slopes of the mean loss by every trained parameter.

        Args:
            rows: One batch, rows first.
            labels: Class numbers, int64 of shape (rows,), or shares of classes of shape (rows, classes).
            at: Weights to take the slopes at; if None, the weights of the round's start.
            differentiable: Keep the graph, so that slopes can be differentiated by rows and labels.

        Returns:
            A tensor for each trained parameter, zeros for one that the loss does not depend on.

        Raises:
            InputError: The module gives no logits, or no gradient, or none that can be derived where that is asked.
        """
        torch = import_torch()
        weights = self.parameters if at is None else at
        with torch.enable_grad():
            asked = {
                name: tensor if tensor.requires_grad else tensor.detach().requires_grad_()
                for name, tensor in weights.items()
            }
            outputs = self._logits(asked, rows)
            loss = torch.nn.functional.cross_entropy(outputs, labels)
            if not loss.requires_grad:
                raise _refusal(
                    "the module has no gradient to attack",
                    "logits that depend on its parameters by differentiable operations",
                    "logits without a gradient",
                )
            with refusing_single_derivatives() if differentiable else nullcontext():
                slopes = torch.autograd.grad(loss, list(asked.values()), create_graph=differentiable, allow_unused=True)
        return {
            name: torch.zeros_like(tensor) if slope is None else slope
            for (name, tensor), slope in zip(asked.items(), slopes, strict=True)
        }

    def moves_with(self, rows: Any, labels: Any) -> bool:
        """Whether the slopes change with the rows around these: without a second derivative no guess gets better.

        Raises InputError where PyTorch cannot take it.
        """
        asked = rows.detach().clone().requires_grad_()
        slopes = self.gradient(asked, labels, differentiable=True)
        length = sum(slope.abs().sum() for slope in slopes.values())
        if not length.requires_grad:
            return False
        # By all leaves: by the rows alone, grad() leaves out the branches of a graph that refuse, since they lead to
        # leaves of their own. And not by backward(), which would write into tensors of the module.
        slope = derive_again(length, [asked, *leaves_of(length)])[0]
        return slope is not None and bool((slope != 0).any())

    def class_count(self, rows: Any) -> int:
        """How many classes the module tells apart, found on `rows`. Raises InputError."""
        torch = import_torch()
        with torch.no_grad():
            return int(self._logits(self.parameters, rows).shape[1])

    def _logits(self, weights: Mapping[str, Any], rows: Any) -> Any:
        torch = import_torch()
        # Attention as plain products: its fused forms have no second derivative.
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            outputs = torch.func.functional_call(self.module, dict(weights), (rows,))
        if not isinstance(outputs, torch.Tensor) or not outputs.is_floating_point() or outputs.ndim != 2:
            got = f"shape {tuple(outputs.shape)}" if isinstance(outputs, torch.Tensor) else type(outputs).__name__
            raise _refusal("the module gives no logits", "real numbers of shape (rows, classes)", got)
        if outputs.shape[1] == 1:
            return torch.cat([torch.zeros_like(outputs), outputs], dim=1)
        return outputs


def check_update(model: AttackedModel, update: Mapping[str, Any]) -> None:
    """Raise InputError where `update` has other tensors than the model has trained parameters."""
    expected = {name: tuple(tensor.shape) for name, tensor in model.parameters.items()}
    found = {name: tuple(tensor.shape) for name, tensor in update.items()}
    if expected != found:
        other = sorted(name for name in {**expected, **found} if expected.get(name) != found.get(name))
        raise InputError(
            "the update is none of this model",
            expected=f"the shapes of its {len(expected)} trained parameters",
            got=f"others for {first_few(other, 3)}",
            cure="take the update and the model of the same round",
        )


def _refusal(what: str, expected: str, got: str) -> InputError:
    return InputError(what, expected=expected, got=got, cure="correct the module, or attack another one")
