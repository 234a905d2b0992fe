"""What the live page knows of a run: one snapshot of plain data, which a reducer makes of what the run says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

FORMAT = 1

Status = Literal["waiting", "running", "finished", "stopped"]
Played = Literal["in turn", "at once", "alone"]
Presence = Literal["awaited", "present", "lost", "ended"]


@dataclass(frozen=True)
class RunHead:
    """Which run it is. `own_roles` are those that this machine plays; `central` adds updates or opens sums, if any.

    `started_at` is UTC in ISO form, and `run_id` and it are empty until the run has a folder. `tests_trained_on`: all
    test rows are rows that this machine trains on.
    """

    job: str
    protocol: str
    protection: str
    played: Played
    own_roles: tuple[str, ...]
    central: str | None = None
    run_id: str = ""
    started_at: str = ""
    release: str = ""
    tests_trained_on: bool = False


@dataclass(frozen=True)
class Phase:
    """A training, or a comparison before it: `done` of `total` rounds or epochs."""

    name: str
    done: int
    total: int


@dataclass(frozen=True)
class Work:
    """A piece of work in which a role counts what is done."""

    name: str
    done: int
    total: int


@dataclass(frozen=True)
class Step:
    """The last step in which one of the machine's roles sent or received: "round-3" and "dealt" in it."""

    role: str
    group: str
    part: str
    time: str


@dataclass(frozen=True)
class Participant:
    """A role of the job as this machine sees it; `last_heard` is when a message of it came here last, UTC."""

    name: str
    is_central: bool
    presence: Presence = "awaited"
    last_heard: str = ""


@dataclass(frozen=True)
class Dropout:
    """A party that was lost."""

    party: str
    step: str
    reason: str


@dataclass(frozen=True)
class RoleWork:
    """What one of the machine's roles has done: seconds by part of its work, sealed bytes and messages.

    All is of the session that goes on, or went on last. `waiting_s` are the session's other seconds: for other roles
    and the network; 0 where roles take turns. Bytes count hellos and signatures. `cpu_s` and `memory_bytes` are of the
    role's own process, 0 where it has none.
    """

    role: str
    seconds: Mapping[str, float] = field(default_factory=dict)
    sent_bytes: int = 0
    received_bytes: int = 0
    sent_count: int = 0
    received_count: int = 0
    cpu_s: float = 0.0
    memory_bytes: int = 0
    waiting_s: float = 0.0


@dataclass(frozen=True)
class Machine:
    """The process that serves the page, and its machine.

    `cpu_share` is the processors in use since the reading before, 1.0 one of them. `gpu` is empty without one.
    """

    cores: int = 0
    cpu_s: float = 0.0
    cpu_share: float = 0.0
    memory_bytes: int = 0
    peak_memory_bytes: int = 0
    gpu: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RoundPoint:
    """A finished round or epoch: aggregates that the roles of this machine learned.

    `time` is UTC in ISO form, `seconds` since the round before it in its phase. `is_final`: no round, but what the
    final model was measured to be once the last round was over; `number` then counts as the next round would.
    """

    phase: str
    number: int
    loss: float | None
    time: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    validation: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    is_final: bool = False


@dataclass(frozen=True)
class Tells:
    """Fields of one message that tell the same: their class of disclosure, the explanation, their bytes."""

    how: str
    what: str
    byte_count: int


@dataclass(frozen=True)
class LedgerLine:
    """A line of a role's ledger: what passed and what it discloses, never its content."""

    role: str
    time: str
    direction: str
    peer: str
    step: str
    kind: str
    payload_bytes: int
    tells: tuple[Tells, ...] = ()


@dataclass(frozen=True)
class Seen:
    """What the central role could see of one kind: its class of disclosure, in how many messages, bytes before sealing.

    Where the central role plays elsewhere, what this machine's role sent it.
    """

    how: str
    kind: str
    what: str
    message_count: int
    byte_count: int


@dataclass(frozen=True)
class LiveState:
    """The whole snapshot. `values_each_round` are the numbers of one update, None where none are sent.

    `stopped_by` names the kind of error that stopped the run; `ledger` holds the last lines, newest first.
    """

    run: RunHead
    status: Status = "waiting"
    stopped_by: str = ""
    now: str = ""
    phase: Phase | None = None
    works: tuple[Work, ...] = ()
    step: Step | None = None
    participants: tuple[Participant, ...] = ()
    dropouts: tuple[Dropout, ...] = ()
    roles: tuple[RoleWork, ...] = ()
    values_each_round: int | None = None
    rounds_sent: int = 0
    machine: Machine = field(default_factory=Machine)
    rounds: tuple[RoundPoint, ...] = ()
    ledger: tuple[LedgerLine, ...] = ()
    ledger_lines: int = 0
    seen: tuple[Seen, ...] = ()
    format: int = FORMAT

    @property
    def is_over(self) -> bool:
        """Whether nothing follows."""
        return self.status in ("finished", "stopped")

    @property
    def plain_bytes(self) -> int | None:
        """Bytes that a party would send, and receive, of plain float32 numbers in the rounds so far."""
        return None if self.values_each_round is None else 4 * self.values_each_round * self.rounds_sent

    def to_json(self) -> bytes:
        """The snapshot as JSON on one line, with `plain_bytes`."""
        content = {**asdict(self), "plain_bytes": self.plain_bytes}
        return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
