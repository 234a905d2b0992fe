"""The labels under which roles measure their time, and the parts that a reader is shown.

Sealed channels have the labels "send" and "open", which no label here may be.
"""

from __future__ import annotations

KEYS = "keys"
ENCRYPT = "encrypt"
PRODUCTS = "products"
DECRYPT = "decrypt"
NETWORK = "network"
PLAIN = "plain"

# A reader is shown these parts; each label belongs to one of them. The rest of a run is idle.
PARTS = {
    KEYS: "keys",
    ENCRYPT: "encrypt",
    PRODUCTS: "products",
    DECRYPT: "decrypt",
    NETWORK: "plain",
    PLAIN: "plain",
}
