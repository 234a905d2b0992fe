"""A job that goes on with the network of an earlier run: each party with its own part, checked before all else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hekat.data import describe_schema_difference
from hekat.errors import InputError
from hekat.job.vertical_network.job_file import PROTOCOL
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.run.vertical.earlier_run import read_run_id
from hekat.run.vertical_network.load_inputs import NetworkInputs
from hekat.run.vertical_network.part_file import NETWORK_PARTS


@dataclass(frozen=True)
class NetworkStart:
    """The run that is started from, and each party's part of its model."""

    run_id: str
    parts: Mapping[str, NetworkPart] = field(repr=False)


def load_network_start(run_folder: Path, inputs: NetworkInputs) -> NetworkStart:
    """What the parties of a loaded job start from; nothing is written or sent.

    Raises StateError where `run_folder` is not of a finished run of a split network or its parts are not whole,
    InputError where they are of another task, shape, classes, parties or columns than the job's.
    """
    run_id = read_run_id(run_folder, PROTOCOL, "a split network")
    parts = {party: saved.part for party, saved in NETWORK_PARTS.load_all(run_folder).items()}
    for party, part in parts.items():
        # There is no table for a part of other parties; it is refused before its columns are checked.
        table = inputs.tables.get(party)
        _check_start(part, inputs.job.settings, () if table is None else table.feature_names)
    return NetworkStart(run_id, parts)


def _check_start(part: NetworkPart, settings: VerticalNetworkSettings, columns: tuple[str, ...]) -> None:
    """Raise InputError unless training by `settings` on a party's `columns` may go on with its `part`."""
    same = "the same, in their order"
    for what, expected, got in (
        ("parties", _name_parties(settings.guest, settings.hosts), _name_parties(part.guest, part.hosts)),
        ("task", settings.task, part.task),
        ("classes", str(settings.classes), str(part.classes)),
        ("bottoms at hosts", settings.host_bottom, part.host_bottom),
        ("layers", str(settings.network), str(part.network)),
        ("columns", same, describe_schema_difference(columns, part.columns) or same),
    ):
        if expected != got:
            raise InputError(
                f"a warm start from other {what} at {part.party}",
                expected=expected,
                got=f"in the earlier part: {got}",
                cure="begin anew, or start from a model of the same kind",
            )


def _name_parties(guest: str, hosts: tuple[str, ...]) -> str:
    return f"guest {guest}; hosts {', '.join(hosts)}"
