"""The labels under which roles measure their time, after FLASH's Table 1, and the parts that a reader is shown."""

from __future__ import annotations

KEYS = "keys"
ENCRYPT_LOGITS = "encrypt logits"
AGGREGATE = "aggregate"
FORE_GRADIENT = "fore gradient"
GRADIENT = "gradient"
DECRYPT = "decrypt"
LOSS = "loss"
PLAIN = "plain"

# A reader is shown these parts; each label belongs to one of them. The rest of a run is idle.
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
