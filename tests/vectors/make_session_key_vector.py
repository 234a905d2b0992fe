"""Makes session_key.json: one content sealed to a key of known seeds, for the test that opens it without the library.

Run by hand: .venv/bin/python tests/vectors/make_session_key_vector.py
"""

from __future__ import annotations

import json
from pathlib import Path

import cryptography
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from hekat.channel.session_key import SessionPublicKey

MLKEM_SEED, X25519_SEED = bytes(range(64)), bytes(range(100, 132))
CONTENT, INFO = b"the key of one direction, 32 by.", b"who, to whom, in which session"


def main() -> None:
    mlkem = MLKEM768PrivateKey.from_seed_bytes(MLKEM_SEED).public_key().public_bytes_raw()
    x25519 = X25519PrivateKey.from_private_bytes(X25519_SEED).public_key().public_bytes_raw()
    vector = {
        "made by": f"cryptography {cryptography.__version__}",
        "mlkem_seed": MLKEM_SEED.hex(),
        "x25519_seed": X25519_SEED.hex(),
        "public": (mlkem + x25519).hex(),
        "info": INFO.hex(),
        "content": CONTENT.hex(),
        "sealed": SessionPublicKey(mlkem + x25519).seal(CONTENT, INFO).hex(),
    }
    Path(__file__).with_name("session_key.json").write_text(json.dumps(vector, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
