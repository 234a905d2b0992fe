"""The phases of a role's whole time, waiting included, beside the intersection's."""

from __future__ import annotations

TRAINING, PREDICTION = "training", "prediction"
