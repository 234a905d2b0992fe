"""Drives the roles of a loop over an engine that brings one message to each party and one reply back: a leg.

A message carries what lies here for the party; within it the party trains or evaluates as soon as its loop is at that
point, and its reply carries what its role sent. Legs go on until every party has done what the round asks for, so this
knows nothing of how many legs the protocol takes.

The sum of a round comes with the next round's first message, in which the party trains on it at once. So a party
evaluates the mean of a round in the next round's second message: in the steady state two legs make a round, as in plain
FedAvg. Only a server that steps on from the mean itself has to await it, for further legs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hekat.errors import ProtocolError
from hekat.launch.flower.shelf import Addressed

TRAIN, EVALUATE, CARRY = "train", "evaluate", "carry"
# A role that adds, or checks a proof, is done within this.
SETTLES_WITHIN_S = 3600.0
# So many legs in which nobody trains, evaluates or is lost end in a loss: honest roles were seen to take up to 6.
MOST_LEGS_WITHOUT_WORK = 100


@dataclass(frozen=True)
class Outgoing:
    """A message to a party: the work of `round` that it is to do once its loop is there, and its parcels."""

    party: str
    work: str
    round: int
    parcels: Sequence[bytes] = field(repr=False)
    needs_start: bool = False
    """Whether the party still lacks the state to start from."""
    lost: Sequence[str] = ()
    """Parties that the engine reaches no more, and that no role is left to say so of."""


@dataclass(frozen=True)
class Returned:
    """A party's reply. `did` is the work that was done within it, "" for none; `content` the engine's own of it."""

    wanted: int = 0
    opened: int = 0
    is_over: bool = False
    has_start: bool = False
    kind: str = ""
    did: str = ""
    content: Any = field(default=None, repr=False)
    parcels: Sequence[Addressed] = field(default=(), repr=False)


Due = Callable[[str], tuple[str, int]]
"""Of a party the work that a round still asks of it, "" for none, and the number of the work's round."""


class Engine(Protocol):
    """Brings messages to parties."""

    def bring(self, messages: Sequence[Outgoing]) -> Mapping[str, Returned | None]:
        """The reply of each party; None where none came in time, or an error."""
        ...


class Aggregator(Protocol):
    """The role that plays here: `CarriedRole`, with a way to hear that the engine lost a party."""

    error: BaseException | None
    is_over: bool

    def bring(self, parcels: Sequence[bytes]) -> None: ...
    def settle(self, within_s: float) -> bool: ...
    def take(self) -> list[Addressed]: ...
    def lose(self, party: str) -> None: ...
    def awaited(self) -> str: ...


class Legs:
    """The legs of one run. `lost` maps a party that takes part no more to the reason."""

    def __init__(
        self,
        engine: Engine,
        aggregator: Aggregator,
        name: str,
        parties: Sequence[str],
        *,
        evaluates: bool,
        awaits_mean: bool = False,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`name` is the aggregator's role. `awaits_mean`: a round ends only when every party has its mean."""
        self._engine, self._aggregator, self._name = engine, aggregator, name
        self._evaluates, self._awaits_mean, self._tell = evaluates, awaits_mean, tell
        self._stands: dict[str, Returned] = {party: Returned() for party in parties}
        self._waiting: dict[str, list[bytes]] = {party: [] for party in parties}
        self.lost: dict[str, str] = {}
        self._unreached: list[str] = []
        self._told: dict[str, int] = dict.fromkeys(parties, 0)
        self.legs = 0

    @property
    def left(self) -> list[str]:
        """The parties that take part."""
        return [party for party in self._stands if party not in self.lost]

    def begin(self, replies: Mapping[str, Returned | None]) -> None:
        """The replies of the first leg, by which the engine found the parties."""
        self.legs += 1
        self._take_in(replies)

    def play_round(self, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """The content of each party's reply in which it trained, and in which it evaluated the mean: of this round
        where the mean is awaited, else of the round before.

        Raises what ended the aggregator's role, or ProtocolError where no party can go on.
        """
        trained: dict[str, Any] = {}
        evaluated: dict[str, Any] = {}
        passed: set[str] = set()
        opened = number if self._awaits_mean else number - 1

        def due(party: str) -> tuple[str, int]:
            if party not in trained:
                return TRAIN, number
            if party not in evaluated and party not in passed and self._is_to_evaluate(party, opened):
                return EVALUATE, opened
            is_awaited = self._awaits_mean and self._stands[party].opened < number
            return CARRY if is_awaited else "", number

        def note(party: str, reply: Returned) -> None:
            if reply.did == TRAIN:
                trained[party] = reply.content
            elif reply.did == EVALUATE:
                evaluated[party] = reply.content

        self._play_legs(due, note, passed)
        self._raise_what_ended()
        return trained, evaluated

    def finish(self, rounds: int) -> None:
        """Carry what is left once the last round is played, until every role has ended, and have its mean evaluated
        where that is still to be done. Raises as `play_round`."""
        evaluated = set(self._stands if self._awaits_mean else ())

        def due(party: str) -> tuple[str, int]:
            if party not in evaluated and self._is_to_evaluate(party, rounds):
                return EVALUATE, rounds
            return "" if self._stands[party].is_over else CARRY, rounds

        def note(party: str, reply: Returned) -> None:
            # A role that has ended is asked once.
            if reply.did == EVALUATE or reply.is_over:
                evaluated.add(party)

        self._play_legs(due, note, evaluated)
        self._raise_what_ended()

    def _play_legs(self, due: Due, note: Callable[[str, Returned], None], passed: set[str]) -> None:
        """Legs until nothing is `due` to any party that is left; `note` is told of each reply. `passed` gets the
        parties that did not evaluate when asked."""
        worked: set[tuple[str, str]] = set()
        idle = 0
        while any(due(party)[0] for party in self.left):
            before = len(worked) + len(self.lost)
            asked = {party: due(party) for party in self.left}
            able = {party: work for party, work in asked.items() if self._can_do(party, *work)}
            for party, reply in self._leg(asked).items():
                if reply is None:
                    continue
                note(party, reply)
                if reply.did and reply.did == asked[party][0]:
                    worked.add((party, reply.did))
            self._pass_over(able, due, passed)
            idle = 0 if len(worked) + len(self.lost) > before else idle + 1
            if idle >= MOST_LEGS_WITHOUT_WORK:
                unfinished = [party for party in self.left if due(party)[0]]
                self._break_standstill(unfinished, got=f"other messages in {idle} legs")
                idle = 0

    def _pass_over(self, able: Mapping[str, tuple[str, int]], due: Due, passed: set[str]) -> None:
        """Look for parties among the `able` that still have to do what they can do: none is asked without end.

        One that does not train is lost. One that does not evaluate is passed over: its app may fail, and nobody waits
        for what it measures.
        """
        for party, (work, number) in able.items():
            if party in self.lost or due(party) != (work, number) or not self._can_do(party, work, number):
                continue
            if work == EVALUATE:
                passed.add(party)
            else:
                self._lose(party, "it says that it can train, and does not")
                self._settle()

    def _is_to_evaluate(self, party: str, opened: int) -> bool:
        """Whether the party evaluates the mean of round `opened`, which it has not left behind."""
        return self._evaluates and opened > 0 and self._stands[party].opened <= opened

    def _leg(self, due: Mapping[str, tuple[str, int]]) -> Mapping[str, Returned | None]:
        """One message to each party that has parcels waiting, or can do what is due without; their replies."""
        messages = [
            self._outgoing(party, work or CARRY, number)
            for party, (work, number) in due.items()
            if self._waiting[party] or self._can_do(party, work, number) or (work and self._news_for(party))
        ]
        if not messages:
            self._break_standstill([party for party, (work, _) in due.items() if work])
            return {}
        self.legs += 1
        self._tell(f"leg {self.legs}: {', '.join(f'{one.party} {one.work}' for one in messages)}")
        replies = self._engine.bring(messages)
        self._take_in(replies)
        return replies

    def _can_do(self, party: str, work: str, number: int) -> bool:
        stand = self._stands[party]
        return (work == TRAIN and stand.wanted == number) or (work == EVALUATE and stand.opened >= number)

    def _outgoing(self, party: str, work: str, number: int) -> Outgoing:
        news = self._news_for(party)
        self._told[party] += len(news)
        return Outgoing(party, work, number, self._take_waiting(party), not self._stands[party].has_start, news)

    def _news_for(self, party: str) -> tuple[str, ...]:
        """Parties that are lost, once the aggregator, which tells the others by its signed word, has ended."""
        return tuple(self._unreached[self._told[party] :]) if self._aggregator.is_over else ()

    def _take_waiting(self, party: str) -> list[bytes]:
        waiting, self._waiting[party] = self._waiting[party], []
        return waiting

    def _take_in(self, replies: Mapping[str, Returned | None]) -> None:
        for party, reply in replies.items():
            if reply is None:
                self._lose(party, "no reply of its node in time, or an error")
                continue
            self._stands[party] = reply
            self._sort(reply.parcels)
            if reply.is_over and reply.kind:
                # Its own signed word is among its parcels: the aggregator needs none of the engine's.
                self.lost[party] = reply.kind
                self._tell(f"LOST {party}: {reply.kind}")
        self._settle()

    def _sort(self, parcels: Sequence[Addressed]) -> None:
        for to, parcel in parcels:
            if to == self._name:
                self._aggregator.bring([parcel])
            elif to in self._waiting and to not in self.lost:
                self._waiting[to].append(parcel)

    def _settle(self) -> None:
        if not self._aggregator.settle(SETTLES_WITHIN_S):
            raise ProtocolError(
                "the aggregator's role does not come to an end of its step",
                expected=f"an answer within {SETTLES_WITHIN_S:g} s",
                got="none",
                cure="look at the load of the server",
            )
        self._sort(self._aggregator.take())

    def _lose(self, party: str, reason: str) -> None:
        self.lost[party] = reason
        self._unreached.append(party)
        self._waiting[party] = []
        self._tell(f"LOST {party}: {reason}")
        self._aggregator.lose(party)

    def _break_standstill(self, unfinished: Sequence[str], got: str = "none, from anybody") -> None:
        """Nobody goes on by what lies here: the role that the aggregator waits for will not send, so it is lost."""
        self._raise_what_ended()
        awaited = self._aggregator.awaited()
        if awaited in self.left:
            self._lose(awaited, "it sends nothing that the others could go on with")
            self._settle()
            return
        raise ProtocolError(
            "no party can go on",
            expected=f"messages that {', '.join(unfinished)} wait for",
            got=got,
            cure="whoever carries the messages dropped some: begin a new run",
        )

    def _raise_what_ended(self) -> None:
        if self._aggregator.is_over and self._aggregator.error is not None:
            raise self._aggregator.error
        if not self.left:
            raise ProtocolError(
                "no party is left",
                expected="parties whose party process and SuperNode run",
                got="; ".join(f"{party}: {reason}" for party, reason in self.lost.items()),
                cure="look at the logs of the party processes, then begin a new run",
            )
