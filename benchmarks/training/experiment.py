"""Trains one model over parties in an own loop, under a protection or none, and keeps its curve, times and bytes."""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

import hekat
from hekat.own_loop.costs import Costs
from training.data import share_rows
from training.workloads import Workload

MEASURED_ROWS = 5000
"""Losses and accuracy after every round are of so many rows, after the last round of all rows."""


@dataclass
class Curve:
    """What one run gave: the averaged model's losses (nats) and accuracy after each round; seconds; what it cost.

    `is_nudged`: as the run without encryption, but for the last bit of one first weight. `train_s` are the seconds of
    all parties' local training in each round: they take turns on one machine.
    """

    protection: str
    value_bits: int | None
    algorithm: str
    is_nudged: bool = False
    round_s: list[float] = field(default_factory=list)
    train_s: list[float] = field(default_factory=list)
    total_s: float = 0.0
    train_loss: list[float] = field(default_factory=list)
    test_loss: list[float] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    costs: dict[str, object] = field(default_factory=dict)

    @property
    def exchange_s(self) -> float:
        """What all rounds take beside local training, the first with its setting up."""
        return sum(self.round_s) - sum(self.train_s)

    @property
    def median_round_s(self) -> float:
        """Of all rounds but the first, which also sets up."""
        return statistics.median(self.round_s[1:] or self.round_s)

    @property
    def median_exchange_s(self) -> float:
        """What a round takes beside local training."""
        beside = [whole - train for whole, train in zip(self.round_s, self.train_s, strict=True)]
        return statistics.median(beside[1:] or beside)


def train_federated(
    workload: Workload,
    protection: str,
    value_bits: int | None,
    algorithm: str,
    *,
    rounds: int,
    most_batches: int | None = None,
    is_nudged: bool = False,
    progress: Callable[[str], None] = lambda text: None,
) -> Curve:
    """One run. Every protection gets the same rows, batches and first weights.

    `most_batches` cuts local training short, where only the exchange is to be timed. `is_nudged` changes the last bit
    of one first weight: how far apart training itself brings two runs that nothing else sets apart.
    """
    curve = Curve(protection, value_bits, algorithm, is_nudged)
    rows = share_rows(len(workload.split.train_labels), workload.party_count, workload.seed)
    leader = workload.parties[0]
    states: list[dict[str, Tensor]] = []
    starts: list[float] = []
    train_s = [0.0] * rounds

    def play(party: hekat.Party) -> None:
        mine = rows[workload.parties.index(party.name)]
        torch.manual_seed(workload.seed)
        model = workload.make_model()
        if is_nudged:
            _nudge(model)
        model.train()
        party.start_from(model.state_dict())
        for number in range(rounds):
            if party.name == leader:
                starts.append(time.perf_counter())
            start = time.perf_counter()
            batches = 1 if algorithm == "fedsgd" else most_batches
            loss, count = _train_locally(workload, model, mine, algorithm, number, batches)
            train_s[number] += time.perf_counter() - start
            model.load_state_dict(party.aggregate(model.state_dict(), weight=count))
            if party.name == leader:
                states.append({name: values.clone() for name, values in model.state_dict().items()})
                progress(
                    f"{protection} {value_bits or ''} {algorithm}: round {number + 1} of {rounds}, loss {loss:.3f}"
                )

    settings = {} if value_bits is None else {"value_bits": value_bits}
    start = time.perf_counter()
    run = hekat.federate(play, workload.parties, protection=protection, weight_max=len(rows[0]), **settings)
    end = time.perf_counter()
    curve.total_s = end - start
    curve.train_s = train_s
    curve.round_s = [after - before for before, after in zip(starts, [*starts[1:], end], strict=True)]
    curve.costs = _describe_costs(run.costs)
    _evaluate_states(workload, states, curve)
    return curve


def _nudge(model: nn.Module) -> None:
    with torch.no_grad():
        weight = next(model.parameters()).view(-1)[:1]
        weight.copy_(torch.nextafter(weight, torch.tensor([torch.inf])))


def _digest(state: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for values in state.values():
        digest.update(values.contiguous().numpy().tobytes())
    return digest.hexdigest()


def _describe_costs(costs: Costs) -> dict[str, object]:
    """Of the last round, for one party: bytes up and down; and seconds of all roles by step over the run."""
    last = costs.rounds[-1]
    parts = list(last.bytes.values())
    return {
        "values": last.value_count,
        "up_bytes": statistics.median(part.up for part in parts),
        "down_bytes": statistics.median(part.down for part in parts),
        "share_bytes": statistics.median(part.shares for part in parts),
        "float32_bytes": last.float32_bytes,
        "clipped_share": costs.clipped_count / costs.value_count,
        "seconds_by_step": costs.seconds_by_step,
    }


def _train_locally(
    workload: Workload, model: nn.Module, mine: Tensor, algorithm: str, number: int, most_batches: int | None
) -> tuple[float, int]:
    """One local epoch (fedavg) or one step on a batch (fedsgd); the mean loss over its rows, and how many these are."""
    if algorithm == "fedsgd":
        optimiser: torch.optim.Optimizer = torch.optim.SGD(model.parameters(), lr=workload.fedsgd_rate)
    else:
        optimiser = workload.make_optimiser(model.parameters())
        for group in optimiser.param_groups:
            group["lr"] *= workload.decay**number
    generator = torch.Generator().manual_seed(1000 * workload.seed + number)
    batches = mine[torch.randperm(len(mine), generator=generator)].split(workload.batch_rows)[:most_batches]
    total, count = 0.0, 0
    for batch in batches:
        optimiser.zero_grad()
        loss = _loss(model(workload.split.train_inputs[batch]), workload.split.train_labels[batch])
        loss.backward()
        optimiser.step()
        total += loss.item() * len(batch)
        count += len(batch)
    return total / count, count


def _loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy; characters of a row count as one each."""
    return nn.functional.cross_entropy(logits, labels)


def _evaluate_states(workload: Workload, states: list[dict[str, Tensor]], curve: Curve) -> None:
    model, split = workload.make_model(), workload.split
    for number, state in enumerate(states):
        model.load_state_dict(state)
        row_count = None if number == len(states) - 1 else MEASURED_ROWS
        loss, accuracy = evaluate(model, split.test_inputs, split.test_labels, row_count)
        curve.digests.append(_digest(state))
        curve.train_loss.append(evaluate(model, split.train_inputs, split.train_labels, row_count)[0])
        curve.test_loss.append(loss)
        curve.accuracy.append(accuracy)


def evaluate(model: nn.Module, inputs: Tensor, targets: Tensor, row_count: int | None) -> tuple[float, float]:
    """(mean cross-entropy, share of right answers) on the first `row_count` rows in a fixed shuffled order."""
    order = torch.randperm(len(targets), generator=torch.Generator().manual_seed(0))[:row_count]
    model.eval()
    loss, hits, count = 0.0, 0, 0
    with torch.no_grad():
        for batch in order.split(500):
            logits, labels = model(inputs[batch]), targets[batch]
            loss += _loss(logits, labels).item() * labels.numel()
            hits += int((logits.argmax(dim=1) == labels).sum())
            count += labels.numel()
    model.train()
    return loss / count, hits / count
