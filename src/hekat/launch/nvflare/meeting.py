"""The way from a loaded role to its open channel: the other sites are met, and what they show is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass

from hekat.channel import PartyPublicKey
from hekat.channel.mailbox import MailboxChannel
from hekat.job.averaging.job_file import AveragingJob
from hekat.job.load_any_job import AnyJob, roles_of
from hekat.job.site_file import Site
from hekat.launch.nvflare.door import Ask, Door, SitePost
from hekat.launch.nvflare.order import RunOrder
from hekat.launch.nvflare.pinning import KitPins, own_binding
from hekat.launch.nvflare.site_link import SiteLink
from hekat.launch.one_role import roles_that_may_be_lost
from hekat.launch.role_card import RoleCard
from hekat.protocol.secure_sum.timeouts import aggregator_timeout_of

# Job processes start seconds apart, and load their rows first.
FIRST_CONTACT_S = 600.0
# The engine kills a process 10 s after it has ended its job, and the outcome is written when the others are told.
_FAILS_WITHIN_S = 8.0


@dataclass(frozen=True)
class Meeting:
    """What a role needs to meet the others; `keys` are the public keys of every role."""

    order: RunOrder
    link: SiteLink
    door: Door
    ask: Ask
    role: str
    job: AnyJob
    site: Site
    keys: Mapping[str, PartyPublicKey]

    @contextmanager
    def joined(self, on_channel: Callable[[MailboxChannel], None]) -> Iterator[MailboxChannel]:
        """The role's channel, once every other role has shown its job and its kit; the others are told how the block
        ended. `on_channel` gets it before they are met, for whoever ends the run from outside. Raises as
        `MailboxChannel.meet`, JobError or KeyRefusedError for what a role shows."""
        job = self.job
        card = RoleCard.of(job.digest, own_binding(self.site, self.role))
        pins = KitPins(self.link, self.order.sites, self.keys)
        channel = MailboxChannel(
            self.role,
            roles_of(job),
            SitePost(self.order.sites, self.ask),
            run_id=self.order.run_id,
            timeout_s=self._timeout_s,
            first_contact_s=FIRST_CONTACT_S if isinstance(job, AveragingJob) else max(job.timeout_s, FIRST_CONTACT_S),
            may_be_lost=frozenset(roles_that_may_be_lost(job)),
        )
        with closing(channel):
            on_channel(channel)
            self.door.open(channel)
            try:
                for peer, shown in channel.meet(card.encode()).items():
                    pins.check(peer, card.check_shown(peer, shown).binding)
                yield channel
            except BaseException as error:
                channel.fail(error, _FAILS_WITHIN_S)
                raise
            channel.finish()

    @property
    def _timeout_s(self) -> float:
        """How long one call waits. An app's party waits for the aggregator, which may be waiting for each of the others
        while their apps train."""
        job = self.job
        if isinstance(job, AveragingJob) and self.role != job.settings.aggregator:
            return aggregator_timeout_of(job.timeout_s, len(job.settings.parties))
        return job.timeout_s
