"""How often the grid is looked at: each look costs the cores that parties train on."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

pytest.importorskip("flwr", reason="needs hekat[flower]")

from flwr.app import Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from hekat.launch.flower import grid_post
from hekat.launch.flower.grid_post import GridPost
from hekat.launch.flower.legs import EVALUATE, TRAIN, Outgoing, Returned
from hekat.launch.flower.records import reply_records

SEATS = {"north": 1, "lake": 2}


class Clock:
    """In the place of `time`: passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class SlowGrid:
    """Every node replies `takes_s` after it was asked; `looks` are the times since then at which it was looked."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._asked_at = clock, 0.0
        self._asked: dict[str, Message] = {}
        self.takes_s = 0.0
        self.looks: list[float] = []

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        self._asked = {}
        for message in messages:
            message.metadata.__dict__["_message_id"] = str(message.metadata.dst_node_id)
            self._asked[message.metadata.message_id] = message
        self._asked_at, self.looks = self._clock.now, []
        return list(self._asked)

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        self.looks.append(self._clock.now - self._asked_at)
        if self.looks[-1] < self.takes_s:
            return []
        return [self._reply(self._asked.pop(one)) for one in message_ids]

    def _reply(self, message: Message) -> Message:
        party = {seat: party for party, seat in SEATS.items()}[message.metadata.dst_node_id]
        return Message(RecordDict(reply_records(Returned(), party)), reply_to=message)


def ask(post: GridPost, work: str, takes_s: float) -> list[float]:
    """The looks at the grid in a leg whose nodes take so long."""
    assert isinstance(post.grid, SlowGrid)
    post.grid.takes_s = takes_s
    replies = post.bring([Outgoing(party, work, 1, ()) for party in SEATS])
    assert all(replies.values())
    return post.grid.looks


@pytest.fixture(autouse=True)
def _task() -> None:
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1


@pytest.fixture
def post(monkeypatch: pytest.MonkeyPatch) -> GridPost:
    clock = Clock()
    monkeypatch.setattr(grid_post, "time", clock)
    return GridPost(SlowGrid(clock), "run", "job", "num-examples", True, 600.0, poll_s=1.0, nodes=dict(SEATS))


def test_a_leg_is_looked_at_from_two_thirds_of_the_last_one_on(post: GridPost) -> None:
    assert ask(post, TRAIN, 9.0) == [float(second) for second in range(10)]
    assert ask(post, TRAIN, 9.0) == pytest.approx([6.0, 7.0, 8.0, 9.0])


def test_other_work_has_its_own_time(post: GridPost) -> None:
    ask(post, TRAIN, 9.0)
    assert ask(post, EVALUATE, 2.0) == [0.0, 1.0, 2.0]
    assert ask(post, TRAIN, 9.0)[0] == pytest.approx(6.0)


def test_a_faster_leg_waits_no_longer_than_two_thirds_and_the_next_one_less(post: GridPost) -> None:
    ask(post, TRAIN, 9.0)
    assert ask(post, TRAIN, 0.0) == pytest.approx([6.0])
    assert ask(post, TRAIN, 0.0) == pytest.approx([4.0])


def test_the_wait_for_a_reply_stays_within_the_time_limit(post: GridPost) -> None:
    ask(post, TRAIN, 9.0)
    post.timeout_s = 3.0
    assert isinstance(post.grid, SlowGrid)
    post.grid.takes_s = 60.0
    assert post.bring([Outgoing("north", TRAIN, 2, ())]) == {"north": None}
    assert max(post.grid.looks) <= 4.0
