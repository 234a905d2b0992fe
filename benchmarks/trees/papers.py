"""What boosted trees are set beside: the tables of FLASH and FLBooster. Their figures are theirs, on their machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.protocol.vertical_trees import timing_labels as labels

# FLASH, Table 1, SecureBoost, one epoch: seconds in the clear and encrypted by GMP,
# and the steps of ours that do the same.
FLASH_S: Mapping[str, tuple[float, float, tuple[str, ...]]] = {
    "encrypting gradients": (0.0, 54.71, (labels.ENCRYPT,)),
    "aggregating gradients": (12.02, 223.91, (labels.SUMS,)),
    "split information synchronisation": (3.62, 13.03, (labels.DECRYPT, labels.SPLITS)),
}
FLASH_TIMES_IN_ALL = 3.49
FLASH = {
    "source": "FLASH, Table 1: FATE with GMP",
    "hardware": "Intel Xeon Silver 4114, ten cores, 192 GB",
    "shape": "about 100,000 rows, 80 columns at one party and one at the other",
    "times_in_all": FLASH_TIMES_IN_ALL,
    "steps": {step: {"clear_s": clear, "encrypted_s": encrypted} for step, (clear, encrypted, _) in FLASH_S.items()},
}
# Seconds an epoch of Hetero SBT by key bits: FATE, HAFLO, FLBooster.
_SYNTHETIC = {1024: (5462.3, 2722.7, 190.1), 2048: (19142.5, 4802.1, 199.3), 4096: (93137.0, 9402.0, 252.1)}
_RCV1 = {1024: (36489.2, 17931.3, 775.8), 2048: (129159.0, 32017.5, 838.1), 4096: (630396.6, 63176.5, 1195.8)}
_AVAZU = {1024: (92526.3, 45424.6, 1882.3), 2048: (327731.2, 81176.8, 2040.5), 4096: (1599920.8, 160261.4, 2948.3)}
FLBOOSTER = {
    "source": "FLBooster, Table III, Hetero SBT; HAFLO as FLBooster measured it",
    "hardware": "four servers, each with two Xeon E5-2650 v4 of 12 cores and a GeForce RTX 3090, lines of 1 Gbit/s",
    "rows": [
        {"data": data, "shape": shape, "key_bits": bits, "fate_s": fate, "haflo_s": haflo, "flbooster_s": flbooster}
        for data, shape, figures in (
            ("Synthetic", "100,000 x 10,000", _SYNTHETIC),
            ("RCV1", "677,399 x 47,236", _RCV1),
            ("Avazu", "1,719,304 x 1,000,000", _AVAZU),
        )
        for bits, (fate, haflo, flbooster) in figures.items()
    ],
}
KNOWN_ELSEWHERE: Mapping[str, Any] = {"flash": FLASH, "flbooster": FLBOOSTER}


def flash_table(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """FLASH's steps, of a row of results at its shape: ours in the clear and encrypted, and FLASH's own of both."""
    found = []
    for step, (flash_clear_s, flash_encrypted_s, ours) in FLASH_S.items():
        clear_s = sum(row["clear_steps_s"].get(name, 0.0) for name in ours)
        encrypted_s = sum(row["steps_s"].get(name, 0.0) for name in ours)
        found.append(
            {
                "step": step,
                "clear_s": clear_s,
                "encrypted_s": encrypted_s,
                "flash_clear_s": flash_clear_s,
                "flash_encrypted_s": flash_encrypted_s,
            }
        )
    names = ("clear_s", "encrypted_s", "flash_clear_s", "flash_encrypted_s")
    return [*found, {"step": "these steps", **{name: sum(one[name] for one in found) for name in names}}]
