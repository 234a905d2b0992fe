"""The snapshot before a run begins: what its job says of it."""

from __future__ import annotations

from math import prod

from hekat.job.averaging.job_file import AveragingJob
from hekat.job.encrypted_model.job_file import EncryptedModelJob
from hekat.job.horizontal.job_file import Job
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.job.load_any_job import AnyJob, roles_of
from hekat.job.psi.job_file import IntersectionJob
from hekat.job.vertical_network.job_file import NetworkJob
from hekat.job.vertical_trees.job_file import TreesJob
from hekat.live.state import LiveState, Participant, Played, RunHead
from hekat.model.model import Model


def first_state(
    job: AnyJob,
    played: Played,
    own_roles: tuple[str, ...] | None,
    value_count: int | None,
    *,
    tests_trained_on: bool = False,
) -> LiveState:
    """The state; `own_roles` None are all roles of the job. `tests_trained_on` as `RunHead` has it."""
    if isinstance(job, IntersectionJob):
        protocol, protection, central = "psi", job.settings.kind, None
    elif isinstance(job, Job):
        protocol, protection, central = "horizontal", job.settings.protection, job.settings.aggregator
    elif isinstance(job, RowTreesJob):
        protocol, protection, central = "horizontal_trees", job.settings.protection, job.settings.aggregator
    elif isinstance(job, EncryptedModelJob):
        protocol, protection, central = "encrypted_model", job.settings.protection, job.settings.aggregator
    elif isinstance(job, AveragingJob):
        protocol, protection, central = "averaging", job.settings.protection, job.settings.aggregator
    elif isinstance(job, TreesJob):
        protocol, protection, central = "vertical_trees", job.settings.protection, None
    elif isinstance(job, NetworkJob):
        protocol, protection, central = "vertical_network", job.settings.protection, None
    else:
        protocol, protection, central = "vertical_linear", job.settings.protection, job.settings.arbiter
    roles = tuple(roles_of(job))
    head = RunHead(
        job.name, protocol, protection, played, own_roles or roles, central, tests_trained_on=tests_trained_on
    )
    participants = tuple(Participant(name, name == central) for name in roles)
    return LiveState(head, participants=participants, values_each_round=value_count)


def count_values(model: Model) -> int:
    """The count of numbers in one update of the model: of every tensor that training changes."""
    return sum(prod(shape) for name, shape in model.parameter_shapes.items() if name not in model.frozen)
