"""A job of trees under the protection that it does not name: what that costs, and on which lines it ends sooner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from hekat.cost.rehearsed_steps import Cost
from hekat.cost.vertical_trees import cost_of_trees_job
from hekat.errors import BoundError, PartyStoppedError
from hekat.protocol.vertical_trees.settings import Protection, VerticalTreesSettings
from hekat.run.vertical_trees.load_inputs import TreesInputs

OTHER: Final[Mapping[str, Protection]] = {"lattice": "paillier", "paillier": "lattice"}
MOST_COLUMNS: Final = 256
"""Of all hosts: with more, a rehearsal under Paillier takes minutes."""


@dataclass(frozen=True)
class OtherProtection:
    """All roles' work and bytes of a whole training under `kind`, beside those under the job's `own_kind`."""

    own_kind: str
    own: Cost
    kind: str
    other: Cost

    @property
    def even_bits_per_s(self) -> float | None:
        """The line on which both end at once, if all bytes pass it one after the other; None where one of the two
        works less and sends less, and so ends sooner on every line."""
        bits, seconds = self.own.sent_bytes - self.other.sent_bytes, self.other.seconds - self.own.seconds
        return 8 * bits / seconds if bits * seconds > 0 else None

    def say(self) -> str:
        """Both figures and which is cheaper where, for a reader."""
        told = (
            f"Under '{self.kind}' all roles would work {self.other.seconds:,.1f} s and send "
            f"{self.other.sent_bytes / 1e6:,.1f} MB, under '{self.own_kind}' {self.own.seconds:,.1f} s and "
            f"{self.own.sent_bytes / 1e6:,.1f} MB: "
        )
        even = self.even_bits_per_s
        own_works_less = self.own.seconds <= self.other.seconds
        works_less, other = (self.own_kind, self.kind) if own_works_less else (self.kind, self.own_kind)
        if even is None:
            return f"{told}'{works_less}' ends sooner on every line."
        return f"{told}'{other}' ends sooner on lines of less than {even / 1e6:,.0f} Mbit/s, '{works_less}' on others."

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        even = self.even_bits_per_s
        return {"kind": self.kind, "total": asdict(self.other), "even_mbit_per_s": None if even is None else even / 1e6}


def cost_under_other(inputs: TreesInputs, own: Cost, iterations_done: int = 0) -> OtherProtection | str:
    """The cost under the other protection, `own` being the cost under the job's; else why nothing is told of it.

    It is rehearsed as the job's own cost is, with a Paillier key of the size that such a job has unless it names one.
    """
    job, settings = inputs.job, inputs.job.settings
    kind = OTHER.get(settings.protection)
    if kind is None:
        return "a run in the clear has none beside it"
    if kind not in inputs.site.policy.protections:
        return f"the site does not allow protection '{kind}'"
    columns = sum(inputs.tables[host].features.shape[1] for host in settings.hosts)
    if kind == "paillier" and columns > MOST_COLUMNS:
        return f"{columns:,} columns of hosts take long to rehearse under '{kind}'"
    bits = settings.key_bits if settings.protection == "paillier" else VerticalTreesSettings.key_bits
    other = replace(inputs, job=replace(job, settings=replace(settings, protection=kind, key_bits=bits)), key_pair=None)
    try:
        found = cost_of_trees_job(other, iterations_done).total
    except PartyStoppedError as error:
        if not isinstance(error.__cause__, BoundError):
            raise
        return f"'{kind}' has no room for the job's sums"
    return OtherProtection(settings.protection, own, kind, found)
