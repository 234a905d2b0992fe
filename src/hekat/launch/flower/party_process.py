"""The party process: holds a party's key, state, ledger and results beside a SuperNode, and plays one run.

Whoever may connect to its socket is a courier: it brings and takes sealed parcels, hands in updates, and is given the
opened means, which the engine's code trains on. What the run is, the operator said by starting the process with a job
that the site approved; couriers can change nothing of it.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from hekat.digest_text import is_digest
from hekat.errors import HekatError, InputError, PolicyError, StateError
from hekat.job.policy.checks_of_job import enforce_policy
from hekat.job.policy.enforce import AskingJob, recorded
from hekat.launch.flower.call import EXCHANGE, GIVE_UP, METRICS, UPDATE, Answer, Call
from hekat.launch.flower.loop_site import LoopSite
from hekat.launch.flower.party_run import PartyRun
from hekat.launch.flower.party_socket import listen_at
from hekat.launch.flower.shelf import Addressed
from hekat.launch.frames import receive_frame, send_frame
from hekat.state import is_run_id

# Flower keeps a message for 12 hours: after that no courier of a run comes any more.
IDLE_S = 12 * 3600.0
# After the role's end a last courier may come to evaluate the last mean.
LINGER_S = 60.0
# From its connection on a courier has so long for its call, and to take its answer: the next one waits behind it.
CALL_WITHIN_S = 60.0
# Metrics, and the word that an app failed, change nothing from the second one on, however many an app sends.
_MOVES_THE_RUN = (EXCHANGE, UPDATE)
_ENDS_WITHIN_S = 60.0
_LOOK_EVERY_S = 0.5


class PartyProcess:
    """Serves couriers at a socket until its one run is over, or nobody comes for `idle_s`."""

    def __init__(
        self,
        loop: LoopSite,
        path: Path,
        *,
        group: str | None = None,
        idle_s: float = IDLE_S,
        linger_s: float = LINGER_S,
        call_within_s: float = CALL_WITHIN_S,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`group` may connect too (mode 660); else the process's own user alone (mode 600).

        Raises as `listen_at`.
        """
        self._loop, self._path = loop, path
        self._idle_s, self._linger_s, self._call_within_s, self._tell = idle_s, linger_s, call_within_s, tell
        self._run: PartyRun | None = None
        self._is_told = False
        self._is_stopped = False
        self._evaluates = False
        self._listener = listen_at(path, group)
        self._listener.settimeout(_LOOK_EVERY_S)

    def serve(self) -> PartyRun | None:
        """Answer couriers, one after the other; the run, None where none began. The socket is removed."""
        heard = time.monotonic()
        try:
            while not self._is_stopped and not self._is_done(time.monotonic() - heard):
                with suppress(TimeoutError):
                    connection, _ = self._listener.accept()
                    with connection:
                        is_heard = self._serve_one(connection)
                    heard = time.monotonic() if is_heard else heard
        finally:
            self._listener.close()
            with suppress(OSError):
                self._path.unlink()
            if self._run is not None:
                self._run.end(_ENDS_WITHIN_S)
        return self._run

    def stop(self) -> None:
        """End soon, from any thread; the run too, where it is not over."""
        self._is_stopped = True

    def _is_done(self, silent_s: float) -> bool:
        run = self._run
        if run is None or not run.is_over or not self._is_told:
            return silent_s > self._idle_s
        return not self._evaluates or bool(run.kind) or silent_s > self._linger_s

    def _serve_one(self, connection: socket.socket) -> bool:
        """One courier's call; whether it moved the run. Nothing that comes at the socket ends more than its connection.

        A check of health that only connects, a refused call, and one that leaves metrics keep no process alive.
        """
        try:
            frame = receive_frame(connection, self._call_within_s)
        except (HekatError, MemoryError):  # a call may be larger than the memory that is left
            return False
        connection.settimeout(self._call_within_s)
        is_heard = False
        try:
            call = Call.from_frame(frame)
            answer = self._answer(call)
            is_heard = call.asks in _MOVES_THE_RUN
        except Exception as error:
            answer = self._refuse(error)
        # The courier has gone; what it took is lost, and the engine's server loses the party.
        with suppress(HekatError, MemoryError):
            header, payload = answer.to_frame()
            send_frame(connection, header, payload)
            self._is_told = self._is_told or answer.is_over
        return is_heard

    def _refuse(self, error: Exception) -> Answer:
        is_told = isinstance(error, HekatError) and not isinstance(error, StateError)
        # The engine passes it on to the server: a file's error names a path of this site.
        what = error.what if isinstance(error, HekatError) else type(error).__name__
        self._tell(f"refused a courier: {what}")
        kind = type(error).__name__
        return Answer(self._loop.role, kind=kind, refusal=what if is_told else kind)

    def _answer(self, call: Call) -> Answer:
        run = self._run_of(call)
        self._evaluates = call.evaluates
        parcels = call.parcels
        if call.asks == METRICS:
            run.note_metrics(call.kind, call.round, call.metrics)
            if call.kind == "evaluate" and call.round == self._loop.job.round_count:
                self._evaluates = False
            return self._stand(run)
        if call.asks == GIVE_UP:
            self._tell(f"the engine's code failed: {call.kind}")
            run.desk.fail(call.kind)
        elif call.asks == UPDATE and call.arrays is not None:
            run.desk.give_update(call.round, call.arrays, call.weight, call.terms)
        elif call.asks == EXCHANGE and call.arrays is not None:
            run.desk.give_start(call.arrays)
        taken = run.exchange(parcels, self._loop.job.timeout_s, call.lost)
        return self._stand(run, taken, with_model=call.asks == EXCHANGE)

    def _stand(self, run: PartyRun, taken: Sequence[Addressed] = (), *, with_model: bool = False) -> Answer:
        desk = run.desk
        return Answer(
            self._loop.role,
            wanted=desk.wanted,
            opened=desk.opened,
            is_over=run.is_over,
            has_start=desk.has_start,
            server_learns_model=self._loop.job.server_learns_model,
            kind=run.kind,
            parcels=taken,
            model=desk.model if with_model else None,
        )

    def _run_of(self, call: Call) -> PartyRun:
        """The run that the courier means: the first one that a courier names, and no other after it."""
        loop, job = self._loop, self._loop.job
        claimed = bytes.fromhex(call.job) if is_digest(call.job) else b""
        with recorded(loop.site, AskingJob(job.name, claimed, (loop.role,)), "the job of the party process"):
            if claimed != job.digest:
                raise PolicyError(
                    "the engine's server runs another job than this party process was started with",
                    expected=f"job {job.digest.hex()[:16]}",
                    got=f"job {call.job[:16]!r}",
                    cure="start both with the same job file, letter by letter",
                )
        if self._run is None:
            if not is_run_id(call.run_id):
                raise InputError("no run's name", expected="UTC time and six hexadecimal digits", got="another text")
            # The process may have waited for hours, and its operator may have taken the approval back.
            enforce_policy(loop.site, job, (loop.role,))
            self._run = PartyRun(loop, call.run_id)
            self._tell(f"run {call.run_id} begins")
            self._run.start()
        if self._run.run_id != call.run_id:
            with recorded(loop.site, AskingJob(job.name, job.digest, (loop.role,)), "one run of the party process"):
                raise PolicyError(
                    "this party process plays one run",
                    expected=f"run {self._run.run_id}",
                    got="another run",
                    cure="the operator starts the process anew for each run: hekat party",
                )
        return self._run
