"""One role of a joint prediction, loaded and checked at its own site, where only its own part of the model lies.

The job that trained the model says who the others are and which keys they have. It names neither the rows to predict
nor who learns their scores: each role's own command does. All say the same of them, or no session opens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hekat.engine.tenancy import declare_tenancy
from hekat.errors import JobError, SealError, StateError
from hekat.job.load_any_job import AnyJob, check_role, check_role_may_run, load_any_job
from hekat.job.party_keys import ONE_PROCESS
from hekat.job.policy.shared_checks import check_has_tables
from hekat.job.site_file import Site
from hekat.launch.vertical.predict import JointPredictions
from hekat.ledger import RecordedChannel
from hekat.protocol.stopwatch import Stopwatch
from hekat.run.load_keys import load_party_keys
from hekat.run.own_keys import OwnKeys
from hekat.run.role_folder import Place, open_role_folder
from hekat.run.timeout_hint import name_timeout_key

_DOMAIN: Final = b"hekat joint prediction v1"
PlayPrediction = Callable[[Path, RecordedChannel, Stopwatch], JointPredictions]
"""What a role does over its open session, and what it knows then; the path is the folder of its ledger."""


@dataclass(frozen=True)
class TrainedRole:
    """A role of the training whose model is to predict: its own `run_folder`, and the job with every role's key."""

    role: str
    run_folder: Path
    job: AnyJob
    site: Site
    keys: OwnKeys = field(repr=False)

    @classmethod
    def load(cls, run_folder: Path, job_path: Path, site: Site, role: str, *, job_digest: str) -> TrainedRole:
        """`job_digest` (hexadecimal) is of the job that left `run_folder`, as its summary says.

        Raises JobError for a job without the role or without keys, or where the site has not the role's own; StateError
        for another job than the model's; PolicyError where the site has to approve the job and no longer does.
        """
        job = load_any_job(job_path)
        check_role(job, role)
        if job.digest.hex() != job_digest:
            raise StateError(
                f"the model in {run_folder} was not trained by {job_path}",
                expected=f"the job of digest {job_digest[:16]}",
                got=f"digest {job.digest.hex()[:16]}",
                cure="name the job file of the training, letter by letter",
            )
        if not job.party_keys:
            raise JobError(
                ONE_PROCESS,
                expected="a model of a job with [party_keys], which say who the others are",
                got=f"--role {role} for a job without them",
                cure="leave out --role, --job and --relay where all parts of the model lie on this machine",
            )
        check_has_tables(site, [role])
        check_role_may_run(site, job, role)
        own = load_party_keys(site, [role], {role: job.party_keys[role]})[role]
        return cls(role, run_folder, job, site, OwnKeys(own, job.party_keys))

    def digest_of(self, about: object) -> bytes:
        """What the session of a prediction is bound to: the job, and what every role's command says, as a text."""
        return hashlib.sha256(_DOMAIN + self.job.digest + repr(about).encode()).digest()


@dataclass(frozen=True)
class LoadedPrediction:
    """A role whose rows are read and whose prediction its site allows; nothing is written or sent before `play`."""

    trained: TrainedRole
    roles: tuple[str, ...]
    """All roles of the prediction."""
    digest: bytes
    protocol: str
    _play: PlayPrediction = field(repr=False)

    @property
    def keys(self) -> OwnKeys:
        """The role's own key, and the public ones of the roles that take part."""
        keys = self.trained.keys
        return OwnKeys(keys.own, {name: keys.public[name] for name in self.roles})

    def play(self, place: Place) -> JointPredictions:
        """Play the role to its end; answers are there if it is a receiver. Raises what the role raises."""
        job = self.trained.job
        with (
            declare_tenancy(self.trained.site.machine.single_tenant),
            open_role_folder(place, job.name, self.digest, self.protocol, self.roles) as folder,
        ):
            stopwatch = folder.session.stopwatch
            try:
                found = folder.session.play(
                    place.channel, lambda channel: self._play(folder.path, channel, stopwatch), counts_rounds=False
                )
            except SealError as error:
                error.add_note("all roles have to name the same --source, receivers and party that asks")
                raise
            except Exception as error:
                raise (name_timeout_key(error, job.timeout_s) or error) from error.__cause__
            folder.events.write("finished", rows=found.common)
            return found
