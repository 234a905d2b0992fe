"""Whether a new job of trees across columns tells the guest more of hosts' bins than the rule on them lets."""

from __future__ import annotations

from hekat.job.new.new_guest_job import NewGuestJob
from hekat.job.trees.sections import task_of
from hekat.protocol.vertical_trees.leak_rule import MARGIN, count_opened
from hekat.protocol.vertical_trees.settings import VerticalTreesSettings

_FEWEST_BINS = 2


def is_beyond_rule(job: NewGuestJob, rows: int) -> bool:
    """Whether hosts refuse the job on so many common rows, at most, whatever their columns are like: already a column
    of two bins, as even as can be, is told too much of."""
    classes = job.classes or None
    settings = VerticalTreesSettings(
        guest=job.guest,
        hosts=job.hosts,
        task=task_of(classes),  # type: ignore[arg-type]  # one of them
        classes=classes,
    )
    _, opened_bits = count_opened(settings, rows, _FEWEST_BINS)
    return rows < MARGIN * opened_bits
