"""Sums one after the other whose number the parties find out: levels of a tree, say."""

from __future__ import annotations

from hekat.errors import ProtocolError
from hekat.protocol.secure_sum.agreement.round_end import serve_round_end
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.summation import Summation


def serve_next(summation: Summation, roster: Roster, after: str, further: str, last: str) -> str:
    """Serve the sum that the parties take after `after`, of one group with it: `further`, or `last`; which one.

    Where `further` is "", nothing but `last` may follow. Raises ProtocolError where the parties go on all the same, or
    differ; ModelsDifferError where they hold different results of the sum before.
    """
    served = summation.serve_one_of((further, last) if further else (last,))
    if served:
        return served
    step = last if serve_round_end(roster, after) else further
    if not step:
        raise ProtocolError(
            f"the parties go on after {after}",
            expected=f"{last}: no more sums, as in the job",
            got="another one",
            cure="run the same job and release at all parties",
        )
    summation.serve(step)
    return step
