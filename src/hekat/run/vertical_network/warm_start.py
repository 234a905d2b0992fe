"""A job that goes on with the network of an earlier run: each party with its own part, checked before all else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hekat.job.vertical_network.job_file import PROTOCOL, NetworkJob
from hekat.model.split import DENSE, MODULE
from hekat.protocol.vertical_network.model_part import NetworkPart, usual_top_kind
from hekat.protocol.vertical_network.own_features import check_goes_on
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
    InputError where they are of another task, shape, top, classes, parties or columns than the job's.
    """
    run_id = read_run_id(run_folder, PROTOCOL, "a split network")
    parts = {party: saved.part for party, saved in NETWORK_PARTS.load_all(run_folder).items()}
    for party, part in parts.items():
        # There is no table for a part of other parties; it is refused before its columns are checked.
        table = inputs.tables.get(party)
        columns = () if table is None else table.feature_names
        check_goes_on(part, inputs.job.settings, columns, _top_kind_of(party, inputs.job))
    return NetworkStart(run_id, parts)


def _top_kind_of(party: str, job: NetworkJob) -> str:
    usual = usual_top_kind(job.settings.form, is_guest=party == job.settings.guest)
    return MODULE if usual == DENSE and job.top is not None else usual
