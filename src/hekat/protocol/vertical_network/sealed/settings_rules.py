"""What a job of a sealed network may say: two parties, two classes, squares of the columns themselves."""

from __future__ import annotations

from typing import Final, NoReturn

from hekat.errors import JobError
from hekat.protocol.vertical_network.network_settings import NetworkShape, NetworkTraining

MOST_ROWS: Final = 8192
"""The slots of a ciphertext: a unit's numbers of one batch lie in one block."""
RULED_RATE: Final = 0.1
"""The rate where the job names none."""
TRAINING: Final = NetworkTraining(limit_spreads=3.0)
"""How a sealed network trains where a job file does not say: squares of squares are steep, and so tails are cut."""
_IN_SHAPE: Final = ("guest_width", "host_width", "host_widths", "bottom_hidden", "top_hidden", "activation")
UNUSED: Final = (*(f"network.{name}" for name in _IN_SHAPE), "training.learning_rate")
"""Keys of other forms: nothing of a sealed network has hidden layers, an activation but squares, or Adam."""
_OTHER_FORM: Final = "set protection.form = 'shared', which has them and opens more"


def check_sealed(
    network: NetworkShape,
    training: NetworkTraining,
    *,
    host_count: int,
    task: str,
    host_bottom: str,
    label_privacy: float | None,
) -> None:
    """Raise JobError, with the cure, for what form sealed does not have."""
    if host_count != 1:
        _refuse(
            "hosts",
            "one host: all weights lie in shares of two parties",
            f"{host_count}",
            "let the other hosts leave, or " + _OTHER_FORM,
        )
    if task != "binary":
        _refuse("model.task", "'binary': its loss is of labels 1 and -1", repr(task), _OTHER_FORM)
    if host_bottom != "source":
        _refuse(
            "protection.host_bottom",
            "'source': squares are of the columns themselves",
            repr(host_bottom),
            "leave the line out; columns that a party makes of its own are columns like others",
        )
    if label_privacy is not None:
        _refuse(
            "label_privacy.epsilon",
            "no such line: no gradient opens to a host",
            f"{label_privacy:g}",
            "leave the section out",
        )
    if training.batch_rows > MOST_ROWS:
        _refuse("training.batch_rows", f"at most {MOST_ROWS:,}", f"{training.batch_rows:,}", "train in smaller batches")
    check_unused([name for name in UNUSED if _value_of(name, network, training) != _usual(name)])


def check_unused(named: list[str]) -> None:
    """Raise JobError where a job says something that a sealed network has no use for."""
    if named:
        _refuse(
            named[0],
            "no such line: a sealed network has squares of network.units sums of columns, moved by "
            "training.shared_rate",
            "a value of its own",
            "leave the line out, or " + _OTHER_FORM,
        )


def _value_of(name: str, network: NetworkShape, training: NetworkTraining) -> object:
    section, key = name.split(".")
    return getattr(network if section == "network" else training, key)


def _usual(name: str) -> object:
    return _value_of(name, NetworkShape(), NetworkTraining())


def _refuse(key: str, expected: str, got: str, cure: str) -> NoReturn:
    raise JobError(f"{key} cannot be used with protection.form 'sealed'", expected=expected, got=got, cure=cure)
