"""Drop-outs that are asked for, to see a run go on without a party: checked before anything starts."""

from __future__ import annotations

from collections.abc import Mapping

from hekat.errors import PolicyError
from hekat.protocol.horizontal.settings import HorizontalSettings


def check_dropouts(settings: HorizontalSettings, dropouts: Mapping[str, int], rounds_done: int) -> None:
    """Raise PolicyError for a party that is none, a round that does not come, or a protection that bears none."""
    if dropouts and not settings.bears_dropouts:
        raise PolicyError(
            f"protection '{settings.protection}' bears no losses",
            expected="protection 'lattice'",
            got=settings.protection,
            cure="leave out --lose, or set protection.kind = 'lattice' in the job",
        )
    for party, number in dropouts.items():
        if party not in settings.parties:
            raise PolicyError(
                "a loss of a party that takes no part",
                expected=f"one of {', '.join(settings.parties)}",
                got=party,
                cure="correct --lose",
            )
        if not rounds_done < number <= settings.training.round_count:
            raise PolicyError(
                "a loss in a round that does not come",
                expected=f"a round from {rounds_done + 1} to {settings.training.round_count}",
                got=str(number),
                cure="correct --lose",
            )
