"""A site's part in an ordered run: its own files and leave first, then its role over the engine's messages."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hekat.channel.mailbox import MailboxChannel
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import JobError
from hekat.job.load_any_job import load_any_job, roles_of
from hekat.launch.nvflare.door import Ask, Door, SitePost
from hekat.launch.nvflare.order import RunOrder
from hekat.launch.nvflare.outcome import noted_outcome
from hekat.launch.nvflare.pinning import KitPins, own_binding
from hekat.launch.nvflare.site_link import SiteLink
from hekat.launch.one_role import LoadedRole, RoleFiles, load_role, roles_that_may_be_lost
from hekat.launch.role_card import RoleCard
from hekat.run.progress import Silence
from hekat.run.role_folder import Place

# Job processes start seconds apart, and load their rows first.
FIRST_CONTACT_S = 600.0


@dataclass(frozen=True)
class SiteRole:
    """What one site needs to play: the order, its own name at the engine, its link, and the way to other sites."""

    order: RunOrder
    site: str
    link: SiteLink
    door: Door
    ask: Ask

    def play(self, on_channel: Callable[[MailboxChannel], None] = lambda channel: None) -> None:
        """Play the site's role to its end; the outcome lies in the folder of the site's runs.

        `on_channel` gets the open channel, for whoever ends the run from outside. Raises what loading, checking and
        playing raise; nothing is sent before every check of this site's.
        """
        order = self.order
        role = order.role_at(self.site)
        if role is None:
            raise JobError(
                "the engine's job gives this site no role",
                expected="a site that the job names",
                got="another one",
                cure="name the site in HekatRecipe(..., sites={...})",
            )
        with noted_outcome(self.link.runs, order.run_id, role, order.digest.hex()), self._job_file() as path:
            order.check_roles(load_any_job(path))
            files = RoleFiles(path, self.link.site, self.link.runs, self.link.read_passphrase, self.link.keys)
            loaded = load_role(files, role)
            with loaded.tenancy(), self._joined(loaded) as channel:
                on_channel(channel)
                loaded.play(Place(role, channel, order.run_id, self.link.runs, loaded.keys, Silence()))

    @contextmanager
    def _job_file(self) -> Iterator[Path]:
        with disk_errors_as_state_errors("the job that came with the order cannot be kept"):
            folder = tempfile.TemporaryDirectory(prefix="hekat-")
        with folder as place:
            path = Path(place) / "job.toml"
            with disk_errors_as_state_errors("the job that came with the order cannot be kept"):
                path.write_bytes(self.order.job_text)
            yield path

    @contextmanager
    def _joined(self, loaded: LoadedRole) -> Iterator[MailboxChannel]:
        """The role's channel; the others are told how the block ended."""
        job = loaded.job
        card = RoleCard.of(job.digest, own_binding(loaded.site, loaded.role))
        pins = KitPins(self.link, self.order.sites, loaded.keys.public)
        channel = MailboxChannel(
            loaded.role,
            roles_of(job),
            SitePost(self.order.sites, self.ask),
            run_id=self.order.run_id,
            timeout_s=job.timeout_s,
            first_contact_s=max(job.timeout_s, FIRST_CONTACT_S),
            may_be_lost=frozenset(roles_that_may_be_lost(job)),
        )
        with closing(channel):
            self.door.open(channel)
            try:
                for peer, shown in channel.meet(card.encode()).items():
                    pins.check(peer, card.check_shown(peer, shown).binding)
                yield channel
            except BaseException as error:
                channel.fail(error)
                raise
            channel.finish()
