"""What roles keep of an encrypted model as files: read as written, and refused where damaged or made to do harm."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest
from tests.cli.predict.hostile import CUT_OR_CHANGED, RED, Change, at, change, cut_or_change, put, say

from hekat.data import ColumnSpecs
from hekat.errors import StateError
from hekat.protocol.encrypted_model.held_share import HeldShare
from hekat.protocol.encrypted_model.set_up.facts import ModelFacts
from hekat.protocol.encrypted_model.set_up.moments import Moments
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.encrypted_model.training_settings import EncryptedTraining
from hekat.run.encrypted_model.kept_part import KeptPart, load_kept_part, save_kept_part
from hekat.run.encrypted_model.kept_parts import load_kept_parts, settings_of
from hekat.run.predictions import KEPT_FOLDER
from hekat.state.array_file import decode_arrays, encode_arrays

KIND = "encrypted model part"
ROLES = ("north", "lake", "hub", "judge")
SETTINGS = EncryptedModelSettings(
    hosts=("north", "lake"),
    arbiter="judge",
    aggregator="hub",
    owner="lab",
    classes=("no", "yes"),
    allow_two_parties=True,
    training=EncryptedTraining(rounds=4),
)
SHARE = np.arange(12, dtype=np.uint64).reshape(6, 1, 2)


def part_of(role: str) -> KeptPart:
    facts = held = None
    if role in SETTINGS.hosts:
        facts = ModelFacts(("age", "dose"), Moments(50, np.array([1.0, 2.0]), np.array([0.5, 1.5])))
    else:
        held = HeldShare(SHARE, bytes(range(32)), 4)
    return KeptPart(role, "model", "clinics", SETTINGS, ColumnSpecs(), facts, held)


def write(folder: Path, role: str, how: Change) -> None:
    path = folder / KEPT_FOLDER / f"{role}.npz"
    metadata, arrays = decode_arrays(path.read_bytes(), KIND, "the part")
    how(metadata, arrays)
    path.write_bytes(encode_arrays(KIND, metadata, arrays))


@pytest.fixture
def folder(tmp_path) -> Path:
    for role in ROLES:
        save_kept_part(tmp_path, part_of(role))
    return tmp_path


def test_parts_are_read_as_they_were_written_by_their_owner_alone(folder) -> None:
    parts = load_kept_parts(folder, ROLES)
    assert settings_of(folder) == SETTINGS
    assert {part.column_count for part in parts.values()} == {2}
    host, holder = parts["lake"], parts["judge"]
    assert host.held is None
    assert (host.facts.columns, host.facts.moments.row_count) == (("age", "dose"), 50)
    assert holder.facts is None
    assert np.array_equal(holder.held.share, SHARE)
    assert (holder.held.transcript, holder.held.rounds_done) == (bytes(range(32)), 4)
    assert stat.S_IMODE((folder / KEPT_FOLDER).stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder / KEPT_FOLDER).iterdir()} == {0o600}
    assert "SHARE" not in repr(holder)
    assert "array" not in repr(holder)


def of_settings(**values) -> Change:
    return lambda metadata, arrays: metadata["settings"].update(values)


def of_training(**values) -> Change:
    return lambda metadata, arrays: metadata["settings"]["training"].update(values)


OF_ALL: dict[str, tuple[Change, str]] = {
    "another role": (say(role="lab"), "a part of"),
    "a role of the other kind": (say(role="north"), "does not say how to predict"),
    "a name that colours the terminal": (say(job=RED), "control characters"),
    "a model without a name": (say(model_id=None), "names that are no texts"),
    "no settings": (say(settings=[]), "does not say how to predict"),
    "hosts in a text": (of_settings(hosts="north"), "hosts that are no list of texts"),
    "one host": (of_settings(hosts=["north"]), "hosts refused"),
    "an arbiter that is a path": (of_settings(arbiter="../judge"), "does not say how to predict"),
    "a key of another": (of_settings(spy=1), "does not say how to predict"),
    "leave of two hosts in words": (of_settings(allow_two_parties="yes"), "leave of two hosts"),
    "rounds in words": (of_training(rounds="4"), "training.rounds refused"),
    "columns that are no table": (say(column_specs=3), "columns are not described as a table"),
    "a format of the future": (say(format=2), "another format"),
    # Whole by themselves, and not as the others.
    "another model": (say(model_id="other"), "not of one model"),
    "classes of its own": (of_settings(classes=["yes", "no"]), "not of one model"),
}
OF_A_HOST: dict[str, tuple[Change, str]] = {
    "no columns": (say(columns=[]), "no columns"),
    "columns that repeat": (say(columns=["age", "age"]), "columns that repeat"),
    "rows in words": (say(row_count="50"), "a number of rows that is none"),
    "a mean of NaN": (change("means", at(0, np.nan)), "a standardiser of other columns, or no numbers"),
    "a spread beyond reason": (change("spreads", at(0, np.inf)), "a standardiser of other columns, or no numbers"),
    "a spread of nothing": (change("spreads", at(1, 0.0)), "a spread that is none"),
    "a mean more": (put("means", np.ones(3)), "a standardiser of other columns"),
    "means of its own": (change("means", at(0, 7.0)), "not of one model"),
}
OF_A_HOLDER: dict[str, tuple[Change, str]] = {
    "a share of numbers": (change("share", lambda share: share.astype(np.float64)), "of another kind or shape"),
    "a share of one limb": (change("share", lambda share: share[..., 0]), "of another kind or shape"),
    "half a velocity": (change("share", lambda share: share[:5]), "of another kind or shape"),
    "an intercept alone": (change("share", lambda share: share[:2]), "of another kind or shape"),
    "more numbers than a model has": (put("share", np.zeros((10_000, 1, 2), np.uint64)), "too many numbers"),
    "a round on the way": (say(rounds_done=3), "another round than the last"),
    "a transcript cut": (change("transcript", lambda digest: digest[:31]), "a transcript that is none"),
    "a column less": (change("share", lambda share: share[:4]), "not of one model"),
}
CASES = [
    *((role, what, case) for role in ("lake", "judge") for what, case in OF_ALL.items()),
    *(("lake", what, case) for what, case in OF_A_HOST.items()),
    *(("judge", what, case) for what, case in OF_A_HOLDER.items()),
]


@pytest.mark.parametrize(
    ("role", "how", "match"),
    [(role, *case) for role, what, case in CASES],
    ids=[f"{role}: {what}" for role, what, case in CASES],
)
def test_a_part_made_to_do_harm_is_refused_in_words(folder, role, how, match) -> None:
    write(folder, role, how)
    with pytest.raises(StateError) as refused:
        load_kept_parts(folder, ROLES)
    assert match in str(refused.value)
    assert RED not in str(refused.value)


@CUT_OR_CHANGED
def test_a_damaged_part_is_refused(folder, length) -> None:
    cut_or_change(folder / KEPT_FOLDER / "hub.npz", length)
    with pytest.raises(StateError, match=r"hub\.npz"):
        load_kept_part(folder, "hub")


def test_a_folder_without_parts_is_refused(tmp_path) -> None:
    with pytest.raises(StateError, match="holds no part of a model"):
        settings_of(tmp_path)
