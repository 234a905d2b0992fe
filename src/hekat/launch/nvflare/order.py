"""What an NVIDIA FLARE job carries of a Hekat job: its text, its digest, which site plays which role, the run's name.

All of it is the job writer's word. A site takes nothing else from the job: data, keys, leave and code are its own.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import JobError
from hekat.job.job_head import read_head
from hekat.job.load_any_job import AnyJob, aggregator_of, check_is_played, load_any_job, roles_of
from hekat.job.section import read_bytes
from hekat.state.run_directory import is_run_id, new_run_id

SERVER = "server"
MAX_JOB_BYTES = 2**20


@dataclass(frozen=True)
class RunOrder:
    """`job_text` is the job file, letter by letter; `sites` names each role's site, `server` the engine's server."""

    job_text: bytes
    sites: Mapping[str, str]
    run_id: str
    resume: str = ""
    """The run that every site goes on with, from its own folder; "" for a new one."""

    @property
    def digest(self) -> bytes:
        """SHA-256 of the job file."""
        return hashlib.sha256(self.job_text).digest()

    @property
    def client_sites(self) -> list[str]:
        """The sites of all roles that the server does not play."""
        return [site for site in self.sites.values() if site != SERVER]

    def role_at(self, site: str) -> str | None:
        """The role that `site` plays, if it plays one."""
        return next((role for role, named in self.sites.items() if named == site), None)

    def to_arguments(self) -> dict[str, object]:
        """As arguments of a component in the engine's job. Base64: the engine replaces {names} in texts."""
        return {
            "job": base64.b64encode(self.job_text).decode(),
            "digest": self.digest.hex(),
            "sites": dict(self.sites),
            "run_id": self.run_id,
            **({"resume": self.resume} if self.resume else {}),
        }

    @classmethod
    def from_arguments(cls, arguments: object) -> RunOrder:
        """What `to_arguments` gave, as it arrived. Raises JobError for anything else."""
        given = arguments if isinstance(arguments, Mapping) else {}
        job, digest, sites, run_id = (given.get(name) for name in ("job", "digest", "sites", "run_id"))
        resume = given.get("resume", "")
        try:
            text = base64.b64decode(job, validate=True) if isinstance(job, str) else None
        except (binascii.Error, ValueError):
            text = None
        if text is None or len(text) > MAX_JOB_BYTES:
            raise _refusal("no job text", "job.toml in base64, up to 1 MiB")
        if digest != hashlib.sha256(text).hexdigest():
            raise _refusal("a text of another digest", "the digest of the job text that comes with it")
        if not isinstance(sites, Mapping) or not all(isinstance(one, str) for one in (*sites, *sites.values())):
            raise _refusal("no names of sites", "a site's name for each role")
        if len(set(sites.values())) != len(sites):
            raise _refusal("one site with two roles", "a site of its own for each role")
        if not is_run_id(run_id):
            raise _refusal("a run's name that is no run id", "UTC time and six hexadecimal digits")
        if resume != "" and (not is_run_id(resume) or resume == run_id):
            raise _refusal("a run to resume that is no run id", "the id of an earlier run")
        return cls(text, dict(sites), run_id, resume)

    @contextmanager
    def as_file(self) -> Iterator[Path]:
        """The job as a file that is gone after the block. Raises StateError."""
        with disk_errors_as_state_errors("the job that came with the order cannot be kept"):
            folder = tempfile.TemporaryDirectory(prefix="hekat-")
        with folder as place:
            path = Path(place) / "job.toml"
            with disk_errors_as_state_errors("the job that came with the order cannot be kept"):
                path.write_bytes(self.job_text)
            yield path

    def check_roles(self, job: AnyJob) -> None:
        """Raise JobError where other roles have sites than the job has, or the server would see what it may not."""
        if sorted(self.sites) != sorted(roles_of(job)):
            raise _refusal(
                f"sites for {', '.join(sorted(self.sites)) or 'nobody'}",
                f"a site for each of {', '.join(roles_of(job))}",
            )
        at_server = self.role_at(SERVER)
        if at_server is not None and at_server != server_role_of(job):
            raise _refusal(
                f"{at_server} at the server", "a client's site for every role but a horizontal job's aggregator"
            )


def server_role_of(job: AnyJob) -> str | None:
    """The one role that the engine's server may play: it holds no rows, and nothing that opens what others send."""
    return aggregator_of(job)


def checked_arguments(order: object) -> dict[str, object]:
    """`order` as a component of the engine's job may have it: texts, and texts by name. Raises JobError otherwise."""
    if not isinstance(order, dict) or not all(_is_plain(value) for value in order.values()):
        raise _refusal(type(order).__name__, "an order of texts, as RunOrder.to_arguments gives it")
    return order


def make_order(path: Path, sites: Mapping[str, str] | None = None, resume: str | None = None) -> RunOrder:
    """An order for the job at `path`, under a new run id; `resume` is the run that it goes on with.

    `sites` names the sites of roles whose site is not called as they are; a horizontal job's aggregator is at the
    server if not said otherwise. Raises JobError.
    """
    check_is_played(read_head(path).protocol)
    job = load_any_job(path)
    default = {role: SERVER if role == server_role_of(job) else role for role in roles_of(job)}
    if others := sorted(set(sites or {}) - set(default)):
        raise JobError(
            f"the job has no role {others[0][:64]!r}",
            expected=f"sites of {', '.join(default)}",
            got=", ".join(others),
            cure="correct sites=...",
        )
    if resume is not None and not is_run_id(resume):
        raise JobError(
            "there is no such run to resume",
            expected="the id of a run, as HekatRecipe.run_id and the names of run folders give it",
            got=repr(resume)[:64],
            cure="correct resume=...",
        )
    order = RunOrder(read_bytes(path, "job file"), {**default, **(sites or {})}, new_run_id(), resume or "")
    order.check_roles(job)
    return RunOrder.from_arguments(order.to_arguments())


def _is_plain(value: object) -> bool:
    within = value.values() if isinstance(value, dict) else (value,)
    return all(isinstance(one, str) for one in within)


def _refusal(got: str, expected: str) -> JobError:
    return JobError(
        "the engine's job is no order of Hekat's",
        expected=expected,
        got=got,
        cure="submit the job by HekatRecipe of the release that the sites have",
    )
