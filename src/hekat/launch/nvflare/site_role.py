"""A site's part in an ordered run: its own files and leave first, then its role over the engine's messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hekat.channel.mailbox import MailboxChannel
from hekat.errors import JobError
from hekat.job.load_any_job import load_any_job
from hekat.launch.nvflare.door import Ask, Door
from hekat.launch.nvflare.meeting import Meeting
from hekat.launch.nvflare.order import RunOrder
from hekat.launch.nvflare.site_link import SiteLink
from hekat.launch.one_role import LoadedRole, RoleFiles, load_role
from hekat.launch.outcome import noted_outcome
from hekat.launch.role_display import ShownRole, displayed
from hekat.run.role_folder import Place


@dataclass(frozen=True)
class SiteRole:
    """What one site needs to play: the order, its own name at the engine, its link, and the way to other sites."""

    order: RunOrder
    site: str
    link: SiteLink
    door: Door
    ask: Ask

    def play(
        self,
        on_channel: Callable[[MailboxChannel], None] = lambda channel: None,
        on_joined: Callable[[], None] = lambda: None,
    ) -> None:
        """Play the site's role to its end; the outcome lies in the folder of the site's runs.

        `on_channel` gets the channel before the other roles are met, for whoever ends the run from outside, and
        `on_joined` is called once they are. Raises what loading, checking and playing raise; nothing is sent before
        every check of this site's.
        """
        order = self.order
        role = order.role_at(self.site)
        with noted_outcome(self.link.runs, order.run_id, role or "", order.digest.hex()), order.as_file() as path:
            if role is None:
                raise JobError(
                    "the engine's job gives this site no role",
                    expected="a site that the job names",
                    got="another one",
                    cure="name the site in HekatRecipe(..., sites={...})",
                )
            order.check_roles(load_any_job(path))
            link, resume = self.link, self.link.runs / order.resume if order.resume else None
            files = RoleFiles(path, link.site, link.runs, link.read_passphrase, link.keys, resume)
            loaded = load_role(files, role)
            shown = ShownRole(loaded.job, loaded.site, role, order.run_id, link.runs)
            with loaded.tenancy(), displayed(shown) as progress, self._meeting(loaded).joined(on_channel) as channel:
                on_joined()
                loaded.play(Place(role, channel, order.run_id, link.runs, loaded.keys, progress))

    def _meeting(self, loaded: LoadedRole) -> Meeting:
        return Meeting(
            self.order, self.link, self.door, self.ask, loaded.role, loaded.job, loaded.site, loaded.keys.public
        )
