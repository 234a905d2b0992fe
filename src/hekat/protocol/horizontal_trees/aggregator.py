"""The role of the aggregator: it adds histograms that it cannot read, and knows neither bins nor trees.

1. receive every party's columns, and how it grows trees; refuse parties that differ; tell all to start
2. keys of the sums, as in any training on sums
3. serve the sums of counts by which parties find bins, until they say that these are found; the sums of labels
4. each iteration: serve the sum of each level, until the parties say that no level follows; the sum by leaf; check that
   all parties report the same model, and stop when they do
5. serve the sum of losses of the final model
   (with differential privacy 3 and 5 are left out, and an iteration has one sum, by leaf)
6. of many parties, pass on what each says of its final model
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hekat.data import check_same_schema
from hekat.errors import InputError
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.messages import ReadyMessage, StartMessage
from hekat.protocol.horizontal.model_identity import ModelIdentity, check_same_model
from hekat.protocol.horizontal_trees.binning.agree_on_bins import CUTS, FIRST_STEP, cut_step
from hekat.protocol.horizontal_trees.party import MODEL_NAME
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.horizontal_trees.sums_ahead import (
    FINAL_STEP,
    LABELS_STEP,
    RESIDUALS_STEP,
    leaves_step,
    level_step,
    most_slots,
    plan_sums,
)
from hekat.protocol.secure_sum.agreement.final_model import pass_on_marks
from hekat.protocol.secure_sum.agreement.round_end import serve_round_end
from hekat.protocol.secure_sum.agreement.series import serve_next
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.start_up import needs_everybody, start_summation
from hekat.protocol.secure_sum.sum_run import AggregatorSumRun
from hekat.protocol.secure_sum.summation import Summation
from hekat.protocol.stopwatch import Stopwatch


@dataclass(frozen=True)
class AggregatorRun:
    """What the machine gives the aggregator. `iterations_done` above 0 resumes; `step_timeout_s`: a message's time.

    `finished`: the trees were grown to their end before. `measured`: the losses of the final model were summed before.
    `on_members` receives the drawn members.
    """

    stopwatch: Stopwatch
    iterations_done: int = 0
    step_timeout_s: float | None = None
    finished: bool = False
    measured: bool = False
    on_members: Callable[[tuple[str, ...]], None] = lambda members: None


def run_aggregator(channel: RecordedChannel, settings: HorizontalTreesSettings, run: AggregatorRun) -> None:
    """Serve one run to its end. The aggregator learns sizes, times, and the values that its ledger lists."""
    sums = settings.sums
    roster = Roster(channel, sums)
    with needs_everybody():
        column_count = len(_gather_parties(channel, settings).columns)
        for party in settings.parties:
            channel.send(party, "start", StartMessage(party_count=len(settings.parties)))
        plan = plan_sums(settings, run.iterations_done)
        for_sums = AggregatorSumRun(run.stopwatch, plan, run.step_timeout_s, run.on_members)
        summation = start_summation(channel, sums, roster, for_sums)
        summation.bound_slots(most_slots(settings, column_count))
    if run.iterations_done == 0 and settings.privacy is None:
        _serve_start(roster, settings, summation)
    last = run.iterations_done if run.finished else settings.training.max_iter
    for iteration in range(run.iterations_done + 1, last + 1):
        if _serve_iteration(roster, settings, summation, iteration):
            break
    if not run.measured and settings.privacy is None:
        summation.serve(FINAL_STEP)
    summation.finish()
    pass_on_marks(roster, sums)


def _serve_start(roster: Roster, settings: HorizontalTreesSettings, summation: Summation) -> None:
    step = FIRST_STEP
    summation.serve(step)
    for further in (*map(cut_step, range(1, CUTS + 1)), ""):
        step = serve_next(summation, roster, step, further, LABELS_STEP)
        if step == LABELS_STEP:
            break
    if settings.classes is None:
        summation.serve(RESIDUALS_STEP)


def _serve_iteration(roster: Roster, settings: HorizontalTreesSettings, summation: Summation, iteration: int) -> bool:
    """Whether the parties end training with this iteration."""
    if settings.privacy is not None:
        summation.serve(leaves_step(iteration))
        return serve_round_end(roster, leaves_step(iteration))
    levels = [level_step(iteration, level) for level in range(settings.training.max_depth)]
    step, leaves = levels[0], leaves_step(iteration)
    summation.serve(step)
    for further in (*levels[1:], ""):
        step = serve_next(summation, roster, step, further, leaves)
        if step == leaves:
            break
    return serve_round_end(roster, leaves)


def _gather_parties(channel: RecordedChannel, settings: HorizontalTreesSettings) -> ReadyMessage:
    """The parties' common announcement. Raises InputError where columns or trees differ."""
    ready = {party: channel.receive(party, "ready", ReadyMessage) for party in settings.parties}
    check_same_schema({party: message.columns for party, message in ready.items()})
    first = settings.parties[0]
    for party in settings.parties[1:]:
        if ready[party].schema != ready[first].schema:
            raise InputError(
                f"parties {first} and {party} do not have the same kind of labels",
                expected=f"the kind of labels at {first}",
                got="another kind",
                cure="load every table with the job's classes, or numbers for a regression",
            )
    check_same_model(
        MODEL_NAME,
        {
            party: ModelIdentity(message.model_code, tuple(message.tensors), message.model_start)
            for party, message in ready.items()
        },
    )
    return ready[first]
