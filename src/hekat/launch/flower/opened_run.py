"""A role's run beside Flower, from its folder to its outcome: the same for a party and for the aggregator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hekat.channel.mailbox import MailboxChannel
from hekat.job.averaging.job_file import PROTOCOL
from hekat.launch.flower.loop_site import LoopSite
from hekat.launch.outcome import noted_outcome
from hekat.launch.role_display import ShownRole, displayed
from hekat.run.progress import Progress
from hekat.run.role_folder import Place, RoleFolder, open_role_folder


@contextmanager
def opened_run(loop: LoopSite, channel: MailboxChannel, run_id: str) -> Iterator[tuple[RoleFolder, Progress]]:
    """The folder of the role's run, and what shows its rounds; how the block ends is noted beside the folder.

    Raises as `noted_outcome`, `displayed` and `open_role_folder`.
    """
    job = loop.job
    with (
        noted_outcome(loop.runs, run_id, loop.role, job.digest.hex()),
        displayed(ShownRole(job, loop.site, loop.role, run_id, loop.runs)) as progress,
    ):
        place = Place(loop.role, channel, run_id, loop.runs, loop.keys, progress)
        with open_role_folder(place, job.name, job.digest, PROTOCOL, job.settings.everyone) as folder:
            yield folder, progress
