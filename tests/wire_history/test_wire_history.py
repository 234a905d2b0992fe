"""Stored files of every version ever released are read, or refused, as they were when they were written."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat import errors
from hekat.engine.limbs import ints_from_limbs
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
from hekat.scheme.paillier.keys.key_pair import PrivateKey, PublicKey
from hekat.scheme.rsa import BlindedItems, BlindSignatures, Signatures, TextbookCiphertexts, hash_to_group, sign, verify
from hekat.scheme.rsa import PublicKey as RsaPublicKey
from hekat.scheme.rsa.group_elements import GroupElements
from hekat.wire import from_bytes, to_bytes
from hekat.wire.keyfile import (
    OwnerKeyFile,
    ProtectedKeyFile,
    describe_key_file,
    load_private_key,
    load_public_key,
)

HERE = Path(__file__).resolve().parent
specification = importlib.util.spec_from_file_location("hekat_wire_history", HERE / "write_history.py")
assert specification is not None
assert specification.loader is not None
history = importlib.util.module_from_spec(specification)
sys.modules[specification.name] = history
specification.loader.exec_module(history)

OUTCOMES: dict[str, dict[str, str]] = json.loads((HERE / "outcomes.json").read_text())
READERS: dict[str, type[Any]] = {
    cls.__name__: cls for cls in (PublicKey, PrivateKey, Ciphertexts, ProtectedKeyFile, OwnerKeyFile, history.Every)
}
READERS |= {cls.__name__: cls for cls in (BlindedItems, BlindSignatures, Signatures, TextbookCiphertexts)}
READERS |= {"rsa.PublicKey": RsaPublicKey, "Mask": Mask}
READERS |= {
    cls.__name__: cls
    for cls in (
        ReadyMessage,
        FactorsMessage,
        ProductsMessage,
        HostReadyMessage,
        StartMessage,
        OpenedLossMessage,
        PublicKeyMessage,
        LossShareMessage,
        ColumnAddendsMessage,
        ScoreAddendsMessage,
        PredictionCallMessage,
        DealtMessage,
        DealersMessage,
        IncludedMessage,
        OpenedMessage,
        OutcomeMessage,
        RunSecretsMessage,
        ReleasedMessage,
        SumBeginMessage,
        UploadMessage,
        ClearBlockMessage,
        ClearSumBlockMessage,
        CallMessage,
    )
}


@pytest.fixture(scope="module")
def key() -> PrivateKey:
    return read("private-key.v1.hkat", None)


def read(name: str, public_key: PublicKey | None) -> Any:
    """The object in the file; what belongs to an RSA key is read under the one that signed the stored signatures."""
    reader = READERS[OUTCOMES[name]["reader"]]
    return from_bytes(
        (HERE / name).read_bytes(),
        reader,
        public_key=history.rsa_keys(0).public if issubclass(reader, GroupElements) else public_key,
        engine=get_engine("reference"),
    )


def test_every_file_has_an_outcome_and_every_kind_its_damage() -> None:
    assert sorted(OUTCOMES) == sorted(path.name for path in HERE.glob("*.hkat"))
    for name in history.current_objects():
        assert OUTCOMES[f"{name}.hkat"]["outcome"] == "read"
        for damage in history.damaged((HERE / f"{name}.hkat").read_bytes()):
            assert f"{name}.{damage}.hkat" in OUTCOMES


@pytest.mark.parametrize("name", sorted(OUTCOMES))
def test_outcome(name: str, key: PrivateKey) -> None:
    expected = OUTCOMES[name]
    if expected["outcome"] == "read":
        assert to_bytes(read(name, key.public)) == (HERE / name).read_bytes()
        return
    with pytest.raises(getattr(errors, expected["outcome"])) as caught:
        read(name, key.public)
    assert type(caught.value).__name__ == expected["outcome"]
    assert expected["says"] in str(caught.value)


def test_keys(key: PrivateKey) -> None:
    assert read("public-key.v2.hkat", None) == key.public


def test_a_public_key_without_a_proof_is_its_owners_alone(key: PrivateKey) -> None:
    """Version 1 had no proof: a peer that sends one is refused, and so is its file, but for who has the private key."""
    path = HERE / "public-key.v1.hkat"
    assert load_public_key(path, private_key=key) is key.public
    with pytest.raises(
        errors.KeyRefusedError, match=r"without a proof that it is sound.*ask its owner to write it anew"
    ):
        load_public_key(path)
    described = describe_key_file(path)
    assert (described["kind"], described["fingerprint"]) == ("public key", key.public.fingerprint)


def test_message() -> None:
    stored, expected = read("message.v1.hkat", None), history.every()
    for field in dataclasses.fields(expected):
        found, wanted = getattr(stored, field.name), getattr(expected, field.name)
        if isinstance(wanted, np.ndarray):
            assert (found.dtype, found.shape, found.tobytes()) == (wanted.dtype, wanted.shape, wanted.tobytes())
        else:
            assert found == wanted
            assert type(found) is type(wanted)
    assert math.copysign(1, stored.settings["z"]) == -1


@pytest.mark.long
def test_ciphertexts_still_open(key: PrivateKey) -> None:
    """With textbook arithmetic: m = L(c^lambda mod n^2) / lambda mod n (Paillier 1999, section 4)."""
    stored = read("ciphertexts.v1.hkat", key.public)
    assert stored.shape == history.SHAPE
    n, exponent = key.public.n, math.lcm(key.p - 1, key.q - 1)
    values = ints_from_limbs(stored.to_limbs())
    opened = [(pow(c, exponent, n * n) - 1) // n * pow(exponent, -1, n) % n for c in values]
    assert [m - n if m > n // 2 else m for m in opened] == history.PLAINTEXTS


def test_signatures_still_hold() -> None:
    """The stored bytes, and with them the hash of items to the group."""
    keys = history.rsa_keys(0)
    hashed = hash_to_group(keys.public, history.ITEMS, context=history.CONTEXT, engine=get_engine("reference"))
    assert read("rsa-public-key.v1.hkat", None) == keys.public
    assert verify(hashed, read("rsa-signatures.v1.hkat", None)).all()
    blinded, signed = (read(f"rsa-{name}.v1.hkat", None) for name in ("blinded-items", "blind-signatures"))
    assert (sign(keys.private, blinded).to_limbs() == signed.to_limbs()).all()


@pytest.mark.long_cases("protected-key-file.v1.hkat-wire history")
@pytest.mark.parametrize(
    ("name", "passphrase"), [("protected-key-file.v1.hkat", history.PASSPHRASE), ("owner-key-file.v1.hkat", None)]
)
def test_key_files_still_open(name: str, passphrase: bytes | None, key: PrivateKey, tmp_path: Path) -> None:
    # A clone's files may be readable by others; a key file in use may not.
    copy = tmp_path / "key"
    copy.write_bytes((HERE / name).read_bytes())
    copy.chmod(0o600)
    assert load_private_key(copy, passphrase) == key
