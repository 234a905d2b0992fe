"""Drop-outs that are asked for, to see a run go on without a party: checked before anything starts."""

from __future__ import annotations

from collections.abc import Mapping

from hekat.errors import PolicyError
from hekat.job.rows.rows_job import RowsSettings
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings


def check_dropouts(settings: RowsSettings, dropouts: Mapping[str, int], rounds_done: int) -> None:
    """Raise PolicyError for a party that is none, a round that does not come, or a protection that bears none."""
    if dropouts and not settings.bears_dropouts:
        raise PolicyError(
            f"protection '{settings.protection}' bears no losses",
            expected="protection 'lattice'",
            got=settings.protection,
            cure="leave out --lose, or set protection.kind = 'lattice' in the job",
        )
    if isinstance(settings, HorizontalTreesSettings):
        last, what = settings.training.max_iter, "an iteration"
    else:
        last, what = settings.training.round_count, "a round"
    for party, number in dropouts.items():
        if party not in settings.parties:
            raise PolicyError(
                "a loss of a party that takes no part",
                expected=f"one of {', '.join(settings.parties)}",
                got=party,
                cure="correct --lose",
            )
        if not rounds_done < number <= last:
            raise PolicyError(
                f"a loss in {what} that does not come",
                expected=f"{what} from {rounds_done + 1} to {last}",
                got=str(number),
                cure="correct --lose",
            )
