"""Stored messages of split networks and of training on an encrypted model are read as they were written, or refused by
their version."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat import errors
from hekat.wire import from_bytes, kind_name
from hekat.wire.kinds import kind_of

HERE = Path(__file__).resolve().parent
specification = importlib.util.spec_from_file_location("hekat_joint_history", HERE / "write_joint_history.py")
assert specification is not None
assert specification.loader is not None
history = importlib.util.module_from_spec(specification)
sys.modules[specification.name] = history
specification.loader.exec_module(history)

CLASSES: dict[str, type[Any]] = {kind_name(cls).replace("/", "."): cls for cls in history.classes()}
STORED = sorted(path.name.removesuffix(".hkat") for path in HERE.glob("*.hkat"))


def test_of_every_stored_kind_the_current_version_is_stored() -> None:
    kinds = {name.rpartition(".v")[0] for name in STORED}
    missing = [history.path_of(CLASSES[kind]).name for kind in kinds if not history.path_of(CLASSES[kind]).exists()]
    assert not missing, "run write_joint_history.py"
    assert len(kinds) > 30


@pytest.mark.parametrize("name", STORED)
def test_a_stored_message_is_read_or_refused_by_its_version(name: str) -> None:
    kind, _, version = name.rpartition(".v")
    data, cls = (HERE / f"{name}.hkat").read_bytes(), CLASSES[kind]
    if int(version) != kind_of(cls).version:
        with pytest.raises(errors.WireVersionError, match=f"got version {version}"):
            from_bytes(data, cls)
        return
    found, expected = from_bytes(data, cls), history.made(cls)
    for field in dataclasses.fields(cls):
        one, other = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(other, np.ndarray):
            assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
        else:
            assert (one, type(one)) == (other, type(other))
