"""What roles show each other before a run over an engine: job and release. Unsigned, so only to find mistakes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from hekat.errors import JobError
from hekat.state.file_format import this_release


@dataclass(frozen=True)
class RoleCard:
    """`job` is the digest of the job file, 64 hexadecimal digits. `binding` ties the role's key to an engine's, or is
    "": it is checked by whoever asks for one."""

    job: str
    release: str
    binding: str = ""

    @classmethod
    def of(cls, job_digest: bytes, binding: str = "") -> RoleCard:
        """The card of this process."""
        return cls(job_digest.hex(), this_release(), binding)

    def encode(self) -> bytes:
        return json.dumps(asdict(self), sort_keys=True).encode()

    def check_shown(self, role: str, shown: bytes) -> RoleCard:
        """The card that `role` shows. Raises JobError for another job or release: by clearer words than sessions do."""
        try:
            content = json.loads(shown)
            other = RoleCard(content["job"], content["release"], str(content.get("binding", "")))
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            other = RoleCard("", "")
        if other.release != self.release:
            raise JobError(
                f"{role!r} is played by another release of Hekat",
                expected=f"release {self.release}",
                got=f"release {str(other.release)[:32]!r}",
                cure="install one release at every site",
            )
        if other.job != self.job:
            raise JobError(
                f"{role!r} was given another job",
                expected=f"digest {self.job[:16]}",
                got=f"digest {str(other.job)[:16]!r}",
                cure="submit the job anew, by one HekatRecipe",
            )
        return other
