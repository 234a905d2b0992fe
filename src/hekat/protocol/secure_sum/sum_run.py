"""What one machine gives its role in the sums; none of it changes what is sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hekat.protocol.secure_sum.cost.packing import Packing
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.protocol.secure_sum.masked.messages import RunSecretsMessage
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.secure_sum.sum_plan import SumPlan
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.paillier import KeyPair


@dataclass(frozen=True)
class PartySumRun:
    """What a party's machine gives its side of the sums; `key_pair` is for the leader only.

    `digest_start`: the digest, under the parties' key, of the model that a resumed run goes on from; None where the run
    begins anew. `upload_state` is what protection `lattice` keeps on disk; `aggregator_timeout_s` how long the party
    waits for the aggregator (None: as for any role); `before` as in MaskedAggregation. `accept_members` raises where
    this site forms no committee with the drawn members; `on_members` receives them. `names_are_keys`: the job
    names party keys, so it was begun by a release that draws members. `told_secrets`: what the leader has told the
    others already; None where it is to tell them.
    """

    stopwatch: Stopwatch
    plan: SumPlan
    digest_start: Callable[[bytes], bytes] | None = None
    key_pair: KeyPair | None = field(default=None, repr=False)
    exactness_check: ExactnessCheck | None = None
    on_packing: Callable[[Packing], None] = lambda packing: None
    upload_state: UploadState | None = None
    aggregator_timeout_s: float | None = None
    before: Callable[[str, str], None] = lambda step, part: None
    accept_members: Callable[[tuple[str, ...]], None] = lambda members: None
    on_members: Callable[[tuple[str, ...]], None] = lambda members: None
    names_are_keys: bool = False
    told_secrets: RunSecretsMessage | None = field(default=None, repr=False)


@dataclass(frozen=True)
class AggregatorSumRun:
    """What the aggregator's machine gives its side; `step_timeout_s`: the time of one message or upload.

    `on_members` receives the drawn members.
    """

    stopwatch: Stopwatch
    plan: SumPlan
    step_timeout_s: float | None = None
    on_members: Callable[[tuple[str, ...]], None] = lambda members: None
