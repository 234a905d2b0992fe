"""What an attacker sees of an update under a mask, and which of its values the attack compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hekat.privacy.attacks.attacked_model import Tensors
from hekat.privacy.mask import Mask
from hekat.torch_library import import_torch


@dataclass(frozen=True)
class VisibleUpdate:
    """Values of an update by tensor, hidden ones zero, and `compared`: booleans of the same shapes, true where the
    attack holds its guess against the value."""

    values: Tensors
    compared: Tensors

    @classmethod
    def adaptive(cls, update: Mapping[str, Any], mask: Mask) -> VisibleUpdate:
        """As an attacker sees it who knows the mask: masked values are compared with nothing.

        Args:
            update: One tensor for each trained parameter.
            mask: Its chosen values are the masked ones.

        Raises:
            InputError: The mask is of other tensors.
        """
        hidden = _hidden(update, mask)
        values = {name: tensor.detach() * ~hidden[name] for name, tensor in update.items()}
        return cls(values, {name: ~flags for name, flags in hidden.items()})

    @classmethod
    def naive(cls, update: Mapping[str, Any], mask: Mask) -> VisibleUpdate:
        """The setting of FedML-HE, as we read it: masked values stand as zeros, and are compared as if they were.

        Arguments and exceptions as for `adaptive`.

        Source: Jin et al., FedML-HE (2023), section 5.3.2, which says nothing of an attacker who knows the mask.
        """
        torch = import_torch()
        hidden = _hidden(update, mask)
        values = {name: tensor.detach() * ~hidden[name] for name, tensor in update.items()}
        return cls(values, {name: torch.ones_like(flags) for name, flags in hidden.items()})

    @property
    def compared_count(self) -> int:
        """How many values are compared."""
        return sum(int(flags.sum()) for flags in self.compared.values())

    @property
    def value_count(self) -> int:
        """How many values the update has."""
        return sum(flags.numel() for flags in self.compared.values())


def _hidden(update: Mapping[str, Any], mask: Mask) -> Tensors:
    """Booleans in the shapes of the update, true where a value is masked."""
    torch = import_torch()
    mask.check_sizes({name: tensor.numel() for name, tensor in update.items()})
    return {
        name: torch.from_numpy(mask.chosen(name).copy()).reshape(tensor.shape).to(tensor.device)
        for name, tensor in update.items()
    }
