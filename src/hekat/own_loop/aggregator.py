"""The role of the aggregator in an own training loop: it does not know how many rounds there will be.

1. receive the public key (paillier), or agree on the first upload's number (lattice)
2. receive what each party calls for: a mean or sum of tensors, whose names and forms they state, a comparison, the end
3. answer: go on, where all call for the same; otherwise say what differs, and end. For a mean or sum parties do not
   await it
4. a mean or sum: serve its sums as in any training; hear that all parties hold the same result
5. at the end of a loop of many parties, pass on what each says of its last mean
"""

from __future__ import annotations

from hekat.errors import InputError
from hekat.ledger import RecordedChannel
from hekat.own_loop.calls.compare_calls import AGREED, Layout, compare_calls
from hekat.own_loop.calls.messages import AVERAGE, CALLS, LEAVE, WITH_ROUND, WITH_TENSORS, CallMessage
from hekat.protocol.horizontal.slot_ceiling import most_slots, value_count_of
from hekat.protocol.secure_sum.agreement.agree_on_bounds import serve_bounds
from hekat.protocol.secure_sum.agreement.final_model import pass_on_marks
from hekat.protocol.secure_sum.agreement.round_end import serve_round_end
from hekat.protocol.secure_sum.index_sets.votes import votes_step
from hekat.protocol.secure_sum.masked.opening.opening_schemes import least_parties
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.start_up import needs_everybody, start_summation
from hekat.protocol.secure_sum.sum_run import AggregatorSumRun
from hekat.protocol.secure_sum.summation import Summation


def call_step(number: int) -> str:
    """The step name of the parties' call of that number, from 1."""
    return f"call-{number}"


def sum_step(number: int) -> str:
    """The step of a sum of integers; secrets that are dealt ahead for a mean of the round do not serve it."""
    return f"round-{number}/sum"


def run_loop_aggregator(channel: RecordedChannel, settings: SumSettings, run: AggregatorSumRun) -> None:
    """Serve one loop to its end, or until the parties call for different things, which they are told."""
    roster = Roster(channel, settings)
    with needs_everybody():
        summation = start_summation(channel, settings, roster, run)
    is_agreed = _serve_calls(roster, settings, summation)
    summation.finish()
    if is_agreed:
        pass_on_marks(roster, settings)


def _serve_calls(roster: Roster, settings: SumSettings, summation: Summation) -> bool:
    """Whether all parties called for the end; else they called for different things."""
    layouts: dict[str, Layout] = {}
    round_number = 1
    least = least_parties(settings) if settings.bears_dropouts else len(settings.parties)
    call_number = 0
    while True:
        call_number += 1
        step = call_step(call_number)
        calls = roster.receive_from_all(step, CallMessage, lambda party, call: _check_call(call, party in layouts))
        roster.check_enough(step, least)
        for party, call in calls.items():
            if call.call in WITH_TENSORS and not call.same_tensors:
                layouts[party] = dict(zip(call.names, call.forms, strict=True))
        answer = compare_calls(calls, layouts, round_number)
        roster.send_to_all(f"{step}/answer", answer)
        some = next(iter(calls.values()))
        if answer != AGREED or some.call == LEAVE:
            return answer == AGREED
        if some.call in WITH_ROUND:
            summation.bound_slots(most_slots(layouts[next(iter(calls))].values()))
            if some.call == AVERAGE:
                _serve_mean(roster, settings, summation, round_number, fresh_bounds=some.fresh_bounds)
            else:
                _serve_sum(roster, summation, round_number)
            round_number += 1


def _serve_mean(
    roster: Roster, settings: SumSettings, summation: Summation, number: int, *, fresh_bounds: bool
) -> None:
    step = f"round-{number}"
    votes = settings.keep.votes
    if votes:
        summation.serve(votes_step(step))
    serve_bounds(roster, settings, summation, step, first=fresh_bounds)
    # The secret of a round's first sum can be dealt ahead where that is the round's own.
    summation.serve(step, then="" if votes else f"round-{number + 1}")
    serve_round_end(roster, step)


def _serve_sum(roster: Roster, summation: Summation, number: int) -> None:
    step = sum_step(number)
    summation.serve(step)
    serve_round_end(roster, step)


def _check_call(call: CallMessage, is_known: bool) -> None:
    """Raise InputError for a call that no party of this release makes."""
    for form in call.forms:
        value_count_of(form)
    described = len(call.names) == len(call.forms) == len(set(call.names))
    described = described and call.clear_count >= 0 and (call.call == AVERAGE or not (call.mask or call.clear_count))
    if call.call not in CALLS or not described or (call.call in WITH_TENSORS and call.same_tensors and not is_known):
        raise InputError(
            "a call that cannot be", expected=f"one of {', '.join(CALLS)}, with its tensors", got="another"
        )
