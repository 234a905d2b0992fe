"""The role of the aggregator: it adds updates it cannot read, has no key that opens them, and keeps one accumulator.

1. receive every party's schema and model; refuse parties whose columns or models differ; tell all to start
   (where parties find categories together, first the columns of their tables, and after 2 and one sum the rest)
2. receive the public key (paillier), or agree on the first upload's number, pass on the draw of members, and receive
   the openers' earlier releases (lattice)
3. serve the sums of what fills empty cells, the standardiser's four, scaffold's one, and lbfgs' two
4. each round: add the updates as they arrive, return the sum; where parties vote on what they send, first the votes
5. check that all parties report the same model, and stop when they do
6. where rows are held out, serve one more sum: the validation of the final model; where the job has folds, serve the
   rounds of each, as in 4 and 5, and the sum that measures its model
7. of many parties, pass on what each says of its final model, which the aggregator cannot compare

Few parties compare their models among themselves. A run that stopped before that resumes with only 1, 2 and 7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hekat.data import check_same_schema
from hekat.errors import InputError
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.categories.agree_on_categories import CATEGORIES_STEP
from hekat.protocol.horizontal.messages import SETTLED_STEP, ReadyMessage, StartMessage
from hekat.protocol.horizontal.model_identity import ModelIdentity, check_same_model
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.slot_ceiling import most_slots, slots_of_categories
from hekat.protocol.horizontal.sums_ahead import plan_sums
from hekat.protocol.horizontal.training.fills import fill_steps
from hekat.protocol.horizontal.training.gram import gram_value_count, has_gram
from hekat.protocol.horizontal.training.standardise import STANDARDISE_STEPS
from hekat.protocol.horizontal.training.validation import FINAL_STEP, fold_group, fold_step
from hekat.protocol.secure_sum.agreement.agree_on_bounds import serve_bounds
from hekat.protocol.secure_sum.agreement.final_model import pass_on_marks
from hekat.protocol.secure_sum.agreement.round_end import serve_round_end
from hekat.protocol.secure_sum.index_sets.votes import votes_step
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.start_up import needs_everybody, start_summation
from hekat.protocol.secure_sum.sum_run import AggregatorSumRun
from hekat.protocol.secure_sum.summation import Summation
from hekat.protocol.stopwatch import Stopwatch


@dataclass(frozen=True)
class AggregatorRun:
    """What the machine gives the aggregator. `rounds_done` above 0 resumes; `step_timeout_s` is the time for a message.

    `rounds_finished`: the stop rule ended the rounds before. `is_validated`: the last validation was made before, and
    is not served again. `folds_done` folds were finished before as well. `on_members` receives the drawn members.
    """

    stopwatch: Stopwatch
    rounds_done: int = 0
    step_timeout_s: float | None = None
    rounds_finished: bool = False
    is_validated: bool = False
    folds_done: int = 0
    on_members: Callable[[tuple[str, ...]], None] = lambda members: None


def run_aggregator(channel: RecordedChannel, settings: HorizontalSettings, run: AggregatorRun) -> None:
    """Serve one run to its end. The aggregator learns sizes, times, and the values that its ledger lists."""
    sums = settings.sums
    roster = Roster(channel, sums)
    fresh = run.rounds_done == 0
    with needs_everybody():
        announced = _gather_parties(channel, settings, "ready")
        for party in settings.parties:
            channel.send(party, "start", StartMessage(party_count=len(settings.parties)))
        plan = plan_sums(settings, run.rounds_done)
        for_sums = AggregatorSumRun(run.stopwatch, plan, run.step_timeout_s, run.on_members)
        summation = start_summation(channel, sums, roster, for_sums)
        if fresh and settings.found:
            summation.bound_slots(slots_of_categories(len(settings.found)))
            summation.serve(CATEGORIES_STEP)
            announced = _gather_parties(channel, settings, SETTLED_STEP)
        column_count = len(announced.columns)
        is_summed = settings.training.searches_line and has_gram(column_count, is_linear=settings.is_linear)
        grams = gram_value_count(column_count) if is_summed else 0
        slots = most_slots(
            announced.tensors,
            column_count,
            score_count=settings.score_count,
            gram_count=grams,
            has_fills=bool(settings.fills),
        )
        summation.bound_slots(slots)
    for step in fill_steps(settings.fills) if fresh else ():
        summation.serve(step)
    if fresh and settings.training.standardise:
        for step in STANDARDISE_STEPS:
            summation.serve(step)
    for step in settings.training.steps_before_rounds if fresh else ():
        summation.serve(step)
    last = run.rounds_done if run.rounds_finished else settings.training.round_count
    _serve_rounds(roster, settings, summation, "", range(run.rounds_done + 1, last + 1))
    if settings.validation.hold_out and not run.is_validated:
        summation.serve(FINAL_STEP)
    for fold in range(run.folds_done + 1, settings.validation.folds + 1):
        _serve_rounds(roster, settings, summation, f"{fold_group(fold)}/", range(1, settings.training.round_count + 1))
        summation.serve(fold_step(fold))
    summation.finish()
    pass_on_marks(roster, sums)


def _serve_rounds(
    roster: Roster, settings: HorizontalSettings, summation: Summation, group: str, numbers: range
) -> None:
    """Serve the rounds of one training, and the sums ahead of each, until the parties end it."""
    # Folds take the mask of the model that the run is for.
    selective, votes = settings.selective if not group else None, settings.training.kept.votes
    for number in numbers:
        step, following = f"{group}round-{number}", f"{group}round-{number + 1}"
        for ahead in () if selective is None else selective.steps_before(number):
            summation.serve(ahead)
        if votes:
            summation.serve(votes_step(step))
        serve_bounds(roster, settings.sums, summation, step, first=number == 1)
        # The secret of a round's first sum can be dealt ahead where that is the round's own.
        is_next = number + 1 in numbers and not votes
        is_next = is_next and (selective is None or not selective.steps_before(number + 1))
        summation.serve(step, then=following if is_next else "")
        if serve_round_end(roster, step):
            break


def _gather_parties(channel: RecordedChannel, settings: HorizontalSettings, step: str) -> ReadyMessage:
    """The parties' common announcement: columns and the model. Raises InputError where they differ."""
    ready = {party: channel.receive(party, step, ReadyMessage) for party in settings.parties}
    check_same_schema({party: message.columns for party, message in ready.items()})
    first = settings.parties[0]
    for party in settings.parties[1:]:
        if ready[party].schema != ready[first].schema:
            raise InputError(
                f"parties {first} and {party} do not have the same kind of labels or rows",
                expected=f"the kind of labels at {first}, and rows dense or sparse as there",
                got="another kind",
                cure="load every table with the job's classes (or numbers for a regression) and the job's sparse",
            )
    check_same_model(
        settings.model.name,
        {
            party: ModelIdentity(message.model_code, tuple(message.tensors), message.model_start)
            for party, message in ready.items()
        },
    )
    return ready[first]
