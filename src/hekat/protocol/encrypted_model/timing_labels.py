"""The labels under which roles measure their time, and the parts that a reader is shown.

Sealed channels have the labels "send" and "open", which no label here may be.
"""

from __future__ import annotations

KEYS = "keys"
MOMENTS = "moments"
MAP = "map"
ENCRYPT = "encrypt"
PRODUCTS = "products"
SUM = "sum"
DECRYPT = "decrypt"

# A reader is shown these parts; each label belongs to one of them. The rest of a run is idle.
PARTS = {
    KEYS: "keys",
    MOMENTS: "plain",
    MAP: "plain",
    ENCRYPT: "encrypt",
    PRODUCTS: "products",
    SUM: "products",
    DECRYPT: "decrypt",
}
