"""Several engines that work at the same time, one thread each, and their measured speeds."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Lock
from time import perf_counter
from typing import Protocol, TypeVar, cast, runtime_checkable

from hekat.engine.interface import Engine
from hekat.engine.workload import ROUND_ROBIN, Clock, Workload
from hekat.errors import EngineError, InputError

Result = TypeVar("Result")


@runtime_checkable
class Asynchronous(Protocol):
    """An engine whose operations return before their work is done."""

    def synchronize(self) -> None:
        """Return when all work that the calling thread gave it is done."""
        ...


@dataclass(frozen=True, eq=False)
class _Failure:
    """The exception of a task."""

    error: BaseException


class EnginePool:
    """The members of a spread engine, each at one task at a time; their threads live as long as this object."""

    def __init__(self, engines: Sequence[Engine], policy: str, clock: Clock = perf_counter) -> None:
        self.engines = tuple(engines)
        self.policy = policy
        self.names = _different([engine.name for engine in engines])
        self._clock = clock
        self.workload = Workload(self.names, clock)
        self._lock = Lock()
        self._busy = tuple(Lock() for _ in engines)
        self._threads: list[ThreadPoolExecutor] = []
        self._process = 0
        self._turn = -1

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of a batch for each member: equal in round-robin, otherwise by measured speeds."""
        count = len(self.engines)
        return (1 / count,) * count if self.policy == ROUND_ROBIN else self.workload.shares

    def next_member(self, among: Sequence[int] = ()) -> int:
        """The member of `among` (of all if empty) for the next whole batch: the first free, or the next in turn."""
        among = among or range(len(self.engines))
        if self.policy != ROUND_ROBIN:
            return self.workload.first_free(among)
        with self._lock:
            self._turn += 1
            return among[self._turn % len(among)]

    def run(
        self,
        tasks: Mapping[int, Callable[[Engine], Result]],
        items: Mapping[int, int],
        *,
        kind: Hashable = None,
        refuse: Callable[[int, int], InputError] | None = None,
    ) -> dict[int, Result]:
        """Run the members' tasks at the same time, `items` of work for each, and return their results.

        The calling thread runs the first task, so that Ctrl-C reaches the native core; this returns or raises when all
        have ended. `kind`, where given, names an operation that measures shares. Where members refuse values,
        `refuse(member, index)` makes the error, and the error with the smallest index is raised.
        """
        first, *others = tasks
        seconds: dict[int, float] = {}
        for member in tasks:
            self.workload.give(member, items[member])

        def work(member: int) -> Result:
            engine = self.engines[member]
            # One task at a time; otherwise a member's measured time would hold the time of another task.
            with self._busy[member], self.workload.work(member, items[member]):
                start = self._clock()
                result = tasks[member](engine)
                if others and isinstance(engine, Asynchronous):
                    # Otherwise only the launch would be timed, and the engine's share would be the share of an engine
                    # without work.
                    engine.synchronize()
                seconds[member] = self._clock() - start
                return result

        outcomes: dict[int, Result | _Failure] = {}

        def attempt(member: int) -> None:
            try:
                outcomes[member] = work(member)
            except BaseException as error:  # raised again once the other tasks have ended
                outcomes[member] = _Failure(error)

        futures: dict[int, Future[None]] = {}
        try:
            for member in others:
                futures[member] = self._submit(member, attempt)
            attempt(first)
        except BaseException as error:
            outcomes[-1] = _Failure(error)
        self._wait(futures, outcomes)
        for member in tasks.keys() - futures.keys() - outcomes.keys():
            self.workload.withdraw(member, items[member])
        errors = {member: outcome.error for member, outcome in outcomes.items() if isinstance(outcome, _Failure)}
        if errors:
            try:
                raise _choose_error(errors, refuse)
            finally:
                # An error refers to this frame; if the frame also held the errors, operands would live until a garbage
                # collection.
                del errors, outcomes
        if kind is not None:
            self.workload.observe(kind, items, seconds)
        return cast(dict[int, Result], outcomes)

    def _wait(self, futures: Mapping[int, Future[None]], outcomes: dict[int, Result | _Failure]) -> None:
        """Return when all `futures` have ended; a Ctrl-C in between becomes one of the `outcomes`."""
        while True:
            try:
                wait(futures.values())
            except BaseException as error:
                outcomes[-1] = _Failure(error)
            else:
                return

    def _submit(self, member: int, attempt: Callable[[int], None]) -> Future[None]:
        try:
            return self._thread(member).submit(attempt, member)
        except RuntimeError as error:
            raise EngineError(
                "the thread of an engine cannot be started",
                expected=f"a system that starts a thread for {self.names[member]}",
                got=str(error),
                cure="raise this process' limits of threads and memory",
            ) from error

    def _thread(self, member: int) -> ThreadPoolExecutor:
        """The one thread of a member; threads do not survive a fork, so a new process makes its own."""
        with self._lock:
            if self._process != os.getpid():
                self._threads = [ThreadPoolExecutor(1, f"spread-{name}") for name in self.names]
                self._process = os.getpid()
            return self._threads[member]


def _choose_error(
    errors: Mapping[int, BaseException], refuse: Callable[[int, int], InputError] | None
) -> BaseException:
    refusals = []
    for member, error in sorted(errors.items()):
        if refuse is None or not isinstance(error, InputError) or error.index is None:
            return error
        refusals.append(refuse(member, error.index))
    return min(refusals, key=lambda refusal: refusal.index or 0)


def _different(names: Sequence[str]) -> tuple[str, ...]:
    """The names, numbered where one occurs several times: `cpu`, `cpu (2)`."""
    before = [list(names[:i]).count(name) for i, name in enumerate(names)]
    return tuple(f"{name} ({count + 1})" if count else name for name, count in zip(names, before, strict=True))
