"""The epochs of a run as its parties told them, each party its own part of an epoch."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from hekat.protocol.vertical_linear.party_run import EpochRecord
from hekat.summary.vertical_linear.summary_shape import EpochFacts


@dataclass
class EpochLog:
    """Gathers what roles tell in their threads. `earlier_losses` are those of the run that is resumed."""

    guest: str
    earlier_losses: tuple[float, ...] = ()
    begun: bool = False
    _ended: list[tuple[EpochRecord, float]] = field(default_factory=list)
    _bounds: dict[int, dict[str, float]] = field(default_factory=dict)
    _last: float = field(default_factory=time.perf_counter)
    _gathering: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> None:
        """Training begins now."""
        self.begun = True
        self._last = time.perf_counter()

    def add(self, party: str, record: EpochRecord) -> bool:
        """Take a party's record of an epoch; returns whether it was the guest's, by which an epoch ends."""
        with self._gathering:
            if record.gradient_error_bound is not None:
                self._bounds.setdefault(record.epoch, {})[party] = record.gradient_error_bound
            if party != self.guest:
                return False
            now = time.perf_counter()
            self._ended.append((record, now - self._last))
            self._last = now
            return True

    @property
    def facts(self) -> list[EpochFacts]:
        """Every epoch in order, those of the resumed run first."""
        earlier = [
            EpochFacts(epoch=number, loss=loss, gradient_error_bound={}, seconds=None)
            for number, loss in enumerate(self.earlier_losses, 1)
        ]
        return earlier + [
            EpochFacts(
                epoch=record.epoch,
                loss=record.loss,
                gradient_error_bound=self._bounds.get(record.epoch, {}),
                seconds=seconds,
            )
            for record, seconds in self._ended
        ]
