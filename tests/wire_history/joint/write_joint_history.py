"""Writes stored messages of split networks and of training on an encrypted model, of the current versions:
`python tests/wire_history/joint/write_joint_history.py`.

Run it when a new kind or a new version of a kind appears. It adds files that are not there yet and never touches one
that is: every release has to go on reading what an earlier one wrote, or to refuse it by its version.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from hekat.protocol.encrypted_model import messages as encrypted_model
from hekat.protocol.encrypted_model.prediction import messages as encrypted_prediction
from hekat.protocol.vertical_network import messages as vertical_network
from hekat.protocol.vertical_network.guest_layer import messages as guest_layer
from hekat.protocol.vertical_network.prediction import messages as network_prediction
from hekat.protocol.vertical_network.sealed import messages as sealed_network
from hekat.wire import kind_name, to_bytes
from hekat.wire.kinds import kind_of

HERE = Path(__file__).resolve().parent
MODULES = (vertical_network, network_prediction, guest_layer, sealed_network, encrypted_model, encrypted_prediction)
_VALUES: dict[Any, Any] = {
    bool: True,
    int: 23,
    str: "model-1",
    bytes: bytes(range(40)),
    list[str]: ["north", "Größe"],
    list[int]: [3, 2**40],
    list[bytes]: [b"one", bytes(20)],
}


def classes() -> list[type[Any]]:
    """Every message of the two protocols."""
    found = [one for module in MODULES for one in vars(module).values() if dataclasses.is_dataclass(one)]
    return [one for one in found if isinstance(one, type) and one.__module__ in {it.__name__ for it in MODULES}]


def path_of(cls: type[Any]) -> Path:
    """Where the current version of the kind lies."""
    return HERE / f"{kind_name(cls).replace('/', '.')}.v{kind_of(cls).version}.hkat"


def made(cls: type[Any]) -> Any:
    """The message that the stored file holds."""
    hints = get_type_hints(cls)
    return cls(**{field.name: _value(hints[field.name]) for field in dataclasses.fields(cls)})


def _value(kind: Any) -> Any:
    if kind in _VALUES:
        return _VALUES[kind]
    (dtype,) = kind.__args__[1].__args__  # of an array
    return np.arange(12, dtype=dtype).reshape(2, 3, 2)


if __name__ == "__main__":
    for message in classes():
        path = path_of(message)
        if not path.exists():
            path.write_bytes(to_bytes(made(message)))
