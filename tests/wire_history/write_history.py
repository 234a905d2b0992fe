"""Writes the stored wire files of the current versions: `python tests/wire_history/write_history.py`.

Run it when a new kind or a new version of a kind appears. It adds files and outcomes that are not there yet and never
touches one that is: every release has to go on reading what an earlier one wrote, or to say why it does not. Each
file's expected outcome stands in outcomes.json: either what reads it, or the error and a part of its message.
"""

from __future__ import annotations

import json
import secrets
import struct
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hekat.engine.limbs import limbs_from_ints
from hekat.engine.select import get_engine
from hekat.own_loop.calls.messages import CallMessage
from hekat.privacy import Mask
from hekat.protocol.horizontal.messages import ReadyMessage
from hekat.protocol.secure_sum.masked.messages import (
    ClearBlockMessage,
    ClearSumBlockMessage,
    DealersMessage,
    DealtMessage,
    IncludedMessage,
    OpenedMessage,
    OutcomeMessage,
    ReleasedMessage,
    RunSecretsMessage,
    SumBeginMessage,
    UploadMessage,
)
from hekat.protocol.vertical_linear.arbiter.messages import (
    HostReadyMessage,
    OpenedLossMessage,
    PublicKeyMessage,
    StartMessage,
)
from hekat.protocol.vertical_linear.prediction.messages import PredictionCallMessage
from hekat.protocol.vertical_linear.shared_weights.messages import (
    ColumnAddendsMessage,
    FactorsMessage,
    LossShareMessage,
    ProductsMessage,
    ScoreAddendsMessage,
)
from hekat.scheme.paillier.ciphertexts import Ciphertexts
from hekat.scheme.paillier.keys.key_pair import PrivateKey, generate_keys
from hekat.scheme.rsa import KeyPair as RsaKeyPair
from hekat.scheme.rsa import PrivateKey as RsaPrivateKey
from hekat.scheme.rsa import blind, hash_to_group, sign
from hekat.scheme.rsa import encrypt as textbook_encrypt
from hekat.wire import ciphertext, disclosed, from_bytes, message, public, sealed, to_bytes
from hekat.wire.frame import CHECKSUM_BYTES, checksum_of
from hekat.wire.keyfile import save_private_key

HERE = Path(__file__).resolve().parent
OUTCOMES = HERE / "outcomes.json"
PASSPHRASE = b"wire history"
PLAINTEXTS = [0, 1, -1, 2**40, -(2**40), 123456789]
SHAPE = (2, 3)
RSA_KEY_FILE = HERE.parent / "vectors" / "rsa_keys.json"
ITEMS = [b"patient 1", b"patient 2", b""]
CONTEXT = b"wire history"


@message("history/every", version=1)
@dataclass(frozen=True)
class Every:
    """One field of every type that messages carry."""

    flag: bool = public()
    count: int = public()
    large: int = public()
    ratio: float = disclosed("a ratio")
    name: str = disclosed("a name")
    blob: bytes = ciphertext(under="nobody")
    secret: bytes = sealed("a test secret")
    names: list[str] = public()
    sizes: tuple[int, ...] = public()
    settings: dict[str, float] = public()
    maybe: int | None = public()
    f64: npt.NDArray[np.float64] = disclosed("numbers")
    f32: npt.NDArray[np.float32] = disclosed("numbers")
    i64: npt.NDArray[np.int64] = disclosed("numbers")
    u64: npt.NDArray[np.uint64] = disclosed("numbers")
    u8: npt.NDArray[np.uint8] = disclosed("numbers")


def every() -> Every:
    """The message that the stored file holds."""
    return Every(
        flag=True,
        count=-5,
        large=-(3**150),
        ratio=float("-inf"),
        name="Größe ✓",
        blob=bytes(range(10)),
        secret=b"",
        names=["a", "", "ß"],
        sizes=(0, 2**64 - 1, -(2**63), 2**64),
        settings={"z": -0.0, "a": 0.1},
        maybe=None,
        f64=np.array([[0.1, np.nan], [np.inf, -0.0]]),
        f32=np.array([1.5, -2.5], np.float32),
        i64=np.array(-(2**63), np.int64),
        u64=np.array([[2**64 - 1]], np.uint64),
        u8=np.zeros((0, 3), np.uint8),
    )


def ready() -> ReadyMessage:
    """What a party says of its table and its model; version 1, kept beside it, told of the table alone."""
    return ReadyMessage(
        schema="ab" * 32, columns=["age", "Größe"], model_code="cd" * 32, tensors=["w (2, 1)"], model_start="ef" * 32
    )


def loop_call() -> CallMessage:
    """A mean with a mask; version 1, kept beside it, had no mask."""
    digest = bytes(range(32))
    return CallMessage("average", False, ["w"], ["float32 (2, 1)"], False, "model", digest, digest[::-1], 1)


def vertical_messages() -> dict[str, tuple[str, Callable[[], bytes]]]:
    """As `current_objects`: what vertical training and prediction tell; of each, version 1 is kept beside it."""
    ciphertexts = (HERE / "ciphertexts.v1.hkat").read_bytes()
    ready = HostReadyMessage(row_count=5, column_count=2, high_leverage_columns=1, feature_bits=18, epochs_done=0)
    start = StartMessage(
        row_count=5,
        column_counts=[3, 2],
        high_leverage_columns=1,
        feature_bits=18,
        target_bits=1,
        epochs_done=2,
        finished=False,
    )
    key = PublicKeyMessage(public_key=b"key", start_digest=bytes(range(32)))
    loss = OpenedLossMessage(values=np.arange(2, dtype=np.uint64).reshape(1, 2))
    addends = np.arange(12, dtype=np.uint64).reshape(2, 3, 2)
    share = LossShareMessage(share=np.array([7, 1], np.uint64))
    call = PredictionCallMessage(model_id="model-1", row_count=23, receivers=["bank"], score_bits=12)
    return {
        "shared-factors-message.v2": ("FactorsMessage", lambda: to_bytes(FactorsMessage(ciphertexts))),
        "shared-products-message.v2": ("ProductsMessage", lambda: to_bytes(ProductsMessage(ciphertexts))),
        "host-ready-message.v2": ("HostReadyMessage", lambda: to_bytes(ready)),
        "start-message.v2": ("StartMessage", lambda: to_bytes(start)),
        "arbiter-public-key.v2": ("PublicKeyMessage", lambda: to_bytes(key)),
        "opened-loss.v2": ("OpenedLossMessage", lambda: to_bytes(loss)),
        "loss-share.v2": ("LossShareMessage", lambda: to_bytes(share)),
        "column-addends.v1": ("ColumnAddendsMessage", lambda: to_bytes(ColumnAddendsMessage(addends, addends[:, :1]))),
        "score-addends.v1": ("ScoreAddendsMessage", lambda: to_bytes(ScoreAddendsMessage(addends))),
        "prediction-call.v2": ("PredictionCallMessage", lambda: to_bytes(call)),
    }


def masked_messages() -> dict[str, tuple[str, Callable[[], bytes]]]:
    """As `current_objects`: what is told of a masked upload; earlier versions are kept beside them."""
    digest, signature = bytes(range(32)), bytes(64)
    dealt = DealtMessage("A16-16", [digest, digest], signature, digest)
    dealers = DealersMessage("A16-16", {"north": [digest]}, {"north": signature}, {"north": digest})
    included = IncludedMessage(
        digest, "round-2", {"north": digest}, {"north": [digest]}, {"north": b""}, {"north": signature}
    )
    return {
        "dealt-message.v3": ("DealtMessage", lambda: to_bytes(dealt)),
        "dealers-message.v3": ("DealersMessage", lambda: to_bytes(dealers)),
        "upload-message.v3": (
            "UploadMessage",
            lambda: to_bytes(UploadMessage("tree-3/level-1", "A16-16", 1000, digest, b"", 300)),
        ),
        "clear-block.v1": ("ClearBlockMessage", lambda: to_bytes(ClearBlockMessage(bytes(range(8))))),
        "clear-sum-block.v1": ("ClearSumBlockMessage", lambda: to_bytes(ClearSumBlockMessage(bytes(range(16))))),
        "loop-call.v2": ("CallMessage", lambda: to_bytes(loop_call())),
        "included-message.v2": ("IncludedMessage", lambda: to_bytes(included)),
        "opened-message.v3": ("OpenedMessage", lambda: to_bytes(OpenedMessage(False, ["north"]))),
        "outcome-message.v4": ("OutcomeMessage", lambda: to_bytes(OutcomeMessage(False))),
        "run-secrets.v2": ("RunSecretsMessage", lambda: to_bytes(RunSecretsMessage(digest, b"", digest))),
        "released-message.v2": ("ReleasedMessage", lambda: to_bytes(ReleasedMessage(digest, digest, signature))),
        "sum-begin.v2": ("SumBeginMessage", lambda: to_bytes(SumBeginMessage({"north": digest}, {"north": signature}))),
    }


def flipped(data: bytes) -> bytes:
    """The frame with one bit of its body changed."""
    at = len(data) - CHECKSUM_BYTES - 1
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


def oversized(data: bytes) -> bytes:
    """The frame with a header that declares 2^60 bytes."""
    at = 7 + data[6] + 2
    return data[:at] + struct.pack("<Q", 1 << 60) + data[at + 8 :]


def with_format_version(data: bytes, version: int) -> bytes:
    """The frame under another format version and a checksum that holds."""
    return with_checksum(data[:4] + struct.pack("<H", version) + data[6:])


def with_kind_version(data: bytes, version: int) -> bytes:
    """The frame under another version of its kind and a checksum that holds."""
    at = 7 + data[6]
    return with_checksum(data[:at] + struct.pack("<H", version) + data[at + 2 :])


def with_checksum(data: bytes) -> bytes:
    return data[:-CHECKSUM_BYTES] + checksum_of(data[:-CHECKSUM_BYTES], b"")


def damaged(data: bytes) -> dict[str, tuple[bytes, str, str]]:
    """By name: damaged bytes, the error they are answered with, and a part of its message."""
    return {
        "truncated": (data[:-10], "WireTruncatedError", "bytes end inside the body or checksum"),
        "cut-header": (data[:9], "WireTruncatedError", "bytes end inside the header"),
        "flipped": (flipped(data), "WireCorruptError", "checksum does not hold"),
        "trailing": (data + b"\n", "WireCorruptError", "bytes follow after the end"),
        "oversized": (oversized(data), "WireOversizeError", "declare more than the reader allows"),
        "format-999": (with_format_version(data, 999), "WireVersionError", "got format version 999"),
        "kind-999": (with_kind_version(data, 999), "WireVersionError", "got version 999"),
    }


def encrypt(key: PrivateKey) -> Ciphertexts:
    """PLAINTEXTS under `key`, with textbook arithmetic (Paillier 1999, section 4)."""
    n, square = key.public.n, key.public.n_squared
    values = [(1 + m * n) * pow(secrets.randbelow(n - 1) + 1, n, n * n) % (n * n) for m in PLAINTEXTS]
    limbs = limbs_from_ints(values, square.limb_count).reshape(*SHAPE, square.limb_count)
    return Ciphertexts.from_limbs(key.public, limbs, get_engine("reference"))


def key_file_bytes(key: PrivateKey, passphrase: bytes | None) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "key"
        save_private_key(path, key, passphrase)
        return path.read_bytes()


def history_key() -> PrivateKey:
    """The key of the stored files; made once. Secret to nobody, so used for nothing else."""
    stored = HERE / "private-key.v1.hkat"
    if stored.exists():
        return from_bytes(stored.read_bytes(), PrivateKey)
    return generate_keys(2048).private


def rsa_keys(index: int) -> RsaKeyPair:
    """A published test key pair of 2048 bits."""
    primes = json.loads(RSA_KEY_FILE.read_text())["keys"]["2048"][index]
    private = RsaPrivateKey(int(primes["p"], 16), int(primes["q"], 16))
    return RsaKeyPair(private.public, private)


def rsa_objects(keys: RsaKeyPair) -> dict[str, tuple[str, Callable[[], bytes]]]:
    """As `current_objects`: what two parties send each other to sign ITEMS blindly, and a textbook ciphertext."""
    engine = get_engine("reference")
    hashed = hash_to_group(keys.public, ITEMS, context=CONTEXT, engine=engine)
    blinded = blind(hashed)[0]
    return {
        "rsa-public-key.v1": ("rsa.PublicKey", lambda: to_bytes(keys.public)),
        "rsa-blinded-items.v1": ("BlindedItems", lambda: to_bytes(blinded)),
        "rsa-blind-signatures.v1": ("BlindSignatures", lambda: to_bytes(sign(keys.private, blinded))),
        "rsa-signatures.v1": ("Signatures", lambda: to_bytes(sign(keys.private, hashed))),
        "rsa-textbook-ciphertexts.v1": (
            "TextbookCiphertexts",
            lambda: to_bytes(textbook_encrypt(keys.public, hashed.to_limbs(), engine=engine)),
        ),
    }


def current_objects() -> dict[str, tuple[str, Callable[[], bytes]]]:
    """By file name: what reads the file, and what makes its bytes where it is not there yet."""
    key = history_key()
    return {
        "public-key.v2": ("PublicKey", lambda: to_bytes(key.public)),
        "private-key.v1": ("PrivateKey", lambda: to_bytes(key)),
        "ciphertexts.v1": ("Ciphertexts", lambda: to_bytes(encrypt(key))),
        "protected-key-file.v1": ("ProtectedKeyFile", lambda: key_file_bytes(key, PASSPHRASE)),
        "owner-key-file.v1": ("OwnerKeyFile", lambda: key_file_bytes(key, None)),
        "message.v1": ("Every", lambda: to_bytes(every())),
        "ready-message.v2": ("ReadyMessage", lambda: to_bytes(ready())),
        "mask.v1": ("Mask", lambda: to_bytes(Mask({"bias": 3, "weight": 8}, bytes([0b10110101, 0b101])))),
        **vertical_messages(),
        **masked_messages(),
        **rsa_objects(rsa_keys(0)),
    }


def main() -> int:
    outcomes: dict[str, dict[str, str]] = json.loads(OUTCOMES.read_text()) if OUTCOMES.exists() else {}
    for name, (reader, make) in current_objects().items():
        path = HERE / f"{name}.hkat"
        if not path.exists():
            path.write_bytes(make())
            outcomes[path.name] = {"reader": reader, "outcome": "read"}
        for damage, (data, error, says) in damaged(path.read_bytes()).items():
            hurt = HERE / f"{name}.{damage}.hkat"
            if not hurt.exists():
                hurt.write_bytes(data)
                outcomes[hurt.name] = {"reader": reader, "outcome": error, "says": says}
    other = HERE / "ciphertexts.v1.other-key.hkat"
    if not other.exists():
        other.write_bytes(to_bytes(encrypt(generate_keys(2048).private)))
        outcomes[other.name] = {"reader": "Ciphertexts", "outcome": "WireKeyError", "says": "under another key"}
    other = HERE / "rsa-signatures.v1.other-key.hkat"
    if not other.exists():
        other.write_bytes(rsa_objects(rsa_keys(1))["rsa-signatures.v1"][1]())
        outcomes[other.name] = {"reader": "Signatures", "outcome": "WireKeyError", "says": "under another key"}
    OUTCOMES.write_text(json.dumps(outcomes, indent=2, sort_keys=True) + "\n")
    print(f"{len(outcomes)} files in {HERE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
