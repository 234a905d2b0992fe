"""What vertical training is set beside: FLASH's table of one epoch, and the seconds of other systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.protocol.vertical_linear import timing_labels as steps

# FLASH, Table 1, vertical logistic regression, one epoch: seconds in the clear and encrypted by GMP.
FLASH_S: Mapping[str, tuple[float, float]] = {
    steps.ENCRYPT_LOGITS: (0.0, 32.05),
    steps.AGGREGATE: (0.63, 2.04),
    steps.FORE_GRADIENT: (0.74, 2.92),
    steps.GRADIENT: (3.77, 135.96),
    steps.DECRYPT: (0.0, 0.04),
    steps.LOSS: (4.08, 8.22),
}
FLASH_TIMES_IN_ALL = 12.05
# One epoch of logistic regression as others report it, on their machines: of FLASH the steps of its table.
ELSEWHERE: tuple[Mapping[str, Any], ...] = (
    {
        "source": "FLASH, Table 1: FATE with GMP, ten cores of a Xeon Silver 4114",
        "rows": 100_000,
        "guest_columns": 80,
        "host_columns": 1,
        "batch_rows": 0,
        "seconds": round(sum(encrypted for _, encrypted in FLASH_S.values()), 2),
        "clear_s": round(sum(clear for clear, _ in FLASH_S.values()), 2),
    },
    {
        "source": "a known system, 16 cores",
        "rows": 100_000,
        "guest_columns": 165,
        "host_columns": 165,
        "batch_rows": 1024,
        # 98 batches of 165 + 1 columns are more equations than a tenth of the rows, for either party.
        "rules_waived": True,
        "seconds": 137.0,
    },
)


def seconds_by_part(seconds_by_step: Mapping[str, float], total_s: float) -> dict[str, float]:
    """encrypt, products, decrypt, plain, sealing, keys, and idle: what no role measured of `total_s`.

    Roles on one machine compute one after the other, so their steps add up.
    """
    found = dict.fromkeys(["encrypt", "products", "decrypt", "plain", "keys", "sealing"], 0.0)
    for step, seconds in seconds_by_step.items():
        found[steps.PARTS.get(step, "sealing" if step in ("send", "open") else "plain")] += seconds
    return found | {"idle": max(0.0, total_s - sum(found.values()))}


def flash_table(clear: Mapping[str, float], encrypted: Mapping[str, float]) -> list[dict[str, Any]]:
    """FLASH's rows, of two runs' seconds by step: in the clear, encrypted, and FLASH's own of both."""
    rows = []
    for step, (flash_clear_s, flash_encrypted_s) in FLASH_S.items():
        ours_clear, ours_encrypted = clear.get(step, 0.0), encrypted.get(step, 0.0)
        rows.append(
            {
                "step": step,
                "clear_s": ours_clear,
                "encrypted_s": ours_encrypted,
                "times": ours_encrypted / ours_clear if ours_clear else None,
                "flash_clear_s": flash_clear_s,
                "flash_encrypted_s": flash_encrypted_s,
            }
        )
    names = ("clear_s", "encrypted_s", "flash_clear_s", "flash_encrypted_s")
    total: dict[str, Any] = {name: sum(row[name] for row in rows) for name in names}
    total["times"] = total["encrypted_s"] / total["clear_s"] if total["clear_s"] else None
    return [*rows, {"step": "these steps", **total}]
