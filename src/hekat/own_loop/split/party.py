"""What guest and hosts have alike in an own loop of a split network: epochs, batches, and calls in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hekat.channel.channel import check_name
from hekat.errors import BoundError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.own_loop.canonical_value import digest_value
from hekat.own_loop.own_code import OwnCode
from hekat.own_loop.split.kept_states import Arrays, LoopState, as_own_arrays
from hekat.own_loop.split.messages import COMPARE, END_EPOCH, EVALUATE, FORWARD, LEAVE, SplitCallMessage
from hekat.protocol.vertical_network.party_run import NetworkState
from hekat.protocol.vertical_network.row_plan import RowPlan
from hekat.protocol.vertical_network.run_odds import LEAST_RUN_BITS, run_bits
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings

T = TypeVar("T")
IntArray = npt.NDArray[np.int64]

_ORDER = "in each epoch play every batch of party.batches(), each with one forward and then one backward"


@dataclass(frozen=True)
class EpochRecord:
    """One epoch as a party saw it: `cut_share` of the numbers that it gave had to be cut to their range."""

    epoch: int
    cut_share: float


@dataclass(frozen=True)
class Keeping:
    """What a party goes on with, None in a new run, and where its state goes at the end of an epoch."""

    resumed: LoopState | None = None
    save: Callable[[LoopState], None] = lambda state: None


NOTHING_KEPT = Keeping()


class SplitParty:
    """One party of a running loop; made by `hekat.federate_split`, which gives it to the party's code."""

    def __init__(
        self,
        channel: RecordedChannel,
        settings: VerticalNetworkSettings,
        plan: RowPlan,
        code: OwnCode,
        on_epoch: Callable[[EpochRecord], None],
        keeping: Keeping,
    ) -> None:
        self._channel, self._settings, self._code, self._on_epoch = channel, settings, code, on_epoch
        self._plan, self._keeping, resumed = plan, keeping, keeping.resumed
        self._epoch = 0
        """The running one, from 1; 0 outside epochs."""
        self._epochs_done = 0 if resumed is None else resumed.network.epochs_done
        self._evaluations = 0 if resumed is None else resumed.evaluations
        self._has_ended = resumed is not None and resumed.network.had_ended(settings.training.epochs)
        self._has_begun = False
        self._given: Arrays = {}
        """What the running epoch's `keep` was given."""
        self._number = -1
        """The batch that was handed out last, from 0."""
        self._next = ""
        """What the batch that is out waits for: "forward" or "backward"; empty where none is out."""

    @property
    def name(self) -> str:
        """This party's name."""
        return self._channel.party

    @property
    def guest(self) -> str:
        """The party that has labels."""
        return self._settings.guest

    @property
    def hosts(self) -> tuple[str, ...]:
        """The parties that have columns and no labels."""
        return self._settings.hosts

    @property
    def units(self) -> int:
        """k, the columns of z."""
        return self._settings.network.units

    @property
    def epochs_done(self) -> int:
        """Epochs that have ended."""
        return self._epochs_done

    @property
    def kept(self) -> dict[str, npt.NDArray[Any]]:
        """What this party's code gave `keep` in the epoch that the run goes on from; empty in a new run."""
        resumed = self._keeping.resumed
        return {} if resumed is None else {name: values.copy() for name, values in resumed.own.items()}

    def keep(self, state: Mapping[str, Any]) -> None:
        """Have what this party's code holds saved with the running epoch, in the run's `folder`, for `resume`.

        Call it after the last batch of each epoch: what an earlier epoch gave does not last. It stays at this party.

        Args:
            state: maps names to arrays and tensors of numbers, as `module.state_dict()` does; copied at once.

        Raises:
            InputError: anything else.
            ProtocolError: outside an epoch.
        """
        if not self._epoch:
            self._refuse("keep", "in an epoch of party.epochs()", "outside")
        self._given = as_own_arrays(self.name, state)

    def check_same(self, label: str, value: Any) -> None:
        """Find out whether guest and hosts have the same `value`, such as the ids of their rows in their order.

        Nothing else shows: neither side can try guesses on what it was sent. A party that lies tests one guess a call.

        Args:
            label: what is compared, as errors name it.
            value: bytes, text, JSON (a list of ids), or a function, class or module, whose source is compared.

        Raises:
            ProtocolError: a host's value is another one than the guest's; it says which host.
            InputError: a value without such a form.
        """
        with self._code.calling():
            if self._next == "backward":
                self._refuse("check_same", "before a forward or after a backward", self._place())
            check_name(label, "label")
            digest = digest_value(label, value, b"")
            self._call(COMPARE)
            self._compare(f"same-{self._code.calls}", digest, label)

    def epochs(self) -> Iterator[int]:
        """The epochs of the training, from 1, in a resumed run from the first that is not done; each ends where the
        loop over them goes on.

        Returns:
            As many as `hekat.federate_split` was told, fewer where the guest calls `stop`.

        Raises:
            ProtocolError: a second time; an epoch without all its batches; other calls than at the other parties.
        """
        if self._has_begun:
            self._refuse("epochs", "once", "again")
        self._has_begun = True
        first = self._epochs_done + 1
        for epoch in () if self._has_ended else range(first, self._settings.training.epochs + 1):
            self._epoch, self._number, self._given = epoch, -1, {}
            yield epoch
            with self._code.calling():
                self._check_all_played()
                self._call(END_EPOCH)
                finished, cut_share = self._end_epoch(epoch)
                self._epochs_done = epoch
                self._keeping.save(LoopState(self._shared_state(epoch, finished), self._given, self._evaluations))
                self._on_epoch(EpochRecord(epoch, cut_share))
            if finished:
                break
        self._epoch = 0

    def batches(self) -> Iterator[IntArray]:
        """The row numbers of each batch of the running epoch, ascending: the same at every party and in every epoch.

        Returns:
            int64 arrays of numbers below `row_count`.

        Raises:
            ProtocolError: outside an epoch, twice in one, and where a batch was left without `forward` and `backward`.
        """
        if not self._epoch or self._number >= 0:
            got = "in none" if not self._epoch else "again"
            self._refuse("batches", "once in each epoch of party.epochs()", got)
        for number, rows in enumerate(self._plan.batches):
            self._number, self._next = number, FORWARD
            yield rows.copy()
            self._check_played()

    def play(self, code: Callable[[Any], T]) -> T:
        """What the party's code returns, run in its turns; then it leaves. Raises what broke one of its calls."""
        with self._code.running():
            result = code(self)
        if self._next == "backward":
            self._check_played()
        self._call(LEAVE)
        return result

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}; {self._epochs_done} epochs done)"

    # --- for guest and hosts -----------------------------------------------------------------------------------------

    def _end_epoch(self, epoch: int) -> tuple[bool, float]:
        """End an epoch that all parties end; (whether training ends, share of numbers that were cut)."""
        raise NotImplementedError

    def _shared_state(self, epoch: int, finished: bool) -> NetworkState:
        """This party's addends of the weights in shares, after an epoch."""
        raise NotImplementedError

    def _compare(self, step: str, digest: bytes, label: str) -> None:
        """Compare digests of a value with guest or hosts."""
        raise NotImplementedError

    def _agree(self, step: str, call: SplitCallMessage) -> None:
        """Tell or hear what hosts call for."""
        raise NotImplementedError

    def _call(self, what: str, *, batch: int = 0, row_count: int = 0) -> None:
        """Go on once all parties call for the same."""
        self._code.leave()
        self._agree(f"call-{self._code.calls}", SplitCallMessage(what, self._epoch, batch, row_count))

    def _begin_forward(self) -> int:
        """The rows of the batch that is out, which waits for `forward`. Raises ProtocolError."""
        if self._next != FORWARD:
            self._refuse("forward", "once for each batch that party.batches() names", self._place())
        return len(self._plan.batches[self._number])

    def _call_forward(self, row_count: int) -> tuple[int, int]:
        """Agree on the batch's `forward`; (epoch, number of the batch)."""
        self._call(FORWARD, batch=self._number + 1, row_count=row_count)
        self._next = "backward"
        return self._epoch, self._number

    def _begin_backward(self) -> int:
        """The rows of the batch that waits for `backward`. Raises ProtocolError."""
        if self._next != "backward":
            self._refuse("backward", "once after each forward", self._place())
        return len(self._plan.batches[self._number])

    def _leave_for_backward(self) -> None:
        """`backward` follows `forward` at every party: nobody need say so."""
        self._code.leave()
        self._next = ""

    def _call_evaluate(self, row_count: int) -> str:
        """Agree on rows that train nothing; the name of the step. Raises BoundError where a run has too many."""
        settings = self._settings
        widths = [settings.network.width_of(host) for host in settings.hosts]
        steps = settings.training.epochs * (len(self._plan.batches) + 1) + self._evaluations + 1
        if run_bits(settings, widths, steps, self._plan.most_rows) < LEAST_RUN_BITS:
            raise BoundError(
                f"party {self.name}: no more rows can be evaluated in this run",
                expected=f"truncations that go astray with odds of at most 2^-{LEAST_RUN_BITS}",
                got=f"call {self._evaluations + 1:,} of evaluate",
                cure="evaluate more rows in one call",
            )
        self._call(EVALUATE, row_count=row_count)
        self._evaluations += 1
        return f"evaluate-{self._evaluations}"

    def _begin_evaluate(self) -> None:
        if self._next == "backward":
            self._refuse("evaluate", "before a forward or after a backward", self._place())

    def _check_all_played(self) -> None:
        self._check_played()
        if self._number + 1 < len(self._plan.batches):
            got = f"{self._number + 1} of {len(self._plan.batches)} batches"
            self._refuse(f"the end of epoch {self._epoch}", "all batches of the epoch", got)

    def _check_played(self) -> None:
        if self._next:
            where = f"the end of batch {self._number + 1} of epoch {self._epoch}"
            self._refuse(where, "forward, then backward", f"no {self._next}")

    def _place(self) -> str:
        if not self._next:
            return "with no batch out" if self._number < 0 else f"again, after backward of batch {self._number + 1}"
        return f"where batch {self._number + 1} of epoch {self._epoch} waits for {self._next}"

    def _refuse(self, what: str, expected: str, got: str) -> None:
        raise ProtocolError(f"party {self.name}: {what} out of order", expected=expected, got=got, cure=_ORDER)
