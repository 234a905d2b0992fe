"""Writes the stored CKKS files of the current versions: `python tests/wire_history/ckks/write_ckks_history.py`.

Run it when a kind gets a new version. It adds files that are not there yet and never touches one that is.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from hekat.scheme.ckks import CkksParameters, add, encrypt, generate_keys
from hekat.wire import to_bytes

HERE = Path(__file__).resolve().parent
# Small, so that the files are; no prime for weights, which would double them.
PARAMETERS = CkksParameters("history", 2048, (27, 27), 18, 1024, 8.0)
VALUES = np.linspace(-8, 8, 1025)


def main() -> int:
    keys = generate_keys(PARAMETERS)
    one = encrypt(keys.public, VALUES)
    things = {"public-key": keys.public, "private-key": keys.private, "ciphertexts": one, "sum": add([one, one])}
    for name, thing in things.items():
        path = HERE / f"{name}.v1.hkat"
        if not path.exists():
            path.write_bytes(to_bytes(thing))
            print(path.name, path.stat().st_size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
