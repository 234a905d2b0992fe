"""A party as its training loop sees it: one call gives the mean of all parties' tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from hekat.errors import InputError
from hekat.first_few import first_few
from hekat.ledger import RecordedChannel
from hekat.own_loop.aggregator import sum_step
from hekat.own_loop.averaging import Call, References, frozen_names, load_into, replace_in, restore
from hekat.own_loop.calls.compare_calls import AGREED_MASK
from hekat.own_loop.calls.messages import AVERAGE, START
from hekat.own_loop.calls.party_calls import PartyCalls
from hekat.own_loop.changes.change_sums import make_change_sums
from hekat.own_loop.costs import RoundRecord
from hekat.own_loop.integers import as_integers, describe_integers
from hekat.own_loop.own_code import OwnCode
from hekat.own_loop.private.loop_budgets import RowsBudget
from hekat.own_loop.private.private_mean import PrivateMean, PrivateMeans
from hekat.own_loop.selection import Selection, select_tensors
from hekat.own_loop.selective.fitted_mask import FittedMasks, clear_count_of
from hekat.own_loop.turns import Turns
from hekat.privacy import Mask, MaskRules, SensitivityMap
from hekat.privacy.accounting import Neighbours
from hekat.privacy.clipped_rows import ClippedRows
from hekat.protocol.horizontal.privacy_settings import NOISED_BITS, PrivacySettings, Unit
from hekat.protocol.horizontal.training.clipping import ClippingPolicy, make_policy, total_clipped
from hekat.protocol.secure_sum.aggregation import Aggregation
from hekat.protocol.secure_sum.integer_sums import IntArray, IntegerSums, digest_integers, sum_integers
from hekat.protocol.secure_sum.selective.agree_on_mask import WeightedMap, agree_on_mask
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.update_norm import SCALED_DOWN
from hekat.protocol.stopwatch import Stopwatch
from hekat.torch_library import is_module

T = TypeVar("T")

_MAX_SHOWN = 3
_START_LABEL = "the state to start from"
_NOISED_MOST = (1 << (NOISED_BITS - 1)) - 1


@dataclass(frozen=True)
class Surroundings:
    """What a party's loop needs of its machine: turns, a stopwatch, callbacks for rounds and notes, and the budget of
    its rows, None where its site grants none."""

    turns: Turns
    stopwatch: Stopwatch
    on_round: Callable[[RoundRecord], None]
    note: Callable[[str], None]
    budget: RowsBudget | None = None


class Party:
    """One party of a running loop; made by `hekat.federate`, which gives it to the party's code."""

    def __init__(
        self,
        channel: RecordedChannel,
        settings: SumSettings,
        aggregation: Aggregation,
        digest_key: bytes,
        surroundings: Surroundings,
    ) -> None:
        self._channel, self._settings, self._aggregation = channel, settings, aggregation
        self._digest_key, self._around = digest_key, surroundings
        self._references = References()
        self._sums = make_change_sums(channel, settings, aggregation, surroundings.stopwatch, digest_key)
        self._private = PrivateMeans(settings, channel, surroundings.budget)
        self._policies: dict[Any, ClippingPolicy] = {}
        self._masks = FittedMasks(settings, channel.party, surroundings.note)
        self._code = OwnCode(channel.party, surroundings.turns, surroundings.stopwatch, "hekat.federate")
        self._calls = PartyCalls(channel, settings.aggregator, aggregation, digest_key, self._code)
        self._rounds = 0

    @property
    def name(self) -> str:
        """This party's name."""
        return self._channel.party

    @property
    def parties(self) -> tuple[str, ...]:
        """All parties of the run, this one too."""
        return self._settings.parties

    @property
    def rounds_done(self) -> int:
        """Means taken so far."""
        return self._rounds

    def aggregate(
        self,
        state: Any,
        *,
        weight: int,
        parameters: str | Sequence[str] | None = None,
        same: tuple[str, Any] | None = None,
        mask: Mask | None = None,
        expose_embeddings: bool = False,
    ) -> Any:
        """The state with every float tensor replaced by its weighted mean over all parties: sum(w * x) / sum(w).

        All parties must call alike. The first call sends the values themselves, each further one, and the first after
        `start_from`, their difference from what all parties hold, quantised to `value_bits`.

        Args:
            state: maps names to NumPy arrays and torch tensors of float16, bfloat16, float32 or float64, as
                `model.state_dict()` does; or a torch module: its parameters with `requires_grad=False` are then not
                sent, its float buffers are, and the means are loaded into it.
            weight: this party's, its rows as a rule: a whole number from 1 to `weight_max`, hidden from the others.
            parameters: shell patterns of the names to average. None: all. What they do not match, and integer and bool
                tensors, comes back as it is and is not sent.
            same: a label and a value as `check_same` takes them, compared within this call, by no message of its own.
            mask: which values are protected, the same at all parties (protection "lattice"). **All others go to the
                aggregator in the clear**, party by party. Tensors that it does not name are masked whole. None: all
                values are masked, which takes fewer bytes than float32 does.
            expose_embeddings: let a mask leave values of a torch module's embeddings in the clear: the rows that change
                list the tokens of this party's texts. Of a state without its module no layer is known.

        Returns:
            The same names, order, kinds, shapes, dtypes and devices, in tensors of its own; of a module the module.

        Raises:
            InputError: before anything leaves: a weight out of range, NaN, infinity and magnitudes beyond 2^40, a
                pattern without a match, a mask of other tensors.
            PolicyError: before anything leaves: a mask that leaves out embeddings, or under another protection; rows
                that have a privacy budget.
            ProtocolError: before any sum opens: parties call for different things, or their tensors, masks (MaskError)
                or what they give as `same` differ; a call from another thread than the party's own.

        Examples:
            >>> def play(party):
            ...     value = {"north": 1.0, "lake": 4.0, "county": 1.0}[party.name]
            ...     state = {"w": np.full(2, value), "steps": np.array(7)}
            ...     return party.aggregate(state, weight=1)
            >>> run = hekat.federate(play, ["north", "lake", "county"], weight_max=1, clipping="fixed", alpha=4.0)
            >>> run.results["north"]["w"].round(2), int(run.results["north"]["steps"])
            (array([2., 2.]), 7)
        """
        with self._code.calling():
            self._check_exact()
            with self._around.stopwatch.measure("encode"):
                self._check_weight(weight)
                self._sums.check_mask(mask)
                label, digest = ("", b"") if same is None else self._calls.digest(*same)
                module, state, selection = self._select(state, parameters)
                if mask is not None:
                    mask = self._masks.fit(mask, state, selection, None if expose_embeddings else module)
                call = self._references.begin(selection, self.name, self._rounds + 1)
                self._check_difference(call)
            self._note_local(selection)
            if digest:
                self._calls.agree_on(digest)
            self._average(call, int(weight), label, digest, mask)
            with self._around.stopwatch.measure("decode"):
                results = restore(state, selection, call)
                return replace_in(state, results) if module is None else load_into(module, state, results)

    def sum(self, integers: Mapping[str, Any], *, maximum: int) -> dict[str, IntArray]:
        """The exact sum of each array of integers over all parties: counts, histograms, quantised gradients.

        Nothing is clipped or rounded. All parties must call alike.

        Args:
            integers: maps names to arrays of integers, NumPy's or what makes one; truth values count as 0 and 1.
            maximum: a public bound, the same at all parties, on the magnitude of every integer, 1 to 2^31 - 1: the
                smaller it is, the fewer bits are sent.

        Returns:
            The sums by name, int64, of the arrays' shapes.

        Raises:
            InputError: before anything leaves: arrays of another kind, or a bound that cannot be.
            BoundError: before anything leaves: an integer beyond `maximum`.
            PolicyError: before anything leaves: rows that have a privacy budget.
            ProtocolError: before any sum opens: parties call for different things, or their arrays or bounds differ;
                an answer that is no sum of integers.

        Examples:
            >>> def play(party):
            ...     ages = {"north": [31, 47], "lake": [52], "county": [38, 39, 65]}[party.name]
            ...     return party.sum({"ages": np.histogram(ages, [30, 40, 50, 70])[0]}, maximum=10)
            >>> run = hekat.federate(play, ["north", "lake", "county"])
            >>> run.results["lake"]["ages"]
            array([3, 1, 2])
        """
        with self._code.calling():
            self._check_exact()
            with self._around.stopwatch.measure("encode"):
                arrays = as_integers(integers, maximum, self.name)
            self._calls.ask_integers(describe_integers(arrays, maximum))
            return self._sum(arrays, maximum).tensors

    def aggregate_private(
        self,
        part: ClippedRows | Mapping[str, Any],
        *,
        clip: float,
        noise: float,
        delta: float,
        divisor: int | None = None,
        colluders: int | None = None,
        alpha: float | None = None,
        neighbours: Neighbours = "zero-out",
    ) -> PrivateMean:
        """The noised mean of parts that are bounded: differential privacy for each row, or for each party.

        Every party adds its share of the noise before it masks; no weight, loss or count leaves beside it. Without
        `budgets` of `hekat.federate`, what a loop sums exactly on the same rows by other calls is not covered, and
        epsilon counts the calls of this loop alone. With them each call is charged once all parties call alike, before
        anything of its sum leaves, and stays charged where that fails.

        Args:
            part: of rows, at most weight_max, what `hekat.privacy.clip_rows` made of their gradients; of a party, its
                update by name, whose norm over all tensors is brought to `clip`.
            clip: the L2 norm of one row's term, or of the party's update; of rows the one that `clip_rows` had.
            noise: z, the multiplier of the sum's noise against the claim's coalition.
            delta: choose it far below 1 over all rows of all parties, which a loop does not know. Refused is one that
                is not below 1 over the most rows of this party in one call so far, or over the parties.
            divisor: what the sum is divided by, public. None: the parties; of rows it has to be given.
            colluders: parties that may read the sums together; None: all but two of the fewest in a sum.
            alpha: the bound of one value of a party's part; None: `clip`, of rows times the divisor over the parties.
            neighbours: "zero-out" or "replace-one".

        Returns:
            The mean, and epsilon of all calls so far.

        Raises:
            InputError: before anything leaves: another protection, settings that cannot be, a delta too large for the
                rows or parties, noise beyond the lanes.
            PolicyError, BudgetError: before anything leaves: the party's budget is of another kind or delta, or spent.
            ProtocolError: before any sum opens, with nothing charged: parties call with other settings or tensors.
            LongSumError: at every party: a sum longer than honest parts and their noise make it. Of rows that is
                narrow where weight_max is near them.

        Examples:
            >>> from hekat.privacy import clip_rows
            >>> def play(party):
            ...     rows = clip_rows({"w": np.ones((40, 3))}, clip=1.0)
            ...     return party.aggregate_private(rows, clip=1.0, noise=1.0, delta=1e-5, divisor=120)
            >>> run = hekat.federate(play, ["north", "lake", "county"])
            >>> found = run.results["lake"]
            >>> found.mean["w"].shape, round(found.epsilon, 2)
            ((3,), 5.04)
        """
        unit: Unit = "row" if isinstance(part, ClippedRows) else "party"
        privacy = PrivacySettings(
            unit, clip, delta, noise, divisor=divisor, colluders=colluders, neighbours=neighbours, alpha=alpha
        )
        with self._code.calling():
            with self._around.stopwatch.measure("encode"):
                mechanism, values = self._private.plan(part, privacy)
                self._private.check_ahead(mechanism, self._rounds + 1)
                levels = self._private.levels(mechanism, values)
                label, digest = self._calls.digest("the settings of a noised mean", repr(privacy))
            # At every call: less noise of others, though it was agreed on once, would break this party's claim.
            self._calls.agree_on(digest)
            self._calls.ask_integers(describe_integers(levels, _NOISED_MOST), label, digest)
            # What is refused opens nothing, so it is charged nothing: hear that all call alike, and charge then.
            self._aggregation.settle()
            step = sum_step(self._rounds + 1)
            self._private.charge(mechanism, privacy, self._rounds + 1, step)
            return self._private.read(step, self._sum(levels, _NOISED_MOST), mechanism, privacy)

    def start_from(self, state: Any, *, parameters: str | Sequence[str] | None = None) -> None:
        """Begin with a state that all parties hold, such as the initial weights of one seed: its values are not sent.

        Without it the first `aggregate` sends whole values, whose quantising costs a part of the weight, not of its
        change. Only a digest and the tensors' forms leave.

        Args:
            state: as `aggregate` takes it.
            parameters: as `aggregate` takes them.

        Raises:
            ProtocolError: at every party; it names the tensors or the parties that differ.
            InputError: as `aggregate`.

        Examples:
            >>> def play(party):
            ...     state = {"w": np.zeros(2)}
            ...     party.start_from(state)
            ...     return party.aggregate({"w": state["w"] + 0.5}, weight=1)
            >>> run = hekat.federate(play, ["north", "lake", "county"], weight_max=1)
            >>> run.results["lake"]["w"].round(3)
            array([0.5, 0.5])
        """
        with self._code.calling():
            with self._around.stopwatch.measure("encode"):
                _, _, selection = self._select(state, parameters)
                call = self._references.begin(selection, self.name, self._rounds + 1)
                for tensor in call.tensors.values():
                    tensor.keep_values()
                digest = call.digest(self._digest_key)
            self._calls.agree_on(digest)
            self._calls.ask_tensors(START, call, label=_START_LABEL, digest=digest)
            self._references.take(call)
            self._sums.begin_anew(call)

    def check_same(self, label: str, value: Any) -> None:
        """Find out whether all parties have the same `value`.

        Only a digest leaves, keyed so that the aggregator cannot test guesses (not under protection `none`).

        Args:
            label: what is compared, as errors name it.
            value: bytes, text, JSON, or a function, class or module, whose source is compared.

        Raises:
            ProtocolError: parties differ; it says who.
            InputError: a value without such a form.

        Examples:
            >>> def play(party):
            ...     party.check_same("vocabulary", ["clerk", "nurse"])
            ...     return party.rounds_done
            >>> hekat.federate(play, ["north", "lake", "county"]).results["north"]
            0
        """
        with self._code.calling():
            label, digest = self._calls.digest(label, value)
            self._calls.agree_on(digest)
            self._calls.compare(label, digest)

    def agree_on_mask(self, sensitivities: SensitivityMap, rules: MaskRules, *, weight: int) -> Mask:
        """The mask of the most sensitive values over all parties' rows, from a masked sum of integers.

        All parties learn the mean map. Under differential privacy that is a release of their rows.

        Args:
            sensitivities: of this party's rows, by `hekat.privacy.sensitivity_map`, of the same tensors everywhere.
            rules: how many values, which layers always or never; the same at all parties.
            weight: the rows that this party's updates stand for, 1 to weight_max.

        Returns:
            The mask, the same at every party.

        Raises:
            InputError: before anything leaves: rules that do not fit the tensors, NaN in the map, a weight out of
                range.
            ProtocolError: before any sum opens, where maps are of other tensors.
            MaskError: at every party, where masks differ, since rules do, or the sum is larger than maps make it.

        Examples:
            >>> from hekat.privacy import MaskRules, SensitivityMap
            >>> def play(party):
            ...     values = {"north": [4.0, 1.0, 0.0], "lake": [0.0, 3.0, 0.0], "county": [0.0, 3.0, 1.0]}[party.name]
            ...     found = SensitivityMap({"w": np.array(values)}, row_count=8, mode="random")
            ...     return party.agree_on_mask(found, MaskRules(0.3), weight=8)
            >>> run = hekat.federate(play, ["north", "lake", "county"], weight_max=10)
            >>> run.results["lake"].chosen("w")
            array([False,  True, False])
        """
        self._check_weight(weight)
        own = WeightedMap(sensitivities, weight / self._settings.weight_max)
        mask = agree_on_mask(
            lambda _, tensors, maximum: self.sum(tensors, maximum=maximum),
            own,
            rules,
            party_count=len(self._settings.parties),
        )
        self.check_same(AGREED_MASK, mask.digest(b""))
        return mask

    def play(self, code: Callable[[Party], T]) -> T:
        """What the party's code returns, run in its turns; then it leaves. Raises what broke one of its calls."""
        try:
            return self._play(code)
        finally:
            self._aggregation.close()

    def _play(self, code: Callable[[Party], T]) -> T:
        with self._code.running():
            result = code(self)
        missing = self._calls.leave()
        if missing:
            self._around.note(f"{self.name} did not compare its last means with {', '.join(missing)}: none came")
        return result

    def __repr__(self) -> str:
        return f"Party({self.name!r} of {', '.join(self.parties)}; {self._rounds} rounds done)"

    def _select(self, state: Any, parameters: str | Sequence[str] | None) -> tuple[Any, Mapping[str, Any], Selection]:
        """(the torch module or None, its state or the given one, which of its tensors are averaged)."""
        module = state if is_module(state) else None
        held = state if module is None else module.state_dict()
        frozen = () if module is None else frozen_names(module)
        return module, held, select_tensors(held, parameters, frozen, party=self.name)

    def _sum(self, arrays: Mapping[str, IntArray], maximum: int) -> IntegerSums:
        """The exact sums, which the aggregator was asked for."""
        step = sum_step(self._rounds + 1)
        found = sum_integers(self._aggregation, step, arrays, maximum=maximum, weight_max=self._settings.weight_max)
        digest = digest_integers(self._digest_key, found)
        self._calls.end_round(step, digest)
        self._rounds += 1
        count = sum(values.size for values in arrays.values())
        self._around.on_round(RoundRecord(self._rounds, count, 0, found.party_count, found.party_count, {}))
        return found

    def _average(self, call: Call, weight: int, label: str, same: bytes, mask: Mask | None) -> None:
        settings, step = self._settings, f"round-{self._rounds + 1}"
        policy = self._policies.get(call.kind)
        is_fresh = policy is None
        if policy is None:
            policy = make_policy(settings.codec, self._aggregation)
        self._calls.ask_tensors(AVERAGE, call, fresh_bounds=is_fresh, label=label, digest=same, mask=mask)
        self._policies[call.kind] = policy
        summed = self._sums.sum(call, weight, step, policy, mask)
        aggregate = summed.aggregate
        with self._around.stopwatch.measure("decode"):
            self._references.take(call)
            digest = call.digest(self._digest_key)
        self._calls.end_round(step, digest)
        self._rounds += 1
        self._around.on_round(
            RoundRecord(
                round=self._rounds,
                value_count=sum(summed.sizes.values()),
                clipped_count=total_clipped(aggregate.counters, list(summed.sizes)),
                weight_sum=aggregate.weight_sum,
                party_count=aggregate.party_count,
                bounds=dict(summed.bounds),
                scaled_down_count=aggregate.counters.get(SCALED_DOWN, 0),
                clear_count=clear_count_of(mask),
                whole_count=sum(tensor.size for tensor in call.tensors.values()),
            )
        )

    def _check_exact(self) -> None:
        """Raise PolicyError where the rows have a budget, which the site does not waive."""
        if self._around.budget is not None:
            self._around.note(self._around.budget.allow_exact(self._channel.ledger))

    def _check_weight(self, weight: int) -> None:
        is_whole = isinstance(weight, (int, np.integer)) and not isinstance(weight, bool)
        if not is_whole or not 1 <= weight <= self._settings.weight_max:
            raise InputError(
                f"party {self.name}: the weight cannot be used in round {self._rounds + 1}",
                expected=f"a whole number from 1 to weight_max = {self._settings.weight_max}",
                got=f"a {type(weight).__name__}" if not is_whole else "one outside",
                cure="pass this party's row count; a larger weight_max (public) is an argument of hekat.federate",
            )

    def _check_difference(self, call: Call) -> None:
        why = self._sums.why_changes
        if why and not call.is_known:
            raise InputError(
                f"party {self.name}: {why}, and round {self._rounds + 1} would send whole values",
                expected="tensors with a value that all parties hold already",
                got="some for the first time",
                cure="call party.start_from(state) with the state that all parties begin with",
            )

    def _note_local(self, selection: Selection) -> None:
        if selection.local:
            shown = first_few(list(selection.local), _MAX_SHOWN)
            self._around.note(f"integer and bool tensors stay as each party has them: {shown}")
