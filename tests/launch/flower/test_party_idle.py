"""What keeps a party process waiting, and what does not: at a clock of the test's own, one visit a second."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.launch.flower.loop_sites import LoopSites, first_state, make_sites

from hekat.launch.flower.call import EXCHANGE, GIVE_UP, METRICS, UPDATE, Call
from hekat.launch.flower.party_process import PartyProcess
from hekat.launch.frames import send_frame
from hekat.state import new_run_id

IDLE_S, MOST_VISITS = 5.5, 30
RUN_ID = new_run_id()

Visit = Callable[[LoopSites, socket.socket], None]


def _connect(sites: LoopSites, visitor: socket.socket) -> None:
    """As the images' check of health does."""
    visitor.close()


def _say_noise(sites: LoopSites, visitor: socket.socket) -> None:
    send_frame(visitor, {"asks": "exchange"}, b"noise")


def _call(asks: str = EXCHANGE, run_id: str = RUN_ID, job: str = "", **said) -> Visit:
    def visit(sites: LoopSites, visitor: socket.socket) -> None:
        send_frame(visitor, *Call(asks, run_id, job or sites.job.digest.hex(), **said).to_frame())

    return visit


class Visits:
    """In place of the listener: the first visitor begins the run, all others pay the same visit."""

    def __init__(self, sites: LoopSites, process: PartyProcess, visit: Visit) -> None:
        self._sites, self._process, self._visit = sites, process, visit
        self._open: list[socket.socket] = []
        self.count = 0

    def accept(self) -> tuple[socket.socket, str]:
        self.count += 1
        if self.count == MOST_VISITS:
            self._process.stop()
        visitor, served = socket.socketpair()
        self._open.append(visitor)
        (self._visit if self.count > 1 else _call(arrays=first_state()))(self._sites, visitor)
        return served, ""

    def close(self) -> None:
        for visitor in self._open:
            visitor.close()


def visits_until_the_end(folder: Path, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> int:
    sites = make_sites(folder)
    process = PartyProcess(sites.load("north"), folder / "north.sock", idle_s=IDLE_S)
    process._listener.close()
    visits = Visits(sites, process, visit)
    monkeypatch.setattr(process, "_listener", visits)
    clock = SimpleNamespace(monotonic=lambda: float(visits.count))
    monkeypatch.setattr("hekat.launch.flower.party_process.time", clock)
    run = process.serve()
    assert run is not None
    assert run.run_id == RUN_ID
    return visits.count


@pytest.mark.parametrize(
    "visit",
    [
        pytest.param(_connect, id="a check of health"),
        pytest.param(_say_noise, id="no call"),
        pytest.param(_call(job="0" * 64), id="another job"),
        pytest.param(_call(run_id=new_run_id()), id="another run"),
        pytest.param(_call(UPDATE, round=1, arrays=first_state(), weight=1, terms="a" * 64), id="an unwanted update"),
        pytest.param(_call(METRICS, kind="train", round=1, metrics={"loss": 1.0}), id="metrics"),
        pytest.param(_call(GIVE_UP, kind="ValueError"), id="a failure"),
    ],
)
def test_visits_that_move_no_run_let_the_process_end(
    tmp_path: Path, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert visits_until_the_end(tmp_path, visit, monkeypatch) < MOST_VISITS / 2


def test_couriers_of_the_run_keep_it_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert visits_until_the_end(tmp_path, _call(), monkeypatch) == MOST_VISITS
