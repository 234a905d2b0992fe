"""How an engine wants its callers to cut a long batch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChunkPlan:
    """Chunks of `factor` times the items that suit a CPU, and how many of them run at once, each on its own thread.

    An engine on a GPU takes several at once, so that copies, kernels and the host's work of different chunks overlap.
    Where nothing else computes, `abreast` powers take about as long as one: whoever needs few, and more later, takes as
    many. Decryption, whose powers take half a key's width, has chunks `decrypt_times` as long.
    Source: FLBooster (ICDE 2023), section V.
    """

    factor: int = 1
    in_flight: int = 1
    abreast: int = 1
    decrypt_times: int = 1
