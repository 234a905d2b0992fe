"""The snapshot as Prometheus reads it: figures of this machine's roles, and aggregates. For the site's own monitor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

from hekat.live.state import LiveState

_STATUSES = ("waiting", "running", "finished", "stopped")


def write_metrics(state: LiveState) -> tuple[bytes, str]:
    """The metrics in Prometheus' text format, with its media type."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Snapshot(state))
    return generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4


class _Snapshot:
    def __init__(self, state: LiveState) -> None:
        self._state = state

    def collect(self) -> Iterator[Any]:
        state, machine = self._state, self._state.machine
        yield _gauge("hekat_status", "1 for what the run is", ["status"], _status_samples(state))
        if state.phase is not None:
            name = state.phase.name
            yield _gauge(
                "hekat_rounds_done", "rounds or epochs done in the phase", ["phase"], [([name], state.phase.done)]
            )
            yield _gauge(
                "hekat_rounds_planned", "rounds or epochs of the phase", ["phase"], [([name], state.phase.total)]
            )
        present = [([one.name], float(one.presence in ("present", "ended"))) for one in state.participants]
        yield _gauge("hekat_participant_present", "1 where a role is there", ["participant"], present)
        parts = [([work.role, part], spent) for work in state.roles for part, spent in work.seconds.items()]
        yield _counter("hekat_work_seconds", "a role's own work, by part", ["role", "part"], parts)
        waits = [([work.role], work.waiting_s) for work in state.roles if work.waiting_s]
        yield _gauge("hekat_waiting_seconds", "a role's wait for others and the network", ["role"], waits)
        ways = [("sent", "sent_bytes"), ("received", "received_bytes")]
        sizes = [([work.role, way], float(getattr(work, name))) for work in state.roles for way, name in ways]
        yield _counter("hekat_sealed_bytes", "sealed bytes of a role", ["role", "direction"], sizes)
        if state.plain_bytes is not None:
            yield _counter(
                "hekat_plain_bytes", "a party's bytes of plain float32 each way", [], [([], float(state.plain_bytes))]
            )
        yield _counter("hekat_cpu_seconds", "processor time of this process", [], [([], machine.cpu_s)])
        yield _gauge("hekat_memory_bytes", "resident memory of this process", [], [([], float(machine.memory_bytes))])
        yield _gauge("hekat_loss", "training loss of the last round", ["phase"], _losses(state))
        yield _gauge("hekat_metric", "metric after the last round", ["phase", "metric", "rows"], _metrics(state))


def _status_samples(state: LiveState) -> list[tuple[list[str], float]]:
    return [([status], float(state.status == status)) for status in _STATUSES]


def _losses(state: LiveState) -> list[tuple[list[str], float]]:
    newest = {one.phase: one.loss for one in state.rounds if one.loss is not None}
    return [([phase], loss) for phase, loss in newest.items()]


def _metrics(state: LiveState) -> list[tuple[list[str], float]]:
    found: dict[tuple[str, str, str], float] = {}
    for one in state.rounds:
        found |= {(one.phase, name, "common_test"): value for name, value in one.metrics.items()}
        found |= {(one.phase, name, "held_out"): value for name, value in one.validation.items()}
    return [(list(labels), value) for labels, value in found.items()]


def _gauge(name: str, what: str, labels: list[str], samples: Iterable[tuple[list[str], float]]) -> Any:
    return _filled(GaugeMetricFamily(name, what, labels=labels), samples)


def _counter(name: str, what: str, labels: list[str], samples: Iterable[tuple[list[str], float]]) -> Any:
    return _filled(CounterMetricFamily(name, what, labels=labels), samples)


def _filled(family: Any, samples: Iterable[tuple[list[str], float]]) -> Any:
    for labels, value in samples:
        family.add_metric(labels, value)
    return family
