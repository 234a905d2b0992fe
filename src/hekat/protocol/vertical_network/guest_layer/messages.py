"""What a host returns in form `guest_layer`, each field with what it discloses and to whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.wire import disclosed, message


@message("vertical-network/host-outputs", version=1)
@dataclass(frozen=True)
class HostOutputsMessage:
    """Host to guest: its share of its own outputs (rows, k), which no other host's numbers cover."""

    share: npt.NDArray[np.uint64] = disclosed(
        "this host's outputs of each row, by themselves; over the steps its features but for a rotation"
    )


@message("vertical-network/noisy-gradient", version=1)
@dataclass(frozen=True)
class NoisyGradientMessage:
    """Host to guest: its share of its weights' gradient with noise of its own, limbs (k, m, 2)."""

    share: npt.NDArray[np.uint64] = disclosed(
        "the gradient of the host's weights under bounded noise, which is not uniform: what it leaves has no proof"
    )
