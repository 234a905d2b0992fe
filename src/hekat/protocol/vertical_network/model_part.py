"""NetworkPart: what one party keeps of a split network. No part is of use without the other parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy.typing as npt

from hekat.model.split import DENSE
from hekat.protocol.vertical_network.network_settings import NetworkShape
from hekat.protocol.vertical_network.settings import SEALED

Arrays = Mapping[str, npt.NDArray[Any]]

# Names of arrays. Of the party's own columns, before its bottom:
MEANS, SPREADS = "means", "spreads"
BOTTOM: Final = "bottom/"
"""What the names of a bottom's tensors begin with."""
# At the guest: its half of the interactive layer and its top, and the mean and spread of a regression's numbers.
INTERACTIVE: Final = "interactive/"
TOP: Final = "top/"
NO_TOP: Final = "none"
"""The kind of top of a party that has none: a host, or either party under form "sealed"."""
TARGET_MEAN, TARGET_SPREAD = "target_mean", "target_spread"
SHARE: Final = "share/"
"""What the names of shares begin with; the host's name follows: uint64 limbs (m, k, 2) mod 2^128 at 2^-64. A host has
its own addend alone, the guest one for each host."""


SEALED_SHARE: Final = "sealed_share"
"""Under form sealed, at either party: its share of all weights, uint64 limbs (width, k + 1, 2) mod 2^128 at 2^-64. Rows
are the guest's column of ones, its other columns, then the host's; columns the k squared units, then the linear one."""


@dataclass(frozen=True)
class NetworkPart:
    """One party's part of a model; all parts of one model have the same `model_id`.

    All but `arrays` is public among the parties. `bottom_kind` names the map of the party's own columns ("none" at a
    guest without columns); for "module" its maker is needed again. `top_kind` is the same of the guest's top, "dense"
    for Hekat's own and NO_TOP where the party has none. `widths` are the inputs of the interactive layer by party;
    under form "sealed" each party's columns, the guest's with the column of ones. `label_privacy` is the epsilon by
    which labels were replaced, None where they were not, and `labels_accepted` whether the job let hosts learn labels:
    a host receives scores by these alone.
    """

    party: str
    guest: str
    hosts: tuple[str, ...]
    task: str
    classes: tuple[str, ...] | None
    columns: tuple[str, ...]
    model_id: str
    epochs: int
    host_bottom: str
    protection: str
    bottom_kind: str
    top_kind: str
    network: NetworkShape
    widths: Mapping[str, int]
    limit_spreads: float
    label_privacy: float | None
    labels_accepted: bool
    form: str
    arrays: Arrays = field(repr=False)

    @property
    def parties(self) -> tuple[str, ...]:
        """The guest, then the hosts."""
        return (self.guest, *self.hosts)

    @property
    def is_guest(self) -> bool:
        return self.party == self.guest

    @property
    def output_count(self) -> int:
        """K, the outputs of the top: one, or one for each class of three or more."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)


def usual_top_kind(form: str, *, is_guest: bool) -> str:
    """The kind of a party's top where nobody names another: the guest's own dense network, NO_TOP elsewhere."""
    return DENSE if is_guest and form != SEALED else NO_TOP


def named(prefix: str, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
    """The arrays under names that begin with `prefix`."""
    return {prefix + name: values for name, values in arrays.items()}


def taken(prefix: str, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
    """The arrays whose names begin with `prefix`, under the rest of their names."""
    return {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
