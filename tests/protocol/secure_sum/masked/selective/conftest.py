"""Sums with a mask at all roles in this process: what each party asks for, and whose channels are meddled with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.protocol.secure_sum.masked.runs.conftest import Meddler, Watch

from hekat.channel import PartyKey
from hekat.errors import PartyLostError
from hekat.ledger import RecordedChannel
from hekat.privacy.mask import Mask
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.secure_sum.aggregation import Aggregate, Counter, SumRequest
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.protocol.secure_sum.masked.key_authority import AuthorityRun, run_authority
from hekat.protocol.secure_sum.masked.upload_state import open_upload_state
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.settings import CodecSettings, SumSettings
from hekat.protocol.secure_sum.start_up import join_sums, needs_everybody, start_summation
from hekat.protocol.secure_sum.sum_plan import SumPlan
from hekat.protocol.secure_sum.sum_run import AggregatorSumRun, PartySumRun

NAMES = ("a", "b", "c", "d", "e", "f")
WEIGHT_MAX = 64
BOUNDS = {"bias": 2.0, "weight": 4.0}
WEIGHTS = dict(zip(NAMES, (5, 64, 17, 30, 9, 21), strict=True))
Ask = Callable[[str], Sequence[SumRequest]]


def make_settings(party_count: int = 5, opening: str = "committee", **others: Any) -> SumSettings:
    codec = {"clipping": "fixed", "alpha": 4.0, **others.pop("codec", {})}
    return SumSettings(
        NAMES[:party_count],
        "hub",
        WEIGHT_MAX,
        opening=opening,  # type: ignore[arg-type]
        authority="notary" if opening == "authority" and others.get("protection", "lattice") == "lattice" else None,
        codec=CodecSettings(**codec),
        **others,
    )


def make_tensors(party: str) -> dict[str, np.ndarray]:
    """A vector and a matrix, of other values at each party."""
    rng = np.random.default_rng(NAMES.index(party))
    return {"weight": rng.normal(size=(31, 7)).astype(np.float32), "bias": rng.normal(size=13)}


def make_mask(fraction: float = 0.3, seed: int = 5) -> Mask:
    rng = np.random.default_rng(seed)
    return Mask.from_arrays({name: rng.random(values.shape) < fraction for name, values in make_tensors("a").items()})


def request_of(party: str, step: str = "round-1", mask: Mask | None = None, **others: Any) -> SumRequest:
    counters = [Counter("rows", NAMES.index(party) + 1, 1000)]
    return SumRequest(step, make_tensors(party), BOUNDS, WEIGHTS[party], counters, mask=mask, **others)


@dataclass
class Sums:
    """What came of the sums: by party the aggregates, whom the others went on without, and each role's messages."""

    aggregates: dict[str, list[Aggregate]]
    lost: list[PartyLostError] = field(default_factory=list)
    seen: dict[str, Watch] = field(default_factory=dict)

    @property
    def lost_names(self) -> list[str]:
        return [error.party for error in self.lost]

    @property
    def reasons(self) -> str:
        return " | ".join(str(error) for error in self.lost)


@pytest.fixture
def sum_up(tmp_path: Path) -> Callable[..., Sums]:
    """`sum_up(settings, ask)`: every party asks for the sums of `ask(party)`, one after the other.

    `changes`: by role, what it sends in place of a message. `hooks`: by party, called ahead of each part of an upload.
    `sum_up.found` keeps what came of a run that ended with an error, too.
    """

    def run(
        settings: SumSettings,
        ask: Ask,
        *,
        changes: Mapping[str, Callable[[str, str, Any], Any]] | None = None,
        hooks: Mapping[str, Callable[[str, str], None]] | None = None,
        exactness_check: ExactnessCheck | None = None,
        most_slots: int = 10_000,
    ) -> Sums:
        keys = {name: PartyKey.generate() for name in settings.everyone}
        sessions = make_sessions(keys, run_id="sums", protocol="sums", job_digest=bytes(32))
        steps = [request.step for request in ask(settings.leader)]
        groups = tuple(dict.fromkeys(step.split("/")[0] for step in steps))
        plan = SumPlan(groups, groups)
        states = {
            name: open_upload_state(tmp_path / "state" / name, bytes(32), durable=False)
            for name in settings.everyone
            if name != settings.aggregator
        }
        found = Sums({})
        run.found.append(found)  # type: ignore[attr-defined]

        def meddled(channel: RecordedChannel) -> Any:
            watch = Watch((changes or {}).get(channel.party, lambda *message: None))
            found.seen[channel.party] = watch
            return Meddler(channel, watch.outgoing, watch.incoming)

        def party(channel: Any) -> None:
            name = channel.party
            sums = PartySumRun(
                sessions[name].stopwatch,
                plan,
                exactness_check=exactness_check,
                upload_state=states.get(name),
                before=(hooks or {}).get(name, lambda step, part: None),
            )
            aggregation, _ = join_sums(channel, settings, sums)
            try:
                got = [aggregation.weighted_mean(request) for request in ask(name)]
                aggregation.settle()
            finally:
                aggregation.close()
            found.aggregates[name] = got

        def serve(channel: Any) -> None:
            roster = Roster(channel, settings)
            with needs_everybody():
                summation = start_summation(
                    channel, settings, roster, AggregatorSumRun(sessions["hub"].stopwatch, plan)
                )
            summation.bound_slots(most_slots)
            for step in steps:
                summation.serve(step)
            summation.finish()

        def notary(channel: Any) -> None:
            run_authority(channel, settings, AuthorityRun(sessions["notary"].stopwatch, plan, states["notary"]))

        def play(name: str, channel: Any) -> None:
            role = serve if name == settings.aggregator else notary if name == settings.authority else party
            sessions[name].play(channel, lambda recorded: role(meddled(recorded)))

        try:
            play_in_process(
                {name: lambda channel, name=name: play(name, channel) for name in settings.everyone},
                timeout_s=30.0,
                may_drop_out=settings.parties if settings.bears_dropouts else (),
                on_dropout=found.lost.append,
            )
        finally:
            for state in states.values():
                state.uploads.__exit__(None, None, None)
        return found

    run.found = []  # type: ignore[attr-defined]
    return run
