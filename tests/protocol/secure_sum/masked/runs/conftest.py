"""Whole runs under protection `lattice` in this process, in which any role's channel or parts may be meddled with."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.protocol.horizontal.rehearsal import Rehearsal

from hekat.data import Table
from hekat.errors import ChannelError, HekatError
from hekat.ledger import RecordedChannel
from hekat.model import make_model
from hekat.protocol.horizontal.settings import HorizontalSettings, TrainingSettings
from hekat.protocol.horizontal.training.training_state import TrainingState
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.protocol.secure_sum.masked import draw_members as draw
from hekat.protocol.secure_sum.masked.messages import OpenedMessage
from hekat.protocol.secure_sum.masked.opening.release_record import RowsInJob
from hekat.protocol.secure_sum.masked.release_key import ReleaseKey
from hekat.protocol.secure_sum.masked.upload_state import UploadState, open_upload_state
from hekat.protocol.secure_sum.settings import CodecSettings
from hekat.wire import to_bytes

NAMES = ("a", "b", "c", "d", "e", "f", "g", "h")
AGGREGATOR = "hub"
AUTHORITY = "notary"
JOB_DIGEST = bytes(32)
ONE_ROUND = TrainingSettings(
    algorithm="fedsgd", round_count=1, batch_rows=0, learning_rate=0.5, standardise=False, seed=3
)
FIXED = CodecSettings(clipping="fixed", alpha=4.0)
STEP_TOLERANCE = 1.5e-4
Hook = Callable[[str, str], None]
# What leaves in place of a message: nothing, one or several (step, message).
Rule = Callable[[str, str, Any], Iterable[tuple[str, Any]]]


class Meddler:
    """A role's channel of which `outgoing(to, step, message)` says what is really sent, `incoming` sees what came."""

    def __init__(
        self,
        channel: RecordedChannel,
        outgoing: Rule | None = None,
        incoming: Callable[[str, str, Any], Any] | None = None,
    ) -> None:
        self._channel, self._outgoing, self._incoming = channel, outgoing, incoming

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    def send(self, to: str, step: str, message: Any, timeout_s: float | None = None) -> bytes:
        """The digest is that of the message that the role meant to send."""
        sent = [(step, message)] if self._outgoing is None else self._outgoing(to, step, message)
        for other_step, other in sent:
            self._channel.send(to, other_step, other, timeout_s)
        return hashlib.sha256(to_bytes(message)).digest()

    def receive(self, sender: str, step: str, message_type: type, timeout_s: float | None = None) -> Any:
        return self.receive_digested(sender, step, message_type, timeout_s)[0]

    def receive_digested(
        self, sender: str, step: str, message_type: type, timeout_s: float | None = None
    ) -> tuple[Any, bytes]:
        message, digest = self._channel.receive_digested(sender, step, message_type, timeout_s)
        return (message if self._incoming is None else self._incoming(sender, step, message)), digest


class Watch:
    """What a meddled role is told, and what it sends as `change` says: another message, a list of (step, message).

    With `take`, the role takes what it is told for something else, or for what it is where that is None.
    """

    def __init__(
        self, change: Callable[[str, str, Any], Any], take: Callable[[str, str, Any], Any] | None = None
    ) -> None:
        self.received: list[tuple[str, str, object]] = []
        self._change, self._take = change, take

    def outgoing(self, to: str, step: str, message: Any) -> list[tuple[str, Any]]:
        changed = self._change(to, step, message)
        if isinstance(changed, list):
            return changed
        return [(step, message if changed is None else changed)]

    def incoming(self, sender: str, step: str, message: Any) -> Any:
        self.received.append((sender, step, message))
        taken = None if self._take is None else self._take(sender, step, message)
        return message if taken is None else taken

    def senders_of(self, kind: type, part: str = "") -> list[str]:
        """Who sent messages of the kind whose step's name, or whose field that names the sum, has the part in it."""
        return [
            sender
            for sender, step, message in self.received
            if isinstance(message, kind) and (part in step or part in getattr(message, "step", ""))
        ]

    @property
    def opened_at(self) -> list[str]:
        return [sender for sender, _, message in self.received if isinstance(message, OpenedMessage) and message.opened]


@dataclass
class MaskedRehearsal(Rehearsal):
    """A rehearsal in which `meddlers` wrap a role's channel; `hooks` are called ahead of each part of an upload."""

    meddlers: Mapping[str, Callable[[RecordedChannel], Any]] = field(default_factory=dict)
    hooks: Mapping[str, Hook] = field(default_factory=dict)
    sessions: list[bytes] = field(default_factory=list)

    def _play(self, name: str, channel: RecordedChannel) -> TrainingState | None:
        if name == self.settings.aggregator:
            self.sessions.append(channel.session_id)
        meddled = name in self.meddlers and name not in self.stand_ins
        return super()._play(name, self.meddlers[name](channel) if meddled else channel)

    def _party_run(self, name: str, *others: Any) -> Any:
        run = super()._party_run(name, *others)
        return replace(run, before=self.hooks[name]) if name in self.hooks else run

    @property
    def reasons(self) -> str:
        return " | ".join(str(error) for error in self.lost)

    @property
    def lost_names(self) -> list[str]:
        return [error.party for error in self.lost]


def make_settings(
    party_count: int = 5,
    opening: str = "committee",
    *,
    training: TrainingSettings = ONE_ROUND,
    codec: CodecSettings = FIXED,
    **others: Any,
) -> HorizontalSettings:
    return HorizontalSettings(
        parties=NAMES[:party_count],
        aggregator=AGGREGATOR,
        classes=("no", "yes"),
        weight_max=64,
        protection="lattice",
        opening=opening,  # type: ignore[arg-type]
        authority=AUTHORITY if opening == "authority" else None,
        training=training,
        codec=codec,
        allow_two_parties=party_count == 2,
        **others,
    )


def make_tables(seed: int = 1) -> dict[str, Table]:
    """Tables of eight parties with 3 columns and labels that depend on them; 9 to 40 rows."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=3)
    tables = {}
    for name, rows in zip(NAMES, (24, 9, 40, 17, 31, 12, 20, 28), strict=True):
        features = rng.normal(size=(rows, 3))
        labels = (features @ direction + 0.3 * rng.normal(size=rows) > 0).astype(np.int64)
        tables[name] = Table(features, labels, ("u", "v", "w"), name)
    return tables


def one_step_of(parties: Iterable[str], tables: Mapping[str, Table], training: TrainingSettings = ONE_ROUND) -> Any:
    """Parameters after one round of gradient descent on all rows of these parties, in floats."""
    model = make_model("logistic", 3, 2)
    parameters = model.init(0)
    chosen = [tables[party] for party in parties]
    gradients = [model.loss_and_gradient(parameters, table.features, table.labels)[1] for table in chosen]
    rows = sum(len(table) for table in chosen)
    return {
        name: values
        - training.learning_rate
        * sum(len(table) * gradient[name] for table, gradient in zip(chosen, gradients, strict=True))
        / rows
        for name, values in parameters.items()
    }


@pytest.fixture(autouse=True)
def first_are_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members are the first seven parties, as if these had been drawn: tests call members, and the others, by name.

    Where the draw itself is tested, a fixture of this name that does nothing stands in its place.
    """
    monkeypatch.setattr(draw, "draw_members", lambda parties, words, count, job_digest: tuple(parties[:count]))


@pytest.fixture
def rehearse_masked(tmp_path: Path) -> Iterable[Callable[..., MaskedRehearsal]]:
    """Makes a run of `settings` (5 parties, a committee, one round) whose state folders stay for the next one.

    `state_folder` names other ones, `rows` what each role's record knows rows by; `.run()` plays it, checked
    unless told otherwise.
    """
    with ExitStack() as open_states:

        def make(
            settings: HorizontalSettings | None = None,
            *,
            tables: Mapping[str, Table] | None = None,
            state_folder: Path = tmp_path / "state",
            ledger_folder: Path | None = None,
            exactness_check: bool = True,
            timeout_s: float = 30.0,
            job_digest: bytes = JOB_DIGEST,
            rows: Callable[[str], RowsInJob | None] = lambda name: None,
            **others: Any,
        ) -> MaskedRehearsal:
            chosen = settings or make_settings()
            open_states.close()
            states: dict[str, UploadState] = {}
            for name in chosen.everyone:
                if name != chosen.aggregator:
                    states[name] = open_upload_state(state_folder / name, job_digest, rows(name), durable=False)
                    open_states.enter_context(states[name].uploads)
            return MaskedRehearsal(
                chosen,
                tables or make_tables(),
                job_digest=job_digest,
                timeout_s=timeout_s,
                ledger_folder=ledger_folder,
                exactness_check=ExactnessCheck() if exactness_check else None,
                upload_states=states,
                **others,
            )

        yield make


@pytest.fixture(scope="session")
def masked_settings() -> Callable[..., HorizontalSettings]:
    return make_settings


@pytest.fixture(scope="session")
def masked_tables() -> Callable[..., dict[str, Table]]:
    return make_tables


@pytest.fixture(scope="session")
def float_step() -> Callable[..., Any]:
    return one_step_of


@pytest.fixture(scope="session")
def expect_step() -> Callable[[TrainingState, Iterable[str]], None]:
    """Asserts that one round's state is a step on the rows of exactly these parties."""

    def check(state: TrainingState, parties: Iterable[str]) -> None:
        wanted = one_step_of(parties, make_tables())
        for name, values in wanted.items():
            # Half a level of 16 bits, for each party, times weight_max over all rows and the rate: at most 1.2e-4.
            assert np.abs(state.parameters[name] - values).max() < STEP_TOLERANCE, name

    return check


@pytest.fixture(scope="session")
def leave_at() -> Callable[..., Hook]:
    """`leave_at(step, part)` as an entry of `hooks`: the party leaves the run ahead of that part."""

    def make(step: str, part: str = "sign") -> Hook:
        def hook(now_step: str, now_part: str) -> None:
            if (now_step, now_part) == (step, part):
                raise ChannelError(f"left before {part}")

        return hook

    return make


@pytest.fixture(scope="session")
def meddle() -> Callable[..., Callable[[RecordedChannel], Meddler]]:
    """`meddle(outgoing, incoming)` as an entry of `meddlers`."""
    return lambda outgoing=None, incoming=None: lambda channel: Meddler(channel, outgoing, incoming)


@pytest.fixture
def lie_in_releases(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has members of `liars` seal and sign `change(content, index)` in place of each release; `index` counts from 0."""

    def begin(liars: Collection[str], change: Callable[[bytes, int], bytes]) -> None:
        seal = ReleaseKey.seal
        sealed: Counter[str] = Counter()

        def lie(self: ReleaseKey, member: str, content: bytes) -> bytes:
            if member in liars:
                content = change(content, sealed[member])
                sealed[member] += 1
            return seal(self, member, content)

        monkeypatch.setattr(ReleaseKey, "seal", lie)

    return begin


@pytest.fixture
def play(rehearse_masked: Callable[..., MaskedRehearsal]) -> Callable[..., Any]:
    """Runs where `change(to, step, message)` alters what the aggregator (or `role`) sends; None leaves it as it is.

    `take(sender, step, message)` alters what that role makes of what it receives; `meddlers` are those of other roles.
    Returns the rehearsal, what that role received, and the error that ended the run or None.
    """

    def run(
        change: Callable[[str, str, Any], Any],
        *,
        role: str = AGGREGATOR,
        take: Callable[[str, str, Any], Any] | None = None,
        meddlers: Mapping[str, Callable[[RecordedChannel], Any]] | None = None,
        **others: Any,
    ) -> tuple[MaskedRehearsal, Watch, HekatError | None]:
        watch = Watch(change, take)
        meddler = {role: lambda channel: Meddler(channel, watch.outgoing, watch.incoming)}
        rehearsal = rehearse_masked(meddlers={**meddler, **(meddlers or {})}, **others)
        try:
            rehearsal.run()
        except HekatError as error:
            return rehearsal, watch, error
        return rehearsal, watch, None

    return run
