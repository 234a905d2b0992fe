"""An engine in memory: each message is handed to the party's run at once, and its reply brought back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.launch.flower.loop_sites import LIMIT_S, TERMS, WEIGHTS, LoopSites, first_state, train

from hekat.launch.flower.aggregator_run import AggregatorRun
from hekat.launch.flower.legs import EVALUATE, TRAIN, Legs, Outgoing, Returned
from hekat.launch.flower.party_run import PartyRun
from hekat.launch.flower.shelf import Addressed

Change = Callable[[str, Sequence[Addressed]], Sequence[Addressed]]


@dataclass
class FakeEngine:
    """`lose` maps a party to the leg from which on it does not reply; `change` alters what a party's reply carries."""

    runs: Mapping[str, PartyRun]
    lose: Mapping[str, int] = field(default_factory=dict)
    change: Change = lambda party, parcels: parcels
    legs: int = 0
    seen: list[bytes] = field(default_factory=list)
    work: list[tuple[str, str, int]] = field(default_factory=list)

    def bring(self, messages: Sequence[Outgoing]) -> dict[str, Returned | None]:
        self.legs += 1
        return {one.party: self._reply(one) for one in messages}

    def _reply(self, one: Outgoing) -> Returned | None:
        if self.legs >= self.lose.get(one.party, 1 << 30):
            return None
        run = self.runs[one.party]
        desk = run.desk
        if one.needs_start and one.work == TRAIN:
            desk.give_start(first_state())
        taken = run.exchange(one.parcels, LIMIT_S, one.lost)
        did = ""
        if one.work == TRAIN and desk.wanted == one.round:
            self.work.append((one.party, TRAIN, one.round))
            desk.give_update(one.round, train(one.party, desk.model or {}), WEIGHTS[one.party], TERMS)
            taken += run.exchange([], LIMIT_S)
            did = TRAIN
        elif one.work == EVALUATE and desk.opened == one.round:
            self.work.append((one.party, EVALUATE, one.round))
            did = EVALUATE
        sent = self.change(one.party, taken)
        self.seen += [parcel for _, parcel in (*sent, *((one.party, parcel) for parcel in one.parcels))]
        return Returned(desk.wanted, desk.opened, run.is_over, desk.has_start, run.kind, did, None, sent)


def play(sites: LoopSites, *, evaluates: bool = True, **engine: Any) -> tuple[FakeEngine, Legs, AggregatorRun]:
    """A whole run; raises what ends it at the aggregator."""
    aggregator = AggregatorRun(sites.load("aggregator"))
    runs = {party: PartyRun(sites.load(party), aggregator.run_id) for party in sites.parties}
    fake = FakeEngine(runs, **engine)
    legs = Legs(fake, aggregator, "aggregator", sites.parties, evaluates=evaluates)
    for run in runs.values():
        run.start()
    aggregator.start()
    try:
        legs.begin({party: fake._reply(Outgoing(party, "carry", 1, [])) for party in sites.parties})
        for number in range(1, sites.job.round_count + 1):
            legs.play_round(number)
        legs.finish(sites.job.round_count)
    finally:
        aggregator.abandon(LIMIT_S)
        for run in runs.values():
            run.end(LIMIT_S)
    return fake, legs, aggregator
