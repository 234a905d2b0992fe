"""What a role says when it joins a relay, and what the relay answers once every role of the run is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from hekat.errors import ChannelError, JobError
from hekat.state.file_format import this_release


@dataclass(frozen=True)
class JoinRequest:
    """Who joins, with which job and release. `job_digest` is SHA-256 of the job file, 64 hexadecimal digits."""

    role: str
    job_digest: str
    release: str

    @classmethod
    def of(cls, role: str, job_digest: bytes) -> JoinRequest:
        """The request of this process."""
        return cls(role, job_digest.hex(), this_release())

    def check_fits(self, mine: JoinRequest, roles: Collection[str]) -> None:
        """Raise JobError where this role does not belong to the run that `mine` (the relay's) describes."""
        if self.role not in roles:
            raise JobError(
                f"the job has no role {self.role!r}",
                expected=f"one of: {', '.join(roles)}",
                got=repr(self.role),
                cure="give --role a name that the job names",
            )
        if self.release != mine.release:
            raise JobError(
                f"{self.role!r} is played by another release of Hekat",
                expected=f"release {mine.release}, as the relay's",
                got=f"release {self.release[:32]}",
                cure="install one release at every party",
            )
        if self.job_digest != mine.job_digest:
            raise JobError(
                f"{self.role!r} was given another job",
                expected=f"the relay's job, digest {mine.job_digest[:16]}",
                got=f"digest {self.job_digest[:16]}",
                cure="give all parties the same job file, letter by letter",
            )


@dataclass(frozen=True)
class RunTerms:
    """What every role of the run is told: the run's id and the roles."""

    run_id: str
    roles: tuple[str, ...]

    def to_header(self) -> dict[str, Any]:
        return {"run_id": self.run_id, "roles": list(self.roles)}

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> RunTerms:
        """The terms as the relay told them: its claim, held against the job by who plays a role. Raises ChannelError
        for what tells none."""
        run_id, roles = header.get("run_id"), header.get("roles")
        if not isinstance(run_id, str) or not isinstance(roles, list):
            raise ChannelError(
                "the relay does not say what it serves",
                expected="the run's id and its roles",
                got="something else",
                cure="find out who serves the relay",
            )
        return cls(run_id, tuple(str(role) for role in roles))
