"""The names under which roles measure their time: FLASH's Table 1, and what they add up to."""

from __future__ import annotations

KEYS = "keys"
ENCRYPT_LOGITS = "encrypt logits"
AGGREGATE = "aggregate"
FORE_GRADIENT = "fore gradient"
GRADIENT = "gradient"
DECRYPT = "decrypt"
LOSS = "loss"
PLAIN = "plain"

# What a reader is shown: each finer step belongs to one of these; what is left of a run is idle.
PARTS = {
    KEYS: "keys",
    ENCRYPT_LOGITS: "encrypt",
    AGGREGATE: "encrypt",
    FORE_GRADIENT: "encrypt",
    GRADIENT: "products",
    DECRYPT: "decrypt",
    LOSS: "products",
    PLAIN: "plain",
}
